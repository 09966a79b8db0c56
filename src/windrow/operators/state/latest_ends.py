"""Latest ends by code, and the changes by which a code appears and disappears."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.time import FOREVER
from windrow.kernels.expiring_distinct import NOT_THERE, emit_arrivals, emit_expirations
from windrow.operators.state.calendar import CalendarQueue
from windrow.operators.state.fields import ArrayField, NestedField, State, StateLayout
from windrow.operators.vector import I64

SMALLEST = 64


@dataclass(slots=True)
class LatestEnds(State):
    """Of each code, until when some tuple of it is there.

    Only that matters: a tuple that ends before another of its code is never emitted. O(tuples +
    codes looked at) a turn, where a code is looked at about once a lifetime. Invariants, asserted
    by `check`:
      1. each code that ends is queued once, not later than it ends.
    """

    stored_as = StateLayout("latest-ends")
    state_fields = (ArrayField("ends", fill=NOT_THERE), NestedField("queue"))

    ends: I64 = field(default_factory=lambda: np.full(SMALLEST, NOT_THERE))
    queue: CalendarQueue = field(default_factory=CalendarQueue)

    def reserve(self, capacity: int) -> None:
        """Make room for codes below `capacity`."""
        before = len(self.ends)
        if capacity > before:
            ends = np.full(max(capacity, 2 * before), NOT_THERE)
            ends[:before] = self.ends
            self.ends = ends

    def turn(self, ts: I64, exp: I64, codes: I64, clock: int) -> tuple[I64, I64]:
        """Let tuples come; return what changes by `clock`, and the codes that are gone.

        Changes are lines [ts, weight, code], in time order.
        """
        out = np.empty((3, 2 * len(ts)), np.int64)
        made = self._arrive(ts, exp, codes, out) if len(ts) else 0
        _, due = self.queue.pop(clock)
        dead = due[:0]
        if len(due):
            room = np.empty((3, made + len(due)), np.int64)
            room[:, :made], out = out[:, :made], room
            made, dead = self._leave(due, clock, out, made)
        out = out[:, :made]
        if made > 1 and (out[0, 1:] < out[0, :-1]).any():
            out = out.take(np.argsort(out[0], kind="stable"), axis=1)  # lines stay contiguous
        return out, dead

    def _arrive(self, ts: I64, exp: I64, codes: I64, out: I64) -> int:
        fresh = np.empty(len(ts), np.int64)
        made, new = emit_arrivals(ts, exp, codes, self.ends, out, fresh)
        self._enqueue(fresh[:new])
        return int(made)

    def _leave(self, due: I64, clock: int, out: I64, made: int) -> tuple[int, I64]:
        again, dead = np.empty((2, len(due)), np.int64)
        made, more, gone = emit_expirations(due, clock, self.ends, out, made, again, dead)
        self._enqueue(again[:more])
        return int(made), dead[:gone]

    def _enqueue(self, codes: I64) -> None:
        """Let the codes be looked at when they may leave; those that never end are not."""
        ends = self.ends[codes]
        if len(ends) and ends.max() == FOREVER:
            codes, ends = codes[ends < FOREVER], ends[ends < FOREVER]
        if len(codes):
            self.queue.push(ends, codes)

    def there(self) -> I64:
        """Return the codes that are there, ascending."""
        return np.flatnonzero(self.ends != NOT_THERE)

    def invariants(self) -> None:
        """Assert the invariant."""
        due, queued = self.queue.queued()
        assert len(np.unique(queued)) == len(queued), "invariant 1: a code is queued twice"
        ending = self.there()[self.ends[self.there()] < FOREVER]
        assert np.isin(ending, queued).all(), "invariant 1: a code that ends is not queued"
        assert (due <= self.ends[queued]).all(), "invariant 1: queued too late"
