"""A folder of changes, one file a batch and shard, in which any reader sees each change once.

    DIR/<query>/part-<version>-<shard>.<ending>     complete, never touched again
    DIR/.windrow/<query>/                           what is being written; whose folder it is

A file is written under a temporary name in the hidden folder and renamed when it is whole. Its
name says which batch and which shard its changes are of, and those decide the changes. So a
batch that is run again, by whoever and however often, puts the same changes under the same
names.

Files are Parquet, or JSON with one object a line: times as ISO text in UTC, binary as base64.
"""

from __future__ import annotations

import json
import posixpath
from base64 import b64encode
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Protocol
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from windrow.core.errors import RunError
from windrow.runtime.shards.files import clear_errors
from windrow.runtime.spark.sinks.target import Target, copies_of, net_rows, require_from_start

HIDDEN = ".windrow"
OWNER = "run.json"
UNFINISHED = ".tmp"


class Writer(Protocol):
    """A file that changes are being written to."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append rows."""

    def close(self) -> None:
        """Write the end."""

    def abandon(self) -> None:
        """Write no more, not even the end."""


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
        with clear_errors("making", folder):
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
        self.writer.abandon()
        try:
            self.file.close()
        finally:
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
    with clear_errors("writing", path):
        with system.open_output_stream(unfinished) as file:
            file.write(data)
        system.move(unfinished, path)


def _of_another_run(place: str) -> RunError:
    return RunError(
        f"{place} holds the output of another run",
        detail="Its files are named by that run's batches; two runs in one folder would mix.",
        hint="Go on with that run's checkpoint, choose another folder, or remove this one.",
    )


class ParquetWriter(pq.ParquetWriter):  # type: ignore[misc]  # pyarrow has no types
    """Writes batches as row groups, and the file's footer at its end or never."""

    def abandon(self) -> None:
        """Write no footer, also not when the writer is collected: its file may be closed."""
        self.is_open = False


@dataclass(frozen=True, slots=True)
class Parquet:
    """One Parquet file a part, compressed with zstd."""

    ending: str = "parquet"

    def open(self, file: Any, schema: pa.Schema) -> Writer:
        """Begin a file; each batch becomes a row group."""
        return ParquetWriter(file, schema, compression="zstd")

    def read(self, system: fs.FileSystem, paths: list[str], schema: pa.Schema) -> pa.Table:
        """Return the rows of some files."""
        return pq.ParquetDataset(paths, filesystem=system, schema=schema).read()


NUMBERS = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}


@dataclass(frozen=True, slots=True)
class JsonWriter:
    """Writes batches row by row."""

    file: Any

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        rows = plain_rows(batch)
        lines = (json.dumps(row, default=spelled, ensure_ascii=False) for row in rows)
        self.file.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """Nothing ends a file of lines."""

    def abandon(self) -> None:
        """Nothing is left to write."""


@dataclass(frozen=True, slots=True)
class JsonLines:
    """One file of JSON lines a part."""

    ending: str = "json"

    def open(self, file: Any, schema: pa.Schema) -> Writer:
        """Begin a file."""
        del schema
        return JsonWriter(file)

    def read(self, system: fs.FileSystem, paths: list[str], schema: pa.Schema) -> pa.Table:
        """Return the rows of some files, as the types they had."""
        rows: list[dict[str, Any]] = []
        for path in paths:
            with system.open_input_stream(path) as file:
                rows += [json.loads(line) for line in file.read().splitlines()]
        columns = [retyped([row[f.name] for row in rows], f.type) for f in schema]
        return pa.Table.from_arrays(columns, schema=schema)


def plain_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return rows; "NaN" and "Infinity" as text, as Spark writes them: JSON has no such numbers."""
    rows: list[dict[str, Any]] = batch.to_pylist()
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_floating(column.type) and not pc.all(pc.is_finite(column)).as_py():
            for row in rows:
                row[name] = NUMBERS.get(str(row[name]), row[name])
    return rows


def spelled(value: object) -> object:
    """Return what stands in JSON for a value that JSON does not have."""
    match value:
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case timedelta():
            return value // timedelta(microseconds=1)
        case Decimal():
            return str(value)
        case bytes():
            return b64encode(value).decode()
        case _:
            raise TypeError(f"{type(value).__name__} has no form in JSON")


def retyped(values: list[Any], type_: pa.DataType) -> pa.Array:
    """Return JSON values as the column they were written from."""
    if pa.types.is_timestamp(type_):
        texts = pa.array(values, pa.string())
        return pc.cast(texts, type_)
    if pa.types.is_date(type_) or pa.types.is_decimal(type_):
        return pc.cast(pa.array(values, pa.string()), type_)
    if pa.types.is_duration(type_):
        return pa.array(values, pa.int64()).cast(type_)
    if pa.types.is_binary(type_) or pa.types.is_nested(type_):
        raise RunError(
            "the answer cannot be read back from JSON",
            detail="BINARY, ARRAY and STRUCT columns are text or untyped there.",
            hint="Write to parquet: instead.",
        )
    if pa.types.is_floating(type_):
        return pa.array([None if v is None else float(v) for v in values], type_)
    return pa.array(values, type_)
