"""CAST as Spark SQL, for the pairs of types where Spark's outcome is ours."""

from __future__ import annotations

import pyarrow as pa

from windrow.core.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    is_decimal,
    is_float,
    is_integer,
    sql_name,
)
from windrow.plan.functions.moments import FIRST_DAY, LAST_DAY, MICROSECONDS_A_DAY


def cast_sql(value: str, source: pa.DataType, target: pa.DataType) -> str | None:
    """Return ``CAST(value AS target)``, NULL where our cast is; None if they may differ."""
    if source == target:
        return value
    if is_integer(source):
        return _from_whole(value, target)
    if is_float(source):
        return _from_float(value, source, target)
    if is_decimal(source):
        return _try(value, target) if is_decimal(target) or target == DOUBLE else None
    if source == BOOLEAN:
        return _try(value, target) if is_integer(target) or target == STRING else None
    if (source, target) == (TIMESTAMP, DATE):
        return _day(value)
    if (source, target) == (DATE, TIMESTAMP):
        return _midnight(value)
    return None


def _try(value: str, target: pa.DataType) -> str:
    return f"try_cast({value} AS {sql_name(target)})"


def _from_whole(value: str, target: pa.DataType) -> str | None:
    if is_integer(target) or is_decimal(target) or target in (DOUBLE, STRING):
        return _try(value, target)
    return f"({value} <> 0)" if target == BOOLEAN else None


def _from_float(value: str, source: pa.DataType, target: pa.DataType) -> str | None:
    """Cut fractions off. Spark takes 2^63 for the largest BIGINT; ours is NULL."""
    if target == DOUBLE:
        return f"CAST({value} AS DOUBLE)"
    if target == BOOLEAN:
        return f"({value} <> 0)"
    if not is_integer(target) or source != DOUBLE:
        return None
    limit = 2 ** (target.bit_width - 1)
    above = f">= -{float(limit)!r}D" if target == BIGINT else f"> -{float(limit + 1)!r}D"
    fits = f"{value} {above} AND {value} < {float(limit)!r}D"
    return f"(CASE WHEN {fits} THEN CAST({value} AS {sql_name(target)}) END)"


def _day(moment: str) -> str:
    micros = f"unix_micros({moment})"
    day = f"({micros} - pmod({micros}, {MICROSECONDS_A_DAY}L)) div {MICROSECONDS_A_DAY}L"
    return f"date_from_unix_date(CAST({day} AS INT))"


def _midnight(date: str) -> str:
    day = f"CAST(unix_date({date}) AS BIGINT)"
    inside = f"unix_date({date}) BETWEEN {FIRST_DAY} AND {LAST_DAY}"
    return f"(CASE WHEN {inside} THEN timestamp_micros({day} * {MICROSECONDS_A_DAY}L) END)"
