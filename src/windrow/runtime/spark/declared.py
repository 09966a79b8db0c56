"""Columns as a source has them, in their declared types: Spark SQL, and what is wrong in a row.

A value keeps its kind, as in the in-process engine: numbers become numbers, text stays text, text
may be a moment or bytes, a whole number may be a moment (µs since 1970). A column of a kind that
never fits is refused at the start; a value that does not fit makes its row a dead letter.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from windrow.core import types
from windrow.core.errors import InputError
from windrow.core.schema import Field
from windrow.core.time import Clock
from windrow.optimize.catalyst import quoted
from windrow.optimize.catalyst_casts import cast_sql
from windrow.plan.catalog import Relation, Stream
from windrow.plan.functions.moments import FIRST_MOMENT, LAST_MOMENT
from windrow.runtime.local.ingest import FARTHEST
from windrow.runtime.spark.slots import BATCH_TIME, spark_type

NAIVE = pa.timestamp("us")
"""Spark's TIMESTAMP_NTZ: a wall clock, which we take as UTC."""

EXACT_IN_DOUBLE = 2**53

_INFINITY = "CAST('Infinity' AS DOUBLE)"

_ZONE = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
_MOMENT = "^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)? ?"
_MOMENT += _ZONE[:-1] + "?)?$"
_DAY = "^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}$"


@dataclass(frozen=True, slots=True)
class Fitted:
    """A declared column: as its source has it, its value, and what can be wrong with the reason."""

    source: str
    sql: str
    faults: tuple[tuple[str, str], ...] = ()


def fit_column(field: Field, given: pa.DataType, source: str, entry: Stream | Relation) -> Fitted:
    """Return a source's column in its declared type.

    `source` is the column's name there, `given` its type. A NOT NULL column is checked, and so
    is the range of instants and days.
    """
    column = quoted(source)
    sql, wrong = _converted(column, given, field, entry)
    faults = [(wrong, f"{field.name} is not {types.sql_name(field.type)}")] if wrong else []
    if not field.nullable:
        faults.append((f"{column} IS NULL", f"{field.name} is NULL"))
    return Fitted(column, sql, (*faults, *_out_of_range(field, sql, entry)))


def _out_of_range(field: Field, sql: str, entry: Stream | Relation) -> list[tuple[str, str]]:
    """Return what is wrong with instants and days that no query can use."""
    reason = f"{field.name} is out of range"
    if isinstance(entry, Stream) and field.name == entry.time_column:
        faults = [(_out_of_time(sql, entry.clock), reason)]
        if entry.max_ahead is not None:
            latest = f"{BATCH_TIME} + {min(entry.max_ahead, LAST_MOMENT)}L"
            faults.append((f"unix_micros({sql}) > {latest}", entry.too_far_ahead))
        return faults
    if field.type == types.TIMESTAMP:
        return [(_out_of_time(sql, Clock.TIMESTAMP), reason)]
    if field.type == types.DATE:
        return [(f"{sql} NOT BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'", reason)]
    return []


def _out_of_time(sql: str, clock: Clock) -> str:
    if clock is Clock.TIMESTAMP:
        return (
            f"{sql} NOT BETWEEN timestamp_micros({FIRST_MOMENT}L) "
            f"AND timestamp_micros({LAST_MOMENT}L)"
        )
    return f"{sql} NOT BETWEEN {-FARTHEST}L AND {FARTHEST}L"


def _converted(
    column: str, given: pa.DataType, field: Field, entry: Stream | Relation
) -> tuple[str, str | None]:
    """Return the value, and the condition under which it does not fit; None if it always does."""
    target = field.type
    if given == target:
        return column, None
    if types.is_numeric(given) and types.is_numeric(target):
        return _number(column, given, target)
    if target == types.TIMESTAMP:
        return _moment(column, given, field, entry)
    if target == types.DATE and given in (types.TIMESTAMP, types.STRING):
        moment, wrong = (
            _moment(column, given, field, entry) if given == types.STRING else (column, None)
        )
        return cast_sql(moment, types.TIMESTAMP, types.DATE) or "", wrong
    if {given, target} == {types.STRING, types.BINARY} or given == pa.null():
        return f"CAST({column} AS {spark_type(target)})", None
    if pa.types.is_nested(given) and pa.types.is_nested(target):
        sql = f"try_cast({column} AS {spark_type(target)})"
        return sql, f"({column} IS NOT NULL AND {sql} IS NULL)"
    raise _never_fits(given, field, entry)


def _never_fits(given: pa.DataType, field: Field, entry: Stream | Relation) -> InputError:
    return InputError(
        f'column "{field.name}" of "{entry.name}" is declared {types.sql_name(field.type)}, '
        f"and its source has {_shown(given)}",
        detail="No value of the second kind is one of the first.",
        hint=f"Declare {field.name} as {_shown(given)}, and CAST it in the query.",
    )


def _shown(type_: pa.DataType) -> str:
    try:
        return types.sql_name(type_)
    except KeyError:
        return str(type_)


def _number(column: str, given: pa.DataType, target: pa.DataType) -> tuple[str, str | None]:
    """Convert a number exactly; only DECIMAL and FLOAT may round a float."""
    if types.is_integer(target) and types.is_integer(given) and given.bit_width <= target.bit_width:
        return f"CAST({column} AS {types.sql_name(target)})", None
    if (given, target) == (pa.float32(), types.DOUBLE):
        return f"CAST({column} AS DOUBLE)", None
    sql = f"try_cast({column} AS {types.sql_name(target)})"
    wrong = f"{sql} IS NULL"
    if types.is_integer(target) and not types.is_integer(given):
        sql = cast_sql(column, given, target) or sql if given == types.DOUBLE else sql
        wrong = f"({sql} IS NULL OR {sql} <> {column})"
    elif types.is_float(target) and types.is_integer(given):
        wrong = f"abs(CAST({column} AS DECIMAL(20, 0))) > {EXACT_IN_DOUBLE}"
    elif target == pa.float32():
        wrong = f"(abs({sql}) = {_INFINITY} AND abs({column}) <> {_INFINITY})"
    elif types.is_decimal(given) and types.is_decimal(target):
        wrong = f"({sql} IS NULL OR {sql} <> {column})"
    return sql, f"({column} IS NOT NULL AND {wrong})"


def _moment(
    column: str, given: pa.DataType, field: Field, entry: Stream | Relation
) -> tuple[str, str | None]:
    if given == NAIVE:
        epoch = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
        return f"timestamp_micros(timestampdiff(MICROSECOND, {epoch}, {column}))", None
    if given == types.DATE:
        return cast_sql(column, types.DATE, types.TIMESTAMP) or "", None
    if types.is_integer(given):
        return f"timestamp_micros(CAST({column} AS BIGINT))", None
    if given != types.STRING:
        raise _never_fits(given, field, entry)
    text = f"trim({column})"
    zoned = (
        f"(CASE WHEN {text} RLIKE '{_DAY}' THEN concat({text}, 'T00:00:00Z') "
        f"WHEN {text} RLIKE '{_ZONE}' THEN {text} ELSE concat({text}, 'Z') END)"
    )
    sql = f"(CASE WHEN {text} RLIKE '{_MOMENT}' THEN try_cast({zoned} AS TIMESTAMP) END)"
    return sql, f"({column} IS NOT NULL AND {sql} IS NULL)"
