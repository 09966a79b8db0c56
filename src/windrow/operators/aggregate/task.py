"""A GROUP BY at work.

input ─► group codes ─► expirer ─► events ─► one loop a call ─► what changed
         (KeyTable)     (predicted           (accumulators)     -old, +new
                         input only)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from windrow.core.schema import Schema
from windrow.core.types import BIGINT, is_float
from windrow.kernels.groups import (
    GROUP,
    TIME,
    WEIGHT,
    changed_rows,
    empty_groups,
    name_emissions,
)
from windrow.operators.aggregate.batch import Accumulator, Batch
from windrow.operators.aggregate.choose import accumulator
from windrow.operators.aggregate.op import EXPIRY_COLUMN, GROUP_COLUMN, GroupBy
from windrow.operators.aggregate.refill import refill_extreme
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.state.expirer import Expirer
from windrow.operators.state.key_table import KeyTable, grown
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64, Bools, Vector, empty_data, is_interned

NOTHING: Bools = np.zeros(1, np.bool_)


@dataclass(slots=True)
class GroupState:
    """What is known of each group besides its calls, by group code.

    Invariants, asserted by `check`:
      1. groups with tuples, and no others, are in the table (with keys);
      2. they, and no others, show a row (without keys: the one group does);
      3. `recent` is scratch, -1 everywhere.
    """

    table: KeyTable
    calls: int
    rows: I64 = field(init=False)
    shown: Bools = field(init=False)
    last: I64 = field(init=False)
    last_valid: Bools = field(init=False)
    recent: I64 = field(init=False)

    def __post_init__(self) -> None:
        self.rows = np.zeros(0, np.int64)
        self.shown = np.zeros(0, np.bool_)
        self.last = np.zeros((0, self.calls), np.int64)
        self.last_valid = np.zeros((0, self.calls), np.bool_)
        self.recent = np.zeros(0, np.int64)

    def reserve(self, groups: int) -> None:
        """Make room for group codes below `groups`."""
        known = len(self.rows)
        if groups <= known:
            return
        for name in ("rows", "shown", "last", "last_valid", "recent"):
            setattr(self, name, grown(getattr(self, name), groups))
        self.recent[known:] = -1

    @property
    def used(self) -> int:
        """How many group codes were ever used."""
        return int(self.table.meta[0]) if self.table.width else 1

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        arrays = (self.rows, self.shown, self.last, self.last_valid, self.recent)
        return self.table.nbytes + sum(a.nbytes for a in arrays)


class GroupByTask:
    """A `GroupBy` at work on one partition. Takes a signed or predicted edge, gives a signed one.

    A predicted edge needs to be told which expirer fits its pattern.
    """

    def __init__(
        self, op: GroupBy, interner: Interner, expirer: Callable[[Schema], Expirer] | None = None
    ) -> None:
        self.op = op
        self.counters = Counters()
        self.expirer = None if expirer is None else expirer(op.carried)
        self.codec = RowCodec(op.keys)
        self.state = GroupState(KeyTable(self.codec.width), len(op.calls))
        self.folds: list[Accumulator] = [
            accumulator(call, interner, predicted=expirer is not None) for call in op.calls
        ]
        self._real = [is_float(call.type) for call in op.calls]
        self._with_expiry = EXPIRY_COLUMN in op.carried
        self._reads = [f.name for f in op.read]
        self._nothing = Delta.empty(op.schema, signed=True)
        self._no_births = Delta.empty(op.carried, signed=False)
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
        assert delta.signed == (self.expirer is None), "an expirer is for a predicted edge"
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
        turned = self.expirer.turn(delta if len(delta) else self._no_births, clock)
        self.counters.expiries = self.expirer.counters.expiries
        return turned

    def _groups(self, delta: Delta) -> I64:
        keys = [delta.columns[f.name] for f in self.op.keys]
        groups = self.state.table.encode(self.codec.words(keys, len(delta)))
        self.counters.probes += len(delta)
        self._reserve()
        return groups

    def _reserve(self) -> None:
        groups = self.state.used
        if groups > len(self.state.rows):
            self.state.reserve(groups)
            for fold in self.folds:
                fold.reserve(len(self.state.rows))

    def _fold(self, events: I64, columns: dict[str, Vector]) -> Delta:
        """Run every call over the events; return the rows that changed."""
        state, calls, n = self.state, len(self.folds), events.shape[1]
        emitted = np.empty((3, n), np.int64)
        count = name_emissions(events, state.rows, state.recent, emitted)
        batch = Batch(events, columns, count, emitted[2])
        values = np.zeros((calls, count), np.int64)
        valid = np.ones((calls, count), np.bool_)
        for c, fold in enumerate(self.folds):
            fold.fold(batch, values[c], valid[c])
        out = np.empty((3 + calls, 2 * count), np.int64)
        out_valid = np.empty((calls, 2 * count), np.bool_)
        kept = (state.shown, state.last, state.last_valid, not self.op.keys)
        rows, removed = changed_rows(emitted, count, values, valid, *kept, out, out_valid)
        self.counters.tuples_out += rows
        self.counters.negatives_out += removed
        made = self._delta(out[:, :rows], out_valid[:, :rows])
        if self.op.keys:
            self._release(emitted, count)
        self.counters.comparisons = sum([fold.comparisons for fold in self.folds])
        return made

    def _delta(self, out: I64, out_valid: Bools) -> Delta:
        columns: dict[str, Vector] = {}
        if self.op.keys:
            keys = self.codec.columns_at(self.state.table.words, out[2])
            columns = {f.name: key for f, key in zip(self.op.keys, keys, strict=True)}
        rows = out.shape[1]
        for c, call in enumerate(self.op.calls):
            data = out[3 + c].view(np.float64) if self._real[c] else out[3 + c]
            shown = Vector(call.type, data)
            if call.nullable and np.count_nonzero(out_valid[c]) < rows:
                shown.valid = out_valid[c]
            columns[call.output] = shown
        return Delta(out[0], columns, weight=out[1])

    def _release(self, emitted: I64, count: int) -> None:
        state = self.state
        if found := empty_groups(emitted, count, state.rows, state.recent):
            gone = emitted[2, :found]
            state.table.release(gone)
            for fold in self.folds:
                fold.release(gone)

    def state_rows(self) -> int:
        """Return the groups, the values that calls remember, and the tuples that wait."""
        groups = len(self.state.table) if self.op.keys else 1
        waiting = 0 if self.expirer is None else len(self.expirer)
        return groups + waiting + sum(fold.entries() for fold in self.folds)

    def state_bytes(self) -> int:
        """Return the exact size of what is remembered."""
        waiting = 0 if self.expirer is None else self.expirer.nbytes
        return self.state.nbytes + waiting + sum(fold.nbytes() for fold in self.folds)

    def save(self) -> Saved:
        """Return groups, calls and waiting tuples."""
        state, used = self.state, self.state.used
        return {
            "table": state.table.save(),
            "rows": state.rows[:used].copy(),
            "shown": state.shown[:used].copy(),
            "last": state.last[:used].copy(),
            "last_valid": state.last_valid[:used].copy(),
            "folds": [fold.save(used) for fold in self.folds],
            "expirer": None if self.expirer is None else self.expirer.save(),
        }

    def load(self, saved: Saved) -> None:
        """Take over groups, calls and waiting tuples."""
        table, folds, expirer = saved["table"], saved["folds"], saved["expirer"]
        assert isinstance(table, dict)
        assert isinstance(folds, list)
        self.state = GroupState(KeyTable.load(table), len(self.op.calls))
        for name in ("rows", "shown", "last", "last_valid"):
            array = saved[name]
            assert isinstance(array, np.ndarray)
            setattr(self.state, name, array.copy())
        self.state.recent = np.full(len(self.state.rows), -1, np.int64)
        for fold, kept in zip(self.folds, folds, strict=True):
            fold.load(kept)
        if self.expirer is not None:
            assert isinstance(expirer, dict)
            self.expirer.load(expirer)

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`. Without an expirer, only what the groups add up to is known."""
        if self.expirer is None:
            return ()
        live = self.expirer.live()
        columns = {name: live.columns[name] for name in self._reads}
        if self.op.keys:
            words = self.state.table.words[live.columns[GROUP_COLUMN].data]
            names = (f.name for f in self.op.keys)
            columns |= dict(zip(names, self.codec.columns(words), strict=True))
        return (live.replace_columns(columns),)

    def adopt(self, old: GroupByTask, content: Delta, clock: int) -> None:
        """Go on from the groups of a task of the same operator whose input is of another sort.

        `content` are the live rows that this task is to see out itself, if its input tells ends.
        """
        saved = old.save()
        if self.expirer is not None:
            saved["expirer"] = self.expirer.save()
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
                fold.reserve(len(self.state.rows))
                refill_extreme(fold, theirs, waiting, len(self.state.rows))

    def current(self) -> Delta:
        """Return the rows that are shown now."""
        state, live = self.state, self._live()
        live = live[state.shown[live]]
        out = np.zeros((3 + len(self.op.calls), len(live)), np.int64)
        out[1], out[2] = 1, live
        out[3:] = state.last[live].T
        return self._delta(out, state.last_valid[live].T)

    def live_codes(self) -> list[I64]:
        """Return the codes of interned values that keys, calls and waiting tuples hold."""
        state = self.state
        live = self._live()
        found = [
            state.table.words[live, k] for k, f in enumerate(self.op.keys) if is_interned(f.type)
        ]
        for c, call in enumerate(self.op.calls):
            if is_interned(call.type):
                found.append(state.last[live, c][state.last_valid[live, c]])
        for fold in self.folds:
            found += fold.live_codes()
        return found + ([] if self.expirer is None else self.expirer.live_codes())

    def _live(self) -> I64:
        return self.state.table.live() if self.op.keys else np.zeros(1, np.int64)

    def check(self) -> None:
        """Assert the invariants."""
        state, live = self.state, self._live()
        assert (state.recent == -1).all(), "invariant 3: scratch is left over"
        if self.op.keys:
            state.table.check()
            held = np.flatnonzero(state.rows)
            assert (state.rows[held] > 0).all(), "a group has less than no tuples"
            assert np.array_equal(held, live), "invariant 1: groups and tuples differ"
            assert np.array_equal(np.flatnonzero(state.shown), live), "invariant 2: a row is amiss"
        for fold in self.folds:
            fold.check(live)
        if self.expirer is not None:
            self.expirer.check()
