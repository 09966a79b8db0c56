"""The symmetric hash join of unsigned edges whose rows expire in order of arrival."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from windrow.kernels.chains import HEAD_WORDS, LEFT, RIGHT
from windrow.kernels.fifo_joins import BLOCK, COUNT, enter_arrivals, make_pairs
from windrow.operators.delta import NO_TIMES, Delta
from windrow.operators.join.fifo_rows import LinkedRing
from windrow.operators.join.gathered import GatheredPairs
from windrow.operators.join.match import Match
from windrow.operators.state.key_table import KeyTable, grown, interned_words, with_room
from windrow.operators.state.row_columns import interned_codes
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64
from windrow.physical.conditions import bands_imply_liveness

Arrivals = tuple[I64, I64, I64, I64]
"""What the loops read of new rows: ts, exp, keep, codes."""
NO_ARRIVALS: Arrivals = (NO_TIMES, NO_TIMES, NO_TIMES, NO_TIMES)

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


class FifoJoin:
    """L ⋈ R at work where time alone lets go of rows, in their order, and keys alone decide.

    As `HashJoin`, which takes any other two edges; the same answer. Costs O(arrivals + results +
    departures) a step, and stores the rows of both windows. `endless` says that no row of
    either side ever ends: bands let go of them. Invariants, asserted by `check`:
      1. `heads` counts the rows of each key and side, and exactly the keys with rows are kept;
      2. from the newest row of a key, `back` leads to all others of its side.
    """

    def __init__(self, match: Match, *, endless: bool = False) -> None:
        assert bands_imply_liveness(match.bands), "a band on other times needs a look at each row"
        self.match = match
        self.endless = endless
        self.counters = Counters()
        self.keys = KeyTable(len(match.left.keys))
        self.heads = np.zeros((self.keys.capacity, HEAD_WORDS), np.int64)
        self.left = LinkedRing(match.left, endless, [b.left for b in match.bands])
        self.right = LinkedRing(match.right, endless, [b.right for b in match.bands])
        self.walks: I64 = np.empty(BLOCK + 1, np.int64)
        self.dead: I64 = np.empty(BLOCK, np.int64)
        self.nothing = Delta.empty(match.output, signed=False)

    def begin(self, start: int) -> Delta | None:
        """Nothing is there before any tuple is."""

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Join the arrivals with what is alive, and forget what has expired by `clock`."""
        left, right = inputs
        self.counters.tuples_in += len(left) + len(right)
        left, right = self.match.left.joinable(left), self.match.right.joinable(right)
        self.left.admit(left.columns)
        self.right.admit(right.columns)
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
        numbers = (self.left.head, self.right.head)
        spans = (self.left.tail, numbers[0], self.right.tail, numbers[1])
        arrived = self._arrived(left, right)
        found = np.empty((3, len(left)), np.int64), np.empty((3, len(right)), np.int64)
        dead = self._room_for_dead()
        links = self.left.links, self.right.links
        made, self.left.tail, self.right.tail, gone = enter_arrivals(
            *arrived, *links, spans, self.heads, clock, *found, dead
        )
        self.keys.release(dead[:gone])
        arrivals = len(left) + len(right)
        self._count(arrivals, made, spans)
        if made:
            pairs = np.empty((2, made), np.int64)
            places = pairs[0], pairs[1], *out.more(made, arrivals / rest)
            make_pairs(*arrived, *links, numbers, *found, places, self.walks)
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

    def _count(self, arrivals: int, made: int, spans: tuple[int, ...]) -> None:
        self.counters.probes += arrivals
        self.counters.comparisons += made
        self.counters.expiries += self.left.tail - spans[0] + self.right.tail - spans[2]

    def _arrived(self, left: Delta, right: Delta) -> tuple[Arrivals, Arrivals]:
        """Store new rows; return for each side what the loops read of them."""
        match = self.match
        arrived = (
            self._stored(left, self.left, match.left_times, match.left_keep),
            self._stored(right, self.right, match.right_times, match.right_keep),
        )
        self.heads = grown(self.heads, self.keys.capacity)  # type: ignore[assignment]
        return arrived

    def _stored(
        self,
        delta: Delta,
        ring: LinkedRing,
        times_of: Callable[[Delta], I64],
        keep_of: Callable[[I64, I64], I64],
    ) -> Arrivals:
        """Store the new rows of one side."""
        if not len(delta):
            return NO_ARRIVALS
        assert delta.exp is not None
        codes = self.keys.encode(ring.side.key_words(delta))
        ring.add(delta.columns, len(delta))
        return delta.ts, delta.exp, keep_of(delta.exp, times_of(delta)), codes

    def state_rows(self) -> int:
        """Return how many rows of both sides are stored."""
        return len(self.left) + len(self.right)

    def state_bytes(self) -> int:
        """Return the exact size of rows, links and keys."""
        return self.left.nbytes + self.right.nbytes + self.heads.nbytes + self.keys.nbytes

    def save(self) -> Saved:
        """Return the state for `load`."""
        return {
            "keys": self.keys.save(),
            "heads": self.keys.used(self.heads),
            "left": self.left.save(),
            "right": self.right.save(),
        }

    def load(self, saved: Saved) -> None:
        """Take over a saved state."""
        keys, heads, left, right = (saved[k] for k in ("keys", "heads", "left", "right"))
        assert isinstance(keys, dict)
        assert isinstance(heads, np.ndarray)
        assert isinstance(left, dict)
        assert isinstance(right, dict)
        self.keys = KeyTable.loaded(keys)
        self.heads = with_room(heads, self.keys.capacity)  # type: ignore[assignment]
        self.left.load(left)
        self.right.load(right)

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        return self.left.held(self.keys, clock), self.right.held(self.keys, clock)

    def live_codes(self) -> list[I64]:
        """Return the interned codes that keys and rows refer to."""
        found = interned_words(self.match.left.key_codec.fields, self.keys)
        for rows in (self.left, self.right):
            columns = rows.payload.take(rows.live())
            found += interned_codes(rows.payload.fields, columns)
        return found

    def check(self) -> None:
        """Assert the invariants of the state."""
        self.keys.check()
        live = self.keys.live()
        assert (self.heads[live, COUNT:].sum(axis=1) > 0).all(), "invariant 1: a useless key"
        for number, ring in ((LEFT, self.left), (RIGHT, self.right)):
            ring.check()
            counted = np.bincount(ring.codes[ring.live()], minlength=len(self.heads))
            assert np.array_equal(counted, self.heads[:, COUNT + number]), "invariant 1: miscounted"
            self._check_chains(ring, number, np.flatnonzero(counted), counted)

    def _check_chains(self, ring: LinkedRing, number: int, codes: I64, counted: I64) -> None:
        at, steps = self.heads[codes, number] - 1, 0
        while len(codes):
            slots = at & (len(ring.keep) - 1)
            assert (at >= ring.tail).all(), "invariant 2: a chain leaves the ring"
            assert np.array_equal(ring.codes[slots], codes), "invariant 2: a chain changes its key"
            steps += 1
            at, more = at - ring.back[slots], counted[codes] > steps
            at, codes = at[more], codes[more]
