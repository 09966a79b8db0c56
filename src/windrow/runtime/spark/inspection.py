"""Each file of a batch is looked at before the batch is read; what cannot be read is left out.

    foreachBatch(b)  ─► look at the files of b  ─► all fine: go on
                          │ some are not: written down, the query of Spark ends ...
    run  ◄────────────────┘ ... and is started again at batch b, whose plan passes over them

A file whose damage shows only when Spark reads it goes the same way: rows reach the shards after
all files of a batch are read, so a batch that fails in reading has used none. When a shard has the
rows of a batch already, all its files were read: one that cannot be read any more has changed, and
the run ends.

Which files a micro-batch reads is found in Spark's own log in the checkpoint:

    spark/offsets/7       a line a source: {"logOffset": 3}, how far batch 7 reads it
    spark/sources/0/3     the files of source 0 up to there; every tenth has all before it
                          (9.compact), and those before are removed after a while

Both are written before a batch is run, and never changed: a batch that is run again has the same.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from windrow.core.errors import WindrowError
from windrow.plan.catalog import Relation, Stream
from windrow.plan.nodes import Plan, Scan, Table, nodes_of
from windrow.runtime.local.probing import FileExpectation, ProbeResult, look_at
from windrow.runtime.shards.files import Files
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.store import version_of
from windrow.runtime.spark.failures import reason, unread_file
from windrow.runtime.spark.folder import RunFolder
from windrow.runtime.spark.unreadable import (
    MissingColumns,
    cannot_be_read,
    fails_on_unreadable,
    has_changed,
    leave_out,
    left_out,
    same_file,
)

COMPACT = ".compact"


def files_of_batch(folder: RunFolder, source: int, batch: int) -> list[str]:
    """Return the files, as URIs, that a batch reads of a source; none if that is not of files."""
    files = folder.files
    end = _offset(files, source, batch)
    start = _offset(files, source, batch - 1) if batch else None
    if end is None:
        return []
    listed = files.sizes(f"spark/sources/{source}")
    found: dict[str, None] = {}
    for number in range(0 if start is None else start + 1, end + 1):
        for entry in _entries(files, source, number, listed):
            if int(entry["batchId"]) == number:
                found[str(entry["path"])] = None
    return list(found)


def _offset(files: Files, source: int, batch: int) -> int | None:
    """Return how far a batch reads a source of files; None if it does not."""
    try:
        lines = bytes(files.read(f"spark/offsets/{batch}")).decode().splitlines()
    except FileNotFoundError:
        return None
    text = lines[2 + source] if 2 + source < len(lines) else "-"
    if not text.startswith("{"):
        return None
    known = json.loads(text).get("logOffset")
    return None if known is None else int(known)


def _entries(
    files: Files, source: int, number: int, listed: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield what the log of a source has in one place, or in the next that has all before it."""
    if str(number) in listed:
        name = str(number)
    else:
        compact = (int(n.removesuffix(COMPACT)) for n in listed if n.endswith(COMPACT))
        after = [n for n in compact if n >= number]
        if not after:
            return
        name = f"{min(after)}{COMPACT}"
    lines = bytes(files.read(f"spark/sources/{source}/{name}")).decode().splitlines()
    yield from (json.loads(line) for line in lines[1:] if line)


LOG = logging.getLogger(__name__)

COLUMN = re.compile(
    r"Parquet column \[(\w+)\]\. (Expected Spark type [^\n]*?)\.?\s*(?:SQLSTATE|$)", re.M
)
"""What Spark says of a column whose type it cannot read as another."""

ELSEWHERE = re.compile(
    r"FileNotFound|NoSuchFile|AccessControl|AccessDenied|Permission denied|ConnectException|"
    r"SocketException|UnknownHost|Timeout|OutOfMemory|No space left|Input/output error|"
    r"Stale file handle|BlockMissing|SdkClient|ServiceUnavailable|SlowDown|Interrupted"
)
"""Errors of file systems and machines: they say nothing about a file, and may be gone soon."""


def readers(program: Program, entry: Stream | Relation) -> list[str]:
    """Return the queries that read an input."""

    def reads(node: Plan) -> bool:
        match node:
            case Scan(stream=own) | Table(relation=own):
                return own.name == entry.name
            case _:
                return False

    return [q.name for q in program.bound() if any(map(reads, nodes_of(q.root)))]


class FilesLeftOutError(Exception):
    """A batch has files that cannot be read: it is to be run again without them."""


