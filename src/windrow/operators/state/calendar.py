"""A calendar queue: rows that leave at times known when they come, in any order."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.time import FOREVER
from windrow.kernels.calendar import (
    COUNT,
    CUR,
    EXP,
    FAR,
    HEAP,
    IN_SLOTS,
    META,
    ROWS,
    RUN_AT,
    RUN_END,
    SCANNED,
    SEQ,
    SERIAL,
    SHIFT,
    WANTED,
    pop_rows,
    push_rows,
    queued_rows,
)
from windrow.operators.state.key_table import grown
from windrow.operators.task import Saved
from windrow.operators.vector import I64

PARTITIONS = 64
"""Partitions of an empty queue."""

DEPTH = 32
"""Rows that a partition should hold: few enough to sort fast, enough to skip few empty ones."""

SMALLEST_SHIFT = 1  # partition numbers then have a bit to spare: their sums cannot overflow

NOTHING: I64 = np.empty(0, np.int64)


def empty_meta() -> I64:
    """Return the scalars of an empty queue."""
    meta = np.zeros(META, np.int64)
    meta[SHIFT] = SMALLEST_SHIFT
    return meta


@dataclass(slots=True)
class CalendarQueue:
    """Rows by time of end, in a circle of partitions that are sorted when their time comes.

    Rows are small numbers, of a `RowPool` for instance; a row is queued at most once. Rows that
    never end are not queued. O(1) a row, amortised: the number of partitions follows the number
    of rows, and their width the spread of their ends. Invariants, asserted by `check`:
      1. every row is in the run, in the heap, in a partition or in the far chain, once;
      2. partitions hold rows of later times than the run and the heap are for;
      3. nothing ends before `soonest`.
    """

    entries: I64 = field(default_factory=lambda: np.zeros((PARTITIONS, 4), np.int64))
    slots: I64 = field(default_factory=lambda: np.zeros((2, PARTITIONS), np.int64))
    run: I64 = field(default_factory=lambda: np.zeros((4, DEPTH), np.int64))
    heap: I64 = field(default_factory=lambda: np.zeros(DEPTH, np.int64))
    meta: I64 = field(default_factory=empty_meta)
    soonest: int = FOREVER
    pushed: int = 0  # rows since the last rebuild

    def __len__(self) -> int:
        return int(self.meta[ROWS])

    @property
    def exp(self) -> I64:
        """The end of each queued row, by row."""
        return self.entries[:, EXP]

    def push(self, exp: I64, rows: I64) -> None:
        """Queue rows, each with an end before FOREVER."""
        if not len(rows):
            return
        self._reserve(int(rows.max()) + 1)
        first = int(exp.min())
        self.soonest = min(self.soonest, first)
        if not len(self):
            self._anchor(first)
        self._link(exp, rows, fresh=True)
        self.pushed += len(rows)
        if self._is_unfit():
            self._rebuild()

    def pop(self, clock: int) -> tuple[I64, I64]:
        """Take out all rows with exp <= clock; return ends and rows by end, then age."""
        if clock < self.soonest:
            return NOTHING, NOTHING
        parts = []
        size = 256
        while True:
            out = np.empty((2, size), np.int64)
            n = pop_rows(clock, self.entries, self.slots, self.run, self.heap, out, self.meta)
            parts.append(out[:, :n])
            if self.meta[WANTED]:
                self.run = np.zeros((4, 2 * int(self.meta[WANTED])), np.int64)
            elif n < size:
                break
            size = min(2 * size, max(len(self), 256))
        self._note_soonest(clock)
        if len(parts) == 1:
            return parts[0][0], parts[0][1]
        ends, rows = np.concatenate(parts, axis=1)
        return ends, rows

    def rows(self) -> I64:
        """Return all queued rows, oldest first."""
        out = np.empty(len(self), np.int64)
        found = queued_rows(self.entries, self.slots, self.run, self.heap, out, self.meta)
        assert found == len(out), "invariant 1: rows are lost"
        return out[np.argsort(self.entries[out, SEQ])]

    def _link(self, exp: I64, rows: I64, *, fresh: bool) -> None:
        done = 0
        while True:
            done = push_rows(exp, rows, done, fresh, self.entries, self.slots, self.heap, self.meta)
            if done == len(rows):
                return
            self.heap = grown(self.heap, len(self.heap) + 1)  # type: ignore[assignment]

    def _reserve(self, rows: int) -> None:
        self.entries = grown(self.entries, rows)  # type: ignore[assignment]

    def _anchor(self, first: int) -> None:
        """Let the circle of an empty queue begin at a time."""
        self.meta[CUR] = self.meta[SCANNED] = (first >> int(self.meta[SHIFT])) - 1

    def _note_soonest(self, clock: int) -> None:
        meta = self.meta
        self.soonest = FOREVER
        if meta[IN_SLOTS] or meta[FAR]:
            self.soonest = max(clock + 1, (int(meta[CUR]) + 1) << int(meta[SHIFT]))
        if meta[HEAP]:
            self.soonest = min(self.soonest, int(self.entries[self.heap[0], EXP]))
        if meta[RUN_AT] < meta[RUN_END]:
            self.soonest = min(self.soonest, int(self.run[0, meta[RUN_AT]]))

    def _is_unfit(self) -> bool:
        """Tell whether partitions are too few, too many, too narrow or too wide.

        At most once in half as many pushes as there are rows, so that rebuilding stays O(1) a row.
        """
        count = len(self)
        if 2 * self.pushed < count:
            return False
        circle = self.slots.shape[1]
        return (
            count > 2 * DEPTH * circle
            or (circle > PARTITIONS and 8 * count < DEPTH * circle)
            or 2 * int(self.meta[FAR] + self.meta[HEAP]) > count + 2 * DEPTH
        )

    def _rebuild(self) -> None:
        """Choose partitions anew for the rows that are there, and queue these again."""
        rows = self.rows()
        exp = self.entries[rows, EXP]
        circle = PARTITIONS
        while circle * DEPTH < len(rows):
            circle *= 2
        serial = int(self.meta[SERIAL])
        self.meta = empty_meta()
        self.meta[SERIAL] = serial
        self.meta[SHIFT] = fitting_shift(exp, circle)
        self.slots = np.zeros((2, circle), np.int64)
        self.run = np.zeros((4, DEPTH), np.int64)
        self.heap = np.zeros(DEPTH, np.int64)
        self._anchor(int(exp.min()))
        self._link(exp, rows, fresh=False)
        self.pushed = 0

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        arrays = (self.entries, self.slots, self.run, self.heap, self.meta)
        return sum(a.nbytes for a in arrays)

    def save(self) -> Saved:
        """Return rows and their ends, oldest first."""
        rows = self.rows()
        return {"rows": rows, "exp": self.entries[rows, EXP]}

    @classmethod
    def load(cls, saved: Saved) -> CalendarQueue:
        """Return a queue of the saved rows."""
        exp, rows = saved["exp"], saved["rows"]
        assert isinstance(exp, np.ndarray)
        assert isinstance(rows, np.ndarray)
        queue = cls()
        queue.push(exp, rows)
        return queue

    def check(self) -> None:
        """Assert the invariants."""
        meta, rows = self.meta, self.rows()
        waiting = int(meta[IN_SLOTS] + meta[FAR] + meta[HEAP] + meta[RUN_END] - meta[RUN_AT])
        assert len(np.unique(rows)) == len(rows) == waiting, "invariant 1: a row is queued twice"
        assert self.slots[COUNT].sum() == meta[IN_SLOTS], "invariant 1: chains are miscounted"
        near = np.concatenate([self.run[1, meta[RUN_AT] : meta[RUN_END]], self.heap[: meta[HEAP]]])
        later = self.exp[np.setdiff1d(rows, near)] >> meta[SHIFT]
        assert (self.exp[near] >> meta[SHIFT] <= meta[CUR]).all(), "invariant 2: open too early"
        assert (later > meta[CUR]).all(), "invariant 2: left behind"
        assert not len(rows) or self.exp[rows].min() >= self.soonest, "invariant 3: too late"


def fitting_shift(exp: I64, circle: int) -> int:
    """Return log2 of the width that lets nearly all ends fall into one turn of the circle.

    Judged by a sample, and without its last twentieth, so that a few far ends do not widen all.
    """
    sample = np.sort(exp[:: max(1, len(exp) // 512)])
    spread = int(sample[len(sample) * 19 // 20 if len(sample) > 20 else -1]) - int(sample[0])
    width = -(-5 * spread // (4 * circle))
    return max(SMALLEST_SHIFT, (max(width, 1) - 1).bit_length())
