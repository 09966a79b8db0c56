"""COUNT, BOOL_AND, BIT_AND and their kin: counters, and what accumulators on plain arrays share."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from windrow.kernels.counters import AND, OR, WORD_BITS, XOR, count_bits, count_truths, count_values
from windrow.operators.aggregate.batch import Accumulator, EventBatch
from windrow.operators.state.fields import OF_OWNER, ArrayField, StateLayout
from windrow.operators.state.key_table import grown
from windrow.operators.vector import I64, Bools
from windrow.physical.calls import AccumulatorCall


class PlainArray(Accumulator):
    """State that is one row of int64s a group, all 0 when the group has no tuples."""

    stored_as = StateLayout("plain-array")
    state_fields = (ArrayField("state", length=OF_OWNER),)

    def __init__(self, call: AccumulatorCall, *width: int) -> None:
        self.call = call
        self.state: I64 = np.zeros((0, *width), np.int64)

    def reserve(self, groups: int) -> None:
        """Make room."""
        self.state = grown(self.state, groups)  # type: ignore[assignment]

    def check_groups(self, live: I64) -> None:
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


class BitCounts(PlainArray):
    """BIT_AND, BIT_OR, BIT_XOR: how many words have each bit."""

    KINDS: ClassVar = {"bit_and": AND, "bit_or": OR, "bit_xor": XOR}

    def __init__(self, call: AccumulatorCall) -> None:
        super().__init__(call, WORD_BITS + 1)

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Count each bit."""
        takes, words = batch.takes(self.call), batch.bits(self.call)
        kind = self.KINDS[self.call.name]
        count_bits(batch.events, takes, words, self.state, kind, out, valid)
