"""The answer as a table in PostgreSQL, kept true batch by batch. Exactly once.

The number of the batch is written in the transaction that changes the table. Changes are
netted here, copied into a temporary table, and applied by a few statements.

    by key   one row a key: the old row goes, the new one comes; an index on the key
    by row   rows may repeat: `_count` says how often, `_row` is the digest that finds the row
    append   a stream (ISTREAM, DSTREAM, RSTREAM): rows only come, with their `_ts`
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from windrow.core import types
from windrow.core.errors import RunError
from windrow.core.schema import Schema
from windrow.runtime.spark.sinks.duckdb_file import FRESH, quoted, table_of_another_run
from windrow.runtime.spark.sinks.folder import spelled
from windrow.runtime.spark.sinks.target import (
    COUNT,
    Target,
    copies_of,
    net_rows,
    require_from_start,
)

NAMES: dict[pa.DataType, str] = {
    types.BOOLEAN: "BOOLEAN",
    pa.int8(): "SMALLINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    types.BIGINT: "BIGINT",
    pa.float32(): "REAL",
    types.DOUBLE: "DOUBLE PRECISION",
    types.STRING: "TEXT",
    types.BINARY: "BYTEA",
    types.DATE: "DATE",
    types.TIMESTAMP: "TIMESTAMPTZ",
    types.INTERVAL: "INTERVAL",
}


def column_type(type_: pa.DataType) -> str:
    """Return the type of a column in PostgreSQL; nested values are JSON.

    >>> column_type(pa.decimal128(10, 2)), column_type(pa.list_(pa.int64()))
    ('NUMERIC(10, 2)', 'JSONB')
    """
    if types.is_decimal(type_):
        return f"NUMERIC({type_.precision}, {type_.scale})"
    if pa.types.is_nested(type_):
        return "JSONB"
    return NAMES.get(type_, "TEXT")


def as_csv(table: pa.Table) -> bytes:
    """Return rows as COPY reads them: NULL is nothing, an empty text is a pair of quotes."""
    columns = [copied(table.column(i)) for i in range(table.num_columns)]
    out = io.BytesIO()
    options = csv.WriteOptions(include_header=False)
    csv.write_csv(pa.table(dict(enumerate_names(columns))), out, options)
    return out.getvalue()


def enumerate_names(columns: list[pa.ChunkedArray]) -> list[tuple[str, pa.ChunkedArray]]:
    """Return columns under names that are free of meaning."""
    return [(f"c{i}", column) for i, column in enumerate(columns)]


def copied(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in a form whose text PostgreSQL takes."""
    type_ = column.type
    if pa.types.is_nested(type_):
        return texts(column, lambda v: json.dumps(v, default=spelled))
    if pa.types.is_binary(type_):
        return texts(column, lambda v: f"\\x{v.hex()}")
    if pa.types.is_duration(type_):
        micros = column.cast(pa.int64()).cast(pa.string())
        return pc.binary_join_element_wise(micros, "microseconds", " ")
    if types.is_decimal(type_) or pa.types.is_null(type_):
        return column.cast(pa.string())
    return column


def texts(column: pa.ChunkedArray, spell: Any) -> pa.ChunkedArray:
    """Return each value as text."""
    values = [None if v is None else spell(v) for v in column.to_pylist()]
    return pa.chunked_array([pa.array(values, pa.string())])


def from_rows(rows: list[tuple[Any, ...]], schema: Schema) -> pa.Table:
    """Return rows that were read back as a table of the query's types."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema.arrow())


RUNS = "_windrow_runs"
ROW = "_row"
SETTINGS = ("TimeZone = 'UTC'", "DateStyle = 'ISO'", "extra_float_digits = 1")
"""What a digest of a row's text depends on."""


