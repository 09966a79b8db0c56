"""Changes of one instant that cancel one another are no changes."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Field
from windrow.kernels.netting import cancel, retractions_first, rows_that_may_cancel
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.vector import I64, Vector


def net_per_instant(delta: Delta) -> Delta:
    """Return the net of each instant: copies of a row that come and go at one τ cancel.

    In order of time; at one instant what leaves comes before what enters. Only instants with
    both signs are looked at. O(rows).
    """
    if delta.weight is None or not len(delta):
        return delta
    rows = np.empty(len(delta), np.int64)
    may_cancel, most, in_order = rows_that_may_cancel(delta.ts, delta.weight, rows)
    if not may_cancel:
        return delta
    weights = delta.weight.copy()
    if not _cancel(delta, rows[:may_cancel], most, weights) and in_order:
        return delta
    kept = np.empty(len(delta), np.int64)
    kept = kept[: retractions_first(delta.ts, weights, kept)]
    columns = {n: v.take(kept) for n, v in delta.columns.items()}
    return Delta(delta.ts[kept], columns, None, weights[kept])


def _cancel(delta: Delta, rows: I64, most: int, weights: I64) -> int:
    """Cancel insertions and retractions of equal rows in `weights`; return how many copies."""
    words = row_words(delta.columns, rows)
    slots = np.zeros(1 << (2 * most - 1).bit_length(), np.int64)
    equals, left = np.empty((2, len(rows)), np.int64)
    return int(cancel(rows, words, delta.ts, weights, slots, equals, left))


def row_words(columns: dict[str, Vector], rows: I64) -> I64:
    """Return the chosen rows as words, equal iff the rows are."""
    taken = [v.take(rows) for v in columns.values()]
    fields = tuple(Field(n, v.type, v.valid is not None) for n, v in columns.items())
    return RowCodec(fields).words(taken, len(rows))
