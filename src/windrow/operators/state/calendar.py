"""A calendar queue: rows that expire at times known when they come, in any order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from windrow.core.time import FOREVER
from windrow.kernels.calendar import (
    CHUNK_WORDS,
    CHUNKS,
    COUNT,
    CUR,
    EXP,
    FAR,
    FREE_CHUNKS,
    HEAP,
    HEAP_WORDS,
    IN_SLOTS,
    LIMIT,
    META,
    PAIRS,
    ROWS,
    RUN_AT,
    RUN_END,
    RUN_WANTED,
    SHIFT,
    SLOT_WORDS,
    drain,
    pop_rows,
    push_rows,
)
from windrow.operators.state.fields import ArrayField, State, StateLayout
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
class CalendarQueue(State):
    """Rows by time of end, in a circle of partitions that are sorted when their time comes.

    Rows are any numbers; those that never end are not queued. O(1) a row, amortised: the number of
    partitions follows the number of rows, and their width the spread of their ends.
    Invariants, asserted by `check`:
      1. every row is in the run, in the heap, in a partition or in the far list;
      2. the run and the heap hold rows of the open partition and earlier, partitions later ones
         up to `limit`, the far list those from `limit` on;
      3. nothing ends before `soonest`;
      4. chunks are free or hold rows of a partition.
    """

    stored_as = StateLayout("calendar-queue")
    state_fields = tuple(map(ArrayField, ("chunks", "slots", "run", "heap", "far", "meta")))

    chunks: I64 = field(default_factory=lambda: np.zeros((4, CHUNK_WORDS), np.int64))
    slots: I64 = field(default_factory=lambda: np.zeros((PARTITIONS, SLOT_WORDS), np.int64))
    run: I64 = field(default_factory=lambda: np.zeros((4, DEPTH), np.int64))
    heap: I64 = field(default_factory=lambda: np.zeros((DEPTH, HEAP_WORDS), np.int64))
    far: I64 = field(default_factory=lambda: np.zeros((DEPTH, 2), np.int64))
    meta: I64 = field(default_factory=empty_meta)
    soonest: int = FOREVER
    pushed: int = 0  # rows since the last rebuild

    def __len__(self) -> int:
        return int(self.meta[ROWS])

    def push(self, exp: I64, rows: I64) -> None:
        """Queue rows, each with an end before FOREVER."""
        if not len(rows):
            return
        first = int(exp.min())
        self.soonest = min(self.soonest, first)
        # An empty queue has no past: its circle may begin anywhere.
        if not len(self):
            self._anchor(first)
        self._put(exp, rows)
        self.pushed += len(rows)
        # Rebuilding costs O(rows): only after as many pushes as half of them.
        if 2 * self.pushed >= len(self) and self._is_unfit():
            self._rebuild()

    def pop(self, clock: int) -> tuple[I64, I64]:
        """Take out all rows with exp <= clock; return ends and rows by end, then age."""
        if clock < self.soonest:
            return NOTHING, NOTHING
        parts = []
        size = 256
        while True:
            out = np.empty((2, size), np.int64)
            n, is_all = pop_rows(
                clock, self.chunks, self.slots, self.run, self.heap, self.far, out, self.meta
            )
            parts.append(out[:, :n])
            if is_all:
                break
            # What was short: room for a partition to be sorted, chunks, or room in `out`.
            if self.meta[RUN_WANTED]:
                self.run = np.zeros((4, 2 * int(self.meta[RUN_WANTED])), np.int64)
            elif n < size:
                self._add_chunks()
            else:
                size = min(4 * size, max(len(self), 256))
        self._note_soonest(clock)
        if len(parts) == 1:
            return parts[0][0], parts[0][1]
        ends, rows = np.concatenate(parts, axis=1)
        return ends, rows

    def queued(self) -> tuple[I64, I64]:
        """Return the ends of all rows, and the rows; those of one end are in order of age."""
        ends, rows = np.empty((2, len(self)), np.int64)
        found = drain(self.chunks, self.slots, self.run, self.heap, self.far, self.meta, ends, rows)
        assert found == len(rows), "invariant 1: rows are lost"
        return ends, rows

    def _put(self, exp: I64, rows: I64) -> None:
        done = 0
        while True:
            done = push_rows(
                exp, rows, done, self.chunks, self.slots, self.heap, self.far, self.meta
            )
            if done == len(rows):
                return
            if self.meta[HEAP] == len(self.heap):
                self.heap = grown(self.heap, len(self.heap) + 1)  # type: ignore[assignment]
            elif self.meta[FAR] == len(self.far):
                self.far = grown(self.far, len(self.far) + 1)  # type: ignore[assignment]
            else:
                self._add_chunks()

    def _add_chunks(self) -> None:
        self.chunks = grown(self.chunks, len(self.chunks) + 1)  # type: ignore[assignment]

    def _anchor(self, first: int) -> None:
        """Let the circle of an empty queue begin at a time."""
        self.meta[CUR] = (first >> int(self.meta[SHIFT])) - 1
        self.meta[LIMIT] = self.meta[CUR] + len(self.slots)

    def _note_soonest(self, clock: int) -> None:
        meta = self.meta
        self.soonest = FOREVER
        if meta[IN_SLOTS] or meta[FAR]:
            self.soonest = max(clock + 1, (int(meta[CUR]) + 1) << int(meta[SHIFT]))
        if meta[HEAP]:
            self.soonest = min(self.soonest, int(self.heap[0, EXP]))
        if meta[RUN_AT] < meta[RUN_END]:
            self.soonest = min(self.soonest, int(self.run[0, meta[RUN_AT]]))

    def _is_unfit(self) -> bool:
        """Return whether partitions are too few, too many, too narrow or too wide.

        Asked once in half as many pushes as there are rows, so that rebuilding stays O(1) a row.
        """
        count, circle = len(self), len(self.slots)
        return (
            count > 2 * DEPTH * circle
            or (circle > PARTITIONS and 8 * count < DEPTH * circle)
            or 2 * int(self.meta[FAR] + self.meta[HEAP]) > count + 2 * DEPTH
        )

    def _rebuild(self) -> None:
        """Choose partitions anew for the rows that are there, and queue these again."""
        exp, rows = self.queued()
        circle = PARTITIONS
        while circle * DEPTH < len(rows):
            circle *= 2
        fresh = CalendarQueue(slots=np.zeros((circle, SLOT_WORDS), np.int64))
        fresh.meta[SHIFT] = fitting_shift(exp, circle)
        fresh._anchor(int(exp.min()))
        fresh._put(exp, rows)
        self._become(fresh)

    def invariants(self) -> None:
        """Assert the invariants."""
        meta = self.meta
        exp, _ = self.queued()
        counts = int(meta[RUN_END] - meta[RUN_AT]), int(meta[HEAP]), int(meta[IN_SLOTS])
        assert sum(counts) + int(meta[FAR]) == len(self), "invariant 1: rows are miscounted"
        partition = exp >> meta[SHIFT]
        near, far = counts[0] + counts[1], len(self) - int(meta[FAR])
        assert (partition[:near] <= meta[CUR]).all(), "invariant 2: opened too early"
        assert (partition[near:] > meta[CUR]).all(), "invariant 2: left behind"
        assert (partition[near:far] < meta[LIMIT]).all(), "invariant 2: beyond the circle"
        assert (partition[far:] >= meta[LIMIT]).all(), "invariant 2: near, yet in the far list"
        assert not len(exp) or exp.min() >= self.soonest, "invariant 3: too late"
        taken = int((-(-self.slots[:, COUNT] // PAIRS)).sum())
        assert taken + meta[FREE_CHUNKS] == meta[CHUNKS], "invariant 4: a chunk is lost"

    def content(self, rows: int) -> Saved:
        """Return rows and their ends."""
        exp, queued = self.queued()
        return {"exp": exp, "rows": queued}

    def take_over(self, saved: Saved) -> None:
        """Queue the saved rows, and no others."""
        self._become(CalendarQueue())
        self.soonest = FOREVER
        self.push(cast("I64", saved["exp"]), cast("I64", saved["rows"]))

    def _become(self, other: CalendarQueue) -> None:
        """Have the arrays of another queue."""
        self.chunks, self.slots, self.run = other.chunks, other.slots, other.run
        self.heap, self.far, self.meta = other.heap, other.far, other.meta
        self.pushed = 0


def fitting_shift(exp: I64, circle: int) -> int:
    """Return log2 of the width that lets nearly all ends fall into one turn of the circle.

    Judged by a sample, and without its last twentieth, so that a few far ends do not widen all.
    """
    # A sample is enough: the width is rounded up to a power of two anyway.
    sample = np.sort(exp[:: max(1, len(exp) // 512)])
    spread = int(sample[len(sample) * 19 // 20 if len(sample) > 20 else -1]) - int(sample[0])
    width = -(-5 * spread // (4 * circle))
    return max(SMALLEST_SHIFT, (max(width, 1) - 1).bit_length())
