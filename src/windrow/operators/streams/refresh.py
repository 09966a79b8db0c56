"""SLIDE above operators that it cannot be pushed below."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.operators.delta import Delta
from windrow.operators.streams.restore import RestoredChanges
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64
from windrow.operators.window.slide import SlidChanges


class RefreshTask:
    """Q(⌊τ/d⌋·d): signed in, signed out. With `restore`, of a row p + m copies.

    What p and m are: `kernels/streams.py`. O(changes) a step; stores the changes since the last
    multiple, with `restore` the answer.
    Rows of the first step that were there before any tuple are emitted at once if they are also
    given in `initial`.
    """

    def __init__(self, schema: Schema, slide: int, restore: bool = False) -> None:  # noqa: FBT001, FBT002 - a switch of the plan node
        assert slide > 0, "a slide is positive"
        self.counters = Counters()
        self.schema = schema
        self.initial: Delta | None = None
        self._restored = RestoredChanges(schema, slide) if restore else None
        self._slid = None if restore else SlidChanges(schema, slide)

    def begin(self, start: int) -> Delta | None:
        """Nothing of its own is there before any tuple is."""
        return None

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Take changes; return those that multiples up to `clock` show."""
        (delta,) = inputs
        first, self.initial = self.initial, None
        if first is not None and len(first):
            delta = self._without(delta, first)
        out = self._turn(delta, clock)
        if first is not None and len(first):
            out = Delta.concat([first, out])
        self._count(delta, out)
        return out

    def _turn(self, delta: Delta, clock: int) -> Delta:
        if self._restored is not None:
            return self._restored.turn(delta, clock)
        assert self._slid is not None
        return self._slid.turn(delta, clock)

    def _without(self, delta: Delta, first: Delta) -> Delta:
        """Return the changes without rows that are emitted at once.

        With `restore` they stay: what is there at the first instant has come by then, and is shown.
        """
        if self._restored is not None:
            self._restored.prime(first)
            return delta
        back = Delta(first.ts, first.columns, None, -first.weights())
        return Delta.concat([back, delta])

    def _count(self, given: Delta, made: Delta) -> None:
        counters = self.counters
        counters.tuples_in += len(given)
        counters.tuples_out += len(made)
        if given.weight is not None:
            counters.negatives_in += int(np.count_nonzero(given.weight < 0))
        if made.weight is not None:
            counters.negatives_out += int(np.count_nonzero(made.weight < 0))

    def state_rows(self) -> int:
        """Return the changes that wait, or the rows of the answer."""
        if self._restored is not None:
            return len(self._restored)
        assert self._slid is not None
        return len(self._slid.waiting)

    def state_bytes(self) -> int:
        """Return the exact size of the state."""
        if self._restored is not None:
            return self._restored.nbytes
        assert self._slid is not None
        return self._slid.waiting.nbytes

    def save(self) -> Saved:
        """Return what is stored."""
        if self._restored is not None:
            return self._restored.save()
        assert self._slid is not None
        return self._slid.save()

    def load(self, saved: Saved) -> None:
        """Take over what was stored."""
        if self._restored is not None:
            self._restored.load(saved)
        else:
            assert self._slid is not None
            self._slid.load(saved)

    def check(self) -> None:
        """Assert the invariants of the state."""
        if self._restored is not None:
            self._restored.check()
        else:
            assert self._slid is not None
            self._slid.waiting.check()

    def live_codes(self) -> list[I64]:
        """Return the interned codes that stored rows refer to."""
        if self._restored is not None:
            return self._restored.live_codes()
        assert self._slid is not None
        return self._slid.waiting.live_codes()
