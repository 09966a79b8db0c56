"""The state of a join of many inputs: the rows of all inputs in one array, chained by class.

    rows:   │ ring of input 0  │ pool of input 1 │ ring of input 2 ...
            base 0             base 1            base 2

An index on every class of every input is always kept, so that any order can be followed at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from windrow.core.schema import Field
from windrow.kernels.multi_rows import (
    BASE,
    GONE,
    HEAD,
    KEEP,
    MASK,
    PORTS,
    RING,
    SHAPE_WORDS,
    TAIL,
    ManyRows,
    link_all,
    settle,
)
from windrow.operators.delta import Delta
from windrow.operators.join.match import equality_codec, times_of
from windrow.operators.join.multi.layout import RowLayout
from windrow.operators.join.multi.stores import InputStore
from windrow.operators.join.rows import SMALLEST
from windrow.operators.state.aligned import aligned, row_words
from windrow.operators.state.fields import NestedField, ScratchField, State, StateLayout
from windrow.operators.state.key_table import KeyTable, TableField
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Vector, is_interned


@dataclass(slots=True)
class MultiJoinRows(State):
    """Rows, chains and codes of all inputs, and the `stores` of their columns.

    Invariants, asserted by `check`:
      1. `heads` counts the rows of each code and input, and exactly the codes with rows are kept;
      2. from the newest row of a code its chain leads to all others, newest first;
      3. `live` counts the codes of each input and class;
      4. `keep` never decreases from the tail of a ring to its head.
    """

    stored_as = StateLayout("multi-join-rows")
    state_fields = (
        TableField("tables", fields="key_fields"),
        ScratchField("rows"),
        ScratchField("born"),
        ScratchField("heads"),
        NestedField("stores"),
    )

    layout: RowLayout
    stores: list[InputStore]
    rings: tuple[bool, ...] = field(init=False)
    key_fields: tuple[tuple[Field, ...], ...] = field(init=False)
    rows: I64 = field(init=False)
    born: I64 = field(init=False)
    heads: I64 = field(init=False)
    shapes: I64 = field(init=False)
    classes: I64 = field(init=False)
    bases: I64 = field(init=False)
    live: I64 = field(init=False)
    tables: list[KeyTable] = field(init=False)
    dead: I64 = field(init=False)
    capacities: list[int] = field(init=False)  # rows that each input has room for
    codes: list[int] = field(default_factory=list)  # codes that each class has room for

    def __post_init__(self) -> None:
        layout, n = self.layout, len(self.stores)
        self.rings = tuple(store.ring for store in self.stores)
        equalities, inputs = layout.match.equalities, layout.match.inputs
        first = [(e, inputs[e.inputs[0]].schema, e.inputs[0]) for e in equalities]
        self.key_fields = tuple(equality_codec(*each).fields for each in first)
        self.shapes = np.zeros((n, SHAPE_WORDS), np.int64)
        self.shapes[:, RING] = self.rings
        self.shapes[:, PORTS] = [len(p) for p in layout.ports]
        self.classes = np.zeros((n, max(1, layout.most_ports)), np.int64)
        for i, ports in enumerate(layout.ports):
            self.classes[i, : len(ports)] = ports
        self.tables = [KeyTable(len(e.columns[e.inputs[0]])) for e in equalities]
        self.live = np.zeros((n, max(1, len(equalities))), np.int64)
        self.bases = np.zeros(len(equalities) + 1, np.int64)
        self.heads = np.zeros((0, row_words(2 * n)), np.int64)
        self.dead = np.empty(1, np.int64)
        self._place([SMALLEST] * n)
        self.rows = self._emptied(SMALLEST * n)
        self.born = np.zeros(SMALLEST * n, np.int64)
        self.reserve_codes()

    @property
    def state(self) -> ManyRows:
        """What the loops read and write."""
        layout = self.layout
        chains = self.heads, self.shapes, self.classes, self.bases, self.live, self.dead
        form = layout.exp, layout.first, int(layout.signed)
        return ManyRows(self.rows, self.born, *chains, *form)

    def _emptied(self, size: int) -> I64:
        rows: I64 = aligned((size, row_words(self.layout.width)), np.int64)
        if not self.layout.signed:
            rows[:, KEEP] = GONE
        return rows

    def _place(self, capacities: list[int]) -> None:
        self.capacities = capacities
        self.shapes[:, BASE] = np.cumsum([0, *capacities[:-1]])
        # A ring's capacity is a power of two; -1 as mask leaves the numbers of a pool as they are.
        masks = [c - 1 if ring else -1 for c, ring in zip(capacities, self.rings, strict=True)]
        self.shapes[:, MASK] = masks

    def reserve(self, needed: list[int]) -> list[int]:
        """Make room for so many rows of each input; return the capacities, powers of two."""
        old = self.capacities
        new = [
            max(c, SMALLEST, 1 << (k - 1).bit_length()) for c, k in zip(old, needed, strict=True)
        ]
        if new == old:
            return old
        before, sources = self.shapes.copy(), [self.slots(i, old[i]) for i in range(len(old))]
        rows, born = self.rows, self.born
        self._place(new)
        self.rows, self.born = self._emptied(sum(new)), np.zeros(sum(new), np.int64)
        for i, source in enumerate(sources):
            # Rows keep their numbers, so chains, which hold numbers, need no change.
            target = self.shapes[i, BASE] + self.slots(i, new[i])
            self.rows[target] = rows[before[i, BASE] + source]
            self.born[target] = born[before[i, BASE] + source]
        return new

    def slots(self, which: int, capacity: int) -> I64:
        """Return the places, within its input, of all rows that a region of `capacity` has."""
        shape = self.shapes[which]
        if self.rings[which]:
            return np.arange(shape[TAIL], shape[HEAD]) & (capacity - 1)
        return np.arange(shape[HEAD])

    def reserve_codes(self) -> None:
        """Make room for all codes of all classes."""
        sizes = [t.capacity for t in self.tables]
        if sizes == self.codes:
            return
        self.codes, bases = sizes, np.cumsum([0, *sizes])
        old, was = self.heads, np.diff(self.bases)
        self.heads = aligned((max(1, int(bases[-1])), old.shape[1]), np.int64)
        for c, base in enumerate(self.bases[:-1]):
            self.heads[bases[c] : bases[c] + was[c]] = old[base : base + was[c]]
        self.bases = bases

    def encode(self, which: int, words: list[I64]) -> list[I64]:
        """Return the codes of new rows, for each port; `reserve_codes` must follow."""
        return [
            self.tables[c].encode(w) for c, w in zip(self.layout.ports[which], words, strict=True)
        ]

    def reserve_dead(self, more: int) -> None:
        """Make room for a code of each row and port, so many rows to come included."""
        # A code may be listed once for each row and port that it loses within a step.
        size = (len(self.rows) + more) * max(1, self.layout.most_ports) + 1
        if len(self.dead) < size:
            self.dead = np.empty(size, np.int64)

    def release(self, gone: int) -> None:
        """Forget the codes in `dead` that have no rows."""
        if not gone:
            return
        count = settle(self.dead, gone, self.heads, len(self.rings))
        codes = self.dead[:count]
        for c, table in enumerate(self.tables):
            own = codes[(codes >= self.bases[c]) & (codes < self.bases[c + 1])]
            table.release(own - self.bases[c])

    def link(self, which: int, numbers: I64) -> None:
        """Chain stored rows, oldest first."""
        link_all(which, numbers, self.state)

    def taken(self, which: int) -> I64:
        """Return the numbers of the rows that are there, oldest first in a ring."""
        shape = self.shapes[which]
        numbers: I64 = np.arange(shape[TAIL], shape[HEAD])
        if self.rings[which]:
            return numbers
        # What a free slot has as `keep`: of signed rows that is the number of copies.
        free = 0 if self.layout.signed else GONE
        there: I64 = numbers[self.rows[shape[BASE] + numbers, KEEP] != free]
        return there

    def at(self, which: int, numbers: I64) -> I64:
        """Return the slots of rows in all rows."""
        slots: I64 = self.shapes[which, BASE] + (numbers & self.shapes[which, MASK])
        return slots

    def live_rows(self) -> list[int]:
        """Return how many rows of each input are stored. O(inputs): every step asks."""
        shapes = zip(self.stores, self.shapes, strict=True)
        return [store.live(int(s[TAIL]), int(s[HEAD])) for store, s in shapes]

    def held(self, which: int, clock: int) -> Delta:
        """Return the rows of an input with all columns that the join reads, and ends or copies."""
        layout, numbers = self.layout, self.taken(which)
        match, stored = layout.match, self.rows[self.at(which, numbers)]
        columns: dict[str, Vector] = {}
        for c, codec in zip(layout.ports[which], layout.codecs[which], strict=True):
            words = self.tables[c].words[stored[:, layout.code(which, c)]]
            names = match.equalities[c].columns[which]
            columns |= dict(zip(names, codec.columns(words), strict=True))
        for name in layout.values[which]:
            words = stored[:, layout.value(which, name)]
            columns[name] = layout.value_column(which, name, words)
        columns |= self.stores[which].take(numbers & self.shapes[which, MASK])
        ordered = {n: columns[n] for n in match.inputs[which].schema.names if n in columns}
        ts, last = (
            times_of(ordered, match.band_times(which), len(numbers), clock),
            stored[:, layout.exp].copy(),
        )
        return Delta(ts, ordered, None, last) if layout.signed else Delta(ts, ordered, last)

    def live_codes(self) -> list[I64]:
        """Return the interned codes that keys and rows refer to."""
        found = super(MultiJoinRows, self).live_codes()
        for i, store in enumerate(self.stores):
            numbers, schema = self.taken(i), self.layout.match.inputs[i].schema
            found += store.codes_at(numbers & self.shapes[i, MASK])
            slots = self.at(i, numbers)
            for name in self.layout.values[i]:
                if is_interned(schema[name].type):
                    found.append(self.rows[slots, self.layout.value(i, name)].copy())
        return found

    def content(self, rows: int) -> Saved:
        """Return keys, and the rows of each input, oldest first: chains follow from the order."""
        tables = [table.save() for table in self.tables]
        return {"tables": tables, "inputs": [self._saved(i) for i in range(len(self.stores))]}

    def _saved(self, which: int) -> Saved:
        numbers = self.taken(which)
        slots = self.at(which, numbers)
        if not (self.rings[which] or self.layout.signed):
            # Places of a pool are given out again: only the group of arrivals has the age.
            age = np.argsort(self.born[slots], kind="stable")
            numbers, slots = numbers[age], slots[age]
        return {
            "tail": int(self.shapes[which, TAIL]),
            "words": self.rows[slots, : self.layout.width],
            "rows": self.stores[which].saved_rows(numbers & self.shapes[which, MASK]),
        }

    def take_over(self, saved: Saved) -> None:
        """Take over saved rows: they are chained anew, oldest first."""
        for table, kept in zip(self.tables, cast("list[Saved]", saved["tables"]), strict=True):
            table.load(kept)
        self.reserve_codes()
        parts = cast("list[Saved]", saved["inputs"])
        nothing = Delta.empty(self.layout.match.output, signed=self.layout.signed)
        for i, (store, part) in enumerate(zip(self.stores, parts, strict=True)):
            words, shape = cast("I64", part["words"]), self.shapes[i]
            tail = cast("int", part["tail"])
            # How much room distinct rows need is known when they are there: one by one.
            needed = list(self.capacities)
            needed[i] = len(words)
            capacity = self.reserve(needed)[i]
            numbers = store.load_rows(cast("Saved", part["rows"]), words, tail, capacity)
            needed[i] = max(len(words), store.needed(nothing, 0))
            self.reserve(needed)
            shape[TAIL], shape[HEAD] = store.span(tail, tail + len(words))
            self.rows[self.at(i, numbers), : self.layout.width] = words
            # Oldest first, so that the newest row of each key ends up as its head.
            self.link(i, numbers)

    def invariants(self) -> None:
        """Assert the invariants."""
        n = len(self.rings)
        counted = np.zeros((len(self.heads), n), np.int64)
        for i in range(n):
            numbers = self.taken(i)
            slots = self.at(i, numbers)
            self.stores[i].check_rows(numbers, self.rows[slots, KEEP])
            if self.rings[i]:
                assert (np.diff(self.rows[slots, KEEP]) >= 0).all(), "invariant 4: out of order"
            for c in self.layout.ports[i]:
                codes = self.bases[c] + self.rows[slots, self.layout.code(i, c)]
                counted[:, i] += np.bincount(codes, minlength=len(self.heads))
                self._check_chains(i, c, counted[:, i])
        assert np.array_equal(counted, self.heads[:, n : 2 * n]), "invariant 1: miscounted"
        for c, table in enumerate(self.tables):
            own = counted[self.bases[c] : self.bases[c + 1]]
            used = np.flatnonzero(own.any(axis=1))
            assert np.array_equal(used, table.live()), "invariant 1: a useless code"
            assert np.array_equal((own > 0).sum(axis=0), self.live[:, c]), "invariant 3: miscounted"
        assert self.live_rows() == [len(self.taken(i)) for i in range(n)], "a row is lost"

    def _check_chains(self, which: int, of: int, counted: I64) -> None:
        base, link = self.bases[of], self.layout.link(which, of)
        codes = base + np.flatnonzero(counted[base : self.bases[of + 1]])
        at, steps = self.heads[codes, which] - 1, 0
        while len(codes):
            assert (at >= self.shapes[which, TAIL]).all(), "invariant 2: a chain ends early"
            slots = self.at(which, at)
            own = base + self.rows[slots, self.layout.code(which, of)]
            assert np.array_equal(own, codes), "invariant 2: a chain changes its code"
            steps += 1
            at, more = self.rows[slots, link] - 1, counted[codes] > steps
            at, codes = at[more], codes[more]
