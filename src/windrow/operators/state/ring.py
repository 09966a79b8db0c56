"""First in, first out: rows that expire in order of arrival."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.schema import Field
from windrow.operators.state.fields import ArrayField, NestedField, State
from windrow.operators.state.row_columns import RowColumns, interned_codes
from windrow.operators.vector import I64, Vector

SMALLEST = 64

NOTHING = slice(0, 0)


@dataclass(slots=True)
class Ring(State):
    """Rows by number, from `tail` up to but not including `head`, each with arrival and end.

        place = row & (capacity - 1)       [ 8  9  .  .  .  5  6  7 ]   tail 5, head 10

    A row keeps its number as long as it is there; its place changes when the ring grows or
    shrinks. Invariants, asserted by `check`:
      1. capacity is a power of two and holds all rows;
      2. a ring of more than `SMALLEST` places is at least an eighth full after `drop_to`.
    """

    state_fields = (ArrayField("ts"), ArrayField("exp"), NestedField("columns"))

    fields: tuple[Field, ...]
    ts: I64 = field(default_factory=lambda: np.empty(SMALLEST, np.int64))
    exp: I64 = field(default_factory=lambda: np.empty(SMALLEST, np.int64))
    columns: RowColumns = field(init=False)
    tail: int = 0
    head: int = 0

    def __post_init__(self) -> None:
        self.columns = RowColumns(self.fields)
        self.columns.resize(SMALLEST, NOTHING, NOTHING)

    def __len__(self) -> int:
        return self.head - self.tail

    @property
    def mask(self) -> int:
        """What takes a row's number to its place."""
        return len(self.exp) - 1

    def append(self, ts: I64, exp: I64, columns: dict[str, Vector]) -> int:
        """Add rows at the head; return the number of the first. O(rows), amortised."""
        first, count = self.head, len(ts)
        if len(self) + count > len(self.exp):
            self._resize(len(self) + count)
        done = 0
        for where in self._places(first, first + count):
            part = slice(done, done + where.stop - where.start)
            self.ts[where] = ts[part]
            self.exp[where] = exp[part]
            self.columns.write(where, columns, part)
            done = part.stop
        self.head = first + count
        return first

    def drop_to(self, row: int) -> None:
        """Forget all rows before `row`."""
        self.tail = row
        if len(self.exp) > SMALLEST and 8 * len(self) < len(self.exp):
            self._resize(2 * len(self))

    def drop_head(self, row: int) -> None:
        """Forget all rows from `row` on, the youngest."""
        self.head = row

    def at(self, first: int, stop: int) -> I64:
        """Return the places of rows [first, stop)."""
        return np.arange(first, stop, dtype=np.int64) & self.mask

    def take(self, rows: I64) -> dict[str, Vector]:
        """Return rows by number, as columns."""
        return self.columns.take(rows & self.mask)

    def first_after(self, clock: int) -> int:
        """Return the number of the first row with exp > clock; ends ascend. O(log rows)."""
        if self.tail == self.head or self.exp[self.tail & self.mask] > clock:
            return self.tail
        row = self.tail
        for where in self._places(self.tail, self.head):
            found = int(np.searchsorted(self.exp[where], clock, side="right"))
            row += found
            if found < where.stop - where.start:
                break
        return row

    def _places(self, first: int, stop: int) -> list[slice]:
        """Return the places of rows [first, stop) as one slice, or two if they wrap."""
        if first == stop:
            return []
        low = first & self.mask
        end = low + stop - first
        if end <= len(self.exp):
            return [slice(low, end)]
        return [slice(low, len(self.exp)), slice(0, end - len(self.exp))]

    def _resize(self, rows: int) -> None:
        capacity = SMALLEST
        while capacity < rows:
            capacity *= 2
        kept = self.at(self.tail, self.head)
        places = np.arange(self.tail, self.head, dtype=np.int64) & (capacity - 1)
        ts, exp = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
        ts[places], exp[places] = self.ts[kept], self.exp[kept]
        self.columns.resize(capacity, kept, places)
        self.ts, self.exp = ts, exp

    def invariants(self) -> None:
        """Assert the invariants."""
        capacity = len(self.exp)
        assert capacity & (capacity - 1) == 0, "invariant 1: capacity is no power of two"
        assert 0 <= len(self) <= capacity, "invariant 1: more rows than places"
        assert self.columns.capacity == len(self.ts) == capacity, "invariant 1: lengths differ"

    def live_codes(self) -> list[I64]:
        """Return the interned codes that rows refer to."""
        return interned_codes(self.fields, self.columns.take(self.at(self.tail, self.head)))