@dataclass(frozen=True, slots=True)
class PostgresSink:
    """A table named as the query, in the database that the URL names."""

    target: Target
    url: str

    @property
    def guarantee(self) -> str:
        """What a reader may rely on."""
        return "exactly once"

    def open(self, run: str, reached: int) -> None:
        """Make the table, or check that it is this run's."""
        with self._connected() as db:
            db.execute("SELECT pg_advisory_xact_lock(hashtext('windrow'))")
            db.execute(
                f"CREATE TABLE IF NOT EXISTS {RUNS}"
                " (query TEXT PRIMARY KEY, run TEXT NOT NULL, batch BIGINT NOT NULL)"
            )
            row = db.execute(
                f"SELECT run FROM {RUNS} WHERE query = %s", [self.target.query]
            ).fetchone()
            if row is None:
                place = f"table {self._table} in {without_password(self.url)}"
                require_from_start(self.target, place, reached)
                db.execute(f"INSERT INTO {RUNS} VALUES (%s, %s, -1)", [self.target.query, run])
                for statement in self._creation():
                    db.execute(statement)
            elif row[0] != run:
                raise table_of_another_run(self.target.query, without_password(self.url))

    def _creation(self) -> list[str]:
        declared = {f.name: column_type(f.type) for f in self.target.changes}
        columns = [f"{quoted(name)} {declared[name]}" for name in self._columns]
        if self.target.appends:
            return [f"CREATE TABLE {self._table} ({', '.join(columns)})"]
        if self.target.key is None:
            columns += [f"{COUNT} BIGINT NOT NULL", f"{ROW} TEXT PRIMARY KEY"]
        made = [f"CREATE TABLE {self._table} ({', '.join(columns)})"]
        if self.target.key:
            key = ", ".join(map(quoted, self.target.key))
            made.append(f"CREATE INDEX ON {self._table} ({key})")
        return made

    @property
    def _columns(self) -> list[str]:
        names = list(self.target.schema.names)
        return ["_ts", *names] if self.target.appends else names

    @property
    def _table(self) -> str:
        return quoted(self.target.query)

    def write(self, version: int, changes: pa.Table) -> None:
        """Bring the table up to a batch, unless it is there already."""
        with self._connected() as db:
            done = db.execute(
                f"UPDATE {RUNS} SET batch = %s WHERE query = %s AND batch < %s",
                [version, self.target.query, version],
            )
            if done.rowcount == 0 or not len(changes):
                return
            for setting in SETTINGS:
                db.execute(f"SET LOCAL {setting}")
            self._copy(db, changes)
            for statement in self._statements():
                db.execute(statement)

    def _copy(self, db: Any, changes: pa.Table) -> None:
        """Put the net of the changes into a table that lives as long as the transaction."""
        counted = [] if self.target.appends else [f"0::bigint AS {COUNT}"]
        columns = ", ".join([*map(quoted, self._columns), *counted])
        db.execute(
            f"CREATE TEMPORARY TABLE {FRESH} ON COMMIT DROP AS"
            f" SELECT {columns} FROM {self._table} WITH NO DATA"
        )
        fresh = changes if self.target.appends else net_rows(changes, self.target.schema)
        wanted = [*self._columns, *([] if self.target.appends else [COUNT])]
        with db.cursor().copy(f"COPY {FRESH} FROM STDIN (FORMAT csv)") as copy:
            copy.write(as_csv(fresh.select(wanted)))
        db.execute(f"ANALYZE {FRESH}")

    def _statements(self) -> list[str]:
        table, columns = self._table, ", ".join(map(quoted, self._columns))
        if self.target.appends:
            return [f"INSERT INTO {table} SELECT * FROM {FRESH}"]
        if self.target.key is not None:
            return [
                *self._deletions(self.target.key),
                f"INSERT INTO {table} SELECT {columns} FROM {FRESH} WHERE {COUNT} > 0",
            ]
        digest = f"md5(ROW({columns})::text)"
        return [
            f"INSERT INTO {table} AS t SELECT {columns}, {COUNT}, {digest} FROM {FRESH}"
            f" ON CONFLICT ({ROW}) DO UPDATE SET {COUNT} = t.{COUNT} + excluded.{COUNT}",
            f"DELETE FROM {table} AS t USING {FRESH}"
            f" WHERE t.{ROW} = {digest_of(FRESH, self._columns)} AND t.{COUNT} = 0",
        ]

    def _deletions(self, key: tuple[str, ...]) -> list[str]:
        """Return what removes the old rows: by the index where no part of the key is NULL."""
        head = f"DELETE FROM {self._table} AS t USING {FRESH} WHERE {FRESH}.{COUNT} < 0"
        equal = "".join(f" AND t.{quoted(c)} = {FRESH}.{quoted(c)}" for c in key)
        nullable = [c for c in key if self.target.schema[c].nullable]
        if not nullable:
            return [head + equal]
        null = " OR ".join(f"{FRESH}.{quoted(c)} IS NULL" for c in nullable)
        same = "".join(f" AND t.{quoted(c)} IS NOT DISTINCT FROM {FRESH}.{quoted(c)}" for c in key)
        return [head + equal, f"{head} AND ({null}){same}"]

    def answer(self) -> pa.Table:
        """Return the answer as the table has it."""
        schema = self.target.schema
        columns = ", ".join(map(quoted, schema.names))
        counted = COUNT if self.target.key is None else "1"
        with self._connected() as db:
            rows = db.execute(f"SELECT {columns}, {counted} FROM {self._table}").fetchall()
        table = from_rows([row[:-1] for row in rows], schema)
        net = table.append_column(COUNT, pa.array([row[-1] for row in rows], pa.int64()))
        return copies_of(net, schema, self.target.order)

    def _connected(self) -> Any:
        """Return a connection: a transaction that ends with the block, by commit or by rollback."""
        psycopg = psycopg_module()
        try:
            return psycopg.connect(self.url)
        except psycopg.OperationalError as error:
            raise RunError(
                f"cannot connect to {without_password(self.url)}",
                detail=str(error).strip().splitlines()[-1],
                hint="Check the server, the URL and the rights of the user.",
            ) from error


def digest_of(table: str, columns: list[str]) -> str:
    """Return the SQL that makes the digest of a row."""
    return f"md5(ROW({', '.join(f'{table}.{quoted(c)}' for c in columns)})::text)"


def without_password(url: str) -> str:
    """Return a URL as it may be shown.

    >>> without_password("postgresql://ada:secret@db/books")
    'postgresql://ada@db/books'
    """
    parts = urlsplit(url)
    user = f"{parts.username}@" if parts.username else ""
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{user}{parts.hostname or ''}{port}{parts.path}"


def psycopg_module() -> Any:
    """Return the psycopg package."""
    try:
        import psycopg  # noqa: PLC0415 - only who uses this sink needs it
    except ImportError as error:
        raise RunError(
            "a PostgreSQL sink needs the package psycopg", hint="pip install 'windrow[postgres]'"
        ) from error
    return psycopg
