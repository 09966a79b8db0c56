"""EXISTS and IN that emit the expirations of their results."""

from __future__ import annotations

import numpy as np

from windrow.operators.delta import NO_TIMES, Delta
from windrow.operators.join.hash import HashJoin
from windrow.operators.join.match import Match
from windrow.operators.state.fields import NestedField
from windrow.operators.state.latest_ends import LatestEnds
from windrow.operators.stateless import StatefulTask
from windrow.operators.vector import I64, Vector
from windrow.physical.conditions import Form


class ExpiringSemiJoin(StatefulTask):
    """L ⋉ K at work, where K has a key at most once at a time: unsigned × unsigned → signed.

    A left row comes with the first of the pairs that it makes and goes with the last to end; that
    one takes over from another is not emitted. Costs and stores what the join does, and one time
    a left row. Invariant, asserted by `check`: only rows that are stored have been emitted.
    """

    state_fields = (NestedField("state"), NestedField("ends"))

    def __init__(self, match: Match) -> None:
        self.match = match
        self.state = HashJoin(match, Form.CALENDAR, Form.CALENDAR, renews=True)
        self.counters = self.state.counters
        self.ends = LatestEnds()
        self.nothing = Delta.empty(match.output, signed=True)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Emit the left rows that find a partner, and retract those that lose it or expire."""
        left, right = (delta.living() for delta in inputs)
        self.counters.tuples_in += len(left) + len(right)
        slots, ts, exp = self._pairs(left, right)
        changes, _ = self.ends.turn(ts, exp, slots, clock)
        made = self._changes(changes) if changes.shape[1] else self.nothing
        self.state.expire(clock)
        return made

    def _pairs(self, left: Delta, right: Delta) -> tuple[I64, I64, I64]:
        """Return the left slots of new pairs, and from when until when each pair is there."""
        if not (len(left) or len(right)):
            return NO_TIMES, NO_TIMES, NO_TIMES
        made = self.state.join(self.match.left.joinable(left), self.match.right.joinable(right))
        self.ends.reserve(self.state.left.capacity)
        slots, _, ts, exp = self.state.buffer.taken(made)
        return slots, ts, exp

    def _changes(self, changes: I64) -> Delta:
        ts, weight, slots = changes
        self.counters.tuples_out += len(ts)
        self.counters.negatives_out += int(np.count_nonzero(weight < 0))
        return Delta(ts, self._columns(slots), None, weight)

    def _columns(self, slots: I64) -> dict[str, Vector]:
        taken = self.state.left.payload.take(slots)
        return {name: taken[name] for name in self.match.output.names}

    def current(self) -> Delta:
        """Return the left rows that have a partner."""
        there = self.ends.there()
        return Delta(np.zeros(len(there), np.int64), self._columns(there))

    def state_rows(self) -> int:
        """Return how many left rows and keys are stored."""
        return self.state.state_rows()

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        return self.state.held(clock)

    def invariants(self) -> None:
        """Assert that what was emitted is stored."""
        known = np.isin(self.ends.there(), self.state.left.live())
        assert known.all(), "a row was emitted and is not stored"
