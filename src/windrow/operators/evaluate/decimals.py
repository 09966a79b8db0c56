"""Decimals: computed in 256 bits where 128 might not do, then fitted into their type.

An Arrow decimal is a whole number of two's complement, scaled by its type; `reinterpret`
therefore moves the point without touching a value.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.types import DOUBLE, STRING
from windrow.operators.evaluate.arrays import (
    Datum,
    Kernel,
    Mask,
    Raw,
    arrow,
    bitmap,
    both,
    build,
    keep_where,
    null_where,
    reinterpret,
    unsafe_cast,
    validity,
)
from windrow.plan.functions.casts import is_total

WIDEST = 76
"""Digits of Arrow's 256-bit decimals."""

_less = arrow("less")
_abs = arrow("abs")


def fit_decimal(source: pa.DataType, target: pa.DataType) -> Kernel:
    """Return the conversion of decimals: rounded half away from zero, NULL if too large."""
    if is_total(source, target):
        return unsafe_cast(target)
    wide = pa.decimal256(WIDEST, source.scale)
    widen, narrow = unsafe_cast(wide), unsafe_cast(target)
    whole = target.precision - target.scale
    limit = pa.scalar(Decimal(10) ** whole, wide) if whole + source.scale < WIDEST else None
    turn = _rounding(target.scale) if source.scale > target.scale else None

    def kernel(value: pa.Array) -> pa.Array:
        # In 256 bits rounding cannot overflow; then what has too many digits becomes NULL.
        held = widen(value)
        if turn is not None:
            held = turn(held)
        if limit is not None:
            held = keep_where(_less(_abs(held), limit), held)
        return narrow(held)

    return kernel


def _rounding(places: int) -> Kernel:
    return arrow("round", pc.RoundOptions(places, "half_towards_infinity"))


def round_decimal(source: pa.DataType, places: int, target: pa.DataType) -> Kernel:
    """Return rounding to `places` after the point, or before it if negative."""
    wide = pa.decimal256(WIDEST, source.scale)
    widen, turn, fit = unsafe_cast(wide), _rounding(places), fit_decimal(wide, target)
    return lambda value: fit(turn(widen(value)))


def toward(name: str, source: pa.DataType, target: pa.DataType) -> Kernel:
    """Return `ceil`, `floor` or `trunc` of decimals."""
    wide = pa.decimal256(WIDEST, source.scale)
    widen, cut, fit = unsafe_cast(wide), arrow(name), fit_decimal(wide, target)
    return lambda value: fit(cut(widen(value)))


def combine(name: str, left: pa.DataType, right: pa.DataType, target: pa.DataType) -> Kernel:
    """Return `add`, `subtract` or `multiply` of decimals.

    A target below 38 digits has room for every result. At 38 it may have been cut.
    """
    operate = arrow(name)
    if target.precision < 38:
        return operate
    left_wide, right_wide = pa.decimal256(38, left.scale), pa.decimal256(38, right.scale)
    widen_left, widen_right = unsafe_cast(left_wide), unsafe_cast(right_wide)
    # Two factors of 38 digits make 76; Arrow would ask for one more and refuse.
    narrower = pa.decimal256(37, left.scale)
    scale = left.scale + right.scale if name == "multiply" else max(left.scale, right.scale)
    fit = fit_decimal(pa.decimal256(WIDEST, scale), target)

    def kernel(a: Datum, b: Datum) -> pa.Array:
        a, b = widen_left(a), widen_right(b)
        if isinstance(a, pa.Scalar):
            a = pa.repeat(a, len(b))
        return fit(operate(reinterpret(a, narrower) if name == "multiply" else a, b))

    return kernel


def by_words(operate: Callable[[Raw, Raw], tuple[Raw, Mask]], type_: pa.DataType) -> Kernel:
    """Return an operation on decimals of up to 18 digits, done on their low 64-bit words."""

    def kernel(left: Datum, right: Datum) -> pa.Array:
        rows = max(len(d) for d in (left, right) if isinstance(d, pa.Array))
        a, b = (pa.repeat(d, rows) if isinstance(d, pa.Scalar) else d for d in (left, right))
        result, fits = operate(_words(a)[0], _words(b)[0])
        return from_words(result, result >> 63, type_, both(validity(a, b), fits))

    return kernel


