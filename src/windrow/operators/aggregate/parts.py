"""The columns of a call's parts (`physical/parts.py`), from the events of a batch."""

from __future__ import annotations

import numpy as np

from windrow.core.types import BIGINT, BINARY, DOUBLE
from windrow.kernels.counters import count_values
from windrow.kernels.parts import part_real
from windrow.kernels.sums import MINUS, NANS, sum_whole
from windrow.operators.aggregate.batch import EventBatch
from windrow.operators.aggregate.sums import RealSum
from windrow.operators.interner import Interner
from windrow.operators.vector import F64, I64, Vector
from windrow.physical.calls import AccumulatorCall
from windrow.physical.parts import PartColumns, PartKind


def part_columns(part: PartColumns, batch: EventBatch, interner: Interner) -> list[Vector]:
    """Return the columns, a row for each emission, which must be groups of their own."""
    match part.kind:
        case PartKind.COUNT:
            return [Vector(BIGINT, _counted(batch, part.call))]
        case PartKind.WHOLE:
            return [Vector(BIGINT, word) for word in _summed(batch, part.call)]
        case PartKind.REAL:
            return _split(batch, part.call, interner)


def _counted(batch: EventBatch, call: AccumulatorCall) -> I64:
    counts = np.zeros(batch.emissions, np.int64)
    count_values(batch.events, batch.takes(call), counts, np.empty(batch.emissions, np.int64))
    return counts


def _summed(batch: EventBatch, call: AccumulatorCall) -> tuple[I64, I64]:
    n = batch.emissions
    high, low, valid = np.zeros(n, np.int64), np.zeros(n, np.int64), np.empty(n, np.bool_)
    sums = np.zeros((n, 3), np.int64)
    sum_whole(batch.events, batch.takes(call), batch.bits(call), sums, high, low, valid)
    return high, low


def _split(batch: EventBatch, call: AccumulatorCall, interner: Interner) -> list[Vector]:
    n = batch.emissions
    sums = RealSum(call)
    sums.reserve(n)
    sums.fold(batch, np.empty(n, np.int64), np.empty(n, np.bool_))
    return split_sums(sums.base, sums.limbs, sums.tallies, interner)


def split_sums(base: int, limbs: I64, tallies: I64, interner: Interner) -> list[Vector]:
    """Return exact sums of doubles as heads, tails and what is left. Uses the limbs up."""
    n = len(limbs)
    heads: F64 = np.empty(n)
    tails: F64 = np.empty(n)
    rest, spilled = np.zeros(n, np.int64), np.empty(n, np.int64)
    found = part_real(base, limbs, tallies, heads, tails, spilled)
    if found:
        at = spilled[:found]
        words = [tallies[at, NANS : MINUS + 1], np.full((found, 1), base, np.int64), limbs[at]]
        rest[at] = _interned(np.hstack(words), interner)
    return [Vector(DOUBLE, heads), Vector(DOUBLE, tails), Vector(BINARY, rest)]


def _interned(words: I64, interner: Interner) -> I64:
    """Return codes of rows of words."""
    offsets = np.arange(len(words) + 1) * (8 * words.shape[1])
    return interner.encode_strings(np.ascontiguousarray(words).reshape(-1).view(np.uint8), offsets)
