"""What a join of many inputs stores, and its loops: common to all that joins so."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, cast

import numpy as np

from windrow.core.schema import Field
from windrow.core.time import BEGINNING
from windrow.kernels.multi_rows import BASE, HEAD, KEEP, TAIL, pass_tails, take_out
from windrow.operators.delta import Delta
from windrow.operators.join.match import MultiMatch, Order
from windrow.operators.join.multi.arrivals import Arrivals
from windrow.operators.join.multi.keep import keep_until, waits
from windrow.operators.join.multi.layout import RowLayout
from windrow.operators.join.multi.loops import Loops, LoopStatistics
from windrow.operators.join.multi.rows import MultiJoinRows
from windrow.operators.join.multi.stores import (
    BagOfRows,
    HeldRows,
    InputStore,
    RingOfRows,
    SignedStore,
)
from windrow.operators.join.rows import NONE
from windrow.operators.state.fields import ListField, NestedField, ScalarField, State, StateField
from windrow.operators.vector import I64
from windrow.physical.conditions import Form, Method


class JoinedInputs(State):
    """The rows of all inputs, chained for the loops. Changes are `entered`, then loops run."""

    state_fields: ClassVar[tuple[StateField, ...]] = (
        NestedField("rows"),
        ListField("seen"),
        NestedField("loops"),
    )

    def __init__(
        self,
        layout: RowLayout,
        stores: list[InputStore],
        orders: tuple[Order, ...],
        method: Method,
        every: int | None = None,
    ) -> None:
        self.layout, self.match = layout, layout.match
        self.stores = stores
        self.rows = MultiJoinRows(layout, stores)
        self.loops = Loops(self.rows, method, every, orders)
        self.seen = [0] * len(stores)
        self.nothing = [Delta.empty(i.schema, signed=layout.signed) for i in self.match.inputs]

    def entered(self, deltas: list[Delta]) -> Arrivals:
        """Store changed rows; return what the loops read of them."""
        rows, layout = self.rows, self.layout
        arrivals = Arrivals.of([len(d) for d in deltas], layout.most_ports, layout.most_values)
        # Rings and pools have room before their rows come, as these get their places at once;
        # tables of distinct rows grow by themselves, and say afterwards how much room they need.
        if not layout.signed or any(rows.rings):
            self._reserve(deltas)
        for i, (store, delta) in enumerate(zip(self.stores, deltas, strict=True)):
            if not len(delta):
                continue
            shape, part = rows.shapes[i], arrivals.part(i)
            values = layout.value_words(i, delta)
            numbers = store.add(delta, int(shape[TAIL]), int(shape[HEAD]))
            arrivals.ts[part], arrivals.numbers[part] = delta.ts, numbers
            self._note_lives(i, delta, values, arrivals)
            for p, codes in enumerate(rows.encode(i, layout.key_words(i, delta))):
                arrivals.codes[p, part] = codes
            for v, words in enumerate(values):
                arrivals.values[v, part] = words
        if layout.signed:
            self._reserve(self.nothing)
        for store, shape in zip(self.stores, rows.shapes, strict=True):
            shape[TAIL], shape[HEAD] = store.span(int(shape[TAIL]), int(shape[HEAD]))
        rows.reserve_codes()
        return arrivals

    @abstractmethod
    def _note_lives(self, which: int, delta: Delta, values: list[I64], arrivals: Arrivals) -> None:
        """Fill in how many copies of new rows there are, or how long they live."""

    def _reserve(self, deltas: list[Delta]) -> None:
        """Make room in the loops' rows for what the inputs need."""
        rows = self.rows
        spreads = (rows.shapes[:, HEAD] - rows.shapes[:, TAIL]).tolist()
        given = zip(self.stores, deltas, spreads, strict=True)
        capacities = rows.reserve([store.needed(delta, spread) for store, delta, spread in given])
        for store, shape, capacity in zip(self.stores, rows.shapes, capacities, strict=True):
            store.resize(capacity, int(shape[TAIL]), int(shape[HEAD]))

    def statistics(self) -> LoopStatistics:
        """Return what is known of the inputs."""
        return self.loops.statistics(self.seen, self.rows.live_rows())

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        return tuple(self.rows.held(i, clock) for i in range(len(self.stores)))


