"""Joins of many inputs by one key alone: no loop is inside another."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.kernels.multi_stars import (
    BLOCK,
    CHAINS,
    DONE,
    NEXT,
    count_stars,
    write_stars,
)
from windrow.operators.join.multi.arrivals import Arrivals
from windrow.operators.join.multi.results import Results
from windrow.operators.join.multi.rows import Rows
from windrow.operators.vector import I64


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
        self, arrivals: Arrivals, rows: Rows, steps: I64, counts: I64, gone: int
    ) -> tuple[int, int]:
        """Take in arrivals; return how many match, and the end of the list of dead codes.

        `counts` gets the rows that they are to look at, by loop as `steps`.
        """
        total, layout = len(arrivals.ts), rows.layout
        if len(self.found) <= total:
            self.found = np.empty((2 * total + 1, self.found.shape[1]), np.int64)
        dead, form = rows.room_for_dead(total), (layout.exp, layout.first, 0)
        count, gone, widest = count_stars(
            arrivals.plain,
            arrivals.spans,
            rows.state,
            form,
            steps,
            rows.live,
            dead,
            gone,
            counts,
            self.found,
        )
        if widest > self.lists.shape[1]:
            self.lists = np.empty((2, 2 * widest), np.int64)
        return count, gone

    def write(
        self, count: int, arrivals: Arrivals, rows: Rows, places: I64, results: Results
    ) -> None:
        """Hand over the results of the arrivals that match."""
        arrays, at = arrivals.plain, np.zeros(2, np.int64)
        form = (rows.layout.exp, rows.layout.first, 0)
        while at[NEXT] < count:
            results.reserve(places.shape[1], int(at[NEXT]) / count)
            made = write_stars(
                self.found,
                count,
                arrays,
                rows.state,
                form,
                self.lists,
                self.walks,
                (places, results.times),
                results.made,
                at,
            )
            results.take(places, made)
        assert at[DONE] == 0, "a result is left"