def is_news(record: logging.LogRecord) -> bool:
    """Return whether what py4j has to say of a callback is not what we raise there on purpose."""
    raised = record.exc_info[1] if record.exc_info else None
    return not isinstance(raised, FilesLeftOutError | WindrowError)


logging.getLogger("py4j.clientserver").addFilter(is_news)


@dataclass(frozen=True, slots=True)
class WatchedInput:
    """An input whose files are looked at: the number of its source, and what is read of them.

    `read` reads one of them, as the batch would.
    """

    entry: Stream | Relation
    source: int
    wanted: FileExpectation
    read: Callable[[str], DataFrame]


@dataclass(slots=True)
class Inspection:
    """Looks at the files of a run. `failure`: why it ends, if a file ends it."""

    folder: RunFolder
    program: Program
    watched: list[WatchedInput] = field(default_factory=list)
    failure: WindrowError | None = None
    repeat: bool = False

    def before(self, batch: int) -> None:
        """Look at the files of a batch. Raises if it has to be run again, or the run ends."""
        left = False
        for each in self.watched:
            out = set(map(same_file, left_out(self.folder.where, each.entry.name)))
            listed = files_of_batch(self.folder, each.source, batch)
            found = look_at([f for f in listed if same_file(f) not in out], each.wanted)
            damaged = {file: finding for file, finding in found.items() if finding.reason}
            if damaged:
                self._leave_out(each, batch, damaged)
                left = True
            else:
                self._count_missing(each, batch, found.values())
        if left:
            self.repeat = True
            raise FilesLeftOutError

    def after(self, failure: BaseException) -> bool:
        """Return whether a batch that has failed is to be run again: without files, if need be."""
        if self.failure is not None:
            raise self.failure
        if self.repeat:
            self.repeat = False
            return True
        found = self._named_by(str(failure))
        if found is None:
            return False
        each, batch, file = found
        why = self._read_again(each, file)
        if why is None:
            return False
        self._leave_out(each, batch, {file: why})
        return True

    def _named_by(self, trace: str) -> tuple[WatchedInput, int, str] | None:
        """Return the file of the batch under way that a trace names, if it is to blame."""
        file, batch = unread_file(trace), self.folder.planned_batch()
        if file is None or batch is None or ELSEWHERE.search(reason(trace)):
            return None
        for each in self.watched:
            out = set(map(same_file, left_out(self.folder.where, each.entry.name)))
            for listed in files_of_batch(self.folder, each.source, batch):
                if same_file(listed) == same_file(file) and same_file(listed) not in out:
                    return each, batch, listed
        return None

    @staticmethod
    def _read_again(each: WatchedInput, file: str) -> ProbeResult | None:
        """Return why a file cannot be read; None if it can, or if it is not the file's fault."""
        try:
            each.read(file).write.format("noop").mode("overwrite").save()
        except Exception as error:
            trace = str(error)
            column = COLUMN.search(trace)
            if ELSEWHERE.search(reason(trace)):
                return None
            if column is not None:
                return ProbeResult(f'its column "{column[1]}" does not fit: {column[2]}', column[1])
            return ProbeResult(reason(trace))
        return None

    def _leave_out(self, each: WatchedInput, batch: int, damaged: dict[str, ProbeResult]) -> None:
        """Write down that a batch goes without some files; raise if it must not."""
        version, where = version_of(batch), self.folder.where
        file, finding = next(iter(damaged.items()))
        queries = readers(self.program, each.entry)
        if self._used(version):
            self.failure = has_changed(each.entry, file, finding, queries)
        elif fails_on_unreadable(each.entry):
            self.failure = cannot_be_read(each.entry, file, finding, queries)
        if self.failure is not None:
            raise self.failure
        leave_out(where, each.entry.name, version, {f: d.reason for f, d in damaged.items()})
        for name, why in damaged.items():
            LOG.warning('%s, a file of "%s", is left out: %s', name, each.entry.name, why.reason)

    def _used(self, version: int) -> bool:
        """Return whether a shard has rows of a version already."""
        files, name = self.folder.files, f"{version:012}-0.ingest"
        return any(files.exists(f"shards/{n:04}/log/{name}") for n in range(self.program.shards))

    def _count_missing(self, each: WatchedInput, batch: int, found: Iterable[ProbeResult]) -> None:
        counts = Counter(name for finding in found for name in finding.missing)
        missing = MissingColumns(self.folder.where)
        missing.count(each.entry.name, version_of(batch), counts)
