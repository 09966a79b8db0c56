"""Accumulators of parts (`parts.py`): each row's are added once, whatever the row weighs."""

from __future__ import annotations

import numpy as np

from windrow.core.types import is_decimal
from windrow.kernels.groups import WEIGHT
from windrow.kernels.parts import SPILLED, SumParts, merge_counts, merge_real, merge_whole
from windrow.kernels.sums import BUDGET, MAGNITUDE, ROOM, SPECIAL, settle_all
from windrow.operators.aggregate.batch import EventBatch
from windrow.operators.aggregate.counts import PlainArray
from windrow.operators.aggregate.sums import RealSum
from windrow.operators.aggregate.wide import WideDecimals
from windrow.operators.interner import Interner
from windrow.operators.vector import F64, I64, Bools
from windrow.physical.calls import AccumulatorCall

EACH = 3
"""What a row may add to a limb, in units of `BUDGET`: head, tail, and what is left."""


def _column(batch: EventBatch, call: AccumulatorCall, which: int) -> I64 | F64:
    data = batch.columns[call.args[which].name].data
    return np.ascontiguousarray(data)  # type: ignore[return-value]


def _counts(batch: EventBatch, call: AccumulatorCall, which: int) -> I64:
    """Return how many values each row adds: a column, or all its tuples."""
    if which == len(call.args):
        return batch.events[WEIGHT]  # type: ignore[no-any-return]
    return _column(batch, call, which)  # type: ignore[return-value]


class MergedCount(PlainArray):
    """COUNT from counts."""

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Add them up."""
        merge_counts(batch.events, _column(batch, self.call, 0), self.state, out)


class MergedWhole(PlainArray):
    """SUM of integers and decimals from 128-bit sums. NULL while it has no room in its type."""

    def __init__(self, call: AccumulatorCall, interner: Interner) -> None:
        super().__init__(call, 5)
        self.wide = WideDecimals(interner)

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Add in more than 128 bits; a sum that overflowed is seen again as soon as it fits."""
        n = batch.emissions
        high, low = np.empty(n, np.int64), np.empty(n, np.int64)
        words = _column(batch, self.call, 0), _column(batch, self.call, 1)
        counts = _counts(batch, self.call, 2)
        merge_whole(batch.events, counts, *words, self.state, high, low, valid)
        if not is_decimal(self.call.type):
            out[:n] = low
            valid[:n] &= high == low >> 63
            return
        made = self.wide.encode(high, low, valid[:n], self.call.type)
        out[:n] = made.data
        if made.valid is not None:
            valid[:n] = made.valid


class MergedReal(RealSum):
    """SUM and AVG of doubles from exact sums: rounded once, when they are read."""

    def __init__(self, call: AccumulatorCall, interner: Interner) -> None:
        super().__init__(call)
        self.interner = interner

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Make room for all parts, then add them."""
        heads, tails = _column(batch, self.call, 0), _column(batch, self.call, 1)
        words, starts = self._spilled(_column(batch, self.call, 2))  # type: ignore[arg-type]
        self._room_for(_limbs(heads, tails, words, starts), EACH * len(batch))
        parts = SumParts(_counts(batch, self.call, 3), heads, tails, words, starts)
        mean = self.call.name == "merge_avg"
        merge_real(batch.events, parts, self._sums, mean, out.view(np.float64), valid)

    def _spilled(self, codes: I64) -> tuple[I64, I64]:
        """Return what is left beside heads and tails: words of all rows, and where each begins."""
        if not codes.any():
            return np.empty(0, np.int64), np.zeros(len(codes) + 1, np.int64)
        data, offsets = self.interner.decode_strings(codes)
        return np.ascontiguousarray(data).view(np.int64), offsets >> 3

    def _room_for(self, span: tuple[int, int] | None, weight: int) -> None:
        """Let carries wait for so much more; keep limbs of the span."""
        low, high = (self.base, self.base) if span is None else span
        width = self.limbs.shape[1]
        if width:
            low, high = min(low, self.base), max(high, self.base + width)
        if high - low > width or self.spent[0] + weight > BUDGET:
            settle_all(self.limbs)
            self.spent[0] = 0
        if high - low > width:
            self._widen(low, high - low)
        self.spent[0] += weight


def _limbs(heads: F64 | I64, tails: F64 | I64, words: I64, starts: I64) -> tuple[int, int] | None:
    """Return the first limb that parts have, and the one after the last, with one to grow into."""
    spans = []
    bits = np.concatenate([heads, tails]).view(np.int64) & MAGNITUDE
    place = np.maximum((bits[bits != 0] >> 52 & SPECIAL) - 1, 0) >> 5
    if len(place):
        spans.append((int(place.min()), int(place.max()) + ROOM))
    spilled = np.flatnonzero(starts[1:] > starts[:-1])
    if len(spilled):
        first = words[starts[spilled] + SPILLED - 1]
        ends = first + (starts[spilled + 1] - starts[spilled] - SPILLED)
        spans.append((int(first.min()), int(ends.max()) + 1))
    return (min(a for a, _ in spans), max(b for _, b in spans)) if spans else None
