"""Inputs of relations: their changes over time, upserts by key, deletions by sign.

R(τ) = the bag of rows whose signs up to and at τ sum to their number, never below 0

A change with a `_ts` behind a clock that a query of the relation has reached is late: its instant
has been answered for. It is kept apart and counted, as a late tuple is, and changes nothing.

`CountedRows` decides which deletions are possible, whole batches at a time: a deletion at t needs
a copy at every instant from t on, by all that is known: deletions in the future count, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
import pyarrow as pa

from windrow.core.errors import InputError
from windrow.core.schema import Field, Schema
from windrow.core.time import BEGINNING, Clock
from windrow.core.types import BIGINT, TIMESTAMP
from windrow.operators.arrow import words_of
from windrow.operators.fixed import array_of
from windrow.operators.vector import I64, Bools
from windrow.plan.catalog import Relation
from windrow.runtime.keyed import KeyedRows, RowNumbers
from windrow.runtime.local.fitting import Given
from windrow.runtime.local.ingest import FittedRows


@dataclass(frozen=True, slots=True)
class Events:
    """Changes of rows, by number, in the order in which they came."""

    rows: I64
    ts: I64
    sign: I64

    def of(self, rows: I64) -> Events:
        """Return those of some rows."""
        mine = np.isin(self.rows, rows)
        return Events(self.rows[mine], self.ts[mine], self.sign[mine])


@dataclass(slots=True)
class CountedRows:
    """How many copies of each row there are, and since when; and all changes that made them."""

    schema: Schema
    past: list[Events] = field(default_factory=list)
    numbers: RowNumbers = field(init=False)
    count: I64 = field(init=False)
    newest: I64 = field(init=False)

    def __post_init__(self) -> None:
        self.numbers = RowNumbers(self.schema.fields)
        self.count = np.zeros(0, np.int64)
        self.newest = np.zeros(0, np.int64)

    def refused(self, arrays: Mapping[str, pa.Array], ts: I64, sign: I64) -> Bools:
        """Take changes in, `ts` ascending; return which of them delete what is not there."""
        rows = self.numbers.of(arrays, len(ts))
        more = self.numbers.capacity - len(self.count)
        if more > 0:
            self.count = np.concatenate([self.count, np.zeros(more, np.int64)])
            self.newest = np.concatenate([self.newest, np.full(more, BEGINNING)])
        wrong = self._wrong(Events(rows, ts, sign))
        kept = np.flatnonzero(~wrong)
        taken = Events(rows[kept], ts[kept], sign[kept])
        np.add.at(self.count, taken.rows, taken.sign)
        np.maximum.at(self.newest, taken.rows, taken.ts)
        self.past.append(taken)
        return wrong

    def _wrong(self, changes: Events) -> Bools:
        """Return which changes delete a row that is not there; most are the last of their row."""
        before = changes.ts < self.newest[changes.rows]
        if not before.any():
            return self._at_the_end(changes.rows, changes.sign)
        mixed = np.isin(changes.rows, changes.rows[before])
        wrong = np.zeros(len(mixed), np.bool_)
        wrong[~mixed] = self._at_the_end(changes.rows[~mixed], changes.sign[~mixed])
        wrong[mixed] = self._in_between(changes.of(changes.rows[before]))
        return wrong

    def _at_the_end(self, rows: I64, sign: I64) -> Bools:
        """Return which deletions find no copy, of rows that change no later than now.

        The copies of a row would be x = count + the sum of its signs so far. As deletions without a
        copy do nothing, each of them is where x falls below 0 and below all it has been before.
        """
        order = np.argsort(rows, kind="stable")
        mine = rows[order]
        total = np.cumsum(sign[order])
        starts = np.flatnonzero(np.append(True, mine[1:] != mine[:-1])) if len(mine) else mine
        group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(mine))))
        before = (total - sign[order])[starts]
        copies = self.count[mine] + total - before[group]
        apart = int(np.abs(copies).max(initial=0)) * 2 + 1
        lowest = np.minimum.accumulate(copies - group * apart) + group * apart
        earlier = np.append(0, lowest[:-1])
        earlier[starts] = 0
        wrong = np.zeros(len(rows), np.bool_)
        wrong[order] = lowest < np.minimum(earlier, 0)
        return wrong

    def _in_between(self, changes: Events) -> list[bool]:
        """Return which deletions find no copy, of rows that also change later."""
        known: dict[int, list[tuple[int, int]]] = {}
        for past in self.past:
            for row, t, sign in _listed(past.of(changes.rows)):
                known.setdefault(row, []).append((t, sign))
        wrong = []
        for row, t, sign in _listed(changes):
            events = known.setdefault(row, [])
            wrong.append(sign < 0 and fewest_from(events, t) < 1)
            if not wrong[-1]:
                events.append((t, sign))
        return wrong


def _listed(events: Events) -> list[tuple[int, int, int]]:
    columns = events.rows.tolist(), events.ts.tolist(), events.sign.tolist()
    return list(zip(*columns, strict=True))


def fewest_from(events: list[tuple[int, int]], start: int) -> int:
    """Return the least number of copies at any instant from `start` on.

    >>> fewest_from([(1, 1), (5, 1), (8, -1)], 3), fewest_from([(5, 1)], 3)
    (1, 0)
    """
    copies, fewest = 0, None
    for t, sign in sorted(events, key=lambda event: (event[0], -event[1])):
        if t > start and fewest is None:
            fewest = copies
        copies += sign
        if fewest is not None:
            fewest = min(fewest, copies)
    return copies if fewest is None else fewest


TIME, SIGN = "_ts", "_sign"

KEY_MOVED = "its key has changed at a later time"
NOT_THERE = "there is no such row to delete"


def change_fields(columns: Mapping[str, Given]) -> tuple[Field, ...]:
    """Return the columns that may come on top of a relation's own: when, and which way.

    `_ts` is what comes: whole numbers, or moments in any form that a TIMESTAMP takes.
    """
    given = columns.get(TIME)
    if isinstance(given, list):
        whole = all(v is None or isinstance(v, Integral) for v in given)
    else:
        whole = given is None or pa.types.is_integer(given.type) or pa.types.is_null(given.type)
    return Field(TIME, BIGINT if whole else TIMESTAMP), Field(SIGN, BIGINT)


def clock_of_times(batch: FittedRows) -> Clock:
    """Return the clock that the `_ts` of a batch are instants of."""
    given = batch.columns.get(TIME)
    return Clock.TIMESTAMP if given is not None and given.type == TIMESTAMP else Clock.TICKS


@dataclass(frozen=True, slots=True)
class RelationChanges:
    """Rows that appear (+1) or go (-1). Those without a time of their own do so when pushed."""

    ts: I64
    timed: Bools
    sign: I64
    arrays: dict[str, pa.Array]
    pushed: Mapping[Clock, int]  # when, on each clock

    def __len__(self) -> int:
        return len(self.ts)

    def on(self, clock: Clock, now: int = BEGINNING) -> tuple[I64, I64, dict[str, pa.Array]]:
        """Return times, signs and columns in time order, as seen by queries of one clock.

        Rows without a time take effect no earlier than `now`.
        """
        ts = np.where(self.timed, self.ts, max(now, self.pushed.get(clock, BEGINNING)))
        if (ts[1:] >= ts[:-1]).all():
            return ts, self.sign, self.arrays
        order = np.argsort(ts, kind="stable")
        return ts[order], self.sign[order], _taken(self.arrays, order)

    def take(self, rows: I64) -> RelationChanges:
        """Return the chosen ones."""
        arrays = _taken(self.arrays, rows)
        return RelationChanges(
            self.ts[rows], self.timed[rows], self.sign[rows], arrays, self.pushed
        )

    def in_order(self) -> RelationChanges:
        """Return them by time, those of one time as they came."""
        if (self.ts[1:] >= self.ts[:-1]).all():
            return self
        return self.take(np.argsort(self.ts, kind="stable"))


@dataclass(slots=True)
class RelationInput:
    """One relation: all its changes so far, what was set aside, and what came too late.

    `passed`: how far queries that no longer stand had come, on each clock.
    """

    relation: Relation
    history: list[RelationChanges] = field(default_factory=list)
    poison: list[pa.Table] = field(default_factory=list)
    late: list[pa.Table] = field(default_factory=list)
    passed: dict[Clock, int] = field(default_factory=dict)
    newest: int = BEGINNING
    keyed: KeyedRows | None = None
    counted: CountedRows | None = None

    def __post_init__(self) -> None:
        schema = self.relation.schema
        if self.relation.key:
            key = tuple(schema[name] for name in self.relation.key)
            self.keyed = KeyedRows(key, schema.arrow())

    def accept(
        self, batch: FittedRows, pushed: Mapping[Clock, int], reached: int = BEGINNING
    ) -> RelationChanges:
        """Take rows in; return the changes they make.

        A row takes effect at its `_ts`, else when it is pushed. `_sign` -1 deletes it. With a
        key, a row replaces the one that had its key. A row with a `_ts` before `reached` is late. A
        row that would make the relation's past impossible is set aside: a deletion of what is not
        there, a key's row before its last change.
        """
        given = self._given(batch, pushed)
        if batch.poison is not None:
            self.poison.append(batch.poison)
        late = given.timed & (given.ts < reached)
        if late.any():
            self._note_late(given.take(np.flatnonzero(late)), batch)
            given = given.take(np.flatnonzero(~late))
        changes = self._possible(given.in_order())
        self.history.append(changes)
        self.newest = max([self.newest, *changes.ts[-1:].tolist()])
        return changes

    def _given(self, batch: FittedRows, pushed: Mapping[Clock, int]) -> RelationChanges:
        """Return the rows of a batch as they came; nothing is taken in if a sign is wrong."""
        columns = batch.arrays
        times = columns.get(TIME)
        timed: Bools = np.zeros(batch.rows, np.bool_)
        if times is not None:
            timed = times.is_valid().to_numpy(zero_copy_only=False)
        now = pushed.get(clock_of_times(batch), max(pushed.values(), default=BEGINNING))
        sign = _whole(columns.get(SIGN), batch.rows, 1)
        if not (np.abs(sign) == 1).all():
            raise InputError(
                f'_sign of "{self.relation.name}" must be 1 or -1', detail="Nothing was pushed."
            )
        arrays = {f.name: columns[f.name] for f in self.relation.schema}
        return RelationChanges(_whole(times, batch.rows, now), timed, sign, arrays, pushed)

    def _note_late(self, changes: RelationChanges, batch: FittedRows) -> None:
        """Keep rows that came too late as they can be pushed again."""
        moments = clock_of_times(batch) is Clock.TIMESTAMP
        ts = array_of(changes.ts, TIMESTAMP if moments else BIGINT, None)
        sign = array_of(changes.sign, BIGINT, None)
        self.late.append(pa.table({TIME: ts, SIGN: sign, **changes.arrays}))

    def late_rows(self) -> pa.Table:
        """Return the rows that came too late, with `_ts` and `_sign`."""
        if self.late:
            return pa.concat_tables(self.late, promote_options="permissive")
        return late_schema(self.relation.schema).empty_table()

    def _possible(self, changes: RelationChanges) -> RelationChanges:
        if self.keyed is not None:
            return self._upsert(self.keyed, changes)
        if self.counted is None and (changes.sign > 0).all():
            return changes
        return self._checked(changes)

    def _upsert(self, keyed: KeyedRows, changes: RelationChanges) -> RelationChanges:
        """Turn rows by key into deletions of what was there and insertions."""
        schema = self.relation.schema.arrow()
        rows = pa.RecordBatch.from_arrays([changes.arrays[n] for n in schema.names], schema=schema)
        made = keyed.replace(rows, changes.ts, changes.sign)
        self._set_aside(changes, made.refused, KEY_MOVED)
        arrays = dict(zip(schema.names, made.rows.columns, strict=True))
        # A row without a time takes effect no earlier than the last change of its key.
        now = max(changes.pushed.values(), default=BEGINNING)
        timed = changes.timed[made.cause] | (made.at > now)
        return RelationChanges(made.at, timed, made.sign, arrays, changes.pushed)

    def _checked(self, changes: RelationChanges) -> RelationChanges:
        """Set aside deletions of rows that are not there."""
        if self.counted is None:
            self.counted = CountedRows(self.relation.schema)
            for past in self.history:
                self.counted.refused(past.arrays, past.ts, past.sign)
        refused = self.counted.refused(changes.arrays, changes.ts, changes.sign)
        if not refused.any():
            return changes
        self._set_aside(changes, np.flatnonzero(refused), NOT_THERE)
        return changes.take(np.flatnonzero(~refused))

    def _set_aside(self, changes: RelationChanges, rows: I64, reason: str) -> None:
        if not len(rows):
            return
        shown = {
            name: pa.array([None if v is None else str(v) for v in a.to_pylist()], pa.string())
            for name, a in _taken(changes.arrays, rows).items()
        }
        self.poison.append(pa.table({"_reason": pa.array([reason] * len(rows)), **shown}))


def late_schema(schema: Schema) -> pa.Schema:
    """Return the columns of late changes of a relation."""
    return Schema((Field(TIME, BIGINT), Field(SIGN, BIGINT), *schema.fields)).arrow()


def _taken(arrays: Mapping[str, pa.Array], rows: I64) -> dict[str, pa.Array]:
    chosen = array_of(rows, pa.int64(), None)
    return {name: array.take(chosen) for name, array in arrays.items()}


def _whole(array: pa.Array | None, rows: int, default: int) -> I64:
    """Return an optional column of whole numbers, with a default for what is missing."""
    if array is None:
        return np.full(rows, default, np.int64)
    whole = array.view(pa.int64()) if array.type == TIMESTAMP else array
    return words_of(whole.fill_null(default))
