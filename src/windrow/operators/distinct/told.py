"""DISTINCT for those who want to be told ends: δ* without renewals."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.core.time import FOREVER
from windrow.kernels.told_distinct import NOT_THERE, tell_arrivals, tell_ends
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.state.bag import encode_sparingly, interned_words
from windrow.operators.state.calendar import CalendarQueue
from windrow.operators.state.key_table import KeyTable
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64, Vector


class ToldDistinct:
    """δ at τ: each row that some tuple alive at τ has, once. Predicted in, signed out.

    As `DeltaStarDistinct`, but a row that outlives its reported tuple stays without a word: who
    is told ends need not know when they are to come. O(tuples + rows looked at) a step, where a row
    is looked at about once a window; remembers one time a distinct row.
    Invariants, asserted by `check`:
      1. exactly the rows of the table are there;
      2. each row that ends is queued once, not later than it ends.
    """

    def __init__(self, schema: Schema) -> None:
        self.counters = Counters()
        self.schema = schema
        self.codec = RowCodec(schema.fields)
        self.table = KeyTable(self.codec.width)
        self.ends: I64 = np.full(self.table.capacity, NOT_THERE)
        self.queue = CalendarQueue()
        self._empty = Delta.empty(schema, signed=True)

    def begin(self, start: int) -> Delta | None:
        """Nothing is there before any tuple is."""

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Tell the rows that come and those that leave by `clock`."""
        delta = inputs[0].living()
        if not len(delta) and clock < self.queue.soonest:
            return self._empty
        out = np.empty((3, 2 * len(delta)), np.int64)
        told = self._arrive(delta, out) if len(delta) else 0
        _, due = self.queue.pop(clock)
        dead = due[:0]
        if len(due):
            room = np.empty((3, told + len(due)), np.int64)
            room[:, :told], out = out[:, :told], room
            told, dead = self._leave(due, clock, out, told)
        made = self._changes(out[:, :told]) if told else self._empty
        self.table.release(dead)
        self._count(delta, made, len(due))
        return made

    def _arrive(self, delta: Delta, out: I64) -> int:
        words = self.codec.words([delta.columns[n] for n in self.schema.names], len(delta))
        codes = encode_sparingly(self.table, words)
        self._reserve()
        fresh = np.empty(len(delta), np.int64)
        told, new = tell_arrivals(delta.ts, delta.exp, codes, self.ends, out, fresh)
        self._enqueue(fresh[:new])
        return int(told)

    def _leave(self, due: I64, clock: int, out: I64, told: int) -> tuple[int, I64]:
        again, dead = np.empty((2, len(due)), np.int64)
        told, more, gone = tell_ends(due, clock, self.ends, out, told, again, dead)
        self._enqueue(again[:more])
        return int(told), dead[:gone]

    def _enqueue(self, codes: I64) -> None:
        """Let the rows be looked at when they may leave; those that never end are not."""
        ends = self.ends[codes]
        if len(ends) and ends.max() == FOREVER:
            codes, ends = codes[ends < FOREVER], ends[ends < FOREVER]
        if len(codes):
            self.queue.push(ends, codes)

    def _changes(self, told: I64) -> Delta:
        if told.shape[1] > 1 and (told[0, 1:] < told[0, :-1]).any():
            told = told[:, np.argsort(told[0], kind="stable")]
        ts, weight, codes = told
        return Delta(ts, self._columns(codes), None, weight)

    def _columns(self, codes: I64) -> dict[str, Vector]:
        columns = self.codec.columns(self.table.words[codes])
        return dict(zip(self.schema.names, columns, strict=True))

    def _count(self, delta: Delta, made: Delta, due: int) -> None:
        counters = self.counters
        counters.tuples_in += len(delta)
        counters.probes += len(delta)
        counters.expiries += due
        counters.tuples_out += len(made)
        if made.weight is not None:
            counters.negatives_out += int(np.count_nonzero(made.weight < 0))

    def _reserve(self) -> None:
        before = len(self.ends)
        if self.table.capacity > before:
            ends = np.full(max(self.table.capacity, 2 * before), NOT_THERE)
            ends[:before] = self.ends
            self.ends = ends

    def current(self) -> Delta:
        """Return the rows that are there."""
        live = self.table.live()
        return Delta(np.zeros(len(live), np.int64), self._columns(live))

    def state_rows(self) -> int:
        """Return how many distinct rows are there."""
        return len(self.table)

    def state_bytes(self) -> int:
        """Return the exact size of table, times and queue."""
        return self.table.nbytes + self.ends.nbytes + self.queue.nbytes

    def save(self) -> Saved:
        """Return rows and their times."""
        return {"table": self.table.save(), "ends": self.ends.copy(), "queue": self.queue.save()}

    def load(self, saved: Saved) -> None:
        """Take over saved rows."""
        table, ends, queue = saved["table"], saved["ends"], saved["queue"]
        assert isinstance(table, dict)
        assert isinstance(ends, np.ndarray)
        assert isinstance(queue, dict)
        self.table = KeyTable.load(table)
        self.ends = ends.copy()
        self._reserve()
        self.queue = CalendarQueue.load(queue)

    def check(self) -> None:
        """Assert the invariants."""
        self.table.check()
        self.queue.check()
        live = self.table.live()
        there = np.flatnonzero(self.ends != NOT_THERE)
        assert np.array_equal(there, live), "invariant 1: rows and ends differ"
        waiting = self.queue.save()
        queued, due = waiting["rows"], waiting["exp"]
        assert isinstance(queued, np.ndarray)
        assert isinstance(due, np.ndarray)
        assert len(np.unique(queued)) == len(queued), "invariant 2: a row is queued twice"
        ending = live[self.ends[live] < FOREVER]
        assert np.isin(ending, queued).all(), "invariant 2: a row that ends is not queued"
        assert (due <= self.ends[queued]).all(), "invariant 2: queued too late"

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`: of each row the tuple that ends last."""
        live = self.table.live()
        return (Delta(np.full(len(live), clock), self._columns(live), self.ends[live]),)

    def live_codes(self) -> list[I64]:
        """Return the interned codes that rows refer to."""
        return interned_words(self.schema, self.table)
