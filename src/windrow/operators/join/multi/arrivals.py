"""New rows of all inputs, one input after the other, as the loops read them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.operators.vector import I64

Arrays = tuple[I64, I64, I64, I64, I64, I64, I64]
"""ts, exp or weight, keep, numbers, codes of each port, values, order of walks."""

CROWDED = 4
"""Rows an instant and input from which on it pays to walk equal rows together.

Sorting costs 60 ns a row, a walk that finds nothing 30.
"""


@dataclass(slots=True)
class Arrivals:
    """Room for new rows, those of an input from its `first` on.

    `spans` has the next row of each input that is to be taken in, the last + 1, and how far the
    loops have looked ahead.
    """

    ts: I64
    last: I64
    keep: I64
    numbers: I64
    codes: I64
    values: I64
    first: I64
    spans: I64

    @classmethod
    def of(cls, counts: list[int], ports: int, values: int) -> Arrivals:
        """Return room for so many rows of each input."""
        total = sum(counts)
        ts, last, keep, numbers = (np.empty(total, np.int64) for _ in range(4))
        sizes = np.array(counts, np.int64)
        ends = np.cumsum(sizes)
        first: I64 = ends - sizes
        return cls(
            ts,
            last,
            keep,
            numbers,
            np.zeros((ports, total), np.int64),
            np.zeros((values, total), np.int64),
            first,
            np.array([first, ends, first], np.int64),
        )

    def part(self, which: int) -> slice:
        """Return where the rows of an input stand."""
        return slice(int(self.first[which]), int(self.spans[1, which]))

    @property
    def arrays(self) -> Arrays:
        """All of it, with the order in which rows are walked."""
        return (*self.plain[:-1], self._order())

    @property
    def plain(self) -> Arrays:
        """All of it, for loops that do not ask for an order."""
        numbers = self.numbers
        return self.ts, self.last, self.keep, numbers, self.codes, self.values, numbers

    @property
    def crowded(self) -> bool:
        """Return whether some input has many rows an instant."""
        return any(self._is_crowded(i) for i in range(len(self.first)))

    def _is_crowded(self, which: int) -> bool:
        ts = self.ts[self.part(which)]
        if len(ts) < CROWDED:
            return False
        return CROWDED * (1 + int(np.count_nonzero(ts[1:] != ts[:-1]))) <= len(ts)

    def _order(self) -> I64:
        """Return the rows, equal ones of an input and instant together where many share one."""
        order = np.arange(len(self.ts))
        for which in range(len(self.first)):
            if self._is_crowded(which):
                part = self.part(which)
                keys = [*self.values[:, part], *self.codes[:, part], self.ts[part]]
                order[part] = part.start + np.lexsort(keys)
        return order
