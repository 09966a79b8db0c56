"""What a join of many inputs stores of one of them besides the loops' words."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.time import FOREVER
from windrow.operators.delta import Delta
from windrow.operators.join.multi.rows import NONE, SMALLEST
from windrow.operators.state.calendar import CalendarQueue
from windrow.operators.state.key_table import grown
from windrow.operators.state.row_records import Moves, RowRecords
from windrow.operators.vector import I64
from windrow.physical.conditions import Form, JoinInput


@dataclass(slots=True)
class HeldRows:
    """The columns of an input's rows, by place, and which places are free.

    Invariant, asserted by `check`: a free place of a pool is listed once, and is below `top`.
    """

    source: JoinInput
    form: Form
    payload: RowRecords = field(init=False)
    free: I64 = field(default_factory=lambda: np.empty(SMALLEST, np.int64))
    frees: int = 0
    top: int = 0
    due: CalendarQueue = field(default_factory=CalendarQueue)

    def __post_init__(self) -> None:
        fields = tuple(self.source.schema[name] for name in self.source.kept)
        self.payload = RowRecords(fields, SMALLEST)

    @property
    def ring(self) -> bool:
        """Return whether rows expire in order of arrival."""
        return self.form is Form.FIFO

    def needed(self, count: int, live: int) -> int:
        """Return how many places there must be for `count` more rows."""
        return live + count if self.ring else self.top + max(0, count - self.frees)

    def resize(self, capacity: int, tail: int, head: int) -> None:
        """Take as many places as the input has now; rows [tail, head) of a ring go along."""
        old = self.payload.capacity
        if capacity == old:
            return
        moves: Moves = [(slice(0, self.top), slice(0, self.top))]
        if self.ring:
            moves, number = [], tail
            while number < head:
                start, to = number & (old - 1), number & (capacity - 1)
                size = min(head - number, old - start, capacity - to)
                moves.append((slice(start, start + size), slice(to, to + size)))
                number += size
        self.payload.move(capacity, moves)

    def add(self, delta: Delta, head: int) -> I64:
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
        reused = min(count, self.frees)
        self.frees -= reused
        fresh = np.arange(self.top, self.top + count - reused)
        numbers = np.concatenate([self.free[self.frees : self.frees + reused], fresh])
        self.top += count - reused
        self.payload.write(numbers, delta.columns, slice(0, count))
        return numbers

    def schedule(self, numbers: I64, keep: I64) -> None:
        """Note when new rows of a pool are to leave."""
        if self.form is not Form.CALENDAR:
            return
        ends = keep < FOREVER
        if ends.all():
            self.due.push(keep, numbers)
        elif ends.any():
            self.due.push(keep[ends], numbers[ends])

    def ended(self, clock: int, keep: I64) -> I64:
        """Return the rows of a pool that are of no use after `clock`; `keep` is that of all."""
        if self.form is Form.FIFO or not self.top:
            return NONE
        if self.form is Form.CALENDAR:
            return self.due.pop(clock)[1]
        return np.setdiff1d(np.flatnonzero(keep <= clock), self.free[: self.frees])

    def release(self, numbers: I64) -> None:
        """Reclaim the places of rows that were taken out."""
        self.free = grown(self.free, self.frees + len(numbers))  # type: ignore[assignment]
        self.free[self.frees : self.frees + len(numbers)] = numbers
        self.frees += len(numbers)

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        return self.payload.nbytes + self.free.nbytes + self.due.nbytes

    def check(self) -> None:
        """Assert the invariant."""
        self.payload.check()
        free = self.free[: self.frees]
        assert len(np.unique(free)) == self.frees, "a place is free twice"
        assert not len(free) or free.max() < self.top, "a place is free that never was used"
