"""A GROUP BY at work.

input ─► group codes ─► expirer ─► events ─► one loop a call ─► what changed
         (KeyTable)     (unsigned            (accumulators)     -old, +new
                         input only)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windrow.core.schema import Schema
from windrow.core.types import BIGINT
from windrow.kernels.groups import GROUP, TIME, WEIGHT
from windrow.kernels.hashing import ENTRIES
from windrow.operators.aggregate.batch import Accumulator, EventBatch
from windrow.operators.aggregate.choose import accumulator
from windrow.operators.aggregate.groups import Emissions, GroupRows, RowChanges
from windrow.operators.aggregate.refill import refill_extreme
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.state.expirer import Expirer
from windrow.operators.state.fields import NestedField
from windrow.operators.state.key_table import KeyTable, TableField
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.operators.vector import I64, Bools, Vector, empty_data
from windrow.physical.calls import EXPIRY_COLUMN, GROUP_COLUMN, GroupBy

NOTHING: Bools = np.zeros(1, np.bool_)


class GroupByTask(StatefulTask):
    """A `GroupBy` at work on one partition. Takes a signed or unsigned edge, gives a signed one.

    For an unsigned edge it is given the expirer that fits the edge's pattern.
    """

    state_fields = (
        TableField("table", fields="op.keys"),
        NestedField("groups", rows="_used"),
        NestedField("folds", rows="_used"),
        NestedField("expirer"),
    )

    def __init__(
        self, op: GroupBy, interner: Interner, expirer: Callable[[Schema], Expirer] | None = None
    ) -> None:
        self.op = op
        self.counters = Counters()
        self.expirer = None if expirer is None else expirer(op.carried)
        self.codec = RowCodec(op.keys)
        self.table = KeyTable(self.codec.width)
        self.groups = GroupRows(op)
        self.folds: list[Accumulator] = [
            accumulator(call, interner, unsigned=expirer is not None) for call in op.calls
        ]
        self._with_expiry = EXPIRY_COLUMN in op.carried
        self._reads = [f.name for f in op.read]
        self._nothing = Delta.empty(op.schema, signed=True)
        self._no_arrivals = Delta.empty(op.carried, signed=False)
        self._reserve()

    def begin(self, start: int) -> Delta | None:
        """Return the row of the one group of no tuples, if there are no keys."""
        if self.op.keys:
            return None
        events = np.zeros((5, 1), np.int64)  # an event of weight 0, about a row of NULLs
        events[TIME] = start
        columns = {
            f.name: Vector(f.type, np.zeros_like(empty_data(f.type, 1)), NOTHING)
            for f in self.op.read
        }
        columns[EXPIRY_COLUMN] = Vector(BIGINT, events[TIME])
        return self._fold(events, columns)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Take the changes up to `clock`; return those of the groups' rows."""
        (delta,) = inputs
        counters = self.counters
        counters.tuples_in += len(delta)
        if delta.weight is not None:
            counters.negatives_in += int(np.count_nonzero(delta.weight < 0))
        delta = self._turned(delta, clock)
        if not len(delta):
            return self._nothing
        events = np.empty((5, len(delta)), np.int64)
        events[GROUP] = delta.columns[GROUP_COLUMN].data if self.op.keys else 0
        events[WEIGHT] = 1 if delta.weight is None else delta.weight
        events[TIME] = delta.ts
        return self._fold(events, delta.columns)

    def _turned(self, delta: Delta, clock: int) -> Delta:
        """Return the changes of this step as signed ones, with their groups."""
        assert delta.signed == (self.expirer is None), "an expirer is for an unsigned edge"
        if delta.exp is not None and len(delta):
            delta = delta.living()
        if len(delta):
            columns = {name: delta.columns[name] for name in self._reads}
            if self.op.keys:
                columns[GROUP_COLUMN] = Vector(BIGINT, self._groups(delta))
            if self._with_expiry and delta.exp is not None:
                columns[EXPIRY_COLUMN] = Vector(BIGINT, delta.exp)
            delta = delta.replace_columns(columns)
        if self.expirer is None:
            return delta
        turned = self.expirer.turn(delta if len(delta) else self._no_arrivals, clock)
        self.counters.expiries = self.expirer.counters.expiries
        return turned

    def _groups(self, delta: Delta) -> I64:
        keys = [delta.columns[f.name] for f in self.op.keys]
        groups = self.table.encode(self.codec.words(keys, len(delta)))
        self.counters.probes += len(delta)
        self._reserve()
        return groups

    @property
    def _used(self) -> int:
        """How many group codes were ever used."""
        return int(self.table.meta[ENTRIES]) if self.op.keys else 1

    def _reserve(self) -> None:
        groups = self._used
        if groups > len(self.groups):
            self.groups.reserve(groups)
            for fold in self.folds:
                fold.reserve(len(self.groups))

    def _fold(self, events: I64, columns: dict[str, Vector]) -> Delta:
        """Run every call over the events; return the rows that changed."""
        found = self.groups.emissions(events)
        batch = EventBatch(events, columns, found.count, found.rows_after)
        values, valid = found.room(len(self.folds))
        for c, fold in enumerate(self.folds):
            fold.fold(batch, values[c], valid[c])
        changes = RowChanges(len(self.folds))
        changes.reserve(found.count)
        self.groups.emit_changes(found, values, valid, changes)
        made = self.groups.delta(changes, self._keys, self.counters)
        if self.op.keys:
            self._release(found)
        self.counters.comparisons = sum([fold.comparisons for fold in self.folds])
        return made

    def _keys(self, groups: I64) -> list[Vector]:
        return self.codec.columns_at(self.table.words, groups)

    def _release(self, found: Emissions) -> None:
        gone = self.groups.emptied(found)
        if len(gone):
            self.table.release(gone)
            for fold in self.folds:
                fold.release(gone)

    def state_rows(self) -> int:
        """Return the groups, the values that calls store, and the tuples that wait."""
        groups = len(self.table) if self.op.keys else 1
        waiting = 0 if self.expirer is None else len(self.expirer)
        return groups + waiting + sum(fold.entries() for fold in self.folds)

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`. Without an expirer, only what the groups add up to is known."""
        if self.expirer is None:
            return ()
        live = self.expirer.live()
        columns = {name: live.columns[name] for name in self._reads}
        if self.op.keys:
            words = self.table.words[live.columns[GROUP_COLUMN].data]
            names = (f.name for f in self.op.keys)
            columns |= dict(zip(names, self.codec.columns(words), strict=True))
        return (live.replace_columns(columns),)

    def adopt(self, old: GroupByTask, content: Delta, clock: int) -> None:
        """Go on from the groups of a task of the same operator whose input is of another kind.

        `content` are the live rows that this task has to expire itself, if its input is unsigned.
        """
        saved = old.save()
        saved["expirer"] = None if self.expirer is None else self.expirer.save()
        kept = [fold.save(0) for fold in self.folds]
        same = [type(a) is type(b) for a, b in zip(self.folds, old.folds, strict=True)]
        folds = saved["folds"]
        assert isinstance(folds, list)
        parts = zip(same, folds, kept, strict=True)
        saved["folds"] = [theirs if alike else own for alike, theirs, own in parts]
        self.load(saved)
        turned = self._turned(content, clock) if self.expirer is not None else content
        waiting = turned if old.expirer is None else old.expirer.live()
        for fold, theirs, alike in zip(self.folds, old.folds, same, strict=True):
            if not alike:
                fold.reserve(len(self.groups))
                refill_extreme(fold, theirs, waiting, len(self.groups))

    def current(self) -> Delta:
        """Return the rows that are shown now."""
        return self.groups.current(self._live(), self._keys)

    def live_codes(self) -> list[I64]:
        """Return the codes of interned values in the state, and in the rows that groups show."""
        return super().live_codes() + self.groups.shown_codes(self._live())

    def _live(self) -> I64:
        return self.table.live() if self.op.keys else np.zeros(1, np.int64)

    def invariants(self) -> None:
        """Assert the invariants."""
        live = self._live()
        if self.op.keys:
            assert np.array_equal(self.groups.occupied(), live), "groups and tuples differ"
        for fold in self.folds:
            fold.check_groups(live)

    def rebuild(self) -> None:
        """Make room for the same groups everywhere."""
        for fold in self.folds:
            fold.reserve(len(self.groups))
