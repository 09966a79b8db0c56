"""DISTINCT that stores its whole input: W-Distinct [NEG 5.2]."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.core.time import FOREVER
from windrow.kernels.distinct import CODE, END, NEWEST, OLDER, REPORTED, store_and_report
from windrow.operators.codec import RowCodec
from windrow.operators.delta import NO_TIMES, Delta
from windrow.operators.state.bag import encode_sparingly
from windrow.operators.state.calendar import CalendarQueue
from windrow.operators.state.fields import ArrayField, NestedField
from windrow.operators.state.key_table import KeyTable, TableField, grown
from windrow.operators.state.row_pool import RowPool
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64


class StoredInputDistinct(StatefulTask):
    """δ with every tuple kept until it leaves: unsigned in, unsigned out.

    When the reported tuple of a row expires, the newest of its duplicates is reported. What δ*
    is measured against: O(tuples) a step as well, but stores all tuples of the window.
    Invariants, asserted by `check`:
      1. the tuples of a row form a chain, newest first, and one of them is reported;
      2. every stored tuple is in one chain.
    """

    state_fields = (
        TableField("table", fields="schema"),
        ArrayField("values"),
        NestedField("pool"),
        ArrayField("tuples"),
        NestedField("queue"),
    )

    def __init__(self, schema: Schema) -> None:
        self.counters = Counters()
        self.schema = schema
        self.codec = RowCodec(schema.fields)
        self.table = KeyTable(self.codec.width)
        self.values: I64 = np.zeros((self.table.capacity, 2), np.int64)
        self.pool = RowPool(schema.fields)
        self.tuples: I64 = np.zeros((self.pool.capacity, 4), np.int64)
        self.queue = CalendarQueue()
        self._empty = Delta.empty(schema, signed=False)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Store and report arrivals; let go of what leaves, and report its heirs."""
        (delta,) = inputs
        if not len(delta) and clock < self.queue.soonest:
            return self._empty
        slots = self._store(delta) if len(delta) else NO_TIMES
        # The kernel merges arrivals and departures by time: an heir must be there before.
        due = np.stack(self.queue.pop(clock))
        out = np.empty((3, len(delta) + due.shape[1]), np.int64)
        dead = np.empty(due.shape[1], np.int64)
        count, gone = store_and_report(
            np.stack([delta.ts, slots]), due, self.tuples, self.values, out, dead
        )
        ts, exp, codes = (line.copy() for line in out[:, :count])
        columns = self.codec.columns_at(self.table.words, codes)
        self._forget(due[1], dead[:gone])
        self.counters.tuples_in += len(delta)
        self.counters.probes += len(delta) + due.shape[1]
        self.counters.expiries += due.shape[1]
        self.counters.tuples_out += int(count)
        return Delta(ts, dict(zip(self.schema.names, columns, strict=True)), exp)

    def _store(self, delta: Delta) -> I64:
        assert delta.exp is not None, "W-Distinct needs tuples that carry `exp`"
        columns = [delta.columns[n] for n in self.schema.names]
        codes = encode_sparingly(self.table, self.codec.words(columns, len(delta)))
        slots = self.pool.add(delta.ts, delta.columns)
        self.values = grown(self.values, self.table.capacity)  # type: ignore[assignment]
        self.tuples = grown(self.tuples, self.pool.capacity)  # type: ignore[assignment]
        self.tuples[slots, CODE] = codes
        self.tuples[slots, END] = delta.exp
        ending = delta.exp < FOREVER
        self.queue.push(delta.exp[ending], slots[ending])
        return slots

    def _forget(self, slots: I64, dead: I64) -> None:
        self.tuples[slots] = 0
        # Links first, then the place: who gets it next must find no tuple of before.
        self.pool.release(slots)
        # A row may lose its last tuple and gain another within one step: it stays then.
        dead = np.unique(dead)
        self.table.release(dead[self.values[dead, NEWEST] == 0])

    def state_rows(self) -> int:
        """Return how many tuples are stored."""
        return len(self.pool)

    def content(self, rows: int) -> Saved:
        """Return the stored tuples, oldest of each row first, and which are reported."""
        live = self.pool.live()
        live = live[np.argsort(self.pool.ts[live], kind="stable")]
        # One place more, as REPORTED counts from 1 and 0 is none.
        reported = np.zeros(len(self.tuples) + 1, np.bool_)
        reported[self.values[self.table.live(), REPORTED]] = True
        columns = self.pool.take(live)
        words = self.codec.words([columns[n] for n in self.schema.names], len(live))
        return {
            "words": words,
            "ts": self.pool.ts[live],
            "exp": self.tuples[live, END],
            "reported": reported[live + 1],
        }

    def take_over(self, saved: Saved) -> None:
        """Take over stored tuples."""
        words, ts, exp, reported = (saved[k] for k in ("words", "ts", "exp", "reported"))
        assert isinstance(words, np.ndarray)
        assert isinstance(ts, np.ndarray)
        assert isinstance(exp, np.ndarray)
        assert isinstance(reported, np.ndarray)
        fresh = StoredInputDistinct(self.schema)
        self.table, self.values, self.pool = fresh.table, fresh.values, fresh.pool
        self.tuples, self.queue = fresh.tuples, fresh.queue
        columns = dict(zip(self.schema.names, self.codec.columns(words), strict=True))
        if not len(ts):
            return
        slots = self._store(Delta(ts, columns, exp))
        nothing = np.empty((2, 0), np.int64)
        # Entered again in order of age, so that chains are as they were; what is reported is not.
        out, dead = np.empty((3, len(ts)), np.int64), np.empty(0, np.int64)
        store_and_report(np.stack([ts, slots]), nothing, self.tuples, self.values, out, dead)
        shown = slots[reported]
        self.values[self.tuples[shown, CODE], REPORTED] = shown + 1

    def invariants(self) -> None:
        """Assert the invariants."""
        live = self.table.live()
        at = self.values[live, NEWEST]
        assert (at > 0).all(), "invariant 1: a row has no tuple"
        reported = self.values[live, REPORTED] - 1
        assert np.array_equal(self.tuples[reported, CODE], live), "invariant 1: wrongly reported"
        found = []
        while len(at):
            found.append(at - 1)
            at = self.tuples[at - 1, OLDER]
            at = at[at > 0]
        slots = np.sort(np.concatenate(found)) if found else NO_TIMES
        assert np.array_equal(slots, self.pool.live()), "invariant 2: a tuple is lost"

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`: the tuples that are reported, then the others."""
        live = self.pool.live()
        reported = self.values[self.table.live(), REPORTED] - 1
        others = np.setdiff1d(live, reported)
        slots = np.concatenate([reported, others[np.argsort(self.pool.ts[others], kind="stable")]])
        return (Delta(np.full(len(slots), clock), self.pool.take(slots), self.tuples[slots, END]),)
