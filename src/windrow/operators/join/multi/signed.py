"""What a join of many signed inputs stores, and its loops: common to all that joins so."""

from __future__ import annotations

from typing import cast

import numpy as np

from windrow.core.schema import Field
from windrow.kernels.multi_rows import HEAD, KEEP, MASK, TAIL
from windrow.operators.delta import Delta
from windrow.operators.join.match import times_of
from windrow.operators.join.multi.arrivals import Arrivals
from windrow.operators.join.multi.copies import BagOfRows, Copies, RingOfRows
from windrow.operators.join.multi.layout import RowLayout
from windrow.operators.join.multi.loops import Loops, LoopStatistics
from windrow.operators.join.multi.match import MultiMatch, Order, equality_codec
from windrow.operators.join.multi.rows import NONE, MultiJoinRows
from windrow.operators.state.key_table import KeyTable, interned_words
from windrow.operators.task import Saved
from windrow.operators.vector import I64
from windrow.physical.conditions import Method


class SignedInputs:
    """The rows of all inputs with their copies, chained for the loops.

    Changes are `entered`, the loops run over them, then they are settled. `ordered` says of which
    inputs rows depart in the order in which they came: these are kept one by one in a ring. Each
    order begins with its own input.
    """

    def __init__(
        self,
        match: MultiMatch,
        orders: tuple[Order, ...],
        method: Method,
        ordered: tuple[bool, ...] | None = None,
    ) -> None:
        assert all(o[0] == i for i, o in enumerate(orders)), "changes stand first"
        self.match = match
        self.layout = RowLayout(match, signed=True)
        rings = (False,) * len(match.inputs) if ordered is None else ordered
        self.rows = MultiJoinRows(self.layout, rings)
        self.loops = Loops(self.rows, method, orders=orders)
        self.copies: list[Copies] = [
            (RingOfRows if ring else BagOfRows)(match.inputs[i], self._fields(i))
            for i, ring in enumerate(rings)
        ]
        self.seen = [0] * len(rings)

    def _fields(self, which: int) -> tuple[Field, ...]:
        """Return the columns that the join reads of an input."""
        source, layout = self.match.inputs[which], self.layout
        keys = (n for c in layout.ports[which] for n in self.match.equalities[c].columns[which])
        needed = {*source.kept, *layout.values[which], *keys}
        return tuple(f for f in source.schema if f.name in needed)

    def reorder(self, orders: tuple[Order, ...]) -> None:
        """Follow other orders from now on. Costs nothing that grows with the windows."""
        assert all(o[0] == i for i, o in enumerate(orders)), "changes stand first"
        self.loops.reorder(orders)

    def changed(self, which: int, delta: Delta) -> Delta:
        """Return the changes of an input that can matter, as its rows are kept."""
        self.seen[which] += len(delta)
        return self.copies[which].unfolded(changed(self.layout.joinable(which, delta)))

    def entered(self, deltas: list[Delta]) -> Arrivals:
        """Store changed rows; return what the loops read of them."""
        rows, layout = self.rows, self.layout
        arrivals = Arrivals.of([len(d) for d in deltas], layout.most_ports, layout.most_values)
        if any(self.rows.rings):  # a ring needs room for what comes; a bag says afterwards
            self._reserve(deltas)
        for i, (copies, delta) in enumerate(zip(self.copies, deltas, strict=True)):
            if not len(delta):
                continue
            shape, part = rows.shapes[i], arrivals.part(i)
            numbers = copies.add(delta, int(shape[TAIL]), int(shape[HEAD]))
            arrivals.ts[part], arrivals.last[part] = delta.ts, delta.weights()
            arrivals.keep[part], arrivals.numbers[part] = 0, numbers
            for p, codes in enumerate(rows.encode(i, layout.key_words(i, delta))):
                arrivals.codes[p, part] = codes
            for v, words in enumerate(layout.value_words(i, delta)):
                arrivals.values[v, part] = words
        self._reserve(deltas)
        rows.reserve_codes()
        return arrivals

    def _reserve(self, deltas: list[Delta]) -> None:
        """Make room in the loops' rows for what the inputs need."""
        rows = self.rows
        spreads = (int(s[HEAD] - s[TAIL]) for s in rows.shapes)
        needed = [
            c.needed(d, live) for c, d, live in zip(self.copies, deltas, spreads, strict=True)
        ]
        for i, capacity in enumerate(rows.reserve(needed)):
            shape = rows.shapes[i]
            tail, head = int(shape[TAIL]), int(shape[HEAD])
            self.copies[i].resize(capacity, tail, head)
            shape[TAIL], shape[HEAD] = self.copies[i].span(tail, head)

    def settle(self, arrivals: Arrivals) -> list[I64]:
        """Forget rows without copies, and the codes that no row is left of.

        Returns the numbers of rows of each input that are given out anew from now on.
        """
        rows = self.rows
        self.loops.settle(self.loops.gone)
        released = []
        for i, copies in enumerate(self.copies):
            numbers = arrivals.numbers[arrivals.part(i)]
            left = rows.rows[rows.at(i, numbers), KEEP]
            released.append(copies.sweep(numbers, left) if len(numbers) else NONE)
        return released

    def statistics(self) -> LoopStatistics:
        """Return what is known of the inputs."""
        return self.loops.statistics(self.seen, self.live())

    def live(self) -> list[int]:
        """Return how many rows of each input are stored. O(inputs): every step asks."""
        shapes = self.rows.shapes
        return [
            c.live(int(s[TAIL]), int(s[HEAD])) for c, s in zip(self.copies, shapes, strict=True)
        ]

    def _numbers(self) -> list[I64]:
        return [self.rows.taken(i) for i in range(len(self.copies))]

    @property
    def nbytes(self) -> int:
        """Exact size of rows, chains and codes."""
        return self.rows.nbytes + sum(c.nbytes for c in self.copies)

    def save(self) -> Saved:
        """Return the state for `load`."""
        return {
            "tables": [t.save() for t in self.rows.tables],
            "inputs": [self._saved(i, numbers) for i, numbers in enumerate(self._numbers())],
            "seen": list(self.seen),
            "orders": [list(o) for o in self.loops.orders],
        }

    def _saved(self, which: int, numbers: I64) -> Saved:
        words = self.rows.rows[self.rows.at(which, numbers), : self.layout.width]
        return {"numbers": numbers, "words": words} | self.copies[which].save(numbers)

    def load(self, saved: Saved) -> None:
        """Take over a saved state: rows are chained anew."""
        rows, parts = self.rows, cast("list[Saved]", saved["inputs"])
        rows.tables = [KeyTable.loaded(t) for t in cast("list[Saved]", saved["tables"])]
        rows.reserve_codes()
        for i, part in enumerate(parts):
            numbers = cast("I64", part["numbers"])
            if self.copies[i].ring and len(numbers):
                rows.shapes[i, TAIL] = rows.shapes[i, HEAD] = numbers[0]
        sizes = [len(cast("I64", p["numbers"])) for p in parts]
        self._take_over(parts, sizes)
        self.seen = list(cast("list[int]", saved["seen"]))
        if "orders" in saved:  # states from before orders were saved go on in the plan's
            orders = cast("list[list[int]]", saved["orders"])
            self.loops.reorder(tuple(map(tuple, orders)))

    def _take_over(self, parts: list[Saved], sizes: list[int]) -> None:
        rows = self.rows
        for i, part in enumerate(parts):
            if not self.copies[i].ring:
                self.copies[i].load(part, cast("I64", part["numbers"]))
        empty = [Delta.empty(i.schema, signed=True) for i in self.match.inputs]
        needed = [
            size if c.ring else c.needed(d, 0)
            for c, d, size in zip(self.copies, empty, sizes, strict=True)
        ]
        for i, capacity in enumerate(rows.reserve(needed)):
            copies, shape = self.copies[i], rows.shapes[i]
            numbers = cast("I64", parts[i]["numbers"]).copy()  # what is read from disk is read-only
            copies.resize(capacity, 0, 0)
            if copies.ring:
                copies.load(parts[i], numbers)
            shape[TAIL], shape[HEAD] = copies.span(int(shape[TAIL]), int(shape[TAIL]) + sizes[i])
            rows.rows[rows.at(i, numbers), : self.layout.width] = cast("I64", parts[i]["words"])
            rows.link(i, numbers)

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        return tuple(self._held(i, n, clock) for i, n in enumerate(self._numbers()))

    def _held(self, which: int, numbers: I64, clock: int) -> Delta:
        rows, match = self.rows, self.match
        columns = self.copies[which].take(numbers & rows.shapes[which, MASK])
        times = [b.band.left for b in match.bands if b.first == which]
        times += [b.band.right for b in match.bands if b.second == which]
        ts = times_of(columns, times, len(numbers), clock)
        return Delta(ts, columns, None, rows.rows[rows.at(which, numbers), KEEP].copy())

    def live_codes(self) -> list[I64]:
        """Return the interned codes that keys and rows refer to."""
        found: list[I64] = []
        for e, table in zip(self.match.equalities, self.rows.tables, strict=True):
            at = e.inputs[0]
            codec = equality_codec(e, self.match.inputs[at].schema, at)
            found += interned_words(codec.fields, table)
        for copies, numbers in zip(self.copies, self._numbers(), strict=True):
            found += copies.live_codes(numbers)
        return found

    def check(self) -> None:
        """Assert the invariants of the state."""
        self.rows.check()
        assert self.live() == [len(n) for n in self._numbers()], "a row is lost"
        for i, (copies, numbers) in enumerate(zip(self.copies, self._numbers(), strict=True)):
            copies.check(numbers)
            kept = self.rows.rows[self.rows.at(i, numbers), KEEP]
            assert not copies.ring or (kept == 1).all(), "a row of a ring is one copy"


def changed(delta: Delta) -> Delta:
    """Return the changes without those of no copies."""
    if delta.weight is None or delta.weight.all():
        return delta
    return delta.take(np.flatnonzero(delta.weight))
