"""Changes of one instant that cancel one another are no changes."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Field
from windrow.kernels.bags import mixed_rows, net_rows
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.state.key_table import KeyTable
from windrow.operators.vector import I64, Vector


def net_per_instant(delta: Delta) -> Delta:
    """Return the net of each instant: copies of a row that come and go at one τ cancel.

    In order of time; at one instant what leaves comes before what enters. Only instants with
    both signs are looked at. O(rows).
    """
    if delta.weight is None or not len(delta):
        return delta
    ts, weights = delta.ts, delta.weight
    if (weights > 0).all():
        return delta
    mixed = np.empty(len(delta), np.int64)
    mixed = mixed[: mixed_rows(ts, weights, mixed)]
    if not len(mixed):
        return delta
    codes = np.full(len(delta), -1, np.int64)
    codes[mixed] = codes_of_rows(delta.columns, mixed)
    weights = weights.copy()
    kept = np.empty(len(delta), np.int64)
    first = np.full(len(mixed), -1, np.int64)
    kept = kept[: net_rows(ts, weights, codes, first, kept)]
    columns = {n: v.take(kept) for n, v in delta.columns.items()}
    return Delta(ts[kept], columns, None, weights[kept])


def codes_of_rows(columns: dict[str, Vector], rows: I64) -> I64:
    """Return small codes of the chosen rows, equal iff the rows are."""
    taken = [v.take(rows) for v in columns.values()]
    fields = tuple(Field(n, v.type, v.valid is not None) for n, v in columns.items())
    codec = RowCodec(fields)
    return KeyTable(codec.width).encode(codec.words(taken, len(rows)))
