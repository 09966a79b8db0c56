"""Count windows: the newest tuples of a stream."""

from __future__ import annotations

from typing import cast

import numpy as np

from windrow.core.schema import Schema
from windrow.kernels.windows import turn_ring
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.state.fields import NestedField, ScalarField, ScratchField
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64, is_interned
from windrow.operators.window.slide import SlidChanges

SMALLEST = 64


class RowsWindow(StatefulTask):
    """The `count` newest of the first k·step tuples, k as large as can be: stream in, signed out.

        arrival a enters with arrival   ⌈a / step⌉ · step
                  leaves with arrival   ⌈(a + count) / step⌉ · step

    O(tuples) a step; stores count + step tuples at most, as words in a ring:
    the one with number a is at place a mod capacity. With `slide`, changes wait for the next
    multiple. Invariants, asserted by `check`:
      1. capacity is a power of two, or the ring is still empty;
      2. the tuples from `oldest` to `arrived` fit in it.
    """

    state_fields = (ScalarField("arrived"), ScratchField("words"), NestedField("_slid"))

    def __init__(self, schema: Schema, count: int, step: int = 1, slide: int | None = None) -> None:
        assert count > 0, "a count window holds at least one tuple"
        assert step > 0, "a count window slides by at least one tuple"
        self.counters = Counters()
        self.schema = schema
        self._names = schema.names
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

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Let new tuples in and the oldest out."""
        (delta,) = inputs
        out = self._turned(delta) if len(delta) else self._empty
        if self._slid is not None:
            out = self._slid.turn(out, clock)
        self._count(delta, out)
        return out

    def _turned(self, delta: Delta) -> Delta:
        before, rows = self.arrived, len(delta)
        fresh = self.codec.words([delta.columns[n] for n in self._names], rows)
        first_kept = self.oldest
        self.arrived += rows
        self._resize(first_kept, before, self.arrived - self.oldest + 1)
        shown = self.arrived - self.arrived % self.step_rows
        room = 2 * (shown - before + before % self.step_rows)
        out = np.empty((2, room), np.int64)
        words = np.empty((room, self.codec.width), np.int64)
        made = turn_ring(
            delta.ts, fresh, before, self.count, self.step_rows, self.words, out, words
        )
        if not made:
            return self._empty
        ts, weight = out[:, :made].copy()
        self.counters.expiries += int(np.count_nonzero(weight < 0))
        columns = self.codec.columns(words[:made])
        return Delta(ts, dict(zip(self._names, columns, strict=True)), None, weight)

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

    def leaving(self) -> Delta | None:
        """See `task.Leaving`. Under a SLIDE, tuples that leave and come again do neither."""
        if self._slid is not None:
            return None
        shown = self.arrived - self.arrived % self.step_rows
        words = self._kept()[: shown - self.oldest + 1]
        columns = self.codec.columns(words)
        return Delta(np.zeros(len(words), np.int64), dict(zip(self._names, columns, strict=True)))

    def state_rows(self) -> int:
        """Return how many tuples are stored."""
        waiting = 0 if self._slid is None else len(self._slid)
        return self.arrived - self.oldest + 1 + waiting

    def content(self, rows: int) -> Saved:
        """Return the fields, and the tuples in order."""
        return {**super().content(rows), "kept": self._kept()}

    def take_over(self, saved: Saved) -> None:
        """Take over fields and tuples."""
        super().take_over(saved)
        kept = cast("I64", saved["kept"])
        self._resize(self.arrived + 1, self.arrived, len(kept))
        places = np.arange(self.oldest, self.arrived + 1) & (len(self.words) - 1)
        self.words[places] = kept

    def live_codes(self) -> list[I64]:
        """Return the interned codes that stored tuples refer to."""
        places = [i for i, f in enumerate(self.schema) if is_interned(f.type)]
        kept = self._kept() if places else self.words
        return super().live_codes() + [np.ascontiguousarray(kept[:, i]) for i in places]

    def _kept(self) -> I64:
        places = np.arange(self.oldest, self.arrived + 1) & (len(self.words) - 1)
        kept: I64 = self.words[places]
        return kept

    def invariants(self) -> None:
        """Assert the invariants."""
        capacity = len(self.words)
        assert capacity & (capacity - 1) == 0, "invariant 1: capacity is no power of two"
        assert self.arrived - self.oldest + 1 <= capacity, "invariant 2: tuples do not fit"
