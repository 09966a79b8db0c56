"""The symmetric hash join of unsigned edges whose rows expire in order of arrival."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from windrow.kernels.fifo_joins import BLOCK, enter_arrivals, make_pairs
from windrow.operators.delta import Delta
from windrow.operators.join.match import Match
from windrow.operators.join.results import GatheredPairs
from windrow.operators.join.sides import StoredSides
from windrow.operators.vector import I64
from windrow.physical.conditions import Form, bands_imply_liveness

SLICE = 32_768
"""Arrivals of a side that are joined at a time."""


def sliced(left: Delta, right: Delta, clock: int) -> Iterator[tuple[Delta, Delta, int]]:
    """Yield the arrivals of both sides up to an instant, and the instant, in time order.

    However many come at once, what is made of a slice stays in the cache, and the rings need no
    room for rows that have expired before the last ones come.
    """
    while max(len(left), len(right)) > SLICE:
        until = int(min(side.ts[SLICE - 1] for side in (left, right) if len(side) >= SLICE))
        now, left = left.split(until)
        also, right = right.split(until)
        yield now, also, until
    yield left, right, clock


class FifoJoin(StoredSides):
    """L ⋈ R at work where time alone lets go of rows, in their order, and keys alone decide.

    As `HashJoin`, which takes any other two edges; the same answer. Costs O(arrivals + results +
    departures) a step, and stores the rows of both windows. `endless` says that no row of
    either side ever ends: bands let go of them.
    """

    def __init__(self, match: Match, *, endless: bool = False) -> None:
        assert bands_imply_liveness(match.bands), "a band on other times needs a look at each row"
        super().__init__(match, Form.FIFO, Form.FIFO, compared=False, endless=endless)
        self.walks: I64 = np.empty(BLOCK + 1, np.int64)
        self.dead: I64 = np.empty(BLOCK, np.int64)
        self.nothing = Delta.empty(match.output, signed=False)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Join the arrivals with what is alive, and forget what has expired by `clock`."""
        left, right = inputs
        self.counters.tuples_in += len(left) + len(right)
        left, right = self.match.left.joinable(left), self.match.right.joinable(right)
        self.left.payload.admit(left.columns)
        self.right.payload.admit(right.columns)
        out = GatheredPairs(self.match, (self.left.payload, self.right.payload), self.endless)
        rest = len(left) + len(right)
        for slices in sliced(left, right, clock):
            self._join(*slices, rest, out)
            rest -= len(slices[0]) + len(slices[1])
        if not out.made:
            return self.nothing
        self.counters.tuples_out += out.made
        return out.delta()

    def _join(self, left: Delta, right: Delta, clock: int, rest: int, out: GatheredPairs) -> None:
        """Join a slice of the arrivals, of which `rest` are still to come."""
        arrived = self.left.arrive(left, self.keys), self.right.arrive(right, self.keys)
        before = self.state_rows()
        # Where each ring stood before its new rows: loops count these in as they come.
        rings = (
            (self.left.tail, len(self.left) - len(left)),
            (self.right.tail, len(self.right) - len(right)),
        )
        found = np.empty((3, len(left)), np.int64), np.empty((3, len(right)), np.int64)
        links, dead = (self.left.links, self.right.links), self._room_for_dead()
        made, lring, rring, gone = enter_arrivals(
            *arrived, *links, rings, self.keys.heads, clock, found, dead
        )
        (self.left.tail, self.left.count), (self.right.tail, self.right.count) = lring, rring
        self.keys.table.release(dead[:gone])
        arrivals = len(left) + len(right)
        self.counters.probes += arrivals
        self.counters.comparisons += made
        self.counters.expiries += before - self.state_rows()
        if made:
            # The first pass has counted, so the second writes without asking for room.
            pairs = np.empty((2, made), np.int64)
            places = pairs[0], pairs[1], *out.more(made, arrivals / rest)
            make_pairs(*arrived, *links, found, places, self.walks)
            out.gather(pairs, made)

    def _room_for_dead(self) -> I64:
        """Return room for as many codes as there are rows, and one more.

        Few are ever written. Kept, since to get megabytes anew for each slice costs the system
        more than to use them.
        """
        rows = self.state_rows()
        if len(self.dead) <= rows:
            self.dead = np.empty(2 * rows + 1, np.int64)
        return self.dead
