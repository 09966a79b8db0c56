"""An aggregation join at work.

changes ─► entries ─► loops ─► contributions ─► groups ─► calls ─► what changed
           (bags)     (Walk)   (a bounded part  (Grouping)         -old, +new
                                at a time)
"""

from __future__ import annotations

from typing import cast

import numpy as np

from windrow.kernels.groups import TIME
from windrow.operators.aggregate.batch import Accumulator, EventBatch
from windrow.operators.aggregate.choose import accumulator
from windrow.operators.aggregate.groups import Emissions, GroupRows, RowChanges
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.join.aggregation.folds import early_fold
from windrow.operators.join.aggregation.keys import ContributionGroups
from windrow.operators.join.aggregation.op import AggregationJoin
from windrow.operators.join.aggregation.parts import Contributions, EarlyFold, InputChanges
from windrow.operators.join.aggregation.walk import (
    ContributedColumns,
    ContributionBatch,
    Walk,
    null_columns,
)
from windrow.operators.join.match import Order
from windrow.operators.join.multi.arrivals import Arrivals
from windrow.operators.join.multi.inputs import SignedInputs
from windrow.operators.join.multi.loops import sliced
from windrow.operators.join.multi.stores import BagOfRows
from windrow.operators.join.multi.task import LoopedTask
from windrow.operators.join.rows import NONE
from windrow.operators.join.zset import count_in
from windrow.operators.netting import net_per_instant
from windrow.operators.state.fields import NestedField
from windrow.operators.task import Counters
from windrow.operators.vector import I64, Vector
from windrow.physical.conditions import Method


