"""Rows by key, whole batches at a time: which row a key has, and what a batch of rows replaces.

    at   row        sign        changes
     1   (7, ada)     +          + (7, ada)
     4   (7, eve)     +          - (7, ada)   + (7, eve)
     9   (7, -)       -          - (7, eve)

Keys are one as in joins: 0.0 and -0.0, NaN and NaN; and NULL is a key like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.core.schema import Field
from windrow.core.time import BEGINNING
from windrow.operators.arrow import vector_from_arrow, vector_to_arrow
from windrow.operators.codec import RowCodec
from windrow.operators.fixed import array_of
from windrow.operators.interner import Interner
from windrow.operators.state.bag import encode_sparingly
from windrow.operators.state.key_table import KeyTable
from windrow.operators.vector import I64

SPARE = 1024
"""Rows that no key has any more, beside as many as are in use, before they are dropped."""

NOWHERE = -1
"""The place of a row that is not there."""

Arrays = Mapping[str, pa.Array]


class RowNumbers:
    """A number for each distinct row of some columns: equal rows, equal numbers."""

    def __init__(self, fields: tuple[Field, ...]) -> None:
        self.fields = fields
        self._interner = Interner()
        self._codec = RowCodec(fields)
        self._table = KeyTable(self._codec.width)

    @property
    def capacity(self) -> int:
        """No number is as large: arrays by number have room for so many."""
        return self._table.capacity

    def of(self, arrays: Arrays, rows: int) -> I64:
        """Return the number of each row. O(rows)."""
        columns = [vector_from_arrow(arrays[f.name], f.type, self._interner) for f in self.fields]
        return encode_sparingly(self._table, self._codec.words(columns, rows))

    def rows_of(self, numbers: I64) -> pa.RecordBatch:
        """Return the rows that have these numbers. O(numbers)."""
        columns = self._codec.columns_at(self._table.words, numbers)
        arrays = [vector_to_arrow(column, self._interner) for column in columns]
        return pa.RecordBatch.from_arrays(arrays, [f.name for f in self.fields])


@dataclass(slots=True)
class StoredRows:
    """Rows by place, the order in which they were added.

    Chunks grow towards the front, so that there are O(log rows) of them, and a row is copied
    O(log rows) times.

    Invariant: each chunk has at least twice the rows of the one after it, but for the last.
    """

    schema: pa.Schema
    chunks: list[pa.RecordBatch] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(len(chunk) for chunk in self.chunks)

    def add(self, rows: pa.RecordBatch) -> int:
        """Add rows; return the place of the first."""
        first = len(self)
        # Each chunk is at least twice as long as the next: few chunks, and a row is copied
        # O(log n) times.
        self.chunks.append(rows)
        while len(self.chunks) > 1 and len(self.chunks[-2]) < 2 * len(self.chunks[-1]):
            newest = self.chunks.pop()
            self.chunks[-1] = pa.concat_batches([self.chunks[-1], newest])
        return first

    def take(self, places: I64) -> pa.RecordBatch:
        """Return the rows of some places, in their order. O(places), amortised."""
        parts, came, start = [], [], 0
        for chunk in self.chunks:
            stop = start + len(chunk)
            mine = np.flatnonzero((places >= start) & (places < stop))
            if len(mine):
                parts.append(chunk.take(_numbers(places[mine] - start)))
                came.append(mine)
            start = stop
        if not parts:
            return pa.RecordBatch.from_pylist([], schema=self.schema)
        if len(parts) == 1:
            return parts[0]
        back = np.empty(len(places), np.int64)
        back[np.concatenate(came)] = np.arange(len(places))
        return pa.concat_batches(parts).take(_numbers(back))


def _numbers(rows: I64) -> pa.Array:
    return array_of(rows, pa.int64(), None)


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a batch of rows changes: times, signs and rows, in the order of the batch.

    `cause` numbers the batch's rows that make the changes; `refused` those that make none, because
    their key has changed at a later time.
    """

    at: I64
    sign: I64
    rows: pa.RecordBatch
    cause: I64
    refused: I64


