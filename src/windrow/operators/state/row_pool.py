"""Rows that expire in any order: places with a free list."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.schema import Field
from windrow.kernels.rings import scatter_words, take_places
from windrow.operators.state.fields import ArrayField, NestedField, State
from windrow.operators.state.row_columns import RowColumns, interned_codes
from windrow.operators.vector import I64, Vector

SMALLEST = 64


@dataclass(slots=True)
class RowPool(State):
    """Rows at numbered places, each with its arrival. A released place is given out again.

        places  [ a  .  b  c  .  | never used ]       free [ 1 4 ], newest last
                                 used

    Invariants, asserted by `check`:
      1. free places are below `used` and distinct;
      2. all arrays have room for `used` rows.
    """

    state_fields = (ArrayField("ts"), ArrayField("free"), NestedField("columns"))

    fields: tuple[Field, ...]
    ts: I64 = field(default_factory=lambda: np.empty(SMALLEST, np.int64))
    free: I64 = field(default_factory=lambda: np.empty(SMALLEST, np.int64))
    columns: RowColumns = field(init=False)
    used: int = 0
    freed: int = 0

    def __post_init__(self) -> None:
        self.columns = RowColumns(self.fields)
        self.columns.resize(SMALLEST, slice(0, 0), slice(0, 0))

    def __len__(self) -> int:
        return self.used - self.freed

    @property
    def capacity(self) -> int:
        """How many places there may be: arrays indexed by place must be at least this long."""
        return len(self.ts)

    def add(self, ts: I64, columns: dict[str, Vector]) -> I64:
        """Store rows; return their places. O(rows), amortised."""
        count = len(ts)
        if len(self) + count > len(self.ts):
            self._resize(max(len(self) + count, 2 * len(self.ts)))
        rows = np.empty(count, np.int64)
        again = take_places(self.free, self.freed, self.used, rows)
        self.freed -= again
        self.used += count - again
        scatter_words(self.ts, rows, ts)
        self.columns.write(rows, columns, slice(0, count))
        return rows

    def release(self, rows: I64) -> None:
        """Forget rows. Each is there and occurs once."""
        self.free[self.freed : self.freed + len(rows)] = rows
        self.freed += len(rows)
        # Nothing is there: numbers may begin anew, and a burst's room is given back.
        if self.freed == self.used:
            self.used = self.freed = 0
            if len(self.ts) > SMALLEST:
                self._resize(SMALLEST)

    def take(self, rows: I64) -> dict[str, Vector]:
        """Return rows by place, as columns."""
        return self.columns.take(rows)

    def live(self) -> I64:
        """Return the places of all rows, ascending."""
        there = np.ones(self.used, np.bool_)
        there[self.free[: self.freed]] = False
        return np.flatnonzero(there)

    def _resize(self, capacity: int) -> None:
        kept = slice(0, self.used)
        ts, free = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
        ts[kept], free[: self.freed] = self.ts[kept], self.free[: self.freed]
        self.columns.resize(capacity, kept, kept)
        self.ts, self.free = ts, free

    def invariants(self) -> None:
        """Assert the invariants."""
        free = self.free[: self.freed]
        assert len(np.unique(free)) == len(free), "invariant 1: a place is free twice"
        assert not len(free) or 0 <= free.min() <= free.max() < self.used, (
            "invariant 1: a free place was never used"
        )
        assert len(self.ts) == len(self.free) == self.columns.capacity, "invariant 2: lengths"
        assert self.used <= len(self.ts), "invariant 2: more rows than places"

    def live_codes(self) -> list[I64]:
        """Return the interned codes that rows refer to."""
        return interned_codes(self.fields, self.take(self.live()))
