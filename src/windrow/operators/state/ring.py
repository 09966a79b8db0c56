"""First in, first out: rows that expire in order of arrival."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.schema import Field
from windrow.core.time import BEGINNING
from windrow.operators.state.aligned import larger
from windrow.operators.state.fields import ArrayField, NestedField, State
from windrow.operators.state.row_columns import RowColumns, interned_codes
from windrow.operators.vector import I64, Vector

SMALLEST = 64

NOTHING = slice(0, 0)

NO_ENDS: I64 = np.empty(0, np.int64)

ENDLESS = 1 << 62
"""A lifetime from which on ends are stored apart: added to a time it may be no int64."""


@dataclass(slots=True)
class Ring(State):
    """Rows by number, from `tail` up to but not including `head`, each with arrival and end.

        place = (row - origin) mod capacity       [ 8  9  .  .  5  6  7 ]   tail 5, head 10

    A row keeps its number as long as it is there; its place changes when the ring grows or
    shrinks. As long as all rows live equally long, as in a RANGE window, `exp` is empty, and an
    end is the arrival and `lifetime`. Invariants, asserted by `check`:
      1. there is a place for each row, in all arrays;
      2. a ring of more than `SMALLEST` places is at least an eighth full after `drop_to`.
    """

    state_fields = (ArrayField("ts"), ArrayField("exp"), NestedField("columns"))

    fields: tuple[Field, ...]
    ts: I64 = field(default_factory=lambda: np.empty(SMALLEST, np.int64))
    exp: I64 = field(default_factory=lambda: NO_ENDS)
    columns: RowColumns = field(init=False)
    lifetime: int = 0
    origin: int = 0
    tail: int = 0
    head: int = 0

    def __post_init__(self) -> None:
        self.columns = RowColumns(self.fields)
        self.columns.resize(SMALLEST, NOTHING, NOTHING)

    def __len__(self) -> int:
        return self.head - self.tail

    def append(self, ts: I64, exp: I64, columns: dict[str, Vector]) -> int:
        """Add rows at the head; return the number of the first. O(rows), amortised."""
        first, count = self.head, len(ts)
        if len(self) + count > len(self.ts):
            self._resize(larger(len(self.ts), len(self) + count))
        if count:
            self._admit(ts, exp)
        done = 0
        for where in self._places(first, first + count):
            part = slice(done, done + where.stop - where.start)
            self.ts[where] = ts[part]
            if len(self.exp):
                self.exp[where] = exp[part]
            self.columns.write(where, columns, part)
            done = part.stop
        self.head = first + count
        return first

    def _admit(self, ts: I64, exp: I64) -> None:
        """Store ends apart, unless the new rows live as long as those that are there."""
        if not len(self):
            lifetime = int(exp[0]) - int(ts[0])
            self.exp, self.lifetime = NO_ENDS, lifetime if lifetime < ENDLESS else 0
        # From the first row on that lives longer or shorter, every row has an end of its own.
        if not len(self.exp) and (exp - ts != self.lifetime).any():
            self.exp = self.ts + self.lifetime

    def drop_to(self, row: int) -> None:
        """Forget all rows before `row`."""
        self.tail = row
        # An eighth, so that a window that breathes does not move its rows each time.
        if len(self.ts) > SMALLEST and 8 * len(self) < len(self.ts):
            self._resize(max(SMALLEST, 2 * len(self)))

    def drop_head(self, row: int) -> None:
        """Forget all rows from `row` on, the youngest."""
        self.head = row
        if not len(self):
            self.exp = NO_ENDS

    def at(self, first: int, stop: int) -> I64:
        """Return the places of rows [first, stop)."""
        low = (first - self.origin) % len(self.ts)
        places = np.arange(low, low + stop - first, dtype=np.int64)
        if low + stop - first > len(self.ts):
            places[len(self.ts) - low :] -= len(self.ts)
        return places

    def ends(self, at: I64) -> I64:
        """Return the ends of the rows at places."""
        return self.exp[at] if len(self.exp) else self.ts[at] + self.lifetime

    def take(self, rows: I64) -> dict[str, Vector]:
        """Return rows by number, as columns."""
        return self.columns.take((rows - self.origin) % len(self.ts))

    def first_after(self, clock: int) -> int:
        """Return the number of the first row with exp > clock; ends ascend. O(log rows)."""
        times, limit = self.exp, clock
        if not len(times):
            # All rows live equally long: the order of arrival is that of ends.
            times, limit = self.ts, clock - self.lifetime
        if limit < BEGINNING:  # no row can have ended
            return self.tail
        row = self.tail
        for where in self._places(self.tail, self.head):
            found = int(np.searchsorted(times[where], limit, side="right"))
            row += found
            if found < where.stop - where.start:
                break
        return row

    def _places(self, first: int, stop: int) -> list[slice]:
        """Return the places of rows [first, stop) as one slice, or two if they wrap."""
        if first == stop:
            return []
        low = (first - self.origin) % len(self.ts)
        end = low + stop - first
        if end <= len(self.ts):
            return [slice(low, end)]
        return [slice(low, len(self.ts)), slice(0, end - len(self.ts))]

    def _resize(self, capacity: int) -> None:
        """Change the number of places; the rows come to stand at the first."""
        parts = self._places(self.tail, self.head)
        kept = slice(0, len(self))
        source = parts[0] if len(parts) == 1 else self.at(self.tail, self.head)
        for name in ("ts", "exp") if len(self.exp) else ("ts",):
            made = np.empty(capacity, np.int64)
            made[kept] = getattr(self, name)[source]
            setattr(self, name, made)
        self.columns.resize(capacity, source, kept)
        self.origin = self.tail

    def live_codes(self) -> list[I64]:
        """Return the interned codes that rows refer to."""
        return interned_codes(self.fields, self.columns.take(self.at(self.tail, self.head)))

    def invariants(self) -> None:
        """Assert the invariants."""
        capacity = len(self.ts)
        assert 0 <= len(self) <= capacity, "invariant 1: more rows than places"
        assert self.columns.capacity == capacity, "invariant 1: lengths differ"
        assert len(self.exp) in (0, capacity), "invariant 1: lengths differ"
