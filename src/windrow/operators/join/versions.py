"""Versions of a non-retroactive relation, for joins whose tuples no longer know their times.

     N's changes ──► VersionsTask ──► rows with the versions that they are in, one row a change
                          │
     S's tuples  ──► StampTask ─────► tuples with the version of N as of their own ts

A result of tuples with versions v₁, v₂ ... meets N as of the latest of their times, which is
version max(v₁, v₂ ...): a row of N with first <= max(v) < end. A tuple keeps its version until it
leaves, so a departure retracts what the arrival gave, whatever N is by then. Changes of N make no
results: the tuples that are there have earlier versions.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from windrow.core.schema import Schema
from windrow.core.time import FOREVER
from windrow.core.types import BIGINT
from windrow.kernels.versions import (
    COPIES,
    LINES,
    META_WORDS,
    NODE_WORDS,
    OPEN,
    USED,
    WEIGHT,
    follow_versions,
)
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.join.zset import count_in, count_out
from windrow.operators.netting import net_per_instant
from windrow.operators.state.bag import encode_sparingly
from windrow.operators.state.fields import ArrayField, ScalarField
from windrow.operators.state.key_table import KeyTable, TableField, grown
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.operators.vector import I64, Vector

SMALLEST = 64
DUE, SLOT, BEGAN, ENDED, TIMES = range(5)
"""Of deleted rows: when they do not matter any more, the row, its versions, its copies."""

NONE_DELETED: I64 = np.empty((TIMES + 1, 0), np.int64)


class VersionsTask(StatefulTask):
    """N as { n∘(first, end) }: signed → signed. Each instant of a step with changes is a version.

    `life`: how long a row that was deleted may still be met, by departures; then it is withdrawn.
    Costs O(changes); stores the rows that are there, and those that were deleted within `life`.

    Invariants, asserted by `check`:
      1. exactly the rows with copies, debts, or copies that were deleted are kept;
      2. what was deleted is in the order in which it stops to matter.
    """

    state_fields = (
        TableField("table", fields="codec.fields"),
        *(
            ArrayField(name, length="table.entries", room="table.capacity")
            for name in ("heads", "debts", "gone")
        ),
        ArrayField("nodes", length="used"),
        ArrayField("meta"),
        ArrayField("deleted", any_width=True),
        ScalarField("version"),
    )

    def __init__(self, schema: Schema, life: int) -> None:
        *fields, first, end = schema.fields
        self.schema, self.life = schema, life
        self.versions = first.name, end.name
        self.counters = Counters()
        self.codec = RowCodec(tuple(fields))
        self.table = KeyTable(self.codec.width)
        self.heads, self.debts, self.gone = np.zeros((3, self.table.capacity), np.int64)
        self.nodes: I64 = np.zeros((SMALLEST, NODE_WORDS), np.int64)
        self.meta: I64 = np.zeros(META_WORDS, np.int64)
        self.leaving: deque[I64] = deque()
        self.version = 0

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Emit each change with the versions since and until which its row is in the table."""
        (given,) = inputs
        count_in(self.counters, given)
        made, touched = self._withdrawn(clock)
        delta = net_per_instant(given)
        if len(delta):
            slots = self._slots(delta)
            made = Delta.concat([made, self._versioned(delta, slots)])
            made = made.take(np.argsort(made.ts, kind="stable"))
            touched = np.append(touched, slots)
        self._sweep(touched)
        count_out(self.counters, made.ts, made.weights())
        return made

    def _slots(self, delta: Delta) -> I64:
        """Return the code of each row, with room for what is kept of it."""
        columns = [delta.columns[f.name] for f in self.codec.fields]
        slots = encode_sparingly(self.table, self.codec.words(columns, len(delta)))
        capacity = self.table.capacity
        self.heads = grown(self.heads, capacity)  # type: ignore[assignment]
        self.debts = grown(self.debts, capacity)  # type: ignore[assignment]
        self.gone = grown(self.gone, capacity)  # type: ignore[assignment]
        needed = int(self.meta[USED]) + len(delta)
        self.nodes = grown(self.nodes, needed)  # type: ignore[assignment]
        return slots

    def _versioned(self, delta: Delta, slots: I64) -> Delta:
        """Follow changes; return what they make of versions."""
        weights = delta.weights()
        # All changes of an instant of a step make one version.
        fresh = np.append(True, delta.ts[1:] != delta.ts[:-1])
        versions = self.version + np.cumsum(fresh)
        self.version = int(versions[-1])
        # Each deleted copy may close a version, and open what is left of it.
        room = len(delta) - 2 * int(weights[weights < 0].sum())
        out = np.empty((LINES, room), np.int64)
        made = follow_versions(
            slots,
            weights,
            versions,
            self.heads,
            self.debts,
            self.nodes,
            self.meta,
            out,
        )
        change, since, until, weight = (line[:made].copy() for line in out[: WEIGHT + 1])
        ts, rows = delta.ts[change], slots[change]
        if self.life < FOREVER:
            closed = np.flatnonzero(until != OPEN)
            # a tuple of the very instant may have come before the change, and leave at its end
            due = ts + self.life + 1
            left = np.stack([due, rows, since, until, weight]).take(closed, axis=1)
            # A row is kept as long as something deleted still names it, though it has no copies.
            np.add.at(self.gone, left[SLOT], 1)
            if len(closed):
                self.leaving.append(left)
        return self._rows(ts, rows, (since, until), weight)

    def _rows(self, ts: I64, slots: I64, versions: tuple[I64, I64], weight: I64) -> Delta:
        names = (f.name for f in self.codec.fields)
        columns = dict(zip(names, self.codec.columns_at(self.table.words, slots), strict=True))
        columns |= {n: Vector(BIGINT, v) for n, v in zip(self.versions, versions, strict=True)}
        return Delta(ts, columns, None, weight)

    def _withdrawn(self, clock: int) -> tuple[Delta, I64]:
        """Return the departures of rows that do not matter any more, and which rows these are."""
        # Batches are in order, and so are the rows of each: only the first that is not due is cut.
        due: list[I64] = []
        while self.leaving and self.leaving[0][DUE, 0] <= clock:
            first = self.leaving.popleft()
            ready = int(np.searchsorted(first[DUE], clock, side="right"))
            due.append(first[:, :ready])
            if ready < first.shape[1]:
                self.leaving.appendleft(first[:, ready:])
        if not due:
            return Delta.empty(self.schema, signed=True), np.empty(0, np.int64)
        ts, slots, since, until, copies = np.concatenate(due, axis=1)
        np.subtract.at(self.gone, slots, 1)
        self.counters.expiries += len(ts)
        return self._rows(ts, slots, (since, until), -copies), slots

    def _sweep(self, touched: I64) -> None:
        """Forget rows that are of no use."""
        idle = np.unique(touched)
        used = (self.heads[idle] != 0) | (self.debts[idle] != 0) | (self.gone[idle] != 0)
        self.table.release(idle[~used])

    def state_rows(self) -> int:
        """Return how many distinct rows are stored."""
        return len(self.table)

    @property
    def used(self) -> int:
        """How many nodes were ever used."""
        return int(self.meta[USED])

    @property
    def deleted(self) -> I64:
        """What was deleted, as lines by `DUE` to `TIMES`, in order."""
        return np.concatenate([NONE_DELETED, *self.leaving], axis=1)

    @deleted.setter
    def deleted(self, lines: I64) -> None:
        self.leaving = deque([lines] if lines.shape[1] else [])

    def invariants(self) -> None:
        """Assert the invariants."""
        used = (self.heads != 0) | (self.debts != 0) | (self.gone != 0)
        assert np.array_equal(np.flatnonzero(used), self.table.live()), "invariant 1: a useless row"
        due = self.deleted[DUE]
        assert (np.diff(due) >= 0).all(), "invariant 2: what was deleted is out of order"
        assert (self.nodes[self.heads[self.heads != 0] - 1, COPIES] > 0).all(), "an empty node"


class StampTask(StatefulTask):
    """S and the versions of N → S with the version that each tuple meets: its edge keeps its kind.

    Changes of an instant come before its tuples. A change that comes in a later step makes a
    version of its own, which tuples of its instant that were there before do not meet. Stores
    a number.
    """

    state_fields = (ScalarField("version"),)

    def __init__(self, met: str, versions: tuple[str, str]) -> None:
        self.met, self.versions = met, versions
        self.counters = Counters()
        self.version = 0

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Number the tuples."""
        tuples, changes = inputs
        first, end = (changes.columns[n].data for n in self.versions)
        newest = np.maximum.accumulate(
            np.concatenate([[self.version], np.where(end == OPEN, first, np.maximum(first, end))])
        )
        self.version = int(newest[-1])
        met = newest[np.searchsorted(changes.ts, tuples.ts, side="right")]
        count_in(self.counters, tuples)
        self.counters.tuples_out += len(tuples)
        return tuples.replace_columns({**tuples.columns, self.met: Vector(BIGINT, met)})

    def state_rows(self) -> int:
        """Return 0: no row is stored."""
        return 0
