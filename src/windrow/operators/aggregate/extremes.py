"""MIN and MAX over tuples that carry `exp`."""

from __future__ import annotations

import numpy as np

from windrow.core.time import FOREVER
from windrow.kernels.extremes import (
    AFTER,
    BACK,
    BEFORE,
    EXPIRY,
    FRONT,
    KEY,
    Candidates,
    best_alive,
)
from windrow.operators.aggregate.batch import Accumulator, EventBatch
from windrow.operators.aggregate.comparing import Comparing
from windrow.operators.aggregate.pool import Pool
from windrow.operators.interner import Interner
from windrow.operators.state.fields import OF_OWNER, ArrayField, NestedField, StateLayout
from windrow.operators.state.key_table import grown
from windrow.operators.vector import I64, Bools
from windrow.physical.calls import AccumulatorCall


class BestAlive(Accumulator):
    """MIN or MAX of unsigned input: a list a group of the tuples that can still win.

    Invariants, asserted by `check`:
      1. along a list, expiries strictly ascend;
      2. every node of the pool is in one list;
      3. a group without tuples has an empty list.
    """

    stored_as = StateLayout("best-alive")
    state_fields = (ArrayField("ends", length=OF_OWNER), NestedField("pool"))

    def __init__(self, call: AccumulatorCall, interner: Interner) -> None:
        self.call = call
        self.comparing = Comparing.of(call.args[0].type, interner)
        self.sign = 1 if call.name == "max" else -1
        self.ends: I64 = np.zeros((0, 2), np.int64)
        self.pool = Pool(4, AFTER)

    @property
    def comparisons(self) -> int:
        """Values compared so far."""
        return self.pool.comparisons()

    def reserve(self, groups: int) -> None:
        """Make room."""
        self.ends = grown(self.ends, groups)  # type: ignore[assignment]

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Let tuples in and out; the front of each list is the answer."""
        self.pool.reserve(len(batch))
        best_alive(
            batch.events,
            batch.takes(self.call),
            batch.bits(self.call),
            batch.expiries,
            self.comparing.order,
            self.sign,
            Candidates(self.ends, self.pool.nodes, self.pool.meta),
            out,
            valid,
        )

    def entries(self) -> int:
        """Return how many tuples can still win."""
        return len(self.pool)

    def immortal(self) -> tuple[I64, I64]:
        """Return the groups whose last candidate never expires, and the value of that."""
        groups = np.flatnonzero(self.ends[:, BACK])
        last = self.pool.nodes[self.ends[groups, BACK]]
        endless = last[:, EXPIRY] == FOREVER
        return groups[endless], last[endless, KEY]

    def live_codes(self) -> list[I64]:
        """Return the codes of the values that can still win."""
        return [self.pool.nodes[self.pool.live(), KEY]] if self.comparing.interned else []

    def check_groups(self, live: I64) -> None:
        """Assert the invariants."""
        nodes, count = self.pool.nodes, 0
        for group in np.flatnonzero(self.ends[:, FRONT]):
            assert group in live, "invariant 3: an empty group has candidates"
            at, before = int(self.ends[group, FRONT]), 0
            while at:
                assert nodes[at, BEFORE] == before, "a list is not linked both ways"
                later = not before or nodes[before, EXPIRY] < nodes[at, EXPIRY]
                assert later, "invariant 1: expiries do not ascend"
                before, at, count = at, int(nodes[at, AFTER]), count + 1
            assert self.ends[group, BACK] == before, "a list does not end at its back"
        assert count == len(self.pool), "invariant 2: a node is in no list"
