"""What the changes of an instant add to groups: one row a group, whatever their number.

    Δγ(τ) = { key ∘ parts(changes with that key) | changes of source at τ }

A row weighs as much as the group gains or loses tuples, which may be 0; its columns are parts of
the calls (`parts.py`) over just those tuples, signed. The groups themselves are elsewhere: who has
seen all rows of a group adds them up. Nothing is stored.
"""

from __future__ import annotations

import numpy as np

from windrow.kernels.groups import GROUP, TIME, WEIGHT, name_emissions
from windrow.kernels.parts import emission_weights
from windrow.operators.aggregate.batch import EventBatch
from windrow.operators.aggregate.parts import part_columns
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.state.key_table import KeyTable
from windrow.operators.stateless import Stateless
from windrow.operators.task import Counters
from windrow.operators.vector import I64, Vector
from windrow.physical.parts import Contribute, PartColumns


def contributed(keys: Delta, parts: tuple[PartColumns, ...], made: list[list[Vector]]) -> Delta:
    """Return the rows of groups with what their parts are made; without those that add nothing."""
    columns, changed = keys.columns, keys.weights() != 0
    for part, vectors in zip(parts, made, strict=True):
        columns |= dict(zip((f.name for f in part.fields), vectors, strict=True))
        for vector in vectors:
            changed |= vector.data != 0
    out = keys.replace_columns(columns)
    return out if changed.all() else out.take(np.flatnonzero(changed))


class ContributeTask(Stateless):
    """A `Contribute` at work. Takes a signed edge; what it gives is one of sums, not of tuples."""

    def __init__(self, op: Contribute, interner: Interner) -> None:
        self.op = op
        self.interner = interner
        self.counters = Counters()
        self.codec = RowCodec(op.keys)
        self._nothing = Delta.empty(op.schema, signed=True)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Fold the changes of each instant and group into one row."""
        (delta,) = inputs
        if not len(delta):
            return self._nothing
        table = KeyTable(self.codec.width)
        events = self._events(delta, table)
        emitted = np.empty((3, len(delta)), np.int64)
        rows, recent = np.zeros(table.capacity, np.int64), np.full(table.capacity, -1)
        count = name_emissions(events, rows, recent, emitted)
        weights = np.zeros(count, np.int64)
        emission_weights(events, weights)
        batch = EventBatch(events, delta.columns, count, weights)
        keys = Delta(emitted[0, :count], self._keys(table, emitted[1, :count]), weight=weights)
        parts = [part_columns(part, batch, self.interner) for part in self.op.parts]
        out = contributed(keys, self.op.parts, parts)
        self._count(delta, out)
        return out

    def _events(self, delta: Delta, table: KeyTable) -> I64:
        events = np.empty((5, len(delta)), np.int64)
        events[GROUP] = 0
        if self.op.keys:
            keys = [delta.columns[f.name] for f in self.op.keys]
            events[GROUP] = table.encode(self.codec.words(keys, len(delta)))
            self.counters.probes += len(delta)
        events[WEIGHT] = 1 if delta.weight is None else delta.weight
        events[TIME] = delta.ts
        return events

    def _keys(self, table: KeyTable, groups: I64) -> dict[str, Vector]:
        if not self.op.keys:
            return {}
        keys = self.codec.columns_at(table.words, np.ascontiguousarray(groups))
        return {f.name: key for f, key in zip(self.op.keys, keys, strict=True)}
