"""The columns of one input of a join of many: its rows by place, or its distinct rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from windrow.core.schema import Field
from windrow.kernels.multi_rows import KEEP
from windrow.operators.delta import Delta
from windrow.operators.join.bags import DistinctRows
from windrow.operators.join.rows import NONE, RowPlaces
from windrow.operators.state.row_columns import interned_codes, load_columns, save_columns
from windrow.operators.state.row_records import Moves
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Vector
from windrow.physical.conditions import Form


@dataclass(slots=True)
class HeldRows(RowPlaces):
    """The columns of an input's rows, by place.

    The owner numbers rows and knows which are there: it saves them in its order (`saved_rows`).
    """

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        self._open(self.fields)

    def span(self, tail: int, head: int) -> tuple[int, int]:
        """Return the numbers that a loop over all rows looks at; loops move both ends of a ring."""
        return (tail, head) if self.ring else (0, self.top)

    def live(self, tail: int, head: int) -> int:
        """Return how many rows there are. O(1)."""
        return head - tail - self.frees

    def needed(self, delta: Delta, live: int) -> int:
        """Return how many places there must be for the rows that come."""
        count = len(delta)
        return live + count if self.ring else self.top + max(0, count - self.frees)

    def resize(self, capacity: int, tail: int, head: int) -> None:
        """Take as many places as the input has now; rows [tail, head) of a ring go along."""
        old = self.payload.capacity
        if capacity == old:
            return
        moves: Moves = [(slice(0, self.top), slice(0, self.top))]
        if self.ring:
            # Each piece ends where the old or the new ring wraps.
            moves, number = [], tail
            while number < head:
                start, to = number & (old - 1), number & (capacity - 1)
                size = min(head - number, old - start, capacity - to)
                moves.append((slice(start, start + size), slice(to, to + size)))
                number += size
        self.payload.move(capacity, moves)

    def add(self, delta: Delta, tail: int, head: int) -> I64:
        """Store admitted columns of new rows, for which there is room; return their numbers."""
        count = len(delta)
        if self.ring:
            done = 0
            while done < count:
                start = (head + done) & (self.payload.capacity - 1)
                size = min(count - done, self.payload.capacity - start)
                where = slice(start, start + size)
                self.payload.write(where, delta.columns, slice(done, done + size))
                done += size
            return np.arange(head, head + count)
        numbers = self.pool_slots(count)
        self.payload.write(numbers, delta.columns, slice(0, count))
        return numbers

    def ended(self, clock: int, keep: I64) -> I64:
        """Return the rows of a pool that are of no use after `clock`; `keep` is that of all."""
        if self.form is Form.FIFO or not self.top:
            return NONE
        if self.due is not None:
            return self.due.pop(clock)[1]
        return np.setdiff1d(np.flatnonzero(keep <= clock), self.free[: self.frees])

    def take(self, places: I64) -> dict[str, Vector]:
        """Return the rows at the places, as columns."""
        return self.payload.take(places)

    def codes_at(self, places: I64) -> list[I64]:
        """Return the interned codes that rows refer to."""
        return interned_codes(self.fields, self.take(places))

    def saved_rows(self, places: I64) -> Saved:
        """Return the rows at the places, in this order."""
        return save_columns(self.take(places))

    def load_rows(self, saved: Saved, words: I64, tail: int, capacity: int) -> I64:
        """Take over saved rows with the loops' words; return their numbers."""
        columns = load_columns(self.fields, saved)
        self.resize(capacity, 0, 0)
        self.payload.admit(columns)
        numbers = HeldRows.add(self, Delta(words[:, KEEP], columns), tail, tail)
        self.schedule(numbers, words[:, KEEP].copy())
        return numbers

    def check_rows(self, numbers: I64, keep: I64) -> None:
        """Assert what is true of rows that are there."""


