"""The answer as a table in a DuckDB file, kept true batch by batch. Exactly once.

The number of the batch is written in the transaction that changes the table, so a batch that
comes again finds itself done. The file is open only while a batch is written: others may read
it in between.

    by key   one row a key: the old row goes, the new one comes
    by row   rows may repeat: `_count` says how often
    append   a stream (ISTREAM, DSTREAM, RSTREAM): rows only come, with their `_ts`
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.core.errors import RunError
from windrow.runtime.spark.sinks.target import (
    COUNT,
    Target,
    copies_of,
    net_rows,
    require_from_start,
)

PATIENCE = 30.0
"""Seconds to wait for another process that has the file open."""

RUNS, FRESH = "_windrow_runs", "_windrow_fresh"
"""Tables of ours, beside those named as queries: whose they are, and what a batch brings."""


@dataclass(frozen=True, slots=True)
class DuckdbSink:
    """A table named as the query, in a file."""

    target: Target
    file: str

    @property
    def guarantee(self) -> str:
        """What a reader may rely on."""
        return "exactly once"

    def open(self, run: str, reached: int) -> None:
        """Make the table, or check that it is this run's."""
        Path(self.file).parent.mkdir(parents=True, exist_ok=True)
        with self._transaction() as db:
            db.execute(
                f"CREATE TABLE IF NOT EXISTS {RUNS}"
                " (query TEXT PRIMARY KEY, run TEXT, batch BIGINT)"
            )
            known = db.execute(f"SELECT run FROM {RUNS} WHERE query = ?", [self.target.query])
            row = known.fetchone()
            if row is None:
                require_from_start(self.target, f"table {self._table} in {self.file}", reached)
                db.execute(f"INSERT INTO {RUNS} VALUES (?, ?, -1)", [self.target.query, run])
                db.register(FRESH, self._shape())
                db.execute(f"CREATE TABLE {self._table} AS SELECT * FROM {FRESH}")
            elif row[0] != run:
                raise table_of_another_run(self.target.query, self.file)

    def write(self, version: int, changes: pa.Table) -> None:
        """Bring the table up to a batch, unless it is there already."""
        with self._transaction() as db:
            known = db.execute(f"SELECT batch FROM {RUNS} WHERE query = ?", [self.target.query])
            if known.fetchone()[0] >= version:
                return
            db.execute(f"UPDATE {RUNS} SET batch = ? WHERE query = ?", [version, self.target.query])
            if len(changes):
                db.register(FRESH, self._fresh(changes))
                for statement in self._statements():
                    db.execute(statement)

    def _shape(self) -> pa.Table:
        return self._fresh(self.target.changes.empty_table()).select(self._columns)

    def _fresh(self, changes: pa.Table) -> pa.Table:
        if self.target.appends:
            return changes
        return net_rows(changes, self.target.schema)

    @property
    def _columns(self) -> list[str]:
        if self.target.appends:
            return ["_ts", *self.target.schema.names]
        counted = [] if self.target.key is not None else [COUNT]
        return [*self.target.schema.names, *counted]

    @property
    def _table(self) -> str:
        return quoted(self.target.query)

    def _statements(self) -> list[str]:
        table, columns = self._table, ", ".join(map(quoted, self._columns))
        if self.target.appends:
            return [f"INSERT INTO {table} SELECT {columns} FROM {FRESH}"]
        if self.target.key is not None:
            old = self._matching(self.target.key)
            return [
                f"DELETE FROM {table} AS t USING {FRESH} WHERE {FRESH}.{COUNT} < 0 AND {old}",
                f"INSERT INTO {table} SELECT {columns} FROM {FRESH} WHERE {COUNT} > 0",
            ]
        same = self._matching(self.target.schema.names)
        return [
            f"UPDATE {table} AS t SET {COUNT} = t.{COUNT} + {FRESH}.{COUNT}"
            f" FROM {FRESH} WHERE {same}",
            f"INSERT INTO {table} SELECT {columns} FROM {FRESH} WHERE {COUNT} > 0"
            f" AND NOT EXISTS (SELECT 1 FROM {table} AS t WHERE {same})",
            f"DELETE FROM {table} WHERE {COUNT} = 0",
        ]

    def _matching(self, columns: tuple[str, ...]) -> str:
        pairs = (f"t.{quoted(c)} IS NOT DISTINCT FROM {FRESH}.{quoted(c)}" for c in columns)
        return " AND ".join(pairs) or "TRUE"

    def answer(self) -> pa.Table:
        """Return the answer as the table has it."""
        with self._transaction() as db:
            table = db.sql(f"SELECT * FROM {self._table}").to_arrow_table()
        if self.target.key is not None:
            table = table.append_column(COUNT, pa.array([1] * len(table), pa.int64()))
        schema = self.target.schema
        fitted = table.select(list(schema.names)).cast(schema.arrow())
        return copies_of(fitted.append_column(COUNT, table[COUNT]), schema, self.target.order)

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        with self._opened() as db:
            db.begin()
            try:
                yield db
            except BaseException:
                db.rollback()
                raise
            db.commit()

    def _opened(self) -> Any:
        """Open the file, waiting for a reader that holds it."""
        duckdb = duckdb_module()
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return duckdb.connect(self.file)
            except duckdb.IOException as error:
                if "lock" not in str(error) or time.monotonic() > deadline:
                    raise RunError(
                        f"cannot open {self.file}",
                        detail=str(error).splitlines()[0],
                        hint="Close it elsewhere; DuckDB lets one process write.",
                    ) from error
                time.sleep(0.1)


def duckdb_module() -> Any:
    """Return the duckdb package."""
    try:
        import duckdb  # noqa: PLC0415 - only who uses this sink needs it
    except ImportError as error:
        raise RunError(
            "the duckdb sink needs the package duckdb", hint="pip install 'windrow[duckdb]'"
        ) from error
    return duckdb


def quoted(name: str) -> str:
    """Return a name as SQL has it, whatever it is made of."""
    return '"' + name.replace('"', '""') + '"'


def table_of_another_run(query: str, place: str) -> RunError:
    """Return the refusal of a table that another run keeps."""
    return RunError(
        f'table "{query}" in {place} is kept by another run',
        detail="It goes on from that run's batches; this run would add its own to them.",
        hint=f"Go on with that run's checkpoint, or drop the table and its line in {RUNS}.",
    )
