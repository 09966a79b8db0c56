"""Rows in order of arrival, scanned for those that ended: what `direct` has [THESIS 2.3.3]."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.time import FOREVER
from windrow.kernels.rings import COMPARISONS, FIRST_END, LENGTH, scan_list
from windrow.operators.state.fields import ArrayField, State
from windrow.operators.state.key_table import grown
from windrow.operators.vector import I64

SMALLEST = 64


def empty_meta() -> I64:
    """Return length, first end and comparisons of an empty list."""
    return np.array([0, FOREVER, 0], np.int64)


@dataclass(slots=True)
class PlainList(State):
    """Row numbers with their ends, in order of arrival; each instant scans all of them.

    Invariants, asserted by `check`:
      1. `first_end` is the smallest end in the list;
      2. a row is in the list once.
    """

    state_fields = (ArrayField("exp"), ArrayField("kept"), ArrayField("meta"))

    exp: I64 = field(default_factory=lambda: np.zeros(SMALLEST, np.int64))
    kept: I64 = field(default_factory=lambda: np.zeros(SMALLEST, np.int64))
    meta: I64 = field(default_factory=empty_meta)

    def __len__(self) -> int:
        return int(self.meta[LENGTH])

    @property
    def first_end(self) -> int:
        """When the next row ends; FOREVER if none does."""
        return int(self.meta[FIRST_END])

    @property
    def comparisons(self) -> int:
        """How often a row was compared with an instant."""
        return int(self.meta[COMPARISONS])

    def rows(self) -> I64:
        """Return the rows, oldest first."""
        return self.kept[: len(self)]

    def scan(self, born: I64, exp: I64, rows: I64, clock: int) -> tuple[I64, I64]:
        """Add rows on their arrival, instant by instant; return the ends and rows that ended.

        O(instants * rows kept): each instant up to `clock` scans the list.
        """
        room = len(self) + len(rows)
        self.exp = grown(self.exp, room)  # type: ignore[assignment]
        self.kept = grown(self.kept, room)  # type: ignore[assignment]
        ends, ended = np.empty(room, np.int64), np.empty(room, np.int64)
        n = scan_list(born, exp, rows, clock, self.exp, self.kept, self.meta, ends, ended)
        return ends[:n], ended[:n]

    def fill(self, exp: I64, rows: I64) -> None:
        """Put rows into an empty list."""
        count = len(rows)
        self.exp = grown(self.exp, count)  # type: ignore[assignment]
        self.kept = grown(self.kept, count)  # type: ignore[assignment]
        self.exp[:count], self.kept[:count] = exp, rows
        self.meta[LENGTH], self.meta[FIRST_END] = count, exp.min()

    def invariants(self) -> None:
        """Assert the invariants."""
        exp = self.exp[: len(self)]
        first_end = int(exp.min()) if len(exp) else FOREVER
        assert first_end == self.first_end, "invariant 1: the first end is another"
        assert len(np.unique(self.rows())) == len(self), "invariant 2: a row is in twice"
