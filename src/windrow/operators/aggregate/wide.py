"""Decimals of more than 18 digits: between codes of an interner and two words each."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.operators.interner import Interner
from windrow.operators.vector import I64, Bools, Vector

LIMIT = 10**38
HIGH_LIMIT, LOW_LIMIT = LIMIT >> 64, np.uint64(LIMIT & (2**64 - 1))


class WideDecimals:
    """Words of interned decimals, and back."""

    def __init__(self, interner: Interner) -> None:
        self.interner = interner

    def words(self, column: Vector) -> tuple[I64, I64]:
        """Return the upper and lower 64 bits of each value."""
        array = self.interner.decode(column.data, column.type, column.valid)  # type: ignore[arg-type]
        words = np.frombuffer(array.buffers()[1], np.int64, 2 * len(array), 16 * array.offset)
        return np.ascontiguousarray(words[1::2]), np.ascontiguousarray(words[::2])

    def encode(self, high: I64, low: I64, valid: Bools, type_: pa.DataType) -> Vector:
        """Return decimals of 38 digits; NULL what has more."""
        valid = valid & _has_38_digits(high, low)
        words = np.empty((len(low), 2), np.int64)
        words[:, 0], words[:, 1] = np.where(valid, low, 0), np.where(valid, high, 0)
        bitmap = pa.array(valid).buffers()[1]
        array = pa.Array.from_buffers(type_, len(low), [bitmap, pa.py_buffer(words)])
        return Vector(type_, self.interner.encode(array), valid)


def _has_38_digits(high: I64, low: I64) -> Bools:
    """Return where |high, low| < 10^38."""
    negative = high < 0
    upper = np.where(negative, ~high + (low == 0), high)
    lower = np.where(negative, -low, low).view(np.uint64)
    fits: Bools = (upper < HIGH_LIMIT) | ((upper == HIGH_LIMIT) & (lower < LOW_LIMIT))
    return fits & (upper >= 0)
