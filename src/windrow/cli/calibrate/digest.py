"""A digest of a table: two changelogs with the same net have the same one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose bits are spread."""
NULL = -(2**62)
"""The number that stands for NULL."""

Digest = tuple[int, int]
"""The number of rows, each with its sign, and the sum of their hashes modulo 2**64."""


def digest(table: pa.Table, columns: Sequence[str] | None = None) -> Digest:
    """Return the digest of the rows of a table, in any order; without `columns`, of all of them.

    A row counts with its ``_sign``, if there is one: an insertion and its retraction cancel out.
    Columns are numbers, times or Booleans.

    >>> digest(pa.table({"_sign": [1, 1, -1], "k": [7, 8, 8]})) == digest(pa.table({"k": [7]}))
    True
    >>> digest(pa.table({"x": [0.5, None]})) == digest(pa.table({"x": [None, 0.5]}))
    True
    """
    signs = np.ones(len(table), np.int64)
    if "_sign" in table.column_names:
        signs = table["_sign"].to_numpy().astype(np.int64)
    names = table.column_names if columns is None else columns
    mixed = np.zeros(len(table), np.uint64)
    for name in names:
        if name != "_sign":
            mixed = (mixed ^ bits_of(table[name])) * MIX
            mixed ^= mixed >> np.uint64(29)
    return int(signs.sum()), int((mixed * signs.astype(np.uint64)).sum(dtype=np.uint64))


def bits_of(column: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """Return each value of a column as 64 bits: equal for equal values."""
    if pa.types.is_floating(column.type):
        reals = column.cast(pa.float64()).fill_null(float(NULL)).to_numpy() + 0.0  # -0.0 is 0.0
        return np.ascontiguousarray(reals).view(np.uint64)
    numbers = column.cast(pa.int64()).fill_null(NULL).to_numpy()
    return np.asarray(numbers).astype(np.uint64)


def has_digest(table: pa.Table) -> bool:
    """Return whether a table has only columns that a digest can be made of."""
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_timestamp)
    return all(any(kind(column.type) for kind in kinds) for column in table.columns)
