"""Count windows: the newest tuples of a stream."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.kernels.merging import merge_runs
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64, is_interned
from windrow.operators.window.slide import SlidChanges

SMALLEST = 64


class RowsWindow:
    """The `count` newest of the first k·step tuples, k as large as can be: stream in, signed out.

        arrival a enters with arrival   ⌈a / step⌉ · step
                  leaves with arrival   ⌈(a + count) / step⌉ · step

    O(tuples) a step; remembers count + step tuples at most, as words in a ring:
    the one with number a is at place a mod capacity. With `slide`, changes wait for the next
    multiple. Invariants, asserted by `check`:
      1. capacity is a power of two, or the ring is still empty;
      2. the tuples from `oldest` to `arrived` fit in it.
    """

    def __init__(self, schema: Schema, count: int, step: int = 1, slide: int | None = None) -> None:
        assert count > 0, "a count window holds at least one tuple"
        assert step > 0, "a count window slides by at least one tuple"
        self.counters = Counters()
        self.schema = schema
        self.count = count
        self.step_rows = step
        self.codec = RowCodec(schema.fields)
        self.words: I64 = np.zeros((SMALLEST, self.codec.width), np.int64)
        self.arrived = 0
        self._slid = None if slide is None else SlidChanges(schema, slide)
        self._empty = Delta.empty(schema, signed=True)

    @property
    def oldest(self) -> int:
        """The number of the oldest tuple that is still needed; the first has number 1."""
        shown = self.arrived - self.arrived % self.step_rows
        return max(1, shown - self.count + 1)

    def begin(self, start: int) -> Delta | None:
        """Nothing is there before any tuple is."""
        return None

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Let new tuples in and the oldest out."""
        (delta,) = inputs
        out = self._turned(delta) if len(delta) else self._empty
        if self._slid is not None:
            out = self._slid.turn(out, clock)
        counters = self.counters
        counters.tuples_in += len(delta)
        counters.tuples_out += len(out)
        if out.weight is not None:
            counters.negatives_out += int(np.count_nonzero(out.weight < 0))
        return out

    def _turned(self, delta: Delta) -> Delta:
        before, rows = self.arrived, len(delta)
        columns = [delta.columns[n] for n in self.schema.names]
        fresh = self.codec.words(columns, rows)
        shown = before - before % self.step_rows
        show = before + rows - (before + rows) % self.step_rows
        born = np.arange(shown + 1, show + 1)
        gone = np.arange(max(1, shown - self.count + 1), max(1, show - self.count + 1))
        born_at = delta.ts[self._enters(born) - before - 1]
        gone_at = delta.ts[self._enters(gone + self.count) - before - 1]
        born, born_at, gone, gone_at = _seen(born, born_at, gone, gone_at)
        order = np.empty(len(born) + len(gone), np.int64)
        ts = np.concatenate([gone_at, born_at])
        merge_runs(ts, np.array([0, len(gone), len(ts)]), order)
        numbers = np.concatenate([gone, born])[order]
        words = self._fetch(numbers, fresh)
        weight = np.where(order < len(gone), -1, 1)
        self.counters.expiries += len(gone)
        self._keep(fresh)
        made = dict(zip(self.schema.names, self.codec.columns(words), strict=True))
        return Delta(ts[order], made, None, weight)

    def _enters(self, numbers: I64) -> I64:
        """Return the arrival with which each arrival is shown."""
        return numbers if self.step_rows == 1 else numbers + (-numbers % self.step_rows)

    def _fetch(self, numbers: I64, fresh: I64) -> I64:
        """Return tuples by number: from the ring, or from the rows that have just come."""
        words = np.empty((len(numbers), self.codec.width), np.int64)
        new = numbers > self.arrived
        words[new] = fresh[numbers[new] - self.arrived - 1]
        old = ~new
        words[old] = self.words[numbers[old] & (len(self.words) - 1)]
        return words

    def _keep(self, fresh: I64) -> None:
        first_kept = self.oldest
        before, self.arrived = self.arrived, self.arrived + len(fresh)
        first = max(self.oldest, before + 1)
        self._resize(first_kept, before, self.arrived - self.oldest + 1)
        places = np.arange(first, self.arrived + 1) & (len(self.words) - 1)
        self.words[places] = fresh[first - before - 1 :]

    def _resize(self, first: int, last: int, rows: int) -> None:
        """Make room for `rows` tuples, keeping those from `first` to `last`."""
        capacity = len(self.words)
        if rows <= capacity:
            return
        while capacity < rows:
            capacity *= 2
        bigger = np.zeros((capacity, self.codec.width), np.int64)
        kept = np.arange(max(first, last - len(self.words) + 1), last + 1)
        bigger[kept & (capacity - 1)] = self.words[kept & (len(self.words) - 1)]
        self.words = bigger

    def state_rows(self) -> int:
        """Return how many tuples are remembered."""
        waiting = 0 if self._slid is None else len(self._slid.waiting)
        return self.arrived - self.oldest + 1 + waiting

    def state_bytes(self) -> int:
        """Return the exact size of the ring and of what waits."""
        return self.words.nbytes + (0 if self._slid is None else self._slid.waiting.nbytes)

    def _kept(self) -> I64:
        places = np.arange(self.oldest, self.arrived + 1) & (len(self.words) - 1)
        kept: I64 = self.words[places]
        return kept

    def save(self) -> Saved:
        """Return the tuples of the window and the number of arrivals."""
        slid = None if self._slid is None else self._slid.save()
        return {"words": self._kept(), "arrived": self.arrived, "slid": slid}

    def load(self, saved: Saved) -> None:
        """Take over a saved window."""
        words, slid = saved["words"], saved["slid"]
        assert isinstance(words, np.ndarray)
        self.words = np.zeros((SMALLEST, self.codec.width), np.int64)
        self.arrived = int(saved["arrived"])  # type: ignore[call-overload]
        self._resize(self.arrived + 1, self.arrived, len(words))
        places = np.arange(self.oldest, self.arrived + 1) & (len(self.words) - 1)
        self.words[places] = words
        if self._slid is not None:
            assert isinstance(slid, dict)
            self._slid.load(slid)

    def check(self) -> None:
        """Assert the invariants."""
        capacity = len(self.words)
        assert capacity & (capacity - 1) == 0, "invariant 1: capacity is no power of two"
        assert self.arrived - self.oldest + 1 <= capacity, "invariant 2: tuples do not fit"
        if self._slid is not None:
            self._slid.waiting.check()

    def live_codes(self) -> list[I64]:
        """Return the interned codes that remembered tuples refer to."""
        places = [i for i, f in enumerate(self.schema) if is_interned(f.type)]
        kept = self._kept() if places else self.words
        codes = [np.ascontiguousarray(kept[:, i]) for i in places]
        return codes + ([] if self._slid is None else self._slid.waiting.live_codes())


def _seen(born: I64, born_at: I64, gone: I64, gone_at: I64) -> tuple[I64, I64, I64, I64]:
    """Leave out tuples that come and go at one instant; numbers ascend without gaps."""
    if not len(born) or not len(gone) or gone[-1] < born[0]:
        return born, born_at, gone, gone_at
    first = max(born[0], gone[0])
    both = np.arange(first, gone[-1] + 1)
    brief = both[born_at[both - born[0]] == gone_at[both - gone[0]]]
    if not len(brief):
        return born, born_at, gone, gone_at
    stays, leaves = np.ones(len(born), np.bool_), np.ones(len(gone), np.bool_)
    stays[brief - born[0]] = False
    leaves[brief - gone[0]] = False
    return born[stays], born_at[stays], gone[leaves], gone_at[leaves]
