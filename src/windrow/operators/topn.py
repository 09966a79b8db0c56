"""ORDER BY LIMIT: the first rows of an order, as the bag below them changes."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.kernels.topn import (
    COMPARED,
    COPIES,
    DEPTH,
    LEFT,
    MADE,
    RIGHT,
    ROOT,
    TOTAL,
    TOUCHED,
    WORK_WORDS,
    RowTree,
    ShownChanges,
    top_changes,
)
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.ordering import Key, RowOrder
from windrow.operators.state.bag import encode_sparingly
from windrow.operators.state.fields import ScratchField
from windrow.operators.state.key_table import KeyTable, TableField, grown
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64

FAR = 2**62
"""A rank that is never reached."""


class TopNTask(StatefulTask):
    """The rows of ranks [offset, offset + limit) by `keys`, ties by all columns: signed in and out.

    A change moves the rows behind it by its copies, so only those that cross an end of the cut
    change: O(log rows) a change and a result. Stores all rows, in a treap whose nodes are the
    codes of the table. Invariants, asserted by `check`:
      1. the tree's nodes are the rows of the table, in order, each with copies;
      2. a parent's hash is not smaller than its children's;
      3. totals are those of the subtrees.
    """

    state_fields = (
        TableField("table", fields="schema"),
        *map(ScratchField, ("nodes", "marks", "lists", "_path")),
    )

    def __init__(
        self,
        schema: Schema,
        keys: tuple[Key, ...],
        limit: int,
        offset: int,
        interner: Interner,
    ) -> None:
        self.counters = Counters()
        self.schema = schema
        self._names = schema.names
        self.order = RowOrder(schema, keys, interner)
        self.cut = (min(offset, FAR), min(offset + limit, FAR))
        self.table = KeyTable(self.order.codec.width)
        self._clear()
        self._path = np.empty((2, DEPTH), np.int64)
        self._empty = Delta.empty(schema, signed=True)

    def _clear(self) -> None:
        capacity = self.table.capacity
        self.nodes: I64 = np.zeros((capacity, 4), np.int64)
        self.marks: I64 = np.zeros((capacity, 4), np.int64)
        self.lists: I64 = np.zeros((2, capacity), np.int64)
        self.work: I64 = np.zeros(WORK_WORDS, np.int64)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Move rows in and out of the cut."""
        (delta,) = inputs
        if not len(delta):
            return self._empty
        columns = [delta.columns[n] for n in self._names]
        codes = encode_sparingly(self.table, self.order.codec.words(columns, len(delta)))
        changed = self._cut_changes(delta.ts, codes, delta.weights())
        out = self._rows(changed) if changed.shape[1] else self._empty
        gone = codes[self.nodes[codes, COPIES] == 0]
        self.table.release(np.unique(gone) if len(gone) > 1 else gone)
        self._count(delta, out)
        self.counters.probes += len(delta)
        self.counters.comparisons = int(self.work[COMPARED])
        return out

    def _rows(self, changed: I64) -> Delta:
        ts, codes, weight = changed
        made = self.order.codec.columns_at(self.table.words, codes)
        return Delta(ts, dict(zip(self._names, made, strict=True)), None, weight)

    def _cut_changes(self, ts: I64, codes: I64, weights: I64) -> I64:
        """Fold changes into the tree; return time, code and weight of each change of the cut."""
        self._reserve()
        out = np.empty((3, 3 * len(ts)), np.int64)
        work, at = self.work, 0
        work[MADE] = 0
        order = (self.table.words, self.order.how, self.order.null_word, self.order.text)
        tree = RowTree(order, self.nodes, self.table.hashes, self._path, work)
        touched, coming = self.lists
        shown = ShownChanges(*self.cut, self.marks, touched)
        while True:
            at = top_changes((ts, codes, weights), at, tree, shown, coming, out)
            # Done; otherwise the room was too small for the rows that an instant has moved.
            if not work[TOUCHED]:
                made: I64 = out[:, : work[MADE]].copy()
                return made
            more = np.empty((3, 2 * out.shape[1] + int(work[TOUCHED])), np.int64)
            more[:, : work[MADE]] = out[:, : work[MADE]]
            out = more

    def _reserve(self) -> None:
        capacity = self.table.capacity
        if capacity > len(self.nodes):
            self.nodes = grown(self.nodes, capacity)  # type: ignore[assignment]
            self.marks = grown(self.marks, capacity)  # type: ignore[assignment]
            self.lists = np.zeros((2, len(self.nodes)), np.int64)

    def state_rows(self) -> int:
        """Return how many distinct rows there are."""
        return len(self.table)

    def content(self, rows: int) -> Saved:
        """Return rows and copies: the tree follows from them."""
        live = self.table.live()
        return {"words": self.table.words[live], "copies": self.nodes[live, COPIES]}

    def take_over(self, saved: Saved) -> None:
        """Take over saved rows."""
        words, copies = saved["words"], saved["copies"]
        assert isinstance(words, np.ndarray)
        assert isinstance(copies, np.ndarray)
        self.table = KeyTable(self.order.codec.width)
        codes = self.table.encode(words)
        self._clear()
        # Rows are entered with a cut that nothing reaches.
        cut, self.cut = self.cut, (FAR, FAR)  # what is shown has been emitted
        if len(codes):
            self._cut_changes(np.zeros(len(codes), np.int64), codes, copies)
        self.cut = cut

    def invariants(self) -> None:
        """Assert the invariants."""
        assert not self.marks.any(), "a change was not emitted"
        live, nodes, hashes = self.table.live(), self.nodes, self.table.hashes
        for side in (LEFT, RIGHT):
            parents = live[nodes[live, side] > 0]
            children = nodes[parents, side] - 1
            assert (hashes[parents] >= hashes[children]).all(), "invariant 2: no heap"
        below = sum(
            np.where(nodes[live, side] > 0, nodes[nodes[live, side] - 1, TOTAL], 0)
            for side in (LEFT, RIGHT)
        )
        assert (nodes[live, TOTAL] == nodes[live, COPIES] + below).all(), "invariant 3: totals"
        assert (nodes[live, COPIES] > 0).all(), "invariant 1: a row has no copies"
        found = self._in_order()
        assert sorted(found) == live.tolist(), "invariant 1: a row is lost"
        self._check_order(np.array(found, np.int64))

    def _in_order(self) -> list[int]:
        """Return the codes of the tree from first to last."""
        found: list[int] = []
        stack: list[int] = []
        at = int(self.work[ROOT])
        while at or stack:
            while at:
                stack.append(at)
                at = int(self.nodes[at - 1, LEFT])
            at = stack.pop()
            found.append(at - 1)
            at = int(self.nodes[at - 1, RIGHT])
        return found

    def _check_order(self, codes: I64) -> None:
        columns = self.order.codec.columns_at(self.table.words, codes)
        rows = Delta(
            np.zeros(len(codes), np.int64), dict(zip(self.schema.names, columns, strict=True))
        )
        ordered = self.order.sorted_instants(rows)
        same = [ordered.columns[n].data for n in self.schema.names]
        for made, column in zip(same, columns, strict=True):
            assert np.array_equal(
                made.view(np.int64), np.ascontiguousarray(column.data).view(np.int64)
            ), "invariant 1: out of order"
