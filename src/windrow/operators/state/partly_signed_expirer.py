"""From partly signed edges to signed ones: rows wait for their end, unless retracted before.

    in    ts  exp  weight        out   ts  weight
           1   6     +                  1   +
           3   6     -                  3   -      retracted: its end at 6 is not emitted
           4   8     +                  4   +
                                        8   -      at its own end

A withdrawal is found by row and end: THESIS 3.5.2 scans the calendar for it, here it waits in a
hash table until the calendar gives out the row. So arrivals cost no hashing, and an early end O(1).
"""

from __future__ import annotations

from typing import cast

import numpy as np

from windrow.core.schema import Field
from windrow.core.time import FOREVER
from windrow.core.types import BIGINT
from windrow.kernels.withdrawals import idle_codes, note_withdrawals, pass_over
from windrow.operators.codec import RowCodec
from windrow.operators.delta import NO_TIMES, Delta
from windrow.operators.state.bag import encode_sparingly
from windrow.operators.state.calendar import CalendarQueue
from windrow.operators.state.expirer import Expirer, insertions, merged
from windrow.operators.state.fields import ArrayField, NestedField, ScratchField
from windrow.operators.state.key_table import KeyTable, grown
from windrow.operators.state.row_pool import RowPool
from windrow.operators.vector import I64, Bools, Vector


class PartlySignedExpirer(Expirer):
    """For partly signed edges: a calendar queue of rows, and a hash table of those retracted early.

    Rows that never end are handed on and not kept, nor are their withdrawals. A row retracted
    stays until its end, unseen. O(changes + ends) a turn, amortised.
    Invariants, asserted by `check`:
      1. the pool holds exactly the rows that are queued;
      2. the table holds exactly the (row, end) with withdrawals pending;
      3. of each there are at least as many rows queued as withdrawals pending.
    """

    state_fields = (
        NestedField("pool"),
        NestedField("queue"),
        NestedField("withdrawn"),
        ArrayField("pending"),
        ScratchField("marks"),
    )
    pending: I64
    marks: I64

    def __len__(self) -> int:
        return len(self.queue) - int(self.pending.sum())

    def turn(self, delta: Delta, clock: int) -> Delta:
        """Take changes up to `clock`; return them, and the natural ends, in time order."""
        rows, weight, unqueued = NO_TIMES, None, NO_TIMES
        if len(delta):
            delta = insertions(delta, self.fields)
            weight, exp = delta.weight, cast("I64", delta.exp)
            rows = self.pool.add(delta.ts, delta.columns)
            # A retraction, and the row that it retracts, do not wait for an expiration.
            queued = self._queued(delta)
            if queued.all():
                self.queue.push(exp, rows)
            else:
                self.queue.push(exp[queued], rows[queued])
                unqueued = rows[~queued]
        # Of rows that reach their `exp`, those that were not retracted before.
        ends, ended = self.queue.pop(clock)
        standing = self._settled(ends, ended)
        self.counters.expiries += len(standing)
        if len(standing):
            out = merged(delta.ts, rows, ends[standing], ended[standing], self.pool.columns)
            if weight is not None:
                merged_weight = cast("I64", out.weight)
                merged_weight[merged_weight > 0] = weight
        else:
            columns = {f.name: delta.columns[f.name] for f in self.fields}
            out = Delta(delta.ts, columns, None, weight)
        self.pool.release(np.concatenate([ended, unqueued]))
        return out

    def _queued(self, delta: Delta) -> Bools:
        """Note the withdrawals among the changes; return which rows are to wait for their end."""
        exp = cast("I64", delta.exp)
        mortal = exp < FOREVER
        withdraws = delta.weight is not None and bool((delta.weight < 0).any())
        if not withdraws and not len(self.withdrawn):
            return mortal
        at = np.flatnonzero(mortal)
        given = delta.take(at)
        weight = given.weights()
        codes = self._codes(self._words(given.columns, cast("I64", given.exp)), weight < 0)
        waits = np.empty(len(at), np.int64)
        note_withdrawals(codes, weight, self.pending, waits)
        self._forget_idle(codes)
        queued = np.zeros(len(delta), np.bool_)
        queued[at] = waits != 0
        return queued

    def _codes(self, words: I64, withdraws: Bools) -> I64:
        """Return the codes of (row, end), new ones for withdrawals only; -1 where there is none."""
        if not withdraws.any():
            return self.withdrawn.find(words)
        codes = np.empty(len(words), np.int64)
        codes[withdraws] = encode_sparingly(self.withdrawn, words[withdraws])
        codes[~withdraws] = self.withdrawn.find(words[~withdraws])
        self.pending = grown(self.pending, self.withdrawn.capacity)  # type: ignore[assignment]
        self.marks = grown(self.marks, self.withdrawn.capacity)  # type: ignore[assignment]
        return codes

    def _settled(self, ends: I64, ended: I64) -> I64:
        """Return which of the rows that end are still there."""
        if not len(ended) or not len(self.withdrawn):
            return np.arange(len(ended))
        codes = self.withdrawn.find(self._words(self.pool.take(ended), ends))
        kept = np.empty(len(codes), np.int64)
        pass_over(codes, self.pending, kept)
        self._forget_idle(codes)
        return np.flatnonzero(kept)

    def _forget_idle(self, codes: I64) -> None:
        idle = np.empty(len(codes), np.int64)
        self.withdrawn.release(idle[: idle_codes(codes, self.pending, self.marks, idle)])

    def _words(self, columns: dict[str, Vector], exp: I64) -> I64:
        given = [columns[f.name] for f in self.fields]
        return self.codec.words([*given, Vector(BIGINT, exp)], len(exp))

    def live(self) -> Delta:
        """Return the rows that wait and were not retracted, in order of arrival."""
        exp, rows = self.queue.queued()
        order = np.argsort(self.pool.ts[rows], kind="stable")
        exp, rows = exp[order], rows[order]
        if len(self.withdrawn):
            codes = self.withdrawn.find(self._words(self.pool.take(rows), exp))
            kept = np.empty(len(codes), np.int64)
            pass_over(codes, self.pending.copy(), kept)
            exp, rows = exp[kept != 0], rows[kept != 0]
        return Delta(self.pool.ts[rows], self.pool.take(rows), exp)

    def invariants(self) -> None:
        """Assert the invariants."""
        exp, rows = self.queue.queued()
        assert np.array_equal(np.sort(rows), self.pool.live()), "invariant 1: rows differ"
        live = np.flatnonzero(self.pending)
        assert np.array_equal(live, self.withdrawn.live()), "invariant 2: a useless entry"
        assert (self.pending >= 0).all(), "invariant 2: fewer than no withdrawals"
        codes = self.withdrawn.find(self._words(self.pool.take(rows), exp))
        waiting = np.bincount(codes[codes >= 0], minlength=len(self.pending))
        assert (waiting >= self.pending).all(), "invariant 3: a withdrawal without its row"

    def _clear(self) -> None:
        self.codec = RowCodec((*self.fields, Field("exp", BIGINT, nullable=False)))
        self.pool, self.queue = RowPool(self.fields), CalendarQueue()
        self.withdrawn = KeyTable(self.codec.width)
        self.pending, self.marks = np.zeros((2, self.withdrawn.capacity), np.int64)

    def _fill(self, rows: Delta) -> None:
        self.queue.push(cast("I64", rows.exp), self.pool.add(rows.ts, rows.columns))