def _words(array: pa.Array) -> tuple[Raw, Raw]:
    """Return the low and the high halves of 128-bit integers."""
    if len(array) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    words = np.frombuffer(array.buffers()[1], np.int64, 2 * len(array), array.offset * 16)
    return words[::2], words[1::2]


def from_words(low: Raw, high: Raw, type_: pa.DataType, valid: Mask | None) -> pa.Array:
    """Return decimals from the two halves of their 128-bit integers."""
    words = np.empty((len(low), 2), np.int64)
    words[:, 0], words[:, 1] = low, high
    buffers = [bitmap(valid), pa.py_buffer(words)]
    return pa.Array.from_buffers(type_, len(low), buffers)


def from_doubles(type_: pa.DataType) -> Kernel:
    """Return the conversion of doubles: ``x * 10^scale`` rounded half away from zero."""
    scaling = 10.0**type_.scale
    limit = 10.0**type_.precision
    word = 2.0**64

    def kernel(value: pa.Array) -> pa.Array:
        with np.errstate(invalid="ignore", over="ignore"):
            scaled = half_away(_doubles(value) * scaling)
            fits = np.abs(scaled) < limit
        # Split the magnitude into two words: below 2^127 both parts of a double are exact.
        magnitude = np.where(fits, np.abs(scaled), 0.0)
        high = np.floor(magnitude / word)
        low = (magnitude - high * word).astype(np.uint64).view(np.int64)
        words = _negated(low, high.astype(np.int64), scaled < 0)
        return from_words(*words, type_, both(validity(value), fits))

    return kernel


def _negated(low: Raw, high: Raw, where: Mask) -> tuple[Raw, Raw]:
    """Negate 128-bit integers: all bits turned, plus one."""
    borrow = (low == 0).astype(np.int64)
    return np.where(where, -low, low), np.where(where, ~high + borrow, high)


def _doubles(value: pa.Array) -> Raw:
    return np.frombuffer(value.buffers()[1], np.float64, len(value), value.offset * 8)


def to_doubles(source: pa.DataType) -> Kernel:
    """Return the conversion to the nearest double; Arrow's own may miss it by one digit.

    Up to 2^53 and 10^22 both the digits and the power of ten are exact, so that one division
    rounds once. A batch with more digits is read back from its text.
    """
    power = 10.0**source.scale
    by_text, to_text = unsafe_cast(DOUBLE), spell_decimal(source)

    def kernel(value: pa.Array) -> pa.Array:
        low, high = _words(value)
        valid = validity(value)
        if source.scale > 22 or not ((np.abs(low) < 2**53) & (high == low >> 63)).all():
            return by_text(to_text(value))
        return build(DOUBLE, low / power, valid)

    return kernel


def spell_decimal(source: pa.DataType) -> Kernel:
    """Write all digits, then set the point: Arrow writes small numbers with an exponent."""
    to_text = unsafe_cast(STRING)
    if source.scale <= 6:
        return to_text
    digits_only = pa.decimal128(source.precision, 0)
    split = arrow(
        "replace_substring_regex",
        pc.ReplaceSubstringOptions(rf"^(-?[0-9]+)([0-9]{{{source.scale}}})$", r"\1.\2"),
    )

    def kernel(value: pa.Array) -> pa.Array:
        # The same 128 bits, read as a whole number, are all digits; zeros in front where needed.
        digits = to_text(reinterpret(value, digits_only))
        sign = pc.if_else(pc.starts_with(digits, "-"), "-", "")
        padded = pc.utf8_lpad(pc.utf8_ltrim(digits, "-"), source.scale + 1, "0")
        return split(pc.binary_join_element_wise(sign, padded, ""))

    return kernel


def half_away(x: Raw) -> Raw:
    """Return doubles rounded to whole ones, halves away from zero."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole)


def to_whole(source: pa.DataType, target: pa.DataType) -> Kernel:
    """Return the conversion to whole numbers: fractions cut off, NULL if too large."""
    cut = toward("trunc", source, pa.decimal128(38, 0))
    narrow = unsafe_cast(target)
    limit = 2 ** (target.bit_width - 1)
    low, high = (pa.scalar(Decimal(v), pa.decimal128(38, 0)) for v in (-limit, limit - 1))

    def kernel(value: pa.Array) -> pa.Array:
        whole = cut(value)
        fits = pc.and_(pc.greater_equal(whole, low), pc.less_equal(whole, high))
        return narrow(
            null_where(whole, ~fits.fill_null(fill_value=True).to_numpy(zero_copy_only=False))
        )

    return kernel
