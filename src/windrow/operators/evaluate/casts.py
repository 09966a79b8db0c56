"""Kernels of CAST, by source and target. Total: what has no counterpart becomes NULL."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.core.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    NULL,
    STRING,
    TIMESTAMP,
    as_decimal,
    is_decimal,
    is_float,
    is_integer,
)
from windrow.operators.evaluate import decimals
from windrow.operators.evaluate.arithmetic import to_bigint
from windrow.operators.evaluate.arrays import (
    Kernel,
    arrow,
    both,
    build,
    micros,
    null_where,
    raw,
    reinterpret,
    unsafe_cast,
    validity,
)
from windrow.operators.evaluate.datetime import WALL, days, from_unix, in_calendar
from windrow.operators.evaluate.numerals import parse_boolean, parse_decimal, parse_number, spell
from windrow.operators.evaluate.timestamps import parse_moment
from windrow.operators.evaluate.whole import in_range
from windrow.operators.few import scalar_of
from windrow.plan.functions.moments import MICROSECONDS_A_DAY

_not_equal = arrow("not_equal")
_to_date = unsafe_cast(DATE)


def build_cast(source: pa.DataType, target: pa.DataType) -> Kernel:
    """Return the conversion from one type to another."""
    if source == NULL:
        return lambda value: pa.nulls(len(value), target)
    if target == STRING:
        return spell(source)
    if source == STRING:
        return _read(target)
    if source in (TIMESTAMP, DATE):
        return _from_moment(source, target)
    if target == TIMESTAMP:
        return _seconds_to_moment(source)
    if target == BOOLEAN:
        zero = scalar_of(0, source)
        return lambda value: _not_equal(value, zero)
    if source == BOOLEAN:
        return _then(unsafe_cast(pa.int8()), build_cast(pa.int8(), target))
    return _between_numbers(source, target)


def _then(first: Kernel, second: Kernel) -> Kernel:
    return lambda value: second(first(value))


def _read(target: pa.DataType) -> Kernel:
    """Return the conversion from text."""
    if target == BOOLEAN:
        return parse_boolean
    if target in (TIMESTAMP, DATE):
        to_moment = parse_moment
        return to_moment if target == TIMESTAMP else _then(to_moment, _moment_to_date)
    if is_decimal(target):
        return parse_decimal(target)
    if is_integer(target) or is_float(target):
        whole_or_double = BIGINT if is_integer(target) else DOUBLE
        parse = parse_number(whole_or_double)
        return (
            parse
            if target == whole_or_double
            else _then(parse, _between_numbers(whole_or_double, target))
        )
    return unsafe_cast(target)


def _from_moment(source: pa.DataType, target: pa.DataType) -> Kernel:
    if source == DATE:
        return _date_to_moment
    if target == DATE:
        return _moment_to_date
    if is_integer(target):
        return _then(_whole_seconds, _between_numbers(BIGINT, target))
    return _then(_seconds, _between_numbers(DOUBLE, target))


def _date_to_moment(value: pa.Array) -> pa.Array:
    day = days(value).astype(np.int64)
    return in_calendar(build(TIMESTAMP, day * MICROSECONDS_A_DAY, validity(value)))


def _moment_to_date(value: pa.Array) -> pa.Array:
    return _to_date(reinterpret(value, WALL))


def _whole_seconds(value: pa.Array) -> pa.Array:
    return build(BIGINT, micros(value) // 1_000_000, validity(value))


def _seconds(value: pa.Array) -> pa.Array:
    return build(DOUBLE, micros(value) / 1e6, validity(value))


def _seconds_to_moment(source: pa.DataType) -> Kernel:
    if is_integer(source):
        return _then(_between_numbers(source, BIGINT), from_unix(1_000_000))
    to_micros = to_bigint(lambda seconds: np.trunc(seconds * 1e6))
    return _then(
        _between_numbers(source, DOUBLE),
        lambda value: in_calendar(reinterpret(to_micros(value), TIMESTAMP)),
    )


def _between_numbers(source: pa.DataType, target: pa.DataType) -> Kernel:
    if source == target:
        return lambda value: value
    if is_decimal(source):
        return _from_decimal(source, target)
    if is_decimal(target):
        return _to_decimal(source, target)
    if is_integer(target):
        return (
            _then(_widest(source), _narrow_whole(target)) if target != BIGINT else _widest(source)
        )
    if source == DOUBLE:
        return _narrow_double
    return unsafe_cast(target)


def _widest(source: pa.DataType) -> Kernel:
    """Return the conversion of whole numbers and floats to BIGINT."""
    if is_integer(source):
        return unsafe_cast(BIGINT)
    return _then(_between_numbers(source, DOUBLE), to_bigint(np.trunc))


def _narrow_whole(target: pa.DataType) -> Kernel:
    width, narrow = target.to_pandas_dtype(), unsafe_cast(target)
    return lambda value: null_where(narrow(value), ~in_range(raw(value), width))


def _narrow_double(value: pa.Array) -> pa.Array:
    wide = raw(value)
    with np.errstate(over="ignore"):
        narrow = wide.astype(np.float32)
    fits = np.isfinite(narrow) | ~np.isfinite(wide)
    return build(pa.float32(), narrow, both(validity(value), fits))


def _from_decimal(source: pa.DataType, target: pa.DataType) -> Kernel:
    if is_decimal(target):
        return decimals.fit_decimal(source, target)
    if is_integer(target):
        return decimals.to_whole(source, target)
    to_double = decimals.to_doubles(source)
    return to_double if target == DOUBLE else _then(to_double, _narrow_double)


def _to_decimal(source: pa.DataType, target: pa.DataType) -> Kernel:
    if is_float(source):
        return _then(_between_numbers(source, DOUBLE), decimals.from_doubles(target))
    exact = as_decimal(source)
    return _then(unsafe_cast(exact), decimals.fit_decimal(exact, target))
