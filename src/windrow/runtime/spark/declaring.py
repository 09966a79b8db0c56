"""A stream declared from the columns of a DataFrame."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from windrow.core.types import TIMESTAMP, sql_name
from windrow.language.printing import name_sql
from windrow.runtime.spark.types import arrow_type


def declaration(
    name: str, schema: StructType, ts: str | None, slack: str | None, max_ahead: str | None
) -> str:
    """Return the CREATE STREAM that a DataFrame stands for.

    Columns of a type that has no name in the language are left out: no query reads them.
    """
    types = {f.name: _type(f.dataType) for f in schema.fields}
    columns = [f"{name_sql(column)} {type_}" for column, type_ in types.items() if type_]
    time = f" TIMESTAMP BY {name_sql(ts)}" if ts is not None else ""
    held = f" SLACK {slack}" if slack is not None else ""
    held += f" MAX AHEAD {max_ahead}" if max_ahead is not None else ""
    return f"CREATE STREAM {name_sql(name)} ({', '.join(columns)}){time}{held}"


def _type(given: DataType) -> str | None:
    """Return the declared type of a column; a time without a zone is UTC. None: it has no name."""
    match given:
        case ArrayType():
            inner = _type(given.elementType)
            return inner and f"ARRAY<{inner}>"
        case MapType():
            key, value = _type(given.keyType), _type(given.valueType)
            return key and value and f"MAP<{key}, {value}>"
        case StructType():
            fields = [(name_sql(f.name), _type(f.dataType)) for f in given.fields]
            named = ", ".join(f"{name}: {type_}" for name, type_ in fields)
            return f"STRUCT<{named}>" if fields and all(t for _, t in fields) else None
        case _:
            return _plain(arrow_type(given))


def _plain(type_: pa.DataType) -> str | None:
    if pa.types.is_timestamp(type_):
        return sql_name(TIMESTAMP)
    try:
        return sql_name(type_)
    except KeyError:
        return None
