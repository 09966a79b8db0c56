r"""CAST: which types convert into which. A value that has no counterpart becomes NULL.

    from \ to    BOOLEAN  whole  FLOAT  DECIMAL  STRING  DATE  TIMESTAMP  INTERVAL  BINARY
    BOOLEAN        =       x      x       x        x
    whole          x       x      x       x        x             x (s)
    FLOAT          x       x      x       x        x             x (s)
    DECIMAL        x       x      x       x        x
    STRING         x       x      x       x        =      x      x                     x
    DATE                                           x      =      x
    TIMESTAMP            x (s)  x (s)              x      x      =
    INTERVAL                                                               =

Numbers as moments count seconds since 1970. Fractions are cut off on the way to whole
numbers (DIV's rule) and rounded half away from zero on the way to DECIMAL.
"""

from __future__ import annotations

import pyarrow as pa

from windrow.core.errors import BindError
from windrow.core.types import (
    BINARY,
    BOOLEAN,
    DATE,
    NULL,
    STRING,
    TIMESTAMP,
    is_decimal,
    is_float,
    is_integer,
    is_numeric,
    sql_name,
)
from windrow.plan.expressions import Cast, Expr, Literal
from windrow.plan.functions.moments import parse_date, parse_timestamp
from windrow.plan.functions.widen import is_total, widen_literal


def can_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether CAST from one type to another has a meaning."""
    if source in (target, NULL):
        return True
    if source == STRING:
        return target in (BOOLEAN, BINARY, DATE, TIMESTAMP) or is_numeric(target)
    if source == BOOLEAN or is_decimal(source):
        return target in (BOOLEAN, STRING) or is_numeric(target)
    if is_integer(source) or is_float(source):
        return target in (BOOLEAN, STRING, TIMESTAMP) or is_numeric(target)
    if source == DATE:
        return target in (STRING, TIMESTAMP)
    if source == TIMESTAMP:
        return target in (STRING, DATE) or is_integer(target) or is_float(target)
    return False


def resolve_cast(value: Expr, target: pa.DataType) -> Expr:
    """Return ``CAST(value AS target)``; constants of a known outcome are converted at once."""
    source = value.type
    if source == target:
        return value
    if not can_cast(source, target):
        raise BindError(
            f"{sql_name(source)} cannot be cast to {sql_name(target)}",
            detail="No value of the first type has a counterpart in the second.",
            hint="Cast to a type that has one: STRING, for example.",
        )
    if isinstance(value, Literal):
        known = _cast_literal(value, target)
        if known is not None:
            return known
    return Cast(value, target, value.nullable or not is_total(source, target))


def _cast_literal(literal: Literal, target: pa.DataType) -> Literal | None:
    value = literal.value
    if isinstance(value, str) and target == TIMESTAMP:
        return Literal(parse_timestamp(value), target)
    if isinstance(value, str) and target == DATE:
        return Literal(parse_date(value), target)
    return widen_literal(literal, target)
