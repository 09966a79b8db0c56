"""DISTINCT inside a call: a counter per (group, value)."""

from __future__ import annotations

import numpy as np

from windrow.kernels.counters import first_copies
from windrow.kernels.groups import GROUP
from windrow.operators.aggregate.batch import Accumulator, EventBatch
from windrow.operators.codec import column_words
from windrow.operators.state.fields import ArrayField, NestedField, State, StateLayout
from windrow.operators.state.key_table import KeyTable, TableField, grown
from windrow.operators.vector import I64, Bools
from windrow.physical.calls import AccumulatorCall


class ValueTable(State):
    """How many copies each (group, value, ...) has.

    Invariant, asserted by `check`: exactly the pairs with copies are in the table.
    """

    stored_as = StateLayout("value-copies")
    state_fields = (
        TableField("table", fields="call.args", first=1),
        ArrayField("counts", length="table.entries", room="table.capacity"),
    )

    def __init__(self, call: AccumulatorCall) -> None:
        self.call = call
        self.table = KeyTable(1 + len(call.args))
        self.counts: I64 = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.table)

    def encode(self, batch: EventBatch, places: I64) -> I64:
        """Return the code of the pair of each event at `places`, making room for it."""
        words = np.empty((len(places), self.table.width), np.int64)
        words[:, 0] = batch.events[GROUP][places]
        for k, arg in enumerate(self.call.args):
            words[:, k + 1] = column_words(batch.columns[arg.name])[places]
        codes = self.table.encode(words)
        self.counts = grown(self.counts, self.table.capacity)  # type: ignore[assignment]
        return codes

    def drop_idle(self, codes: I64) -> None:
        """Forget those of the pairs that have no copies."""
        self.table.release(np.unique(codes[self.counts[codes] == 0]))

    def invariants(self) -> None:
        """Assert the invariant."""
        held = np.flatnonzero(self.counts)
        assert (self.counts[held] > 0).all(), "a count is negative"
        assert np.array_equal(held, self.table.live()), "pairs and counts differ"


class DistinctAccumulator(Accumulator):
    """Feeds an accumulator with the first copy of each value, and takes the last one back."""

    stored_as = StateLayout("distinct-values")
    state_fields = (NestedField("values"), NestedField("inner"))

    def __init__(self, call: AccumulatorCall, inner: Accumulator) -> None:
        self.call = call
        self.inner = inner
        self.values = ValueTable(call)

    @property
    def comparisons(self) -> int:
        """Values compared so far."""
        return self.inner.comparisons

    def reserve(self, groups: int) -> None:
        """Make room."""
        self.inner.reserve(groups)

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Change the weights from those of a bag to those of its set."""
        places = batch.places(self.call)
        codes = self.values.encode(batch, places)
        weights, idle = np.empty(len(batch), np.int64), np.empty(len(codes), np.int64)
        values = self.values
        n = first_copies(batch.events, places, codes, values.counts, weights, idle)
        values.table.release(idle[:n])
        self.inner.fold(batch.reweighted(weights), out, valid)

    def release(self, groups: I64) -> None:
        """Groups without tuples have no values."""
        self.inner.release(groups)

    def entries(self) -> int:
        """Return how many different values are stored."""
        return len(self.values) + self.inner.entries()

    def check_groups(self, live: I64) -> None:
        """Assert those of what is fed."""
        self.inner.check_groups(live)
