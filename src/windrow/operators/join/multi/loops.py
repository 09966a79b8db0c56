"""The loops of a join of many inputs, and what they count: common to all kinds of inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from windrow.core.time import BEGINNING, FOREVER
from windrow.kernels.multi_ahead import BLOCK
from windrow.kernels.multi_joins import (
    AT,
    DEPTH,
    EXPIRE_AT,
    EXPIRE_EVERY,
    GONE,
    LOOKED,
    MADE,
    STACK_LINES,
    START,
    STARTED,
    STOP,
    WORK_WORDS,
    join_groups,
)
from windrow.operators.delta import Delta
from windrow.operators.join.match import Order
from windrow.operators.join.multi.arrivals import Arrivals
from windrow.operators.join.multi.program import JoinProgram, compile_orders
from windrow.operators.join.multi.rows import MultiJoinRows
from windrow.operators.join.multi.stars import Stars
from windrow.operators.join.results import GatheredResults, ResultSink
from windrow.operators.state.fields import ListField, State
from windrow.operators.task import Counters
from windrow.operators.vector import I64
from windrow.physical.conditions import Method

FEW = 256
"""Results for which there is room however few arrivals are."""

SLICE = 32_768
"""Arrivals of an input that are joined at a time."""

ROOM = 16_384
"""Results made before their columns are gathered: what was written is still in the cache."""


def sliced(inputs: list[Delta], clock: int) -> Iterator[tuple[list[Delta], int]]:
    """Yield the arrivals of all inputs up to an instant, and the instant, in time order."""
    while max(len(d) for d in inputs) > SLICE:
        # All inputs up to one instant, so that no input runs ahead of another.
        until = int(min(d.ts[SLICE - 1] for d in inputs if len(d) >= SLICE))
        parts = [d.split(until) for d in inputs]
        inputs = [rest for _, rest in parts]
        yield [now for now, _ in parts], until
    yield inputs, clock


@dataclass(frozen=True, slots=True)
class LoopStatistics:
    """What a join of many inputs knows of them: exact, at no cost.

    `seen` and `rows` are the tuples that came, and that are there, of each input. `distinct` has
    the values of each (input, class), 0 where it has no part in it. `started` and `looked` say,
    by (origin, depth), how often a loop began and how many rows it looked at.
    """

    seen: tuple[int, ...]
    rows: tuple[int, ...]
    distinct: I64
    started: I64
    looked: I64


@dataclass(slots=True)
class Loops(State):
    """The walk over `rows` by the orders of a program; only the orders are saved.

    `every` is how long the tails of rings may lag; None: as is best for the cache.
    """

    state_fields = (ListField("orders"),)

    rows: MultiJoinRows
    method: Method
    every: int | None = None
    orders: tuple[Order, ...] = ()
    program: JoinProgram = field(init=False)
    places: I64 = field(init=False)
    stack: I64 = field(init=False)
    walks: I64 = field(init=False)
    stars: Stars = field(init=False)
    counts: I64 = field(init=False)
    work: I64 = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.rows.rings)
        self.places = np.empty((n, 1), np.int64)
        self.stack = np.zeros((STACK_LINES, n + 1), np.int64)
        self.walks = np.empty(BLOCK, np.int64)
        self.stars = Stars(n)
        self.counts = np.zeros((n * n, 2), np.int64)
        self.work = np.zeros(WORK_WORDS, np.int64)
        if self.rows.layout.signed:  # departures travel: no tail moves by itself
            self.work[EXPIRE_AT], self.work[EXPIRE_EVERY] = FOREVER, FOREVER
        elif self.every is None:
            self.work[EXPIRE_AT], self.work[EXPIRE_EVERY] = FOREVER, 0
        else:
            self.work[EXPIRE_AT], self.work[EXPIRE_EVERY] = BEGINNING, self.every
        self.work[DEPTH] = -1
        self.reorder(self.orders)

    def reorder(self, orders: tuple[Order, ...]) -> None:
        """Follow other orders from now on."""
        self.orders = orders
        self.program = compile_orders(self.rows.layout, orders, self.method, self.rows.live)

    def run(self, arrivals: Arrivals, results: ResultSink, counters: Counters) -> None:
        """Let arrivals in, and hand over the results that they make, a bounded part at a time."""
        total, looked = len(arrivals.ts), int(self.counts[:, LOOKED].sum())
        self._reserve(total)
        # Without loops inside loops two passes do: the first counts, the second writes.
        if isinstance(results, GatheredResults) and self._is_star(arrivals):
            self._run_stars(arrivals, results)
        else:
            self._walk(arrivals, results, total)
        counters.probes += total
        counters.comparisons += int(self.counts[:, LOOKED].sum()) - looked

    def _is_star(self, arrivals: Arrivals) -> bool:
        """Return whether chains can be followed apart from each other, and no expiry is put off."""
        plain = self.program.is_star and self.every is None and all(self.rows.rings)
        return plain and not self.rows.layout.signed and not arrivals.crowded

    def _run_stars(self, arrivals: Arrivals, results: GatheredResults) -> None:
        matched, self.work[GONE] = self.stars.enter(
            arrivals, self.rows, self.program.steps, self.counts, self.gone
        )
        self.stars.write(matched, arrivals, self.rows, self.places, results)

    def _walk(self, arrivals: Arrivals, results: ResultSink, total: int) -> None:
        rows, work, arrays = self.rows, self.work, arrivals.arrays
        rows.reserve_dead(total)
        work[AT] = work[STOP] = 0
        going = True
        while going:
            # How many arrivals are in says how many results the rest may make.
            done = int(arrivals.spans[0].sum() - arrivals.first.sum())
            results.reserve(self.places.shape[1], done / total)
            work[MADE], work[START] = 0, results.made
            join_groups(
                arrays,
                arrivals.spans,
                rows.state,
                self.program.arrays,
                self.stack,
                self.walks,
                (self.places, results.times),
                self.counts,
                work,
            )
            if work[MADE]:
                results.take(self.places, int(work[MADE]))
            # The walk stops amid its loops where there is no room, and goes on at that depth.
            going = work[DEPTH] >= 0

    def _reserve(self, total: int) -> None:
        """Take room for some results: few where arrivals are few."""
        size = min(max(2 * total, FEW), ROOM)
        if self.places.shape[1] < size:
            self.places = np.empty((len(self.rows.rings), size), np.int64)

    @property
    def gone(self) -> int:
        """How many codes the loops have listed as dead."""
        return int(self.work[GONE])

    def settle(self, gone: int) -> None:
        """Forget the codes listed as dead."""
        self.rows.release(gone)
        self.work[GONE] = 0

    def rebuild(self) -> None:
        """Follow the saved orders."""
        self.reorder(tuple(map(tuple, self.orders)))

    def statistics(self, seen: list[int], rows: list[int]) -> LoopStatistics:
        """Return what is known of the inputs."""
        n = len(rows)
        return LoopStatistics(
            tuple(seen),
            tuple(rows),
            self.rows.live[:, : len(self.rows.tables)].copy(),
            self.counts[:, STARTED].reshape(n, n).copy(),
            self.counts[:, LOOKED].reshape(n, n).copy(),
        )
