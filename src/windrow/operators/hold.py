"""Results of a negation that are emitted once they have lasted [THESIS 9.2]."""

from __future__ import annotations

from typing import cast

import numpy as np

from windrow.core.schema import Schema
from windrow.core.time import BEGINNING
from windrow.kernels.holds import (
    BELOW,
    COPIES,
    DUE,
    FIRST,
    HELD,
    LAST,
    NEVER,
    NOW,
    OPEN,
    OPENED,
    ROW,
    SUPPRESSED,
    TIME,
    TOP,
    WAITING,
    hold_changes,
)
from windrow.operators.codec import RowCodec
from windrow.operators.delta import NO_TIMES, Delta
from windrow.operators.state.bag import encode_sparingly
from windrow.operators.state.fields import ArrayField, ScratchField
from windrow.operators.state.key_table import KeyTable, TableField, grown
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64

SMALLEST = 64


class HoldTask(StatefulTask):
    """Of a row, min { copies at t | τ - h <= t <= τ }: signed in, signed out.

        copies     1     0     1  2        1
                   ├─────┤     ├──┼────────┼───
        emitted                   h: +1         the first is gone before h is over: never emitted;
                               ◄──►             a fall retracts what has not been emitted yet

    Of n copies the j-th is there since their number last rose to j, so what came last leaves first.
    A partly signed edge would not do: which copies wait depends on every departure of the row.
    O(changes + rises that end) a step; stores the rises of the last h, and the rows of the
    instant that may still go on. Invariants, asserted by `check`:
      1. the rows of the table are those that wait, or that the present instant concerns;
      2. the copies of a row that wait are those of its rises, and those that are due now;
      3. rises come in order of time, none is due before or at the present instant;
      4. the rises of a row hang together, newest first.
    """

    state_fields = (
        TableField("table", fields="schema"),
        ArrayField("rows", length="table.entries", room="table.capacity"),
        ArrayField("opened", length="_opened", room="table.capacity"),
        ArrayField("marks"),
        ScratchField("ring"),
    )

    def __init__(self, schema: Schema, length: int) -> None:
        assert length > 0, "a hold takes time"
        self.counters = Counters()
        self.schema = schema
        self.length = length
        self.codec = RowCodec(schema.fields)
        self.table = KeyTable(self.codec.width)
        self.rows: I64 = np.zeros((self.table.capacity, 6), np.int64)
        self.ring: I64 = np.zeros((SMALLEST, 4), np.int64)
        self.opened: I64 = np.zeros(self.table.capacity, np.int64)
        self.marks: I64 = np.array([0, 0, BEGINNING, 0, 0, 0])
        self._empty = Delta.empty(schema, signed=True)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Take changes; emit departures, and the results that have lasted."""
        (delta,) = inputs
        if not len(delta) and self._next() > clock:
            return self._empty
        codes = self._encode(delta)
        self._reserve(len(delta))
        # Room for each rise that is emitted, each change that retracts, and each opened row.
        lines = len(self.ring) + len(delta) + int(self.marks[OPENED])
        out = np.empty((3, lines), np.int64)
        idle = np.empty(lines, np.int64)
        changes = (delta.ts, codes, delta.weights())
        made, gone = hold_changes(
            changes, clock, self.length, self.rows, self.ring, self.opened, self.marks, out, idle
        )
        result = self._delta(out[:, :made].copy()) if made else self._empty
        self.table.release(idle[:gone])
        self._count(delta, result)
        self._count_held()
        return result

    def _next(self) -> int:
        """Return when something may be emitted though no change arrives."""
        first, last, now, opened = self.marks[: OPENED + 1].tolist()
        if first == last and not opened:
            return NEVER
        # Rows opened at the present instant wait from now on; the oldest rise comes before them.
        time = now if first == last else int(self.ring[first & (len(self.ring) - 1), TIME])
        return time + self.length

    def _encode(self, delta: Delta) -> I64:
        if not len(delta):
            return NO_TIMES
        columns = [delta.columns[name] for name in self.schema.names]
        return encode_sparingly(self.table, self.codec.words(columns, len(delta)))

    def _reserve(self, changes: int) -> None:
        """Make room for the rows of the table, and for a rise of each change and opened row."""
        self.rows = grown(self.rows, self.table.capacity)  # type: ignore[assignment]
        self.opened = grown(self.opened, self.table.capacity)  # type: ignore[assignment]
        first, last, opened = (int(self.marks[mark]) for mark in (FIRST, LAST, OPENED))
        needed = last - first + opened + changes
        # Also laid out anew when it is mostly empty: a burst's room is given back.
        if needed > len(self.ring) or len(self.ring) > max(SMALLEST, 8 * needed):
            self.ring = _laid_out(self._rises(), first, needed)

    @property
    def _opened(self) -> int:
        return int(self.marks[OPENED])

    def content(self, rows: int) -> Saved:
        """Return the fields, and the rises in order."""
        return {**super().content(rows), "rises": self._rises()}

    def take_over(self, saved: Saved) -> None:
        """Take over fields and rises."""
        super().take_over(saved)
        rises = cast("I64", saved["rises"])
        self.ring = _laid_out(rises, int(self.marks[FIRST]), len(rises))

    def _rises(self) -> I64:
        """Return the rises, oldest first."""
        numbers = np.arange(self.marks[FIRST], self.marks[LAST])
        rises: I64 = self.ring[numbers & (len(self.ring) - 1)]
        return rises

    def _delta(self, changes: I64) -> Delta:
        ts, codes, weight = changes
        columns = self.codec.columns_at(self.table.words, codes)
        return Delta(ts, dict(zip(self.schema.names, columns, strict=True)), None, weight)

    def _count_held(self) -> None:
        counters, marks = self.counters, self.marks
        counters.held += int(marks[HELD])
        counters.suppressed += int(marks[SUPPRESSED])
        marks[HELD] = marks[SUPPRESSED] = 0

    def state_rows(self) -> int:
        """Return how many distinct rows wait, or are of the present instant."""
        return len(self.table)

    def invariants(self) -> None:
        """Assert the invariants."""
        live, rises = self.table.live(), self._rises()
        opened = self.opened[: self.marks[OPENED]]
        useful = (self.rows[:, WAITING] > 0) | (self.rows[:, OPEN] == 1)
        assert np.array_equal(np.flatnonzero(useful), live), "invariant 1: a row is of no use"
        assert np.array_equal(np.flatnonzero(self.rows[:, OPEN]), np.sort(opened)), "invariant 1"
        # Copies that wait are those that are due, and those of all rises.
        waiting = self.rows[:, DUE].copy()
        np.add.at(waiting, rises[:, ROW], rises[:, COPIES])
        assert np.array_equal(waiting, self.rows[:, WAITING]), "invariant 2: copies are lost"
        alive = rises[rises[:, COPIES] > 0]
        assert (np.diff(rises[:, TIME]) >= 0).all(), "invariant 3: rises are out of order"
        overdue = alive[:, TIME] <= int(self.marks[NOW]) - self.length  # which may be no int64
        assert not overdue.any(), "invariant 3: a rise was forgotten"
        for row in np.unique(alive[:, ROW]):
            assert self._hanging(int(row)) == waiting[row] - self.rows[row, DUE], "invariant 4"

    def _hanging(self, row: int) -> int:
        """Return the copies of a row's rises, as far as they hang together."""
        mask, first, copies = len(self.ring) - 1, int(self.marks[FIRST]), 0
        left = int(self.rows[row, WAITING] - self.rows[row, DUE])
        at = int(self.rows[row, TOP])
        while copies < left and at >= first:
            assert self.ring[at & mask, ROW] == row, "invariant 4: a rise of another row"
            copies += int(self.ring[at & mask, COPIES])
            at = int(self.ring[at & mask, BELOW])
        return copies


def _laid_out(rises: I64, first: int, needed: int) -> I64:
    """Return a ring with room for as many as are needed, in which rises have their numbers."""
    size = SMALLEST
    while size < needed:
        size *= 2
    ring = np.zeros((size, 4), np.int64)
    ring[np.arange(first, first + len(rises)) & (size - 1)] = rises
    return ring
