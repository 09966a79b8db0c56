"""Conversions that never give NULL: which they are, and how constants make them at once."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from windrow.core.types import (
    BOOLEAN,
    DATE,
    NULL,
    STRING,
    TIMESTAMP,
    as_decimal,
    is_decimal,
    is_float,
    is_integer,
    is_numeric,
)
from windrow.plan.expressions import Literal
from windrow.plan.functions.moments import MICROSECONDS_A_DAY


def is_total(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether every value of `source` has a value of `target`, so that none becomes NULL.

    >>> is_total(pa.int32(), pa.int64()), is_total(pa.int64(), pa.int32())
    (True, False)
    """
    if source in (target, NULL) or target == STRING or {source, target} == {DATE, TIMESTAMP}:
        return True
    if is_integer(source) and is_integer(target):
        return bool(source.bit_width <= target.bit_width)
    if is_decimal(target) and (is_integer(source) or is_decimal(source)):
        source = as_decimal(source)
        whole = target.precision - target.scale
        return bool(source.precision - source.scale <= whole and source.scale <= target.scale)
    return is_numeric(source) and (is_float(target) or target == BOOLEAN)


def widen_literal(literal: Literal, type_: pa.DataType) -> Literal | None:
    """Return the constant with a wider type, or None if only a cast at run time can convert it."""
    value = literal.value
    if value is None:
        return Literal(None, type_)
    if isinstance(value, bool):
        return None
    if is_integer(type_) and isinstance(value, int) and is_integer(literal.type):
        return Literal(value, type_) if _in_range(value, type_) else None
    if type_ == pa.float64() and isinstance(value, int | float | Decimal):
        return Literal(float(value), type_) if literal.type != pa.float32() else None
    if is_decimal(type_) and isinstance(value, int | Decimal) and _fits(Decimal(value), type_):
        return Literal(Decimal(value), type_)
    if literal.type == DATE and type_ == TIMESTAMP and isinstance(value, int):
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
