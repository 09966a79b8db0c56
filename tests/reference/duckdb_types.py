"""Values and types of windrow in DuckDB.

TIMESTAMP is DuckDB's plain TIMESTAMP, which holds UTC's wall time, so no session zone matters.
INTERVAL is a BIGINT of µs: DuckDB's own interval keeps months and days apart.
"""

from __future__ import annotations

import pyarrow as pa

from windrow.core.types import DATE, INTERVAL, TIMESTAMP

_NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    DATE: "DATE",
    TIMESTAMP: "TIMESTAMP",
    INTERVAL: "BIGINT",
    pa.null(): "INTEGER",
}


def duckdb_type(type_: pa.DataType) -> str:
    """Return DuckDB's name of a type."""
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision}, {type_.scale})"
    if pa.types.is_list(type_):
        return f"{duckdb_type(type_.value_type)}[]"
    if pa.types.is_struct(type_):
        fields = ", ".join(f'"{f.name}" {duckdb_type(f.type)}' for f in type_)
        return f"STRUCT({fields})"
    return _NAMES[type_]


def quote(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def duckdb_literal(value: object, type_: pa.DataType) -> str:
    """Return a constant of windrow's plan as SQL."""
    name = duckdb_type(type_)
    if value is None:
        return f"CAST(NULL AS {name})"
    if type_ == TIMESTAMP:
        return f"make_timestamp(CAST({value} AS BIGINT))"
    if type_ == DATE:
        return f"(DATE '1970-01-01' + CAST({value} AS INTEGER))"
    if isinstance(value, list):
        items = ", ".join(duckdb_literal(v, type_.value_type) for v in value)
        return f"CAST([{items}] AS {name})"
    if isinstance(value, bytes):
        return quote("".join(f"\\x{byte:02X}" for byte in value)) + "::BLOB"
    if isinstance(value, str):
        return quote(value)
    return f"CAST({quote(str(value))} AS {name})"
