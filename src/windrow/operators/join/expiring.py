"""The join of two windows that emits the expirations of its results."""

from __future__ import annotations

import numpy as np

from windrow.kernels.expiring_joins import all_pairs, join_and_expire
from windrow.kernels.joins import CODE, COMPARED, FIRST_LEFT, FIRST_RIGHT, KEEP, MADE, WORK_WORDS
from windrow.operators.delta import Delta
from windrow.operators.join.hash import Arrivals, HashJoin
from windrow.operators.join.match import Match
from windrow.operators.join.pairs import PairBuffer
from windrow.operators.join.rows import RingRows
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Vector
from windrow.physical.conditions import Form


class ExpiringJoin:
    """L ⋈ R at work: WKS × WKS → signed. No result is kept: see `kernels/expiring_joins.py`.

    An arrival makes a result with each row of its key that is alive on the other side, a departure
    ends those that it has there. Costs O(arrivals + departures + results) a step, and stores
    the rows of both windows.
    """

    def __init__(self, match: Match) -> None:
        self.match = match
        self.state = HashJoin(match, Form.FIFO, Form.FIFO)
        assert not match.bands, "results are not just what walks find"
        assert match.residual is None, "results are not just what walks find"
        self.counters = self.state.counters
        self.buffer = PairBuffer()
        self.nothing = Delta.empty(match.output, signed=True)

    @property
    def _rings(self) -> tuple[RingRows, RingRows]:
        left, right = self.state.left, self.state.right
        assert isinstance(left, RingRows)
        assert isinstance(right, RingRows)
        return left, right

    def begin(self, start: int) -> Delta | None:
        """Nothing is there before any tuple is."""

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Join the arrivals with what is alive, and end what leaves by `clock`, in time order."""
        left, right = inputs
        counters = self.counters
        counters.tuples_in += len(left) + len(right)
        if not (len(left) or len(right) or any(is_due(ring, clock) for ring in self._rings)):
            return self.nothing
        left = self.match.left.joinable(left.living())
        right = self.match.right.joinable(right.living())
        counters.probes += len(left) + len(right)
        made = self._join(self.state.arrived(left, right), clock)
        output = self._results(made) if made else self.nothing
        before = counters.expiries
        self.state.expire(clock)
        counters.probes += counters.expiries - before
        return output

    def _join(self, arrived: tuple[Arrivals, Arrivals], clock: int) -> int:
        """Fill the buffer with the pairs that come and go; return how many."""
        left, right = self._rings
        work = np.zeros(WORK_WORDS, np.int64)
        work[FIRST_LEFT], work[FIRST_RIGHT] = left.tail, right.tail
        sides = [
            (ts, exp, np.arange(ring.head - len(ts), ring.head + 1), codes, bands)
            for (ts, exp, _, _, codes, bands), ring in zip(arrived, self._rings, strict=True)
        ]
        states = (left.walk, left.rows, left.back), (right.walk, right.rows, right.back)
        rest = ((left.shape[1], right.shape[1]), self.state.heads, clock)
        self.buffer.reserve(2 * sum(len(side[0]) for side in sides))
        while not join_and_expire(*sides, *states, *rest, self.buffer.arrays, work):
            self.buffer.reserve(2 * self.buffer.room)
        self.counters.comparisons += int(work[COMPARED])
        return int(work[MADE])

    def _results(self, made: int) -> Delta:
        lefts, rights, ts, weight = self.buffer.taken(made)
        gone = int(np.count_nonzero(weight < 0))
        self.counters.tuples_out += made
        self.counters.negatives_out += gone
        return Delta(ts, self._columns(lefts, rights), None, weight if gone else None)

    def _columns(self, lefts: I64, rights: I64) -> dict[str, Vector]:
        left, right = self._rings
        read = left.payload.take(lefts) | right.payload.take(rights)
        return {name: read[name] for name in self.match.output.names}

    def current(self) -> Delta:
        """Return the results that are alive."""
        left, right = self._rings
        numbers = np.arange(left.tail, left.head)
        codes = left.rows[left.live(), CODE] - 1
        rest = (left.shape[1], right.tail, right.shape[1], right.back, self.state.heads)
        none: I64 = np.empty(0, np.int64)
        lefts, rights = np.empty((2, all_pairs(numbers, codes, *rest, none, none)), np.int64)
        all_pairs(numbers, codes, *rest, lefts, rights)
        return Delta(np.zeros(len(lefts), np.int64), self._columns(lefts, rights))

    def state_rows(self) -> int:
        """Return how many rows of both sides are stored."""
        return self.state.state_rows()

    def state_bytes(self) -> int:
        """Return the exact size of rows, chains and keys."""
        return self.state.state_bytes()

    def save(self) -> Saved:
        """Return the state for `load`."""
        return self.state.save()

    def load(self, saved: Saved) -> None:
        """Take over a saved state."""
        self.state.load(saved)

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        return self.state.held(clock)

    def live_codes(self) -> list[I64]:
        """Return the interned codes that keys and rows refer to."""
        return self.state.live_codes()

    def check(self) -> None:
        """Assert the invariants of the state."""
        self.state.check()


def is_due(ring: RingRows, clock: int) -> bool:
    """Return whether the oldest row of a ring leaves by `clock`."""
    return len(ring) > 0 and bool(ring.walk[ring.tail & ring.shape[1], KEEP] <= clock)
