"""Arrow's types as PostgreSQL's, there and back."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from windrow.core.schema import Schema
from windrow.core.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTERVAL,
    STRING,
    TIMESTAMP,
    is_decimal,
)
from windrow.runtime.spark.sinks.json_lines import spelled

NAMES: dict[pa.DataType, str] = {
    BOOLEAN: "BOOLEAN",
    pa.int8(): "SMALLINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    BIGINT: "BIGINT",
    pa.float32(): "REAL",
    DOUBLE: "DOUBLE PRECISION",
    STRING: "TEXT",
    BINARY: "BYTEA",
    DATE: "DATE",
    TIMESTAMP: "TIMESTAMPTZ",
    INTERVAL: "INTERVAL",
}


def column_type(type_: pa.DataType) -> str:
    """Return the type of a column in PostgreSQL; nested values are JSON.

    >>> column_type(pa.decimal128(10, 2)), column_type(pa.list_(pa.int64()))
    ('NUMERIC(10, 2)', 'JSONB')
    """
    if is_decimal(type_):
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
    if is_decimal(type_) or pa.types.is_null(type_):
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
