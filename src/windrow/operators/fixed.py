"""Arrow arrays of fixed width <-> the data of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import lib

from windrow.operators.buffers import bitmap_of, bits_of, values_of
from windrow.operators.vector import F64, I64, Bools

STORED: dict[int, type[np.generic]] = {
    lib.Type_INT8: np.int8,
    lib.Type_INT16: np.int16,
    lib.Type_INT32: np.int32,
    lib.Type_INT64: np.int64,
    lib.Type_UINT8: np.uint8,
    lib.Type_UINT16: np.uint16,
    lib.Type_UINT32: np.uint32,
    lib.Type_FLOAT: np.float32,
    lib.Type_DOUBLE: np.float64,
    lib.Type_DATE32: np.int32,
    lib.Type_TIMESTAMP: np.int64,
    lib.Type_DURATION: np.int64,
}
"""How Arrow stores the values of a type, where that is a plain array."""

WORDS = (np.int64, np.float64)


def data_of(array: pa.Array) -> I64 | F64:
    """Return the values of an array as words; where it is NULL, anything.

    Without a copy if Arrow keeps words too.
    """
    type_, start, count = array.type, array.offset, len(array)
    stored = STORED.get(type_.id)
    if stored is not None:
        values = values_of(array.buffers()[1], stored, start, count)
        if stored in WORDS:
            return values
        return values.astype(np.float64) if stored is np.float32 else values.astype(np.int64)
    if count == 0 or type_.id == lib.Type_NA:
        return np.zeros(count, np.int64)
    if type_.id == lib.Type_BOOL:
        return bits_of(array.buffers()[1], start, count).astype(np.int64)
    assert type_.id == lib.Type_DECIMAL128, f"values of {type_} are not of fixed width"
    halves = values_of(array.buffers()[1], np.int64, 2 * start, 2 * count)
    return np.ascontiguousarray(halves[::2])


def array_of(data: I64 | F64, type_: pa.DataType, valid: Bools | None) -> pa.Array:
    """Return the array of a type whose values these words are."""
    count = len(data)
    if type_.id == lib.Type_NA:
        return pa.nulls(count)
    bitmap = None if valid is None else bitmap_of(valid)
    return pa.Array.from_buffers(type_, count, [bitmap, pa.py_buffer(_stored(data, type_))])


def _stored(data: I64 | F64, type_: pa.DataType) -> np.ndarray[Any, np.dtype[Any]]:
    """Return the words as Arrow keeps them."""
    stored = STORED.get(type_.id)
    if stored is not None:
        if data.dtype == stored:
            return np.ascontiguousarray(data)
        return data.astype(stored)
    if type_.id == lib.Type_BOOL:
        return np.packbits(data.view(np.int64) != 0, bitorder="little")
    assert type_.id == lib.Type_DECIMAL128, f"values of {type_} are not of fixed width"
    halves = np.empty((len(data), 2), np.int64)
    halves[:, 0] = data
    halves[:, 1] = data.view(np.int64) >> 63
    return halves
