"""An aggregation join on a shard, whose groups are elsewhere: it emits what they gain.

    Δγ(S₁ ⋈ ... ⋈ Sₘ): of each instant one row a group, as `aggregate/contributions.py` has them

Entries and the partial values of early calls are stored as in any aggregation join; sums of
groups are not, but start from nothing for every part.
"""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.core.types import BIGINT
from windrow.kernels.parts import emission_weights
from windrow.operators.aggregate.batch import EventBatch
from windrow.operators.aggregate.contributions import contributed
from windrow.operators.aggregate.groups import Emissions, RowChanges
from windrow.operators.aggregate.parts import part_columns, split_sums
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.join.aggregation.folds.plain import EarlyCount, EarlyWhole
from windrow.operators.join.aggregation.folds.reals import EarlyReals, Sums
from windrow.operators.join.aggregation.op import AggregationJoin
from windrow.operators.join.aggregation.parts import Contributions, EarlyFold, InputChanges
from windrow.operators.join.aggregation.task import AggregationJoinTask
from windrow.operators.join.aggregation.walk import ContributionBatch
from windrow.operators.join.match import Order
from windrow.operators.vector import I64, Vector
from windrow.physical.conditions import Method
from windrow.physical.parts import PartColumns, PartKind


class ContributingJoinTask(AggregationJoinTask):
    """An `AggregationJoin` whose folds are the calls of parts: signed inputs → contributions."""

    def __init__(
        self,
        op: AggregationJoin,
        parts: tuple[PartColumns, ...],
        orders: tuple[Order, ...],
        interner: Interner,
        method: Method = Method.HASH,
    ) -> None:
        super().__init__(op, orders, interner, method)
        assert len(parts) == len(op.folds), "a fold for each part"
        self.parts = parts
        self.interner = interner
        self.nothing = Delta.empty(self.schema, signed=True)
        self._emitted: list[Delta] = []

    @property
    def schema(self) -> Schema:
        """Keys, then parts."""
        return Schema((*self.op.keys, *(f for part in self.parts for f in part.fields)))

    def begin(self, start: int) -> Delta | None:
        """Nothing is contributed before any tuple is."""
        return None

    def _joined(self, deltas: list[Delta]) -> Delta:
        self._emitted = [self.nothing]
        super()._joined(deltas)
        made = Delta.concat(self._emitted)
        self.counters.tuples_out += len(made)
        self.counters.negatives_out += int(np.count_nonzero(made.weights() < 0))
        return made

    def _folded(
        self,
        part: ContributionBatch,
        columns: dict[str, Vector],
        events: I64,
        changes: InputChanges | None,
        emitted: RowChanges,
    ) -> Emissions:
        """Emit what a part contributes; the row changes stay as they are."""
        self._reserve()
        found = self.groups.emissions(events)
        weights = np.zeros(found.count, np.int64)
        emission_weights(events, weights)
        made: dict[int, list[Vector]] = {}
        batch = EventBatch(events, columns, found.count, weights)
        for c in self.late if len(part) else ():
            made[c] = part_columns(self.parts[c], batch, self.interner)
        if changes is not None:
            met = (changes, events, part.all_entries, part.change, columns)
            given = Contributions(*met, found.count, found.rows_after)
            for c, fold in self.early.items():
                made[c] = _early(self.parts[c].kind, fold, given, self.interner)
        if found.count:
            groups = np.ascontiguousarray(found.lines[1, : found.count])
            names = (f.name for f in self.op.keys)
            keys = dict(zip(names, self.grouping.keys(groups), strict=True))
            rows = Delta(found.lines[0, : found.count], keys, weight=weights)
            self._emitted.append(contributed(rows, self.parts, [made[c] for c in range(len(made))]))
        return found

    def current(self) -> Delta:
        """Return no rows: groups are shown elsewhere."""
        return self.nothing

    def check(self) -> None:
        """Assert the invariants that do not concern groups, which are elsewhere."""
        for state in (self.inputs, self.grouping, *self.early.values()):
            state.check()
        held = np.flatnonzero(self.groups.rows)
        assert (self.groups.rows[held] > 0).all(), "a group has less than no results"
        self._check_live(held)


def _early(
    kind: PartKind, fold: EarlyFold, given: Contributions, interner: Interner
) -> list[Vector]:
    """Return what an early call adds to each emission, from sums that start at nothing."""
    n = given.emissions
    out, valid = np.empty(n, np.int64), np.empty(n, np.bool_)
    match fold:
        case EarlyCount(sums=kept):
            fold.sums = np.zeros(n, np.int64)
            fold.fold(given, out, valid)
            fold.sums = kept
            return [Vector(BIGINT, out)]
        case EarlyWhole(sums=kept):
            fold.sums = np.zeros((n, 3), np.int64)
            high = fold.halves(given, out, valid, narrow=False)
            fold.sums = kept
            return [Vector(BIGINT, high), Vector(BIGINT, out)]
        case EarlyReals(sums=kept_sums):
            fold.sums = Sums.alike(fold.partials, n)
            fold.fold(given, out, valid)
            made, fold.sums = fold.sums, kept_sums
            return split_sums(fold.base, made.limbs, made.tallies, interner)
        case _:
            msg = f"{kind} is no sum"
            raise AssertionError(msg)
