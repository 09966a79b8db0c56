"""DISTINCT that stores its output only: δ* [THESIS 3.5.2]."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.core.time import FOREVER
from windrow.kernels.distinct import NOT_THERE, SHOWN, YOUNGEST, renew_due, report_arrivals
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.state.bag import encode_sparingly
from windrow.operators.state.calendar import CalendarQueue
from windrow.operators.state.fields import ArrayField, NestedField
from windrow.operators.state.key_table import KeyTable, TableField, grown
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.operators.vector import I64


class DeltaStarDistinct(StatefulTask):
    """δ at τ: each row that some tuple alive at τ has, once. Unsigned in, unsigned out.

    A row is reported with its first tuple's end. When that comes, it is reported anew until the
    end of its youngest duplicate, if there is one. So of all duplicates only the one that
    leaves last matters. O(tuples + renewals) a step; stores two times a distinct row.
    Invariants, asserted by `check`:
      1. exactly the rows of the table are reported, and YOUNGEST is not before SHOWN;
      2. each row that ends is queued once, not later than it ends.
    """

    state_fields = (
        TableField("table", fields="schema"),
        ArrayField("ends", length="table.entries", room="table.capacity", fill=NOT_THERE),
        NestedField("queue"),
    )

    def __init__(self, schema: Schema) -> None:
        self.counters = Counters()
        self.schema = schema
        self._names = schema.names
        self.codec = RowCodec(schema.fields)
        self.table = KeyTable(self.codec.width)
        self.ends: I64 = np.full((self.table.capacity, 2), NOT_THERE, np.int64)
        self.queue = CalendarQueue()
        self._empty = Delta.empty(schema, signed=False)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Report new rows, and those that outlive their reported tuple."""
        (delta,) = inputs
        # A step without news costs nothing, however many rows are reported.
        if not len(delta) and clock < self.queue.soonest:
            return self._empty
        out = np.empty((3, 2 * len(delta)), np.int64)
        count = self._arrive(delta, out) if len(delta) else 0
        # Arrivals first: the heir of what is due may be among them.
        _, due = self.queue.pop(clock)
        if len(due):
            out, count = self._renew(due, clock, out, count)
        counters = self.counters
        counters.tuples_in += len(delta)
        counters.probes += len(delta)
        counters.expiries += len(due)
        counters.tuples_out += count
        return self._rows(out[:, :count]) if count else self._empty

    def _rows(self, reported: I64) -> Delta:
        if reported.shape[1] > 1:
            # in time order; `take` keeps each line in one piece
            reported = reported.take(np.argsort(reported[0], kind="stable"), axis=1)
        ts, exp, codes = reported
        columns = self.codec.columns(self.table.words[codes])
        return Delta(ts, dict(zip(self._names, columns, strict=True)), exp)

    def _arrive(self, delta: Delta, out: I64) -> int:
        assert delta.exp is not None, "δ* needs tuples that carry `exp`"
        columns = [delta.columns[n] for n in self._names]
        codes = encode_sparingly(self.table, self.codec.words(columns, len(delta)))
        self.ends = grown(self.ends, self.table.capacity, NOT_THERE)  # type: ignore[assignment]
        fresh = np.empty(len(delta), np.int64)
        count, new = report_arrivals(delta.ts, delta.exp, codes, self.ends, out, fresh)
        self._enqueue(fresh[:new])
        return int(count)

    def _renew(self, due: I64, clock: int, out: I64, count: int) -> tuple[I64, int]:
        room = np.empty((3, count + len(due)), np.int64)
        room[:, :count] = out[:, :count]
        again, dead = np.empty(len(due), np.int64), np.empty(len(due), np.int64)
        count, more, gone = renew_due(due, clock, self.ends, room, count, again, dead)
        self._enqueue(again[:more])
        self.table.release(dead[:gone])
        return room, int(count)

    def _enqueue(self, codes: I64) -> None:
        """Let the rows be looked at when they are due; those that never end are not."""
        if not len(codes):
            return
        ends = self.ends[codes, SHOWN]
        if ends.max() == FOREVER:
            # What never ends is never due.
            ending = ends < FOREVER
            codes, ends = codes[ending], ends[ending]
        self.queue.push(ends, codes)

    def state_rows(self) -> int:
        """Return how many distinct rows are reported."""
        return len(self.table)

    def invariants(self) -> None:
        """Assert the invariants."""
        live = self.table.live()
        shown, youngest = self.ends[live, SHOWN], self.ends[live, YOUNGEST]
        there = np.flatnonzero(self.ends[:, SHOWN] != NOT_THERE)
        assert np.array_equal(there, live), "invariant 1: rows and reports differ"
        assert (youngest >= shown).all(), "invariant 1: a duplicate ends too early"
        due, queued = self.queue.queued()
        ending = live[shown < FOREVER]
        assert np.array_equal(np.sort(queued), ending), "invariant 2: rows and queue differ"
        assert (due <= self.ends[queued, SHOWN]).all(), "invariant 2: queued too late"

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`: for each row the tuple that is reported, then the youngest.

        Others end before the youngest, so no answer will ever depend on them.
        """
        live = self.table.live()
        # Where the youngest duplicate is the one that is reported, once is enough.
        renewed = live[self.ends[live, YOUNGEST] > self.ends[live, SHOWN]]
        codes = np.concatenate([live, renewed])
        exp = np.concatenate([self.ends[live, SHOWN], self.ends[renewed, YOUNGEST]])
        columns = self.codec.columns(self.table.words[codes])
        named = dict(zip(self._names, columns, strict=True))
        return (Delta(np.full(len(codes), clock), named, exp),)