class KeyedRows:
    """The row that each key has now, and since when; of a key without one, since when it has none.

    Invariants, asserted by `check`:
      1. no two keys have one row;
      2. every place is that of a stored row, or `NOWHERE`;
      3. `live` counts the keys that have a row.
    """

    def __init__(self, key: tuple[Field, ...], schema: pa.Schema) -> None:
        self.numbers = RowNumbers(key)
        self.stored = StoredRows(schema)
        self.live = 0
        self.place: I64 = np.empty(0, np.int64)
        self.since: I64 = np.empty(0, np.int64)
        self._reserve()

    def replace(self, rows: pa.RecordBatch, ts: I64, sign: I64) -> Replaced:
        """Let rows replace those of their keys, or, with sign -1, end them. O(rows), amortised.

        `ts` ascends. A row at BEGINNING counts from its key's last change.
        """
        keys = self.numbers.of(dict(zip(rows.schema.names, rows.columns, strict=True)), len(rows))
        self._reserve()
        since = self.since[keys]
        refused = (ts < since) & (ts > BEGINNING)
        kept = np.flatnonzero(~refused)
        at = np.maximum(ts, since)[kept]
        there = sign[kept] > 0
        new = np.where(there, self.stored.add(rows) + kept, NOWHERE)
        old = self._before(keys[kept], new)
        # Of rows with one key the last one is assigned last, and stays.
        self.place[keys[kept]], self.since[keys[kept]] = new, at
        places = np.column_stack([old, new]).ravel()
        made = np.flatnonzero(places != NOWHERE)
        by = made // 2
        signs = np.where(made % 2, 1, -1)
        self.live += int(signs.sum())
        taken = self._taken(rows, places[made])
        self._compact()
        return Replaced(at[by], signs, taken, kept[by], np.flatnonzero(refused))

    def current(self) -> tuple[pa.RecordBatch, I64]:
        """Return the row of every key that has one, and since when."""
        keys = np.flatnonzero(self.place != NOWHERE)
        return self.stored.take(self.place[keys]), self.since[keys]

    def ended(self) -> tuple[pa.RecordBatch, I64]:
        """Return the keys whose row was deleted at a known time, and when."""
        keys = np.flatnonzero((self.place == NOWHERE) & (self.since > BEGINNING))
        return self.numbers.rows_of(keys), self.since[keys]

    def restore(
        self, current: tuple[pa.RecordBatch, I64], ended: tuple[pa.RecordBatch, I64]
    ) -> None:
        """Begin with the rows and the ended keys that another has had."""
        assert not len(self.stored), "rows are restored into an empty table"
        rows, since = current
        for batch, times, places in (
            (rows, since, self.stored.add(rows) + np.arange(len(rows))),
            (*ended, NOWHERE),
        ):
            keys = self.numbers.of(dict(zip(batch.schema.names, batch, strict=True)), len(batch))
            self._reserve()
            self.place[keys], self.since[keys] = places, times
        self.live = len(rows)

    def _before(self, keys: I64, new: I64) -> I64:
        """Return the place of the row that each new row replaces; NOWHERE without one."""
        before = self.place[keys]
        # Keys that several rows of the batch have: another row is the last of its key.
        came = np.arange(len(keys))
        last = np.empty(self.numbers.capacity, np.int64)
        last[keys] = came
        again = last[keys] != came
        # Of rows with one key each replaces the one before it in the batch.
        if again.any():
            last[keys[again]] = NOWHERE
            several = np.flatnonzero(last[keys] == NOWHERE)
            order = several[np.argsort(keys[several], kind="stable")]
            behind = np.flatnonzero(keys[order][1:] == keys[order][:-1]) + 1
            before[order[behind]] = new[order[behind - 1]]
        return before

    def _taken(self, rows: pa.RecordBatch, places: I64) -> pa.RecordBatch:
        """Return the rows of some places; rows that all are new need not be gathered."""
        first = len(self.stored) - len(rows)
        if len(places) == len(rows) and np.array_equal(places, first + np.arange(len(rows))):
            return rows
        return self.stored.take(places)

    def _reserve(self) -> None:
        """Make room for all keys: those that are new have no row, and never had."""
        more = self.numbers.capacity - len(self.place)
        if more > 0:
            self.place = np.concatenate([self.place, np.full(more, NOWHERE)])
            self.since = np.concatenate([self.since, np.full(more, BEGINNING)])

    def _compact(self) -> None:
        """Drop rows that no key has any more, if they are many."""
        if len(self.stored) <= 2 * self.live + SPARE:
            return
        used = np.flatnonzero(self.place != NOWHERE)
        rows = self.stored.take(self.place[used])
        self.stored = StoredRows(self.stored.schema, [rows])
        self.place[used] = np.arange(len(used))

    def check(self) -> None:
        """Assert the invariants."""
        used = self.place[self.place != NOWHERE]
        assert len(np.unique(used)) == len(used), "invariant 1: two keys have one row"
        assert ((used >= 0) & (used < len(self.stored))).all(), "invariant 2: a row is missing"
        assert len(used) == self.live, "invariant 3: rows are miscounted"
