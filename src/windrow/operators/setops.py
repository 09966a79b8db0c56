"""Set operations on bags: merge-union, EXCEPT and INTERSECT."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from windrow.core.schema import Field, Schema
from windrow.kernels.bags import (
    EXCEPT,
    EXCEPT_ALL,
    INTERSECT,
    INTERSECT_ALL,
    bag_changes,
    idle_codes,
)
from windrow.kernels.merging import merge_runs
from windrow.operators.codec import RowCodec
from windrow.operators.delta import NO_TIMES, Delta
from windrow.operators.state.bag import encode_sparingly
from windrow.operators.state.fields import ArrayField, ScratchField
from windrow.operators.state.key_table import KeyTable, TableField, grown
from windrow.operators.stateless import StatefulTask, Stateless
from windrow.operators.task import Counters
from windrow.operators.vector import I64

KINDS = {
    "except_all": EXCEPT_ALL,
    "except": EXCEPT,
    "intersect_all": INTERSECT_ALL,
    "intersect": INTERSECT,
}


class MergeUnion(Stateless):
    """L ⊎ R ...: the inputs' changes merged by time; edges of one kind in, the same out.

    Unsigned and partly signed edges together make a partly signed one. Columns correspond by
    position and have the first input's names. O(changes).
    """

    def __init__(self, schemas: list[Schema] | tuple[Schema, ...]) -> None:
        self.counters = Counters()
        self._names = schemas[0].names
        self._inputs = [schema.names for schema in schemas]

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Merge what has come; at one instant the first input's changes come first."""
        parts = [
            delta.replace_columns(
                {new: delta.columns[old] for new, old in zip(self._names, names, strict=True)}
            )
            for names, delta in zip(self._inputs, inputs, strict=True)
        ]
        filled = [p for p in parts if len(p)]
        # One input alone is in order already: the common case of a step in which little comes.
        out = _merged(filled) if len(filled) > 1 else (filled or parts)[0]
        for delta in filled:
            self._count(delta, delta)
        return out


def _merged(parts: list[Delta]) -> Delta:
    joined = Delta.concat(parts)
    # Inputs one after the other, as after a restart, need no merging.
    if all(a.ts[-1] <= b.ts[0] for a, b in pairwise(parts)):
        return joined
    order = np.empty(len(joined), np.int64)
    bounds = np.cumsum([0, *map(len, parts)])
    merge_runs(joined.ts, bounds, bounds[:-1].copy(), order)
    return joined.take(order)


class BagOperator(StatefulTask):
    """EXCEPT and INTERSECT: signed × signed in, signed out [NEG 5.3].

    Of a row with n copies left and m right:

        except_all     max(0, n - m)        except      1 if n > 0 and m = 0
        intersect_all  min(n, m)            intersect   1 if n > 0 and m > 0

    Columns correspond by position; the result has the left names. O(changes) a step; stores
    n and m of each distinct row. Invariants, asserted by `check`:
      1. the rows of the table are those with copies on a side, and none has fewer than none;
      2. no row is left marked as touched.
    """

    state_fields = (
        TableField("table", fields="schema"),
        ArrayField("copies", length="table.entries", room="table.capacity"),
        ScratchField("before", room="table.capacity", fill=-1),
    )

    def __init__(self, left_schema: Schema, right_schema: Schema, kind: str) -> None:
        self.counters = Counters()
        pairs = list(zip(left_schema, right_schema, strict=True))
        self.schema = Schema(
            tuple(Field(a.name, a.type, a.nullable or b.nullable) for a, b in pairs)
        )
        self.kind = KINDS[kind]
        self._names = (left_schema.names, right_schema.names)
        self.codec = RowCodec(self.schema.fields)
        self.table = KeyTable(self.codec.width)
        self.copies: I64 = np.zeros((self.table.capacity, 2), np.int64)
        self.before: I64 = np.full(self.table.capacity, -1, np.int64)
        self._empty = Delta.empty(self.schema, signed=True)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Count the copies on both sides; return the net change of the result's."""
        left, right = inputs
        total = len(left) + len(right)
        if not total:
            return self._empty
        left_codes = self._encode(left, self._names[0])
        right_codes = self._encode(right, self._names[1])
        self._reserve()
        # A row's result changes at most once an instant, and each change touches one row.
        out = np.empty((3, total), np.int64)
        spare = np.empty(total, np.int64)
        made = bag_changes(
            (left.ts, left_codes, left.weights()),
            (right.ts, right_codes, right.weights()),
            self.copies, self.kind, self.before, spare, out,
        )  # fmt: skip
        result = self._rows(out[:, :made].copy()) if made else self._empty
        # Only rows that were touched can have lost their last copy.
        touched = np.concatenate([left_codes, right_codes])
        idle = idle_codes(touched, self.copies, self.before, spare)
        self.table.release(spare[:idle])
        self._count_sides(left, right, result)
        return result

    def _rows(self, changes: I64) -> Delta:
        ts, codes, weight = changes
        columns = self.codec.columns_at(self.table.words, codes)
        return Delta(ts, dict(zip(self._names[0], columns, strict=True)), None, weight)

    def _encode(self, delta: Delta, names: tuple[str, ...]) -> I64:
        if not len(delta):
            return NO_TIMES
        columns = [delta.columns[n] for n in names]
        return encode_sparingly(self.table, self.codec.words(columns, len(delta)))

    def _reserve(self) -> None:
        if self.table.capacity > len(self.before):
            self.copies = grown(self.copies, self.table.capacity)  # type: ignore[assignment]
            # Scratch of the kernel, clean between steps: nothing of it needs to be copied.
            self.before = np.full(len(self.copies), -1, np.int64)

    def _count_sides(self, left: Delta, right: Delta, made: Delta) -> None:
        counters = self.counters
        counters.tuples_in += len(left) + len(right)
        counters.probes += len(left) + len(right)
        counters.tuples_out += len(made)
        for delta in (left, right):
            if delta.weight is not None:
                counters.negatives_in += int(np.count_nonzero(delta.weight < 0))
        counters.negatives_out += int(np.count_nonzero(made.weights() < 0))

    def state_rows(self) -> int:
        """Return how many distinct rows there are on either side."""
        return len(self.table)

    def invariants(self) -> None:
        """Assert the invariants."""
        idle = np.ones(len(self.copies), np.bool_)
        idle[self.table.live()] = False
        assert self.copies[~idle].any(axis=1).all(), "invariant 1: a row has no copies"
        assert not self.copies[idle].any(), "invariant 1: a row has no entry"
        assert (self.copies >= 0).all(), "invariant 1: fewer than no copies"
        assert (self.before == -1).all(), "invariant 2: a row is marked"

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        return tuple(self._copies(side, clock) for side in (0, 1))

    def _copies(self, side: int, clock: int) -> Delta:
        live = self.table.live()
        live = live[self.copies[live, side] > 0]
        columns = self.codec.columns(self.table.words[live])
        named = dict(zip(self._names[side], columns, strict=True))
        return Delta(np.full(len(live), clock), named, None, self.copies[live, side])
