"""MIN and MAX in their other form: from the rows that wait, and from those that never expire.

An expirer forgets rows without end once it has handed them on. Of these a list of candidates
still holds the best of each group, and no other can ever win; a bag holds them all.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.core.time import BEGINNING, FOREVER
from windrow.core.types import BIGINT
from windrow.kernels.extremes import MAGNITUDE, REAL
from windrow.kernels.groups import GROUP, TIME, WEIGHT, name_emissions
from windrow.operators.aggregate.batch import Accumulator, EventBatch
from windrow.operators.aggregate.extremes import BestAlive
from windrow.operators.aggregate.quantile import Quantile
from windrow.operators.delta import Delta
from windrow.operators.vector import I64, Vector
from windrow.physical.calls import EXPIRY_COLUMN, GROUP_COLUMN, AccumulatorCall


def refill_extreme(fold: Accumulator, old: Accumulator, waiting: Delta, groups: int) -> None:
    """Fill a fresh MIN or MAX from one of the other form, and the rows that wait for their end.

    `waiting` are rows as an expirer carries them; `groups` is how many codes there are.
    """
    if isinstance(old, BestAlive):
        endless = _rows(old.call, old.comparing.kind, *old.immortal())
    else:
        assert isinstance(old, Quantile)
        left = Quantile(old.call, old.comparing.interner)
        left.load(old.save(groups))
        left.reserve(groups)
        _fold(left, waiting, groups, -1)
        endless = _rows(old.call, old.comparing.kind, *left.bags.values(groups))
    _fold(fold, waiting, groups, 1)
    _fold(fold, endless, groups, 1)


def _rows(call: AccumulatorCall, kind: int, group: I64, keys: I64) -> Delta:
    """Return rows without end that have these values."""
    count = len(keys)
    bits = np.where(keys < 0, -keys | ~MAGNITUDE, keys) if kind == REAL else keys
    data = bits.view(np.float64) if kind == REAL else bits
    columns = {
        GROUP_COLUMN: Vector(BIGINT, group),
        EXPIRY_COLUMN: Vector(BIGINT, np.full(count, FOREVER)),
        call.args[0].name: Vector(call.args[0].type, data),
    }
    if call.filter is not None:
        columns[call.filter] = Vector(pa.bool_(), np.ones(count, np.int64))
    return Delta(np.full(count, BEGINNING), columns)


def _fold(fold: Accumulator, rows: Delta, groups: int, weight: int) -> None:
    """Insert or remove all rows at once, without emitting anything."""
    if not len(rows):
        return
    events = np.zeros((5, len(rows)), np.int64)
    if GROUP_COLUMN in rows.columns:
        events[GROUP] = rows.columns[GROUP_COLUMN].data
    events[WEIGHT], events[TIME] = weight, BEGINNING
    emitted = np.empty((3, len(rows)), np.int64)
    count = name_emissions(events, np.zeros(groups, np.int64), np.full(groups, -1), emitted)
    batch = EventBatch(events, rows.columns, count, emitted[2])
    fold.fold(batch, np.zeros(count, np.int64), np.ones(count, np.bool_))
