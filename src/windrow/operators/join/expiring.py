"""Joins of two windows, EXISTS and IN, that emit the expirations of their results."""

from __future__ import annotations

import numpy as np

from windrow.kernels.expiring_joins import (
    COUNT,
    GONE,
    TAIL,
    WORK_WORDS,
    all_pairs,
    join_and_expire,
)
from windrow.kernels.joins import MADE
from windrow.operators.delta import NO_TIMES, Delta
from windrow.operators.join.hash import HashJoin
from windrow.operators.join.match import Match
from windrow.operators.join.results import PairBuffer
from windrow.operators.join.rows import NONE
from windrow.operators.join.sides import StoredSides
from windrow.operators.state.fields import NestedField
from windrow.operators.state.latest_ends import LatestEnds
from windrow.operators.stateless import StatefulTask
from windrow.operators.vector import I64, Vector
from windrow.physical.conditions import Form


class ExpiringJoin(StoredSides):
    """L ⋈ R at work: WKS × WKS → signed. No result is kept: see `kernels/expiring_joins.py`.

    An arrival makes a result with each row of its key that is alive on the other side, a departure
    ends those that it has there. Costs O(arrivals + departures + results) a step, and stores
    the rows of both windows.
    """

    def __init__(self, match: Match) -> None:
        assert not match.bands, "results are not just what walks find"
        assert match.residual is None, "results are not just what walks find"
        super().__init__(match, Form.FIFO, Form.FIFO)
        self.buffer = PairBuffer()
        self.dead: I64 = np.empty(1, np.int64)
        self.nothing = Delta.empty(match.output, signed=True)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Join the arrivals with what is alive, and end what leaves by `clock`, in time order."""
        left, right = inputs
        counters = self.counters
        counters.tuples_in += len(left) + len(right)
        # Time alone changes nothing as long as no row ends.
        if not (len(left) or len(right) or self._is_due(clock)):
            return self.nothing
        left = self.match.left.joinable(left.living())
        right = self.match.right.joinable(right.living())
        counters.probes += len(left) + len(right)
        made = self._join(left, right, clock)
        return self._results(made) if made else self.nothing

    def _is_due(self, clock: int) -> bool:
        """Return whether the oldest row of a ring leaves by `clock`."""
        rings = (self.left, self.right)
        return any(len(ring) > 0 and bool(ring.keep[ring.tail] <= clock) for ring in rings)

    def _join(self, left: Delta, right: Delta, clock: int) -> int:
        """Fill the buffer with the pairs that come and go; return how many."""
        arrived = self.left.arrive(left, self.keys), self.right.arrive(right, self.keys)
        work = np.zeros(WORK_WORDS, np.int64)
        work[TAIL : TAIL + 2] = self.left.tail, self.right.tail
        # The loop lets new rows in one by one, so that none is met before its time.
        work[COUNT : COUNT + 2] = len(self.left) - len(left), len(self.right) - len(right)
        if len(self.dead) <= self.state_rows():
            self.dead = np.empty(2 * self.state_rows() + 1, np.int64)
        links, heads, dead = (self.left.links, self.right.links), self.keys.heads, self.dead
        self.buffer.fill(
            lambda out: join_and_expire(*arrived, *links, heads, clock, dead, out, work),
            2 * (len(left) + len(right)),
        )
        went = self.state_rows() - int(work[COUNT] + work[COUNT + 1])
        for number, ring in enumerate((self.left, self.right)):
            ring.passed(len(ring) - int(work[COUNT + number]))
        self.keys.sweep(dead[: work[GONE]])
        self.counters.expiries += went
        self.counters.probes += went
        self.counters.comparisons += int(work[MADE])
        return int(work[MADE])

    def _results(self, made: int) -> Delta:
        lefts, rights, ts, weight = self.buffer.taken(made)
        gone = int(np.count_nonzero(weight < 0))
        self.counters.tuples_out += made
        self.counters.negatives_out += gone
        return Delta(ts, self._columns(lefts, rights), None, weight if gone else None)

    def _columns(self, lefts: I64, rights: I64) -> dict[str, Vector]:
        read = self.left.payload.take(lefts) | self.right.payload.take(rights)
        return {name: read[name] for name in self.match.output.names}

    def current(self) -> Delta:
        """Return the results that are alive."""
        rest = self.left.live(), self.left.codes(), self.right.links.older, self.keys.heads
        lefts, rights = np.empty((2, all_pairs(*rest, NONE, NONE)), np.int64)
        all_pairs(*rest, lefts, rights)
        return Delta(np.zeros(len(lefts), np.int64), self._columns(lefts, rights))


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
