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

`is_total`: conversions that never give NULL; `widen_literal`: how constants make them at once.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from windrow.core import types
from windrow.core.errors import BindError
from windrow.plan.expressions import Cast, Expr, Literal
from windrow.plan.functions.moments import MICROSECONDS_A_DAY, parse_date, parse_timestamp


def is_total(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether every value of `source` has a value of `target`, so that none becomes NULL.

    >>> is_total(pa.int32(), pa.int64()), is_total(pa.int64(), pa.int32())
    (True, False)
    """
    if (
        source in (target, types.NULL)
        or target == types.STRING
        or {source, target} == {types.DATE, types.TIMESTAMP}
    ):
        return True
    if types.is_integer(source) and types.is_integer(target):
        return bool(source.bit_width <= target.bit_width)
    if types.is_decimal(target) and (types.is_integer(source) or types.is_decimal(source)):
        source = types.as_decimal(source)
        whole = target.precision - target.scale
        return bool(source.precision - source.scale <= whole and source.scale <= target.scale)
    return types.is_numeric(source) and (types.is_float(target) or target == types.BOOLEAN)


def widen_literal(literal: Literal, type_: pa.DataType) -> Literal | None:
    """Return the constant with a wider type, or None if only a cast at run time can convert it."""
    value = literal.value
    if value is None:
        return Literal(None, type_)
    if isinstance(value, bool):
        return None
    if types.is_integer(type_) and isinstance(value, int) and types.is_integer(literal.type):
        return Literal(value, type_) if _in_range(value, type_) else None
    if type_ == pa.float64() and isinstance(value, int | float | Decimal):
        return Literal(float(value), type_) if literal.type != pa.float32() else None
    if (
        types.is_decimal(type_)
        and isinstance(value, int | Decimal)
        and _fits(Decimal(value), type_)
    ):
        return Literal(Decimal(value), type_)
    if literal.type == types.DATE and type_ == types.TIMESTAMP and isinstance(value, int):
        return Literal(value * MICROSECONDS_A_DAY, type_)
    return None


def digits_of(literal: Literal) -> pa.DataType:
    """Return the smallest decimal type that holds an integer constant."""
    assert isinstance(literal.value, int), "only integers have digits to count"
    return pa.decimal128(max(1, len(str(abs(literal.value)))), 0)


def _in_range(value: int, type_: pa.DataType) -> bool:
    return bool(-(2 ** (type_.bit_width - 1)) <= value < 2 ** (type_.bit_width - 1))


def _fits(value: Decimal, type_: pa.DataType) -> bool:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return False
    return bool(
        -exponent <= type_.scale and len(digits) + exponent <= type_.precision - type_.scale
    )


def can_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether CAST from one type to another has a meaning."""
    if source in (target, types.NULL):
        return True
    if source == types.STRING:
        return target in (
            types.BOOLEAN,
            types.BINARY,
            types.DATE,
            types.TIMESTAMP,
        ) or types.is_numeric(target)
    if source == types.BOOLEAN or types.is_decimal(source):
        return target in (types.BOOLEAN, types.STRING) or types.is_numeric(target)
    if types.is_integer(source) or types.is_float(source):
        return target in (types.BOOLEAN, types.STRING, types.TIMESTAMP) or types.is_numeric(target)
    if source == types.DATE:
        return target in (types.STRING, types.TIMESTAMP)
    if source == types.TIMESTAMP:
        return (
            target in (types.STRING, types.DATE)
            or types.is_integer(target)
            or types.is_float(target)
        )
    return False


def resolve_cast(value: Expr, target: pa.DataType) -> Expr:
    """Return ``CAST(value AS target)``; constants of a known outcome are converted at once."""
    source = value.type
    if source == target:
        return value
    if not can_cast(source, target):
        raise BindError(
            f"{types.sql_name(source)} cannot be cast to {types.sql_name(target)}",
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
    if isinstance(value, str) and target == types.TIMESTAMP:
        return Literal(parse_timestamp(value), target)
    if isinstance(value, str) and target == types.DATE:
        return Literal(parse_date(value), target)
    return widen_literal(literal, target)
