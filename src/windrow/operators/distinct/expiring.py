"""DISTINCT that emits the expirations of its results: δ* without renewals."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.operators.codec import RowCodec
from windrow.operators.delta import NO_TIMES, Delta
from windrow.operators.state.bag import encode_sparingly
from windrow.operators.state.fields import NestedField
from windrow.operators.state.key_table import KeyTable, TableField
from windrow.operators.state.latest_ends import LatestEnds
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.operators.vector import I64, Vector


class ExpiringDistinct(StatefulTask):
    """δ at τ: each row that some tuple alive at τ has, once. Unsigned in, signed out.

    As `DeltaStarDistinct`, but a row that outlives its reported tuple is not emitted again: with
    retractions no later `exp` needs to be known. O(tuples + rows looked at) a step, where a
    row is looked at about once a window; stores one time a distinct row.
    Invariant, asserted by `check`: exactly the rows of the table are there.
    """

    state_fields = (TableField("table", fields="schema"), NestedField("ends"))

    def __init__(self, schema: Schema) -> None:
        self.counters = Counters()
        self.schema = schema
        self.codec = RowCodec(schema.fields)
        self.table = KeyTable(self.codec.width)
        self.ends = LatestEnds()
        self._empty = Delta.empty(schema, signed=True)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Emit the rows that appear, and a retraction of those that expire by `clock`."""
        delta = inputs[0].living()
        if not len(delta) and clock < self.ends.queue.soonest:
            return self._empty
        assert delta.exp is not None
        changes, dead = self.ends.turn(delta.ts, delta.exp, self._codes(delta), clock)
        made = self._changes(changes) if changes.shape[1] else self._empty
        self.table.release(dead)
        self._count(delta, made)
        self.counters.probes += len(delta)
        self.counters.expiries += len(dead)
        return made

    def _codes(self, delta: Delta) -> I64:
        if not len(delta):
            return NO_TIMES
        words = self.codec.words([delta.columns[n] for n in self.schema.names], len(delta))
        codes = encode_sparingly(self.table, words)
        self.ends.reserve(self.table.capacity)
        return codes

    def _changes(self, changes: I64) -> Delta:
        ts, weight, codes = changes
        return Delta(ts, self._columns(codes), None, weight)

    def _columns(self, codes: I64) -> dict[str, Vector]:
        columns = self.codec.columns(self.table.words[codes])
        return dict(zip(self.schema.names, columns, strict=True))

    def current(self) -> Delta:
        """Return the rows that are there."""
        live = self.table.live()
        return Delta(np.zeros(len(live), np.int64), self._columns(live))

    def state_rows(self) -> int:
        """Return how many distinct rows are there."""
        return len(self.table)

    def invariants(self) -> None:
        """Assert the invariants."""
        assert np.array_equal(self.ends.there(), self.table.live()), "rows and ends differ"

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`: of each row the tuple that ends last."""
        live = self.table.live()
        return (Delta(np.full(len(live), clock), self._columns(live), self.ends.ends[live]),)

    def rebuild(self) -> None:
        """Make room for the codes of the table."""
        self.ends.reserve(self.table.capacity)
