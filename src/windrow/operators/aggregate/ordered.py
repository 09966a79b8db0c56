"""TOPK, and the trees that it and early aggregation order values by."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.kernels.extremes import LIVE
from windrow.kernels.ordered import (
    COPIES,
    KEY,
    LEFT,
    PARENT,
    PRIORITY,
    RIGHT,
    SEED,
    SIZE,
    Treaps,
    most_frequent,
)
from windrow.operators.aggregate.batch import Accumulator, EventBatch
from windrow.operators.aggregate.comparing import Comparing
from windrow.operators.aggregate.distinct import ValueTable
from windrow.operators.aggregate.pool import Pool
from windrow.operators.arrow import vector_from_arrow, vector_to_arrow
from windrow.operators.interner import Interner
from windrow.operators.state.fields import OF_OWNER, ArrayField, NestedField, State, StateLayout
from windrow.operators.state.key_table import grown
from windrow.operators.vector import I64, Bools, Vector
from windrow.physical.calls import AccumulatorCall


class Forest(State):
    """One treap a group, in one pool.

    Invariants, asserted by `check`:
      1. a node's size is its copies and the sizes of its children;
      2. priorities do not ascend from a node to its children;
      3. a group without tuples has no tree.
    """

    stored_as = StateLayout("forest")
    state_fields = (ArrayField("roots", length=OF_OWNER), NestedField("pool"))

    def __init__(self) -> None:
        self.roots: I64 = np.zeros(0, np.int64)
        self.pool = Pool(8, LEFT)
        self.pool.meta[SEED] = 20250

    def reserve(self, groups: int) -> None:
        """Make room for groups."""
        self.roots = grown(self.roots, groups)  # type: ignore[assignment]

    @property
    def trees(self) -> Treaps:
        """What kernels need: the arrays as they are now."""
        return Treaps(self.roots, self.pool.nodes, self.pool.meta)

    def check_groups(self, live: I64) -> None:
        """Assert the invariants."""
        nodes, at = self.pool.nodes, self.pool.live()
        left, right = nodes[at, LEFT], nodes[at, RIGHT]
        sizes = nodes[at, COPIES] + nodes[left, SIZE] + nodes[right, SIZE]
        assert np.array_equal(nodes[at, SIZE], sizes), "invariant 1: a size is wrong"
        for child in (left, right):
            held = child != 0
            assert (nodes[child[held], PARENT] == at[held]).all(), "a child has another parent"
            heap = nodes[child, PRIORITY] <= nodes[at, PRIORITY]
            assert heap[held].all(), "invariant 2: not a heap"
        assert np.isin(np.flatnonzero(self.roots), live).all(), "invariant 3: a tree of no tuples"
        assert np.count_nonzero(nodes[at, PARENT] == 0) == np.count_nonzero(self.roots)


class TopK(Accumulator):
    """TOPK: the k most frequent values, the most frequent first, of equals the least first.

    MODE is the first of them.
    """

    stored_as = StateLayout("most-frequent")
    state_fields = (NestedField("forest"), NestedField("values"))

    def __init__(self, call: AccumulatorCall, interner: Interner) -> None:
        self.call = call
        self.interner = interner
        self.comparing = Comparing.of(call.args[0].type, interner)
        self.most = int(call.parameters[0]) if call.parameters else 1
        self.forest = Forest()
        self.values = ValueTable(call)

    @property
    def comparisons(self) -> int:
        """Values compared so far."""
        return self.forest.pool.comparisons()

    def reserve(self, groups: int) -> None:
        """Make room."""
        self.forest.reserve(groups)

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Move values to their new places; list the first of each bag."""
        forest, n = self.forest, batch.emissions
        places = batch.places(self.call)
        codes = self.values.encode(batch, places)
        forest.pool.reserve(len(batch))
        most = min(self.most, int(forest.pool.meta[LIVE]) + len(batch))
        chosen, found = np.empty((n, most), np.int64), np.empty(n, np.int64)
        most_frequent(
            batch.events,
            places,
            codes,
            batch.bits(self.call),
            self.comparing.order,
            self.values.counts,
            forest.trees,
            most,
            chosen,
            found,
        )
        self.values.drop_idle(codes)
        valid[:n] = found > 0
        out[:n] = chosen[:, 0] if self.call.name == "mode" else self._lists(chosen, found)

    def _lists(self, chosen: I64, found: I64) -> I64:
        words = chosen[np.arange(chosen.shape[1]) < found[:, None]]
        type_ = self.call.args[0].type
        real = pa.types.is_floating(type_)
        values = vector_to_arrow(
            Vector(type_, words.view(np.float64) if real else words), self.interner
        )
        offsets = pa.array(np.concatenate([[0], np.cumsum(found)]), pa.int32())
        lists = pa.ListArray.from_arrays(offsets, values, type=self.call.type)
        made = vector_from_arrow(lists, self.call.type, self.interner)
        return made.data  # type: ignore[return-value]

    def entries(self) -> int:
        """Return how many different values are stored."""
        return len(self.forest.pool)

    def live_codes(self) -> list[I64]:
        """Return the codes of the values in the bags."""
        pool = self.forest.pool
        return [pool.nodes[pool.live(), KEY]] if self.comparing.interned else []

    def check_groups(self, live: I64) -> None:
        """Assert the invariants of trees and counters."""
        self.forest.check_groups(live)
        assert len(self.values) == len(self.forest.pool), "trees and counters differ"
