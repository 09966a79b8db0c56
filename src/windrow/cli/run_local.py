"""`windrow run --engine local`: the same script in this process, over files."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click
import pyarrow as pa
from pyarrow import csv, dataset

from windrow.core.errors import InputError, RunError
from windrow.plan.catalog import Relation, Stream
from windrow.runtime.local.database import Database
from windrow.runtime.spark.sinks.choose import Sink, choose_sinks
from windrow.runtime.spark.sinks.folder import FolderSink
from windrow.runtime.spark.sinks.target import target_of

if TYPE_CHECKING:
    from windrow.runtime.local.handle import QueryHandle

FORMATS = ("parquet", "csv", "json", "orc")
ROWS = 100_000
"""Tuples that are pushed at once."""


def run_local(script: str, sinks: Mapping[str, tuple[str, ...]]) -> None:
    """Read all files of a script's inputs, in step, and bring each query's changes to its sink."""
    db = Database()
    db.execute(script)
    taking = {name: opened(name, specs, db) for name, specs in sinks.items()}
    queries = {name: db.query(name) for name in sinks}
    rows, version = 0, 0
    for version, (name, batch) in enumerate(in_step(db), start=1):
        db.push(name, batch)
        rows += batch.num_rows
        hand_over(queries, taking, version)
    db.drain()
    hand_over(queries, taking, version + 1)
    click.echo(f"done: {rows:,} rows; drained: nothing can follow in this process", err=True)


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


def in_step(db: Database) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield tuples of all inputs, always of the stream that is farthest behind.

    Relations come first, as a whole.
    """
    entries = db.session.catalog.entries.values()
    for entry in entries:
        if isinstance(entry, Relation) and entry.format is not None:
            yield from ((entry.name, batch) for batch in read(entry))
    waiting: list[tuple[int, str, Iterator[pa.RecordBatch]]] = []
    for entry in entries:
        if isinstance(entry, Stream):
            heapq.heappush(waiting, (db.frontier(entry.name), entry.name, read(entry)))
    while waiting:
        _, name, batches = heapq.heappop(waiting)
        batch = next(batches, None)
        if batch is not None:
            yield name, batch
            heapq.heappush(waiting, (db.frontier(name), name, batches))


def read(entry: Stream | Relation) -> Iterator[pa.RecordBatch]:
    """Yield the rows of an input's files, in the order of their names."""
    options = dict(entry.options)
    if entry.format not in FORMATS or "path" not in options:
        raise InputError(
            f'"{entry.name}" has no files to read',
            detail=f"The engine local reads USING {', '.join(FORMATS)} OPTIONS (path '...').",
            hint="Leave --engine local out: Spark reads any source.",
        )
    files = dataset.dataset(options["path"], format=file_format(entry, options))
    names = [f.name for f in entry.schema if f.name in files.schema.names]
    yield from files.to_batches(columns=names, batch_size=ROWS)


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
