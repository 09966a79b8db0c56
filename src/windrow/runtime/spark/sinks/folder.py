"""A folder of changes, one file a batch and shard, in which any reader sees each change once.

    DIR/<query>/part-<version>-<shard>.<ending>     complete, never touched again
    DIR/.windrow/<query>/                           what is being written; whose folder it is

A file is written under a temporary name in the hidden folder and renamed when it is whole. Its
name says which batch and which shard its changes are of, and those decide the changes. So a
batch that is run again, by whoever and however often, puts the same changes under the same
names.
"""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs

from windrow.core.errors import RunError
from windrow.runtime.spark.sinks.late import require_from_start
from windrow.runtime.spark.sinks.netting import copies_of, net_rows
from windrow.runtime.spark.sinks.target import Target

HIDDEN = ".windrow"
OWNER = "run.json"
UNFINISHED = ".tmp"


class Writer(Protocol):
    """A file that changes are being written to."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append rows."""

    def close(self) -> None:
        """Write the end."""


class Encoding(Protocol):
    """How changes become a file."""

    @property
    def ending(self) -> str:
        """How the names of its files end."""

    def open(self, file: Any, schema: pa.Schema) -> Writer:
        """Begin a file."""

    def read(self, system: fs.FileSystem, paths: list[str], schema: pa.Schema) -> pa.Table:
        """Return the changes of some files."""


@dataclass(frozen=True, slots=True)
class FolderSink:
    """The changes of one query as files. Exactly once, for every reader of the folder."""

    target: Target
    place: str
    encoding: Encoding

    @property
    def guarantee(self) -> str:
        """What a reader may rely on."""
        return "exactly once"

    def open(self, run: str, reached: int) -> None:
        """Take the folder for a run, and clear what earlier attempts have left half-written."""
        system, folder, hidden = self._located()
        system.create_dir(folder, recursive=True)
        system.create_dir(hidden, recursive=True)
        owner = posixpath.join(hidden, OWNER)
        if _exists(system, owner):
            with system.open_input_stream(owner) as file:
                known = json.loads(file.read())["run"]
            if known != run:
                raise _of_another_run(f"{self.place}/{self.target.query}")
        else:
            require_from_start(self.target, f"{self.place}/{self.target.query}", reached)
            _write_whole(system, owner, json.dumps({"run": run}).encode())
        for leftover in _listed(system, hidden):
            if leftover.endswith(UNFINISHED):
                system.delete_file(leftover)

    def begin(self, version: int, shard: int) -> DraftFile:
        """Begin the file of one shard's changes of one batch."""
        system, folder, hidden = self._located()
        name = f"part-{version:08d}-{shard:04d}.{self.encoding.ending}"
        unfinished = posixpath.join(hidden, f"{name}.{uuid4().hex}{UNFINISHED}")
        file = system.open_output_stream(unfinished)
        writer = self.encoding.open(file, self.target.changes)
        return DraftFile(system, unfinished, posixpath.join(folder, name), file, writer)

    def changes(self) -> pa.Table:
        """Return all changes in the folder, in the order of batches."""
        system, folder, _ = self._located()
        found = [p for p in _listed(system, folder) if p.endswith(f".{self.encoding.ending}")]
        if not found:
            return self.target.changes.empty_table()
        return self.encoding.read(system, sorted(found), self.target.changes)

    def answer(self) -> pa.Table:
        """Return the answer, folded from all changes. O(changes so far)."""
        schema = self.target.schema
        return copies_of(net_rows(self.changes(), schema), schema, self.target.order)

    def _located(self) -> tuple[fs.FileSystem, str, str]:
        """Return the file system, the folder of complete files, and the hidden one."""
        system, path = located(self.place)
        query = self.target.query
        return system, posixpath.join(path, query), posixpath.join(path, HIDDEN, query)


@dataclass(frozen=True, slots=True)
class DraftFile:
    """A file that nobody sees yet."""

    system: fs.FileSystem
    unfinished: str
    place: str
    file: Any
    writer: Writer

    def add(self, batch: pa.RecordBatch) -> None:
        """Append changes."""
        self.writer.write_batch(batch)

    def publish(self) -> None:
        """Let the file appear, in place of what an earlier attempt has put there."""
        self.writer.close()
        self.file.close()
        self.system.move(self.unfinished, self.place)

    def abandon(self) -> None:
        """Forget the file."""
        self.file.close()
        self.system.delete_file(self.unfinished)


def located(place: str) -> tuple[fs.FileSystem, str]:
    """Return the file system and the path in it of a folder or a URI such as s3://bucket/dir."""
    if "://" in place:
        system, path = fs.FileSystem.from_uri(place)
        return system, path
    return fs.LocalFileSystem(), posixpath.abspath(place)


def _exists(system: fs.FileSystem, path: str) -> bool:
    return bool(system.get_file_info(path).type == fs.FileType.File)


def _listed(system: fs.FileSystem, folder: str) -> list[str]:
    infos = system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    return [info.path for info in infos if info.type == fs.FileType.File]


def _write_whole(system: fs.FileSystem, path: str, data: bytes) -> None:
    unfinished = f"{path}.{uuid4().hex}{UNFINISHED}"
    with system.open_output_stream(unfinished) as file:
        file.write(data)
    system.move(unfinished, path)


def _of_another_run(place: str) -> RunError:
    return RunError(
        f"{place} holds the output of another run",
        detail="Its files are named by that run's batches; two runs in one folder would mix.",
        hint="Go on with that run's checkpoint, choose another folder, or remove this one.",
    )
