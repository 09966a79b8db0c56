"""`windrow run --engine local`: the same script in this process, over files."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click
import pyarrow as pa
from pyarrow import csv, dataset

from windrow.core.errors import InputError, RunError
from windrow.core.schema import Field
from windrow.plan.catalog import Relation, Stream
from windrow.runtime.local.database import Database
from windrow.runtime.local.probing import FileExpectation, look
from windrow.runtime.spark.sinks.choose import Sink, choose_sinks
from windrow.runtime.spark.sinks.folder import FolderSink
from windrow.runtime.spark.sinks.target import target_of
from windrow.runtime.spark.unreadable import FAIL, OPTION, fails_on_unreadable

if TYPE_CHECKING:
    from windrow.runtime.local.handle import QueryHandle

FORMATS = ("parquet", "csv", "json", "orc")
ROWS = 100_000
"""Tuples that are pushed at once."""

HELD = 256_000_000
"""Bytes of a file up to which none of its rows is pushed before all are read."""


def run_local(script: str, sinks: Mapping[str, tuple[str, ...]]) -> None:
    """Read all files of a script's inputs, in step, and bring each query's changes to its sink."""
    db = Database()
    db.execute(script)
    taking = {name: opened(name, specs, db) for name, specs in sinks.items()}
    queries = {name: db.query(name) for name in sinks}
    rows, version, left = 0, 0, LeftOut()
    for version, (name, batch) in enumerate(in_step(db, left), start=1):
        db.push(name, batch)
        rows += batch.num_rows
        hand_over(queries, taking, version)
    db.drain()
    hand_over(queries, taking, version + 1)
    unread = f", {left.files:,} file{'s' * (left.files > 1)} could not be read"
    said = f"done: {rows:,} rows{unread if left.files else ''}"
    click.echo(f"{said}; drained: nothing can follow in this process", err=True)


def opened(name: str, specs: tuple[str, ...], db: Database) -> tuple[Sink, ...]:
    """Return the sinks of a query, ready."""
    sinks = choose_sinks(specs, target_of(db.session.query(name)))
    for spec, sink in zip(specs, sinks, strict=True):
        if hasattr(sink, "open"):
            sink.open(uuid4().hex, 0)
        elif spec != "noop":
            raise RunError(f'sink "{spec}" needs Spark', hint="Leave --engine local out.")
    return sinks


def hand_over(
    queries: Mapping[str, QueryHandle], sinks: Mapping[str, tuple[Sink, ...]], version: int
) -> None:
    """Give each sink what has changed."""
    for name, query in queries.items():
        changes = query.changes()
        for sink in sinks[name]:
            if isinstance(sink, FolderSink):
                write_part(sink, version, changes)
            elif hasattr(sink, "write"):
                sink.write(version, changes)


def write_part(sink: FolderSink, version: int, changes: pa.Table) -> None:
    """Write changes as a file, if there are any."""
    if len(changes):
        part = sink.begin(version, 0)
        for batch in changes.to_batches():
            part.add(batch)
        part.publish()


@dataclass(slots=True)
class LeftOut:
    """Files that could not be read; each is named on the terminal."""

    files: int = 0

    def add(self, entry: Stream | Relation, file: str, reason: str) -> None:
        """Leave a file out, unless the declaration says that the run fails."""
        if fails_on_unreadable(entry):
            raise InputError(
                f'{file}, a file of "{entry.name}", cannot be read',
                detail=f"{reason[:1].upper()}{reason[1:].rstrip('.')}.",
                hint=f"Mend it and run the script again; or leave {OPTION} '{FAIL}' out: then such "
                "files are left out.",
            )
        self.files += 1
        click.echo(f'left out: {file}, a file of "{entry.name}": {reason}', err=True)


def in_step(db: Database, left: LeftOut) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield tuples of all inputs, always of the stream that is farthest behind.

    Relations come first, as a whole.
    """
    entries = db.session.catalog.entries.values()
    for entry in entries:
        if isinstance(entry, Relation) and entry.format is not None:
            yield from ((entry.name, batch) for batch in read(entry, left))
    waiting: list[tuple[int, str, Iterator[pa.RecordBatch]]] = []
    for entry in entries:
        if isinstance(entry, Stream):
            heapq.heappush(waiting, (db.frontier(entry.name), entry.name, read(entry, left)))
    while waiting:
        _, name, batches = heapq.heappop(waiting)
        batch = next(batches, None)
        if batch is not None:
            yield name, batch
            heapq.heappush(waiting, (db.frontier(name), name, batches))


def read(entry: Stream | Relation, left: LeftOut) -> Iterator[pa.RecordBatch]:
    """Yield the rows of an input's files, in the order of their names; none of a damaged one."""
    options = {name.lower(): value for name, value in entry.options}
    if entry.format not in FORMATS or "path" not in options:
        raise InputError(
            f'"{entry.name}" has no files to read',
            detail=f"The engine local reads USING {', '.join(FORMATS)} OPTIONS (path '...').",
            hint="Leave --engine local out: Spark reads any source.",
        )
    columns = tuple(Field(f.name, pa.null(), f.nullable) for f in entry.schema)
    footed = entry.format in ("parquet", "orc")
    wanted = FileExpectation(str(entry.format), columns if footed else (), options)
    for file in files_in(options["path"]):
        reason = look(str(file), wanted).reason
        if reason:
            left.add(entry, str(file), reason)
        else:
            yield from read_file(entry, file, options, left)


def files_in(path: str) -> list[Path]:
    """Return a file, or the files of a folder and those below it, hidden ones left out."""
    place = Path(path)
    if not place.is_dir():
        return [place]
    found = (p for p in place.rglob("*") if p.is_file())
    hidden = ("_", ".")
    return sorted(p for p in found if not p.name.startswith(hidden))


def read_file(
    entry: Stream | Relation, file: Path, options: dict[str, str], left: LeftOut
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one file: all of them, or none if it turns out to be damaged."""
    if file.suffix not in (".gz", ".bz2") and not file.stat().st_size:
        return  # text without a line
    try:
        rows = dataset.dataset(str(file), format=file_format(entry, options))
        given = {name.lower(): name for name in rows.schema.names}
        names = {f.name: dataset.field(given[f.name.lower()])
                 for f in entry.schema if f.name.lower() in given}  # fmt: skip
        batches = rows.to_batches(columns=names, batch_size=ROWS)
        yield from list(batches) if file.stat().st_size <= HELD else batches
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        left.add(entry, str(file), str(error).splitlines()[0])


def file_format(entry: Stream | Relation, options: dict[str, str]) -> Any:
    """Return how files are read: text in the declared types, and by position without a header."""
    if entry.format != "csv":
        return entry.format
    headed = options.get("header", "false").lower() == "true"
    names = None if headed else list(entry.schema.names)
    types = {f.name: f.type for f in entry.schema if not pa.types.is_timestamp(f.type)}
    return dataset.CsvFileFormat(
        read_options=csv.ReadOptions(column_names=names),
        parse_options=csv.ParseOptions(delimiter=options.get("sep", ",")),
        convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=True),
    )