class UnsignedInputs(JoinedInputs):
    """Inputs whose rows have an end. `every`: see `MultiJoin.expire_every`."""

    state_fields = (*JoinedInputs.state_fields, ScalarField("expire_at"))

    def __init__(
        self,
        match: MultiMatch,
        forms: tuple[Form, ...],
        orders: tuple[Order, ...],
        method: Method,
        every: int | None,
    ) -> None:
        fields = [tuple(i.schema[name] for name in i.kept) for i in match.inputs]
        self.held_rows = [HeldRows(f, own) for own, f in zip(fields, forms, strict=True)]
        super().__init__(RowLayout(match), list(self.held_rows), orders, method, every)
        self.waits = [waits(match, i) for i in range(len(forms))]
        self.every = every or 1
        self.expire_at = BEGINNING

    def _note_lives(self, which: int, delta: Delta, values: list[I64], arrivals: Arrivals) -> None:
        """Fill in when new rows end, and until when they are of use."""
        exp, part = cast("I64", delta.exp), arrivals.part(which)
        times = dict(zip(self.layout.values[which], values, strict=True))
        keep = keep_until(exp, times, self.waits[which])
        self.held_rows[which].schedule(arrivals.numbers[part], keep)
        arrivals.last[part], arrivals.keep[part] = exp, keep

    def expire(self, clock: int) -> None:
        """Forget what has expired by `clock`, and the codes that no row is left of."""
        rows, gone = self.rows, self.loops.gone
        rows.reserve_dead(0)
        if clock >= self.expire_at:
            self.expire_at = clock + self.every
            gone = pass_tails(clock, rows.state, gone)
            for i, held in enumerate(self.held_rows):
                base = rows.shapes[i, BASE]
                numbers = held.ended(clock, rows.rows[base : base + held.top, KEEP])
                if len(numbers):
                    gone = take_out(numbers, i, rows.state, gone)
                    held.release(numbers)
        self.loops.settle(gone)


class SignedInputs(JoinedInputs):
    """The rows of all inputs with their copies.

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
        layout = RowLayout(match, signed=True)
        rings = (False,) * len(match.inputs) if ordered is None else ordered
        fields = [_fields(layout, i) for i in range(len(rings))]
        self.copies: list[SignedStore] = [
            RingOfRows(Form.FIFO, own) if ring else BagOfRows(own)
            for own, ring in zip(fields, rings, strict=True)
        ]
        super().__init__(layout, list(self.copies), orders, method)

    def changed(self, which: int, delta: Delta) -> Delta:
        """Return the changes of an input that can matter, as its rows are kept."""
        self.seen[which] += len(delta)
        delta = self.layout.joinable(which, delta)
        if delta.weight is not None and not delta.weight.all():
            delta = delta.take(np.flatnonzero(delta.weight))
        return self.copies[which].unfolded(delta)

    def _note_lives(self, which: int, delta: Delta, values: list[I64], arrivals: Arrivals) -> None:
        """Fill in how many copies come or go."""
        part = arrivals.part(which)
        arrivals.last[part], arrivals.keep[part] = delta.weights(), 0

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


def _fields(layout: RowLayout, which: int) -> tuple[Field, ...]:
    """Return the columns that a join of signed inputs reads of one."""
    source = layout.match.inputs[which]
    keys = (n for c in layout.ports[which] for n in layout.match.equalities[c].columns[which])
    needed = {*source.kept, *layout.values[which], *keys}
    return tuple(f for f in source.schema if f.name in needed)
