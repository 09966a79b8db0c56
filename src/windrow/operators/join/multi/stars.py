"""Joins of many inputs by one key alone: no loop is inside another."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import numpy as np

from windrow.kernels.multi_stars import (
    BLOCK,
    CHAINS,
    DONE,
    NEXT,
    RESULTS,
    count_stars,
    write_stars,
)
from windrow.operators.join.multi.arrivals import Arrivals
from windrow.operators.join.multi.rows import MultiJoinRows
from windrow.operators.join.results import GatheredResults
from windrow.operators.threads import parts, together
from windrow.operators.vector import I64

LARGE = 100_000
"""Results from which on several threads write them."""

AHEAD = 0.5
"""Room is made as if the arrivals so far were this share of all."""


@dataclass(slots=True)
class Stars:
    """The two passes over new rows, and what they need room for."""

    inputs: int
    found: I64 = field(init=False)
    walks: I64 = field(init=False)
    lists: I64 = field(init=False)

    def __post_init__(self) -> None:
        self.found = np.empty((1, CHAINS + 2 * self.inputs), np.int64)
        self.walks = np.empty((4, BLOCK * self.inputs), np.int64)
        self.lists = np.empty((2, 16 * BLOCK * self.inputs), np.int64)

    def enter(
        self, arrivals: Arrivals, rows: MultiJoinRows, steps: I64, counts: I64, gone: int
    ) -> tuple[int, int]:
        """Take in arrivals; return how many match, and the end of the list of dead codes.

        `counts` gets the rows that they are to look at, by loop as `steps`.
        """
        total = len(arrivals.ts)
        if len(self.found) <= total:
            self.found = np.empty((2 * total + 1, self.found.shape[1]), np.int64)
        rows.reserve_dead(total)
        count, gone, widest = count_stars(
            arrivals.plain,
            arrivals.spans,
            rows.state,
            steps,
            gone,
            counts,
            self.found,
        )
        # An arrival's chains are listed before they are combined: room for the longest.
        if widest > self.lists.shape[1]:
            self.lists = np.empty((2, 2 * widest), np.int64)
        return count, gone

    def write(
        self,
        count: int,
        arrivals: Arrivals,
        rows: MultiJoinRows,
        places: I64,
        results: GatheredResults,
    ) -> None:
        """Hand over the results of the arrivals that match, in parts at a time if they are many."""
        ends = np.cumsum(self.found[:count, RESULTS])
        total = int(ends[-1]) if count else 0
        job = StarPass(self, arrivals, rows, results)
        # Where a residual drops results, their places are known only when it has been asked.
        if not results.keeps_all:
            job.hand_over(count, places)
            return
        # Threads cost more than they save where there is little to write.
        many = parts() if total >= LARGE else 1
        results.reserve(total, AHEAD)
        # Each thread gets as many results, not as many arrivals: one key may have most of them.
        cuts = np.searchsorted(ends, [total * n // many for n in range(1, many)]).tolist()
        bounds = list(pairwise([0, *cuts, count]))
        # Counted before, so every thread knows where its results begin.
        starts = [results.made + (int(ends[low - 1]) if low else 0) for low, _ in bounds]
        rooms = [places, *(np.empty_like(places) for _ in range(many - 1))]
        given = zip(bounds, starts, rooms, strict=True)
        together([partial(job.write, *bound, start, room) for bound, start, room in given])
        results.made += total


@dataclass(frozen=True, slots=True)
class StarPass:
    """The second pass over new rows: reads what the first has noted, and changes nothing of it."""

    stars: Stars
    arrivals: Arrivals
    rows: MultiJoinRows
    results: GatheredResults

    def write(self, low: int, high: int, start: int, places: I64) -> None:
        """Write the results of arrivals [low, high) from place `start` on."""
        at = np.array([low, 0], np.int64)
        lists, walks = np.empty_like(self.stars.lists), np.empty_like(self.stars.walks)
        while at[NEXT] < high:
            made = self._some(high, places, lists, walks, start, at)
            self.results.copy(places, made, start)
            start += made
        assert at[DONE] == 0, "a result is left"

    def hand_over(self, count: int, places: I64) -> None:
        """Write all results one part after the other, of which some may be dropped."""
        at, results = np.zeros(2, np.int64), self.results
        while at[NEXT] < count:
            results.reserve(places.shape[1], int(at[NEXT]) / count)
            scratch = self.stars.lists, self.stars.walks
            results.take(places, self._some(count, places, *scratch, results.made, at))
        assert at[DONE] == 0, "a result is left"

    def _some(self, high: int, places: I64, lists: I64, walks: I64, start: int, at: I64) -> int:
        made: int = write_stars(
            self.stars.found,
            high,
            self.arrivals.plain,
            self.rows.state,
            lists,
            walks,
            (places, self.results.times),
            start,
            at,
        )
        return made