class AggregationJoinTask(LoopedTask):
    """An `AggregationJoin` at work: signed inputs → signed. One row a group of the join's results.

        w copies of an entry of Sᵢ  ──►  w · n₁ · n₂ ··· results for the group of each combination
                                         with entries of n₁, n₂ ... copies of the other inputs

    The same answer at every instant as `GroupByTask` over `MultiZSetJoin`, without the join's
    results. Costs O(changes + entries looked at + contributions); stores entries, the partial
    values of early calls, and groups. Each order begins with its own input.
    """

    state_fields = (
        NestedField("inputs"),
        NestedField("grouping"),
        NestedField("groups", rows="grouping.used"),
        NestedField("folds", rows="grouping.used"),
    )
    inputs: SignedInputs

    def __init__(
        self,
        op: AggregationJoin,
        orders: tuple[Order, ...],
        interner: Interner,
        method: Method = Method.HASH,
    ) -> None:
        self.op = op
        self.counters = Counters()
        self.inputs = SignedInputs(op.match, orders, method)
        self.entries = [bag for bag in self.inputs.copies if isinstance(bag, BagOfRows)]
        self.walk = Walk(self.inputs)
        self.columns = ContributedColumns(op, self.entries)
        self.grouping = ContributionGroups(op)
        self.groups = GroupRows(op.group_by)
        self.late: dict[int, Accumulator] = {}
        self.early: dict[int, EarlyFold] = {}
        for c, fold in enumerate(op.folds):
            if fold.early is None:
                self.late[c] = accumulator(fold.call, interner, unsigned=False)
            else:
                self.early[c] = early_fold(fold.call, fold.early, interner)
        made = self.late | self.early
        self.folds: list[Accumulator | EarlyFold] = [made[c] for c in range(len(made))]
        self.looked = 0
        self.fan_out = 0.0  # rows that a change made, lately
        self.nothing = Delta.empty(op.schema, signed=True)
        self._reserve()

    def begin(self, start: int) -> Delta | None:
        """Return the row of the one group of no results, if there are no keys."""
        if self.op.keys:
            return None
        zero, inputs = np.zeros(1, np.int64), self.op.match.inputs
        columns = tuple(
            null_columns(tuple(source.schema[n] for n in self.op.columns_of(i)))
            for i, source in enumerate(inputs)
        )
        part = ContributionBatch(np.zeros((len(inputs) + 2, 1), np.int64), 1, 0, 1, 1.0)
        # It counts nothing, but makes every call say what it is of no values.
        events = np.zeros((5, 1), np.int64)  # an event of weight 0, about a row of NULLs
        events[TIME] = start
        changes, row_changes = (
            InputChanges(zero, zero, zero, zero, zero, columns),
            RowChanges(len(self.op.folds)),
        )
        self._folded(part, null_columns(self.columns.late), events, changes, row_changes)
        return self.groups.delta(row_changes, self.grouping.keys, self.counters)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Apply the changes in time order; return those of the groups' rows."""
        count_in(self.counters, *inputs)
        changes = [self._changed(i, delta) for i, delta in enumerate(inputs)]
        made = [self.nothing]
        for deltas, _ in sliced(changes, clock):
            if any(len(d) for d in deltas):
                made.append(self._joined(deltas))
        compared = sum([fold.comparisons for fold in self.folds])
        self.counters.comparisons = self.looked + compared
        return Delta.concat(made)

    def _changed(self, which: int, delta: Delta) -> Delta:
        """Return the changes that can matter, with their weights in tuples."""
        if self.op.copies and (name := self.op.copies[which]) is not None and len(delta):
            weight: I64 = delta.weights() * delta.columns[name].data.astype(np.int64)
            delta = Delta(delta.ts, delta.columns, None, weight)
        return self.inputs.changed(which, delta)

    def _joined(self, deltas: list[Delta]) -> Delta:
        """Take in the changes of a slice; return what they change."""
        arrivals, idle = self.inputs.entered(deltas), [NONE]
        row_changes = RowChanges(len(self.op.folds), int(1.1 * self.fan_out * len(arrivals.ts)))
        for keys in self.grouping.parts:
            entries = arrivals.numbers[arrivals.part(keys.which)]
            if len(entries):
                keys.enter(deltas[keys.which], entries, self.entries[keys.which].table.capacity)
        counters = Counters()
        for whole in self.walk.parts(arrivals, counters):
            part, columns = self.columns.of(whole)
            events = self.grouping.events(part, columns, self.walk.log, arrivals.ts)
            changes = self._changes(part, arrivals, deltas) if self.early else None
            found = self._folded(part, columns, events, changes, row_changes)
            if found.count and self.op.keys:
                idle.append(self.groups.emptied(found).copy())
        self.fan_out = row_changes.made / len(arrivals.ts)
        made = self.groups.delta(row_changes, self.grouping.keys, self.counters)
        self.counters.probes += counters.probes
        self.looked += counters.comparisons
        self._settle(arrivals, np.concatenate(idle))
        # An instant cut in two shows a row between its halves that no answer has.
        return net_per_instant(made) if self.walk.parted else made

    def _changes(
        self, part: ContributionBatch, arrivals: Arrivals, deltas: list[Delta]
    ) -> InputChanges:
        rows = arrivals.last
        if any(self.op.copies):
            rows = rows.copy()
            for i, name in enumerate(self.op.copies):
                if name is not None:
                    rows[arrivals.part(i)] //= deltas[i].columns[name].data.astype(np.int64)
        return self.walk.changes(part, arrivals, rows, tuple(d.columns for d in deltas))

    def _folded(
        self,
        part: ContributionBatch,
        columns: dict[str, Vector],
        events: I64,
        changes: InputChanges | None,
        row_changes: RowChanges,
    ) -> Emissions:
        """Run every call over a part, and add the rows that change."""
        self._reserve()
        found = self.groups.emissions(events)
        values, valid = found.room(len(self.op.folds))
        if len(part):
            batch = EventBatch(events, columns, found.count, found.rows_after)
            for c, late in self.late.items():
                late.fold(batch, values[c], valid[c])
        if changes is not None:
            met = (changes, events, part.all_entries, part.change, columns)
            given = Contributions(*met, found.count, found.rows_after)
            for c, early in self.early.items():
                early.fold(given, values[c], valid[c])
        row_changes.reserve(found.count, part.share)
        self.groups.emit_changes(found, values, valid, row_changes)
        return found

    def _reserve(self) -> None:
        """Make room for all groups, and for the entries of early calls."""
        groups = self.grouping.used
        if groups > len(self.groups):
            self.groups.reserve(groups)
            for late in self.late.values():
                late.reserve(len(self.groups))
        for c, early in self.early.items():
            early.reserve(self._entries_of(c).table.capacity, len(self.groups))

    def _entries_of(self, call: int) -> BagOfRows:
        """Return the entries of the input in which a call is folded early."""
        which = self.op.folds[call].early
        assert which is not None, "a late call has no entries"
        return self.entries[which]

    def _settle(self, arrivals: Arrivals, idle: I64) -> None:
        """Forget groups without results, then entries without copies."""
        gone = idle[self.groups.rows[idle] == 0]
        if len(gone):
            gone = np.unique(gone)
            for late in self.late.values():
                late.release(gone)
            for early in self.early.values():
                early.release_groups(gone)
            self.grouping.release(gone)
        released = self.inputs.settle(arrivals)
        for keys in self.grouping.parts:
            if len(released[keys.which]):
                keys.leave(released[keys.which])
        for c, early in self.early.items():
            entries = released[cast("int", self.op.folds[c].early)]
            if len(entries):
                early.release_entries(entries)

    def state_rows(self) -> int:
        """Return the entries, the groups, and the values that calls store."""
        stored = sum(fold.entries() for fold in self.folds)
        return super().state_rows() + self.groups.showing + stored

    def rebuild(self) -> None:
        """Make room for the same groups everywhere."""
        for late in self.late.values():
            late.reserve(len(self.groups))

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`. Only what entries and groups add up to is known."""
        del clock
        return ()

    def current(self) -> Delta:
        """Return the rows that are shown now."""
        return self.groups.current(np.flatnonzero(self.groups.shown), self.grouping.keys)

    def live_codes(self) -> list[I64]:
        """Return the codes of values in the state, and in the rows that groups show."""
        return super().live_codes() + self.groups.shown_codes(np.flatnonzero(self.groups.shown))

    def invariants(self) -> None:
        """Assert the invariants."""
        groups = self.groups.occupied() if self.op.keys else np.zeros(1, np.int64)
        self._check_live(self.groups.occupied())
        for late in self.late.values():
            late.check_groups(groups)

    def _check_live(self, groups: I64) -> None:
        """Assert what is true of live entries and of groups with results."""
        entries = [self.rows.taken(i) for i in range(len(self.entries))]
        self.grouping.check_live(entries, groups)
        shown = groups if self.op.keys else np.zeros(1, np.int64)
        for c, early in self.early.items():
            early.check_live(entries[cast("int", self.op.folds[c].early)], shown)
