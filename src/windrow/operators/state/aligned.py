"""Arrays that begin where a line of the cache does."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

LINE = 64
"""Bytes that memory hands over at a time."""


def aligned(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return zeros of a shape, from the beginning of a line on.

    NumPy's large arrays begin 16 bytes after one, so that half of all rows of 32 bytes lie on two
    lines: where they do not fit the cache, a pair of a join takes 26 ns instead of 23.
    """
    kind = np.dtype(dtype)
    size = prod(shape) * kind.itemsize
    raw = np.zeros(size + LINE, np.uint8)
    skip = -raw.ctypes.data % LINE
    return raw[skip : skip + size].view(kind).reshape(shape)


MANY = 1 << 20
"""Rows from which on arrays grow by an eighth."""


def larger(capacity: int, needed: int) -> int:
    """Return for how many rows an array is made anew that has too little room.

    Twice as many, and of many rows an eighth more: then a row that comes is copied eight times
    instead of once until the window is full, but no more than a ninth of the room is of no use.
    """
    return max(needed, capacity + (capacity if capacity < MANY else capacity // 8))


def row_words(columns: int) -> int:
    """Return how many words a row of so many columns takes, so that it crosses no line in vain.

    >>> [row_words(n) for n in (0, 1, 2, 3, 4, 5, 8, 9)]
    [0, 1, 2, 4, 4, 8, 8, 16]
    """
    words = LINE // 8
    if columns > words:
        return -(-columns // words) * words
    return columns if columns == 0 else 1 << (columns - 1).bit_length()
