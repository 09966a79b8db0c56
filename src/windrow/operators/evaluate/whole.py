"""Whole numbers, and the µs of moments: exact or NULL.

Each operation runs Arrow's checked kernel first. Only a batch in which something overflows
takes the second way, which finds the rows and makes them NULL.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from windrow.core.types import BIGINT, is_integer
from windrow.operators.evaluate.arrays import (
    Kernel,
    Mask,
    Raw,
    arrow,
    both,
    build,
    micros,
    raw,
    reinterpret,
    validity,
)

INT64 = np.iinfo(np.int64)

Exact = Callable[[Raw, Raw], tuple[Raw, Mask]]


def checked(name: str, exact: Exact, type_: pa.DataType) -> Kernel:
    """Return ``left op right`` in a type whose values are integers, NULL where it overflows."""
    fast = arrow(f"{name}_checked")
    width = type_.to_pandas_dtype() if is_integer(type_) else np.int64

    def kernel(left: pa.Array, right: pa.Array) -> pa.Array:
        try:
            return fast(left, right)
        # Rare: some row overflows. Find out which, and make those NULL.
        except pa.ArrowInvalid:
            a, b = np.broadcast_arrays(_wide(left), _wide(right))
            result, fits = exact(a, b)
            fits = fits & in_range(result, width)
            return build(type_, result.astype(width), both(validity(left, right), fits))

    return kernel


def _wide(datum: pa.Array) -> Raw:
    if is_integer(datum.type):
        return raw(datum).astype(np.int64)
    return micros(datum)


def in_range(values: Raw, width: type) -> Mask:
    """Return which 64-bit integers fit a narrower type."""
    limits = np.iinfo(width)
    found: Mask = (values >= limits.min) & (values <= limits.max)
    return found


def exact_sum(a: Raw, b: Raw) -> tuple[Raw, Mask]:
    """Return a + b, wrapped, and where it is right: where both signs do not turn."""
    total = a + b
    return total, ((a ^ total) & (b ^ total)) >= 0


def exact_difference(a: Raw, b: Raw) -> tuple[Raw, Mask]:
    """Return a - b, wrapped, and where it is right."""
    rest = a - b
    return rest, ((a ^ b) & (a ^ rest)) >= 0


def exact_product(a: Raw, b: Raw) -> tuple[Raw, Mask]:
    """Return a * b, wrapped, and where it is right: where dividing gives b back."""
    product = a * b
    turned = (a == -1) & (b == INT64.min)
    divisor = np.where((a == 0) | turned, 1, a)
    return product, (a == 0) | (~turned & (product // divisor == b) & (product % divisor == 0))


def checked_unary(name: str, type_: pa.DataType) -> Kernel:
    """Return negation or magnitude, NULL for the one number that has none."""
    fast = arrow(f"{name}_checked")
    slow = arrow(name)
    width = type_.to_pandas_dtype() if is_integer(type_) else np.int64

    def kernel(value: pa.Array) -> pa.Array:
        try:
            return fast(value)
        except pa.ArrowInvalid:
            fits = raw(value, width) != np.iinfo(width).min
            return build(type_, raw(slow(value), width), both(validity(value), fits))

    if is_integer(type_):
        return kernel
    # Arrow negates intervals unchecked: they go through as the integers they are.
    whole = checked_unary(name, BIGINT)
    return lambda value: reinterpret(whole(reinterpret(value, BIGINT)), type_)


def divide(left: pa.Array, right: pa.Array) -> pa.Array:
    """Return ``left DIV right``, cut toward zero; NULL for 0 and where the result overflows."""
    a, b = np.broadcast_arrays(raw(left), raw(right))
    fits = (b != 0) & ~((a == INT64.min) & (b == -1))
    safe = np.where(fits, b, 1)
    quotient = (a - np.fmod(a, safe)) // safe
    return build(left.type, quotient, both(validity(left, right), fits))


def remainder(a: Raw, b: Raw) -> tuple[Raw, Mask]:
    """Return the remainder, which has the sign of a, and where it is defined."""
    fits = b != 0
    # Modulo -1 is 0 as modulo 1 is, and cannot trap on the smallest integer.
    return np.fmod(a, np.where(fits & (b != -1), b, np.ones_like(b))), fits


def positive_remainder(a: Raw, b: Raw) -> tuple[Raw, Mask]:
    """Return the remainder moved to [0, b); as it is if b is negative."""
    rest, fits = remainder(a, b)
    return np.where((rest < 0) & (b > 0), rest + b, rest), fits


def round_to_tens(power: int, type_: pa.DataType) -> Kernel:
    """Return rounding to multiples of 10^power, half away from zero."""
    width = type_.to_pandas_dtype()

    def kernel(value: pa.Array) -> pa.Array:
        a = raw(value).astype(np.int64)
        # 10^power is no int64: all round to 0, or to a number that does not fit.
        if power > 18:
            half = 5 * 10 ** (power - 1)
            fits = (a < half) & (a > -half) if half <= INT64.max else np.ones(len(a), np.bool_)
            return build(type_, np.zeros(len(a), width), both(validity(value), fits))
        step = 10**power
        rest = np.fmod(a, step)
        away = np.where(np.abs(rest) >= step // 2, np.sign(a) * step, 0)
        result, fits = exact_sum(a - rest, away)
        fits = fits & in_range(result, width)
        return build(type_, result.astype(width), both(validity(value), fits))

    return kernel
