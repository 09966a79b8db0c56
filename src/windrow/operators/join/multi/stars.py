"""Joins of many inputs by one key alone: no loop is inside another."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.kernels.multi_joins import LOOKED, STARTED
from windrow.kernels.multi_stars import (
    BLOCK,
    CHAINS,
    DONE,
    NEXT,
    ORIGIN,
    count_stars,
    write_stars,
)
from windrow.operators.join.multi.arrivals import Arrivals
from windrow.operators.join.multi.match import Order
from windrow.operators.join.multi.results import Results
from windrow.operators.join.multi.rows import Rows
from windrow.operators.vector import I64


@dataclass(slots=True)
class Stars:
    """What the two passes need room for."""

    inputs: int
    found: I64 = field(init=False)
    walks: I64 = field(init=False)
    lists: I64 = field(init=False)

    def __post_init__(self) -> None:
        self.found = np.empty((1, CHAINS + 2 * self.inputs), np.int64)
        self.walks = np.empty((4, BLOCK * self.inputs), np.int64)
        self.lists = np.empty((2, 16 * BLOCK * self.inputs), np.int64)

    def run(
        self, arrivals: Arrivals, rows: Rows, places: I64, results: Results, gone: int
    ) -> tuple[int, int]:
        """Take in arrivals and hand over their results; return arrivals that match, dead codes."""
        total, layout = len(arrivals.ts), rows.layout
        if len(self.found) <= total:
            self.found = np.empty((2 * total + 1, self.found.shape[1]), np.int64)
        dead, arrays = rows.room_for_dead(total), arrivals.arrays
        form = (layout.exp, layout.first, 0)
        count, gone, widest = count_stars(
            arrays, arrivals.spans, rows.state, form, rows.live, dead, gone, self.found
        )
        if widest > self.lists.shape[1]:
            self.lists = np.empty((2, 2 * widest), np.int64)
        at = np.zeros(2, np.int64)
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
        return count, gone

    def count(self, matched: int, orders: tuple[Order, ...], counts: I64) -> None:
        """Add up the rows that were looked at, by origin and depth."""
        n = self.inputs
        found = self.found[:matched]
        rows = found[:, CHAINS + 1 :: 2]
        for origin, order in enumerate(orders):
            own = rows[found[:, ORIGIN] == origin]
            for depth in range(1, n):
                counts[origin * n + depth, STARTED] += len(own)
                counts[origin * n + depth, LOOKED] += int(own[:, order[depth]].sum())
