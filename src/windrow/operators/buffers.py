"""Arrow buffers as NumPy arrays that kernels take.

A kernel is compiled anew for arrays that are marked read-only, as NumPy's own views of Arrow
buffers are. These views are not so marked; nobody writes into them all the same: the data of a
vector never changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import lib

from windrow.operators.vector import Bools

SMALL = 4096
"""Bytes below which a copy (0.7 µs) costs less than a view (1.6 µs)."""


LARGE = 1 << 20
"""Bytes from which on `room_for` asks Arrow for memory."""


class _Memory:
    """Memory of a buffer, which stays alive as long as an array looks at it."""

    __slots__ = ("__array_interface__", "buffer")

    def __init__(self, buffer: pa.Buffer, address: int, dtype: np.dtype[Any], count: int) -> None:
        self.buffer = buffer
        self.__array_interface__ = {
            "data": (address, False),
            "shape": (count,),
            "typestr": dtype.str,
            "version": 3,
        }


def room_for(rows: int, columns: int) -> npt.NDArray[np.int64]:
    """Return words to be filled that are to leave as Arrow arrays, shape (rows, columns).

    Much of it Arrow asks the system for, in small pages. What its own pool gives back comes again
    in huge ones, each cleared whole: a GROUP BY that emits 300 rows a tuple took 11 µs a tuple with
    it, and 8 without; joins take as long.
    """
    size = 8 * rows * columns
    if size < LARGE:
        return np.empty((rows, columns), np.int64)
    buffer = pa.allocate_buffer(size, memory_pool=pa.system_memory_pool())
    return values_of(buffer, np.int64, 0, rows * columns).reshape(rows, columns)


def values_of(
    buffer: pa.Buffer | None, dtype: npt.DTypeLike, start: int, count: int
) -> npt.NDArray[Any]:
    """Return `count` values of a buffer from number `start` on; without a copy if they are many."""
    kind = np.dtype(dtype)
    if buffer is None or count == 0:
        return np.empty(0, kind)
    width = kind.itemsize
    address = buffer.address + start * width
    if count * width < SMALL or address % width:
        return np.frombuffer(buffer, kind, count, start * width).copy()
    return np.asarray(_Memory(buffer, address, kind, count))


def bits_of(buffer: pa.Buffer, start: int, count: int) -> Bools:
    """Return `count` bits of a bitmap from number `start` on, a byte each."""
    first = start >> 3
    packed = np.frombuffer(buffer, np.uint8, ((start + count + 7) >> 3) - first, first)
    bits = np.unpackbits(packed, bitorder="little")
    skip = start & 7
    return bits[skip : skip + count].view(np.bool_)


def bitmap_of(bits: Bools) -> pa.Buffer:
    """Return bits as a bitmap."""
    return pa.py_buffer(np.packbits(bits, bitorder="little"))


def valid_of(array: pa.Array) -> Bools | None:
    """Return which rows are not NULL; None if all are."""
    if array.null_count == 0:
        return None
    if array.type.id == lib.Type_NA:
        return np.zeros(len(array), np.bool_)
    return bits_of(array.buffers()[0], array.offset, len(array))
