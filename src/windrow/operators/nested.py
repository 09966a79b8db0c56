"""Bytes that are equal iff values are: for decimals, arrays and structs.

The bytes of one value hold its parts side by side, so that a batch is taken apart by whole
columns. A *part* of n elements is n bytes that are 0 for NULL and 1 for not NULL, and then

    fixed width     n words of 8 bytes (decimals of more than 18 digits: of 16)
    text, binary    n lengths of 8 bytes, then all their bytes
    array           n lengths of 8 bytes, then one part of all their elements
    struct          the part of each field in turn

A value is a part of one element. Numbers are little-endian, floats canonical (-0.0 is 0.0, all
NaNs are one), the words and lengths of NULLs are 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import lib

from windrow.core.types import is_float
from windrow.kernels.text import copy_segments
from windrow.operators.buffers import bitmap_of, valid_of, values_of
from windrow.operators.codec import column_words
from windrow.operators.fixed import array_of, data_of
from windrow.operators.vector import I64, Bools, Vector, is_interned

U8 = npt.NDArray[np.uint8]

DECIMAL_BYTES = 16


def ordered_decimals(array: pa.Array) -> U8:
    """Return decimals as 16 bytes each whose order is that of the values: big-endian, biased."""
    start, count = array.offset, len(array)
    raw = values_of(
        array.buffers()[1], np.uint8, DECIMAL_BYTES * start, DECIMAL_BYTES * count
    ).reshape(count, DECIMAL_BYTES)
    ordered = np.ascontiguousarray(raw[:, ::-1])
    ordered[:, 0] ^= 0x80
    return ordered.reshape(-1)


def decimals_of(data: U8, type_: pa.DataType, valid: Bools | None) -> pa.Array:
    """Return the decimals whose ordered bytes these are; `data` leaves out NULLs."""
    count = len(data) // DECIMAL_BYTES if valid is None else len(valid)
    raw = np.zeros((count, DECIMAL_BYTES), np.uint8)
    given = data.reshape(-1, DECIMAL_BYTES)[:, ::-1].copy()
    given[:, -1] ^= 0x80
    raw[slice(None) if valid is None else valid] = given
    bitmap = None if valid is None else bitmap_of(valid)
    return pa.Array.from_buffers(type_, count, [bitmap, pa.py_buffer(raw)])


def string_bytes(array: pa.Array) -> tuple[U8, I64]:
    """Return the bytes of text or binary values, and where each begins and ends."""
    large = array.type.id in (lib.Type_LARGE_STRING, lib.Type_LARGE_BINARY)
    _, where, buffer = array.buffers()
    width, kind = (8, np.int64) if large else (4, np.int32)
    kept = np.frombuffer(where, kind, len(array) + 1, width * array.offset)
    offsets = kept.astype(np.int64)
    first = int(offsets[0])
    data = values_of(buffer, np.uint8, first, int(offsets[-1]) - first)
    if first:
        offsets -= first
    return data, offsets


def canonical_bytes(array: pa.Array) -> tuple[U8, I64]:
    """Return the bytes of each value of an array, one after the other, and their bounds."""
    pieces = list(_pieces(array, np.arange(len(array) + 1)))
    lengths = np.sum([np.diff(bounds) for _, bounds in pieces], axis=0)
    offsets = _bounds(lengths)
    out = np.empty(int(offsets[-1]), np.uint8)
    at = offsets[:-1].copy()
    for data, bounds in pieces:
        sizes = np.diff(bounds)
        copy_segments(data, bounds, sizes, out, at)
        at += sizes
    return out, offsets


def _pieces(array: pa.Array, bounds: I64) -> Iterator[tuple[U8, I64]]:
    """Yield the pieces of parts: part i is of the elements [bounds[i], bounds[i + 1]).

    A piece is bytes, and where each part's share of them begins and ends.
    """
    count, type_ = len(array), array.type
    valid = valid_of(array)
    there = np.ones(count, np.bool_) if valid is None else valid
    # First, of each element, whether it is NULL: so NULL and the empty string differ.
    yield there.view(np.uint8), bounds
    if pa.types.is_struct(type_):
        for i in range(type_.num_fields):
            yield from _pieces(_masked(array.field(i), valid), bounds)
    elif pa.types.is_list(type_):
        # Lengths before contents: else [[1], [2]] and [[1, 2], []] would have the same bytes.
        lengths = np.where(there, np.diff(_offsets(array)), 0)
        yield _bytes(lengths), 8 * bounds
        yield from _pieces(array.flatten(), _bounds(lengths)[bounds])
    elif type_.id == lib.Type_DECIMAL128 and is_interned(type_):
        data = ordered_decimals(array).reshape(count, DECIMAL_BYTES)
        yield np.where(there[:, None], data, np.uint8(0)).reshape(-1), DECIMAL_BYTES * bounds
    elif is_interned(type_):
        # Bytes below a NULL are not defined: only those of values count.
        data, offsets = string_bytes(array.filter(pa.array(there)))
        lengths = np.zeros(count, np.int64)
        lengths[there] = np.diff(offsets)
        yield _bytes(lengths), 8 * bounds
        yield data, _bounds(lengths)[bounds]
    else:
        words = column_words(Vector(type_, data_of(array)))
        yield _bytes(np.where(there, words, 0)), 8 * bounds


def values_of_bytes(data: U8, offsets: I64, type_: pa.DataType, valid: Bools | None) -> pa.Array:
    """Return the values whose canonical bytes these are; NULLs have no bytes."""
    there = np.diff(offsets) > 0
    reader = _Reader(data, offsets[:-1][there].copy())
    given = reader.read(type_, np.ones(len(reader.at), np.int64))
    if valid is None:
        return given
    places = np.zeros(len(valid), np.int64)
    places[there] = np.arange(len(given))
    return given.take(pa.array(places, mask=~valid))


class _Reader:
    """Reads parts that lie in `data` at `at`, one a value, and moves on behind them."""

    def __init__(self, data: U8, at: I64) -> None:
        self.data = data
        self.at = at

    def read(self, type_: pa.DataType, counts: I64) -> pa.Array:
        """Return the elements of the next parts, of `counts` elements each, as one array."""
        valid: Bools | None = self._next(counts).view(np.bool_)
        # Arrow's own arrays have no bitmap where nothing is NULL.
        if valid is not None and valid.all():
            valid = None
        total = int(counts.sum())
        bitmap = None if valid is None else bitmap_of(valid)
        if pa.types.is_struct(type_):
            fields = [self.read(type_.field(i).type, counts) for i in range(type_.num_fields)]
            return pa.Array.from_buffers(type_, total, [bitmap], children=fields)
        if pa.types.is_list(type_):
            offsets, inner = self._lengths(counts)
            child = self.read(type_.value_type, inner)
            buffers = [bitmap, pa.py_buffer(offsets.astype(np.int32))]
            return pa.Array.from_buffers(type_, total, buffers, children=[child])
        if type_.id == lib.Type_DECIMAL128 and is_interned(type_):
            raw = self._next(DECIMAL_BYTES * counts).reshape(total, DECIMAL_BYTES)
            given = raw if valid is None else raw[valid]
            return decimals_of(np.ascontiguousarray(given).reshape(-1), type_, valid)
        if is_interned(type_):
            offsets, inner = self._lengths(counts)
            buffers = [
                bitmap,
                pa.py_buffer(offsets.astype(np.int32)),
                pa.py_buffer(self._next(inner)),
            ]
            return pa.Array.from_buffers(type_, total, buffers)
        words = self._next(8 * counts)
        data = words.view(np.float64) if is_float(type_) else words.view(np.int64)
        return array_of(data, type_, valid)

    def _lengths(self, counts: I64) -> tuple[I64, I64]:
        """Read lengths; return where each element begins and ends, and the sum of each part."""
        offsets = _bounds(self._next(8 * counts).view(np.int64))
        return offsets, np.diff(offsets[_bounds(counts)])

    def _next(self, sizes: I64) -> U8:
        """Return the next bytes of all parts, joined."""
        bounds = _bounds(sizes)
        out = np.empty(int(bounds[-1]), np.uint8)
        copy_segments(self.data, self.at, sizes, out, bounds)
        self.at = self.at + sizes
        return out


def _bounds(lengths: I64) -> I64:
    """Return where segments of the lengths begin and end, laid side by side."""
    bounds = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:])
    return bounds


def _bytes(words: npt.NDArray[Any]) -> U8:
    return np.ascontiguousarray(words).view(np.uint8)


def _offsets(array: pa.ListArray) -> I64:
    """Return where the elements of each list begin and end."""
    return values_of(array.buffers()[1], np.int32, array.offset, len(array) + 1).astype(np.int64)


def _masked(array: pa.Array, valid: Bools | None) -> pa.Array:
    """Return the array with NULL also where `valid` is false."""
    if valid is None:
        return array
    return array.take(pa.array(np.arange(len(array)), mask=~valid))
