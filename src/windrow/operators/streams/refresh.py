"""SLIDE above operators that it cannot be pushed below."""

from __future__ import annotations

from windrow.core.schema import Schema
from windrow.operators.delta import Delta
from windrow.operators.state.fields import NestedField
from windrow.operators.stateless import StatefulTask
from windrow.operators.streams.restore import RestoredChanges
from windrow.operators.task import Counters
from windrow.operators.window.slide import SlidChanges


class RefreshTask(StatefulTask):
    """Q(⌊τ/d⌋·d): signed in, signed out. With `restore`, of a row p + m copies.

    What p and m are: `kernels/streams.py`. O(changes) a step; stores the changes since the last
    multiple, with `restore` the answer.
    Rows of the first step that were there before any tuple are emitted at once if they are also
    given in `initial`.
    """

    state_fields = (NestedField("_changes"),)

    def __init__(self, schema: Schema, slide: int, restore: bool = False) -> None:  # noqa: FBT001, FBT002 - a switch of the plan node
        assert slide > 0, "a slide is positive"
        self.counters = Counters()
        self.schema = schema
        self.initial: Delta | None = None
        self._changes = (RestoredChanges if restore else SlidChanges)(schema, slide)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Take changes; return those that multiples up to `clock` show."""
        (delta,) = inputs
        first, self.initial = self.initial, None
        if first is not None and len(first):
            delta = self._without(delta, first)
        out = self._changes.turn(delta, clock)
        if first is not None and len(first):
            out = Delta.concat([first, out])
        self._count(delta, out)
        return out

    def _without(self, delta: Delta, first: Delta) -> Delta:
        """Return the changes without rows that are emitted at once.

        With `restore` they stay: what is there at the first instant has come by then, and is shown.
        """
        if isinstance(self._changes, RestoredChanges):
            self._changes.prime(first)
            return delta
        back = Delta(first.ts, first.columns, None, -first.weights())
        return Delta.concat([back, delta])

    def state_rows(self) -> int:
        """Return the changes that wait, or the rows of the answer."""
        return len(self._changes)