@dataclass(slots=True)
class RingOfRows(HeldRows):
    """The rows of a signed input that expire in order of arrival: count windows.

    Each copy has a number of its own, from a counter that goes round; a departure takes the row
    at the tail, and no row is looked for [MULTI 3.6]. O(changes).
    """

    def unfolded(self, delta: Delta) -> Delta:
        """Return the changes one copy each."""
        weight = delta.weights()
        copies = np.abs(weight)
        if (copies == 1).all():
            return delta
        each = delta.take(np.repeat(np.arange(len(delta)), copies))
        each.weight = np.sign(each.weights())
        return each

    def add(self, delta: Delta, tail: int, head: int) -> I64:
        """Store the rows that come; return the numbers of all changed."""
        come = delta.weights() > 0
        numbers = np.where(come, head - 1 + np.cumsum(come), tail - 1 + np.cumsum(~come))
        self.payload.admit(delta.columns)
        super(RingOfRows, self).add(delta.take(np.flatnonzero(come)), tail, head)
        return numbers

    def read(self, delta: Delta) -> Delta:
        """Return the changes with the columns that the join reads."""
        return delta.replace_columns({f.name: delta.columns[f.name] for f in self.fields})

    def needed(self, delta: Delta, live: int) -> int:
        """Return how many places there must be for the rows that come."""
        return live + int(np.count_nonzero(delta.weights() > 0))

    def sweep(self, numbers: I64, copies: I64) -> I64:
        """Return nothing: the tail has passed what left, and numbers are never used again."""
        return NONE

    def check_rows(self, numbers: I64, keep: I64) -> None:
        """Assert what is true of rows that are there."""
        assert (keep == 1).all(), "a row of a ring is one copy"


@dataclass(slots=True)
class BagOfRows(DistinctRows):
    """The distinct rows of a signed input: a row's number is its code.

    A departure takes away one copy of an equal row. O(changes).
    """

    ring: ClassVar[bool] = False

    def unfolded(self, delta: Delta) -> Delta:
        """Return the changes as they are: a row has any number of copies."""
        return delta

    def add(self, delta: Delta, tail: int, head: int) -> I64:
        """Return the numbers of changed rows; where rows stand does not matter."""
        return self.encode(delta)

    def span(self, tail: int, head: int) -> tuple[int, int]:
        """Return the numbers that a loop over all rows looks at, now."""
        return 0, self.table.entries

    def live(self, tail: int, head: int) -> int:
        """Return how many rows there are. O(1)."""
        return len(self.table)

    def needed(self, delta: Delta, live: int) -> int:
        """Return how many places there must be once changes are added."""
        return self.table.capacity

    def resize(self, capacity: int, tail: int, head: int) -> None:
        """The table has grown by itself."""

    def take(self, places: I64) -> dict[str, Vector]:
        """Return the rows at the places, as columns."""
        columns = self.codec.columns_at(self.table.words, places)
        return dict(zip(self.places, columns, strict=True))

    def sweep(self, numbers: I64, copies: I64) -> I64:
        """Forget those of the rows that have no copies left; return them, each once."""
        gone: I64 = numbers[copies == 0]
        if len(gone):
            gone = np.unique(gone)
            self.table.release(gone)
        return gone

    def codes_at(self, places: I64) -> list[I64]:
        """Return nothing: the table says which codes it refers to."""
        return []

    def saved_rows(self, places: I64) -> Saved:
        """Return all rows, with their codes."""
        return self.save()

    def load_rows(self, saved: Saved, words: I64, tail: int, capacity: int) -> I64:
        """Take over saved rows; return their numbers."""
        self.load(saved)
        return self.table.live()

    def check_rows(self, numbers: I64, keep: I64) -> None:
        """Assert that exactly the rows with copies are kept."""
        assert np.array_equal(numbers, self.table.live()), "a row without copies is kept"


SignedStore = BagOfRows | RingOfRows
"""What a join of many signed inputs stores of one of them."""

InputStore = HeldRows | SignedStore
"""What a join of many inputs stores of one of them besides the loops' words."""
