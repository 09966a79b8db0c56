"""W-joins: streams joined within windows of time of each other [WJOIN].

    { (s1, .. sn) | s_i ∈ S_i,  equalities, comparisons and the residual hold,
                    low_ij <= s_j.ts - s_i.ts <= high_ij for every window of a pair }

Streams never expire on their own, and a result stays once made: its ts is that of its newest row.
Each arrival is joined with those before it, of all streams by time, so every result is made once,
by the last of its rows; no step waits for a stream that is silent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from windrow.core.time import FOREVER
from windrow.kernels.wjoin_loops import (
    DEPTH,
    FRAME_WORDS,
    HASH,
    LOOKED,
    MADE,
    MERGE,
    NESTED,
    SINCE,
    WORK_WORDS,
    join_arrivals,
)
from windrow.kernels.wjoin_rows import END, FIRST, STOP, link_rows
from windrow.operators.delta import NO_TIMES, Delta
from windrow.operators.join.match import MultiMatch, Order
from windrow.operators.join.multi.loops import sliced
from windrow.operators.join.results import GatheredResults
from windrow.operators.join.wjoin.rows import KeyIndex, StreamRows
from windrow.operators.join.wjoin.terms import Terms
from windrow.operators.join.wjoin.windows import Windows, reach_of, unfit
from windrow.operators.state.fields import ListField, NestedField, ScalarField, ScratchField
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.operators.vector import I64

ROOM = 32_768
"""Results that are made before their columns are gathered."""

LEAST_SHARE = 0.01
"""Share of the arrivals that are in by the first results, if none is: the first makes many."""


class WJoin(StatefulTask):
    """A W-join at work: unsigned edges of pattern MON in, one such edge out.

    Costs O(arrivals + rows looked at + results) a step, and stores the rows that a later one
    can match: for the longest window of their stream. `orders[i]` is the order of the loops for
    new rows of stream i, itself first; `reorder` changes it at no cost. `clean_every` > 1 is for
    comparisons with joins that do not know of windows: rows past their time are let go only after
    so many arrivals, and the loops look at all.
    """

    state_fields = (
        NestedField("rows"),
        ScratchField("index"),
        ScalarField("since"),
        ListField("seen"),
        ListField("orders"),
    )
    method: ClassVar[int]

    def __init__(
        self,
        match: MultiMatch,
        orders: Sequence[Order] | None = None,
        *,
        windows: Windows = Windows.LOCAL,
        fewest_first: bool = False,
        clean_every: int = 1,
    ) -> None:
        assert not unfit(match), unfit(match)
        count = len(match.inputs)
        self.match, self.counters = match, Counters()
        self.terms = Terms(match)
        self.reach = reach_of(match, windows)
        self.rows = StreamRows(self.terms, self.method == HASH)
        self.index = KeyIndex(match) if self.method == HASH else None
        self.clean_every = clean_every
        flags = self.reach.narrow, self.reach.refine, fewest_first, clean_every
        self.how = np.array([self.method, *map(int, flags)], np.int64)
        self.starts, self.stops = np.zeros((2, count, count), np.int64)
        conditions = len(self.terms.equal) + len(self.terms.compares)
        self.stack = (
            np.zeros((count, FRAME_WORDS), np.int64),
            np.zeros((count, conditions, 3), np.int64),
            np.zeros(count, np.int64),
            np.zeros(count, np.int64),
        )
        self.out: I64 = np.empty((count + 1, ROOM), np.int64)
        self.work: I64 = np.zeros(WORK_WORDS, np.int64)
        self.nothing = Delta.empty(match.output, signed=False)
        self.seen = [0] * count
        self.reorder(usual_orders(match) if orders is None else orders)

    def reorder(self, orders: Sequence[Order]) -> None:
        """Let the loops go by other orders from now on."""
        assert all(order[0] == i for i, order in enumerate(orders)), "new rows come first"
        assert all(sorted(o) == list(range(len(self.match.inputs))) for o in orders)
        self.orders = tuple(map(tuple, orders))
        self._order_lines: I64 = np.array(orders, np.int64)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Join the arrivals with what is there, then let go of what no later one can match."""
        for i, delta in enumerate(inputs):
            self.counters.tuples_in += len(delta)
            self.seen[i] += len(delta)
        if not self.reach.possible:
            return self.nothing
        arrived = [self.terms.joinable(i, delta) for i, delta in enumerate(inputs)]
        self.rows.admit(arrived)
        results = GatheredResults(self.match, tuple(self.rows.payload))
        for slices, upto in sliced(arrived, clock):
            before = self._entered(slices)
            self._join(results)
            self._let_go(upto)
            self._gone(before)
        self.counters.probes += sum(map(len, arrived))
        self.counters.tuples_out += results.made
        return results.delta() if results.made else self.nothing

    def _entered(self, arrived: list[Delta]) -> I64:
        """Store new rows; return where streams begin."""
        for i, delta in enumerate(arrived):
            if len(delta):
                where, moved = self.rows.add(i, delta)
                # Stretches are positions as well, and move with their rows.
                self.starts -= moved
                self.stops -= moved
                if self.index is not None:
                    self.index.encode(i, delta, self.rows.codes, where)
        return self.rows.spans[:, FIRST].copy()

    def _join(self, results: GatheredResults) -> None:
        """Let the rows that are to come in, and gather what they make."""
        terms = self.terms.equal, self.terms.compares, self._indexed, self.terms.friends
        windows = self.reach.most, self.reach.exact, self.reach.keep, self.starts, self.stops
        coming, done = self._coming(), False
        while not done:
            self.work[MADE] = 0
            done = join_arrivals(
                self.how, self.rows.spans, (self.rows.times, self.rows.words), self._links,
                windows, terms, self._order_lines, self.stack, self.out, self.work,
            )  # fmt: skip
            if self.work[MADE]:
                # The first arrivals of a step may make results while none is through.
                share = max(1 - self._coming() / coming, LEAST_SHARE)
                self._gather(int(self.work[MADE]), results, share)
        self.counters.comparisons += int(self.work[LOOKED])
        self.work[LOOKED] = 0

    def _coming(self) -> int:
        """Return how many rows are still to come in."""
        return int((self.rows.spans[:, STOP] - self.rows.spans[:, END]).sum())

    def _gather(self, made: int, results: GatheredResults, share: float) -> None:
        """Gather the columns of what the loops have found, for a share of the arrivals."""
        results.reserve(made, share)
        results.times[0, results.made : results.made + made] = self.out[-1, :made]
        results.times[1, results.made : results.made + made] = FOREVER
        # Columns are stored by place within the stream; loops speak of positions of all.
        places = self.out[:-1, :made] - self.rows.base[:, None]
        results.take(places, made)

    @property
    def _indexed(self) -> I64:
        """The streams of each equality that has an index."""
        return self.terms.members if self.index else NO_TIMES

    @property
    def _links(self) -> tuple[I64, I64, I64]:
        heads = self.index.heads if self.index else np.zeros((0, 1, 1), np.int64)
        return self.rows.codes, self.rows.back, heads

    def _let_go(self, clock: int) -> None:
        """Forget what no row after `clock`, or still at it, can match."""
        if self.clean_every > 1:
            return
        for i, keep in enumerate(self.reach.keep.tolist()):
            self.rows.let_go(i, clock - keep)

    def _gone(self, before: I64) -> None:
        """Count out the rows that were let go since streams began at `before`."""
        for i, (old, new) in enumerate(
            zip(before.tolist(), self.rows.spans[:, FIRST].tolist(), strict=True)
        ):
            self.counters.expiries += new - old
            if self.index:
                self.index.forget(i, self.rows.codes, old, new)

    def live(self) -> tuple[int, ...]:
        """Return how many rows of each stream are stored."""
        spans = self.rows.spans
        return tuple((spans[:, STOP] - spans[:, FIRST]).tolist())

    def state_rows(self) -> int:
        """Return how many rows of all streams are stored."""
        return len(self.rows)

    @property
    def since(self) -> int:
        """How many arrivals rows were let go of before."""
        return int(self.work[SINCE])

    @since.setter
    def since(self, arrivals: int) -> None:
        self.work[SINCE] = arrivals

    def rebuild(self) -> None:
        """Index the rows that were loaded, and follow the saved orders."""
        for i, (start, stop) in enumerate(self.rows.spans[:, [FIRST, STOP]].tolist()):
            if self.index is not None and start < stop:
                self.index.encode(i, self.rows.held(i), self.rows.codes, slice(start, stop))
            link_rows(i, self.rows.spans, self._indexed, self._links)
        self.reorder([tuple(order) for order in self.orders])

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`. Times of entry are kept."""
        held = (self.rows.held(i) for i in range(len(self.match.inputs)))
        return tuple(Delta(d.ts, d.columns, np.full(len(d), FOREVER)) for d in held)

    def invariants(self) -> None:
        """Assert the invariants."""
        assert self.work[DEPTH] == 0, "an arrival is still in the loops"
        if self.index is not None:
            self.index.check()
            spans = self.rows.spans[:, [FIRST, END]].tolist()
            self.index.check_rows(self.rows.codes, spans)


class NestedWJoin(WJoin):
    """NLW: loops in each other over all rows of use, each tested for the period [WJOIN 3.1.1].

    The period is what is within the windows of all rows chosen so far: with one window w for all,
    [newest - w, oldest + w]. It is carried along, so that a test costs two comparisons.
    """

    method = NESTED


class HashWJoin(WJoin):
    """HW: the same over the rows of the key alone [WJOIN 3.1.2].

    An arrival whose key some stream does not have is stored at once. Where no equality ties a
    stream to those before it in the loops, all its rows are looked at.
    """

    method = HASH


class MergeWJoin(WJoin):
    """MW: a sweep over time finds for each arrival the stretch of every stream [WJOIN 3.2].

    Mode 1: as long as some stream has no row in its stretch, arrivals are only stored. Mode 2: the
    arrival is joined with the rows of all stretches; with one window for all, no time is looked
    at in the loops; with windows of pairs, a stretch is cut to its period once a loop. Stretches
    only move on. What the paper does not have: the loops begin with the shortest stretch, which
    the sweep knows anyway (`fewest_first`; else they go by `orders`).
    """

    method = MERGE

    def __init__(
        self,
        match: MultiMatch,
        orders: Sequence[Order] | None = None,
        *,
        windows: Windows = Windows.LOCAL,
        fewest_first: bool = True,
    ) -> None:
        super().__init__(match, orders, windows=windows, fewest_first=fewest_first)


def usual_orders(match: MultiMatch) -> list[Order]:
    """Return for each stream: itself, then always the first that is tied to those before.

    By an equality or a comparison if there is one, else by a window.
    """
    everyone = range(len(match.inputs))
    tied = [set(e.inputs) for e in match.equalities]
    tied += [{c.first, c.second} for c in match.compares]
    windows = [{p.first, p.second} for p in match.bands]
    orders = []
    for i in everyone:
        order = [i]
        while len(order) < len(match.inputs):
            rest = [j for j in everyone if j not in order]
            # A condition leaves fewer rows than a window, and a window fewer than nothing.
            order.append(min(rest, key=lambda j: (not _ties(tied, order, j),
                                                  not _ties(windows, order, j), j)))  # fmt: skip
        orders.append(tuple(order))
    return orders


def _ties(sets: list[set[int]], order: list[int], j: int) -> bool:
    return any(j in streams and streams.intersection(order) for streams in sets)
