"""DISTINCT inside a call: a counter per (group, value)."""

from __future__ import annotations

import numpy as np

from windrow.kernels.counters import first_copies
from windrow.kernels.groups import GROUP
from windrow.operators.aggregate.batch import Accumulator, EventBatch
from windrow.operators.codec import column_words
from windrow.operators.state.key_table import KeyTable, grown
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Bools, is_interned
from windrow.physical.calls import AccumulatorCall


class ValueTable:
    """How many copies each (group, value, ...) has.

    Invariant, asserted by `check`: exactly the pairs with copies are in the table.
    """

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

    @property
    def nbytes(self) -> int:
        """Exact size of table and counters."""
        return self.table.nbytes + self.counts.nbytes

    def live_codes(self) -> list[I64]:
        """Return the codes of interned values in the state."""
        live = self.table.live()
        return [
            self.table.words[live, k + 1]
            for k, arg in enumerate(self.call.args)
            if is_interned(arg.type)
        ]

    def save(self) -> Saved:
        """Return the pairs and their counts."""
        saved = self.table.save()
        words = saved["words"]
        assert isinstance(words, np.ndarray)
        return {"table": saved, "counts": self.counts[: len(words)].copy()}

    def load(self, saved: Saved) -> None:
        """Take over pairs and counts."""
        table, counts = saved["table"], saved["counts"]
        assert isinstance(table, dict)
        assert isinstance(counts, np.ndarray)
        self.table = KeyTable.loaded(table)
        self.counts = counts.copy()

    def check(self) -> None:
        """Assert the invariant."""
        self.table.check()
        held = np.flatnonzero(self.counts)
        assert (self.counts[held] > 0).all(), "a count is negative"
        assert np.array_equal(held, self.table.live()), "pairs and counts differ"


class DistinctAccumulator:
    """Feeds an accumulator with the first copy of each value, and takes the last one back."""

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

    def nbytes(self) -> int:
        """Size of counters and of what they feed."""
        return self.values.nbytes + self.inner.nbytes()

    def save(self, groups: int) -> Saved:
        """Return both."""
        return {"values": self.values.save(), "inner": self.inner.save(groups)}

    def load(self, saved: Saved) -> None:
        """Take over both."""
        values, inner = saved["values"], saved["inner"]
        assert isinstance(values, dict)
        assert isinstance(inner, dict)
        self.values.load(values)
        self.inner.load(inner)

    def live_codes(self) -> list[I64]:
        """Return the codes of interned values in the state."""
        return self.values.live_codes() + self.inner.live_codes()

    def check(self, live: I64) -> None:
        """Assert the invariants of both."""
        self.values.check()
        self.inner.check(live)
