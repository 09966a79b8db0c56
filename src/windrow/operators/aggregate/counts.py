"""COUNT, BOOL_AND, BOOL_OR: plain counters, and what all accumulators on plain arrays share."""

from __future__ import annotations

import numpy as np

from windrow.kernels.counters import count_truths, count_values
from windrow.operators.aggregate.batch import EventBatch
from windrow.operators.state.key_table import grown
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Bools
from windrow.physical.calls import AccumulatorCall


class PlainArray:
    """State that is one row of int64s a group, all 0 when the group has no tuples."""

    comparisons = 0

    def __init__(self, call: AccumulatorCall, *width: int) -> None:
        self.call = call
        self.state: I64 = np.zeros((0, *width), np.int64)

    def reserve(self, groups: int) -> None:
        """Make room."""
        self.state = grown(self.state, groups)  # type: ignore[assignment]

    def release(self, groups: I64) -> None:
        """Counts of nothing are 0 already."""

    def entries(self) -> int:
        """No values are stored."""
        return 0

    def nbytes(self) -> int:
        """Size of the counters."""
        return self.state.nbytes

    def save(self, groups: int) -> Saved:
        """Return the rows in use."""
        return {"state": self.state[:groups].copy()}

    def load(self, saved: Saved) -> None:
        """Take over the rows."""
        state = saved["state"]
        assert isinstance(state, np.ndarray)
        self.state = state.copy()

    def live_codes(self) -> list[I64]:
        """No values are stored."""
        return []

    def check(self, live: I64) -> None:
        """Assert that groups without tuples count nothing."""
        idle = np.ones(len(self.state), np.bool_)
        idle[live] = False
        assert not self.state[idle].any(), f"{self.call.name}: an empty group counts something"


class CountRows(PlainArray):
    """COUNT(*): the group's own number of tuples."""

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Copy what is known anyway."""
        out[: batch.emissions] = batch.rows_after[: batch.emissions]


class Count(PlainArray):
    """COUNT(x, ...) and COUNT(*) with a filter."""

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Count the events that are taken."""
        count_values(batch.events, batch.takes(self.call), self.state, out)


class Truths(PlainArray):
    """BOOL_AND, BOOL_OR: how many are false, how many true."""

    def __init__(self, call: AccumulatorCall) -> None:
        super().__init__(call, 2)

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Count both."""
        takes, truths = batch.takes(self.call), batch.bits(self.call)
        every = self.call.name == "bool_and"
        count_truths(batch.events, takes, truths, self.state, every, out, valid)
