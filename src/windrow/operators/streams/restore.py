"""RESTORE: a refreshed answer also has what appeared and disappeared since the last refresh."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.core.time import BEGINNING
from windrow.kernels.streams import (
    COPIES,
    CURRENT,
    DEADS,
    DIRTIES,
    DIRTY,
    MADE,
    ROW_WORDS,
    SETTLED,
    SETTLEDS,
    SHOWN,
    WORK_WORDS,
    restore_changes,
)
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.state.fields import ArrayField, ScratchField, State, StateLayout
from windrow.operators.state.key_table import KeyTable, TableField, grown
from windrow.operators.vector import I64, Vector
from windrow.operators.window.slide import next_multiples


class RestoredChanges(State):
    """The changes of an answer that holds p + m copies of a row at each multiple of `slide`.

    O(changes) a step; stores the answer and what it shows. Invariants, asserted by `check`:
      1. each row that is shown, or is there, has an entry;
      2. the lists of dirty and settled codes are those that are marked;
      3. a row that is in neither list shows what it has.
    """

    stored_as = StateLayout("restored-changes")
    state_fields = (
        TableField("table", fields="schema"),
        ArrayField("rows", length="table.entries", room="table.capacity"),
        ArrayField("work"),
        ScratchField("lists"),
    )

    def __init__(self, schema: Schema, slide: int) -> None:
        self.schema = schema
        self.slide = slide
        self.codec = RowCodec(schema.fields)
        self.table = KeyTable(self.codec.width)
        self.rows: I64 = np.zeros((self.table.capacity, ROW_WORDS), np.int64)
        self.lists: I64 = np.zeros((3, self.table.capacity), np.int64)
        self.work: I64 = np.zeros(WORK_WORDS, np.int64)
        self.work[CURRENT] = BEGINNING
        self._empty = Delta.empty(schema, signed=True)

    def prime(self, initial: Delta) -> None:
        """Take rows that are there, and shown, before any tuple is."""
        codes = self._encode(initial.columns, len(initial))
        np.add.at(self.rows[:, SHOWN], codes, initial.weights())

    def turn(self, delta: Delta, clock: int) -> Delta:
        """Take changes; return those of the answer at multiples up to `clock`."""
        work = self.work
        listed = int(work[DIRTIES] + work[SETTLEDS])
        if not len(delta) and (not listed or clock < work[CURRENT]):
            return self._empty
        changes = np.empty((4, len(delta)), np.int64)
        changes[0] = delta.ts
        changes[1] = next_multiples(delta.ts, self.slide)
        changes[2] = self._encode(delta.columns, len(delta))
        changes[3] = delta.weights()
        out = np.empty((3, 2 * (len(delta) + listed)), np.int64)
        work[MADE] = 0
        restore_changes(changes, clock, self.slide, self.rows, self.lists, work, out)
        ts, codes, weights = (line.copy() for line in out[:, : work[MADE]])
        made = self.codec.columns(self.table.words[codes])
        dead = self.lists[2, : work[DEADS]]
        self.rows[dead] = 0
        self.table.release(dead)
        work[DEADS] = 0
        return Delta(ts, dict(zip(self.schema.names, made, strict=True)), None, weights)

    def _encode(self, columns: dict[str, Vector], rows: int) -> I64:
        words = self.codec.words([columns[n] for n in self.schema.names], rows)
        codes = self.table.encode(words)
        capacity = self.table.capacity
        if capacity > len(self.rows):
            self.rows = grown(self.rows, capacity)  # type: ignore[assignment]
            lists = np.zeros((3, len(self.rows)), np.int64)
            lists[:, : self.lists.shape[1]] = self.lists
            self.lists = lists
        return codes

    def __len__(self) -> int:
        return len(self.table)

    def invariants(self) -> None:
        """Assert the invariants."""
        idle = np.ones(len(self.rows), np.bool_)
        idle[self.table.live()] = False
        rows, work = self.rows, self.work
        assert not rows[idle].any(), "invariant 1: a row without an entry"
        for line, mark, length in ((0, DIRTY, DIRTIES), (1, SETTLED, SETTLEDS)):
            listed = np.sort(self.lists[line, : work[length]])
            assert np.array_equal(listed, np.flatnonzero(rows[:, mark])), "invariant 2: lists"
        calm = (rows[:, DIRTY] == 0) & (rows[:, SETTLED] == 0)
        assert (rows[calm, SHOWN] == rows[calm, COPIES]).all(), "invariant 3: not emitted"

    def rebuild(self) -> None:
        """List the codes that are marked."""
        self.lists = np.zeros((3, len(self.rows)), np.int64)
        for line, mark in enumerate((DIRTY, SETTLED)):
            marked = np.flatnonzero(self.rows[:, mark])
            self.lists[line, : len(marked)] = marked
