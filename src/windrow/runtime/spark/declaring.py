"""A stream declared from the columns of a DataFrame."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import StructType

from windrow.core.errors import BindError
from windrow.core.types import TIMESTAMP, sql_name
from windrow.language.printing import name_sql
from windrow.runtime.spark.sources import arrow_type


def declaration(
    name: str, schema: StructType, ts: str | None, slack: str | None, max_ahead: str | None
) -> str:
    """Return the CREATE STREAM that a DataFrame stands for."""
    columns = [
        f"{name_sql(f.name)} {_type(name, f.name, arrow_type(f.dataType))}" for f in schema.fields
    ]
    time = f" TIMESTAMP BY {name_sql(ts)}" if ts is not None else ""
    held = f" SLACK {slack}" if slack is not None else ""
    held += f" MAX AHEAD {max_ahead}" if max_ahead is not None else ""
    return f"CREATE STREAM {name_sql(name)} ({', '.join(columns)}){time}{held}"


def _type(stream: str, column: str, type_: pa.DataType) -> str:
    """Return the declared type of a column; a time without a zone is UTC."""
    if pa.types.is_timestamp(type_):
        return sql_name(TIMESTAMP)
    try:
        return sql_name(type_)
    except KeyError as error:
        raise BindError(
            f'column "{column}" of "{stream}" has a type that windrow does not have',
            hint=f'Leave it out: df.drop("{column}"), or cast it.',
        ) from error
