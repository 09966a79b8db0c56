"""Relations at the door: their changes over time, upserts by key, deletions by sign.

R(τ) = the bag of rows whose signs up to and at τ sum to their number, never below 0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
import pyarrow as pa

from windrow.core.errors import InputError
from windrow.core.schema import Field
from windrow.core.time import BEGINNING, Clock
from windrow.core.types import BIGINT, TIMESTAMP
from windrow.operators.arrow import words_of
from windrow.operators.vector import I64, Bools
from windrow.plan.catalog import Relation
from windrow.runtime.keys import key_of
from windrow.runtime.local.fitting import Given
from windrow.runtime.local.ingest import Batch

TIME, SIGN = "_ts", "_sign"

Row = dict[str, object]


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


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows that appear (+1) or go (-1). Those without a time of their own do so when pushed."""

    ts: I64
    timed: Bools
    sign: I64
    arrays: dict[str, pa.Array]
    pushed: Mapping[Clock, int]  # when, on each clock

    def on(self, clock: Clock) -> tuple[I64, I64, dict[str, pa.Array]]:
        """Return times, signs and columns in time order, as seen by queries of one clock."""
        ts = np.where(self.timed, self.ts, self.pushed.get(clock, BEGINNING))
        if (ts[1:] >= ts[:-1]).all():
            return ts, self.sign, self.arrays
        order = np.argsort(ts, kind="stable")
        rows = pa.array(order)
        return ts[order], self.sign[order], {n: a.take(rows) for n, a in self.arrays.items()}


@dataclass(slots=True)
class RelationInput:
    """One relation: all its changes so far, and with a key the row that each key has now.

    Of a key whose row is gone, `current` has None and when it went.
    """

    relation: Relation
    history: list[Changes] = field(default_factory=list)
    current: dict[str, tuple[int, Row | None]] = field(default_factory=dict)
    poison: list[pa.Table] = field(default_factory=list)
    newest: int = BEGINNING
    _events: dict[tuple[str, ...], list[tuple[int, int]]] | None = None

    def accept(self, batch: Batch, pushed: Mapping[Clock, int]) -> Changes:
        """Take rows in; return the changes they make.

        A row takes effect at its `_ts`, else when it is pushed. `_sign` -1 deletes it. With a
        key, a row replaces the one that had its key. A row that would make the relation's past
        impossible is set aside: a deletion of what is not there, a key's row before its last
        change.
        """
        columns = batch.arrays
        given = columns.get(TIME)
        timed: Bools = np.zeros(batch.rows, np.bool_)
        if given is not None:
            timed = given.is_valid().to_numpy(zero_copy_only=False)
        clock = Clock.TIMESTAMP if given is not None and given.type == TIMESTAMP else Clock.TICKS
        now = pushed.get(clock, max(pushed.values(), default=BEGINNING))
        ts = _whole(given, batch.rows, now)
        sign = _whole(columns.get(SIGN), batch.rows, 1)
        if not np.isin(sign, (-1, 1)).all():
            raise InputError(
                f'_sign of "{self.relation.name}" must be 1 or -1', detail="Nothing was pushed."
            )
        if batch.poison is not None:
            self.poison.append(batch.poison)
        order = np.argsort(ts, kind="stable")
        rows = pa.array(order)
        arrays = {f.name: columns[f.name].take(rows) for f in self.relation.schema}
        changes = self._possible(Changes(ts[order], timed[order], sign[order], arrays, pushed))
        self.history.append(changes)
        self.newest = max([self.newest, *changes.ts[-1:].tolist()])
        return changes

    def _possible(self, changes: Changes) -> Changes:
        if self.relation.key:
            return self._upsert(changes)
        if self._events is None and (changes.sign > 0).all():
            return changes
        return self._checked(changes)

    def _upsert(self, changes: Changes) -> Changes:
        """Turn rows by key into deletions of what was there and insertions."""
        kept: list[tuple[int, bool, int, Row]] = []
        refused: list[Row] = []
        for t, timed, sign, row in _rows(changes):
            key = key_of(row[name] for name in self.relation.key)
            since, old = self.current.get(key, (BEGINNING, None))
            if t < since:
                refused.append(row)
                continue
            if old is not None:
                kept.append((t, timed, -1, old))
            if sign > 0:
                kept.append((t, timed, 1, row))
            self.current[key] = t, row if sign > 0 else None
        self._set_aside(refused, "its key has changed at a later time")
        return self._as_changes(kept, changes)

    def _checked(self, changes: Changes) -> Changes:
        """Set aside deletions of rows that are not there."""
        if self._events is None:
            self._events = {}
            for past in self.history:
                for t, _, sign, row in _rows(past):
                    self._events.setdefault(_identity(row), []).append((t, sign))
        kept: list[tuple[int, bool, int, Row]] = []
        refused: list[Row] = []
        for t, timed, sign, row in _rows(changes):
            events = self._events.setdefault(_identity(row), [])
            if sign < 0 and _fewest_from(events, t) < 1:
                refused.append(row)
                continue
            events.append((t, sign))
            kept.append((t, timed, sign, row))
        self._set_aside(refused, "there is no such row to delete")
        return self._as_changes(kept, changes)

    def _set_aside(self, rows: list[Row], reason: str) -> None:
        if rows:
            columns = {
                name: pa.array(
                    [None if r[name] is None else str(r[name]) for r in rows], pa.string()
                )
                for name in self.relation.schema.names
            }
            self.poison.append(pa.table({"_reason": pa.array([reason] * len(rows)), **columns}))

    def _as_changes(self, kept: list[tuple[int, bool, int, Row]], source: Changes) -> Changes:
        table = pa.Table.from_pylist([r for *_, r in kept], schema=self.relation.schema.arrow())
        return Changes(
            np.array([t for t, *_ in kept], np.int64),
            np.array([timed for _, timed, *_ in kept], np.bool_),
            np.array([sign for *_, sign, _ in kept], np.int64),
            {n: table[n].combine_chunks() for n in table.schema.names},
            source.pushed,
        )


def _rows(changes: Changes) -> list[tuple[int, bool, int, Row]]:
    rows = pa.table(changes.arrays).to_pylist()
    return list(
        zip(changes.ts.tolist(), changes.timed.tolist(), changes.sign.tolist(), rows, strict=True)
    )


def _identity(row: Row) -> tuple[str, ...]:
    """Return what equal rows have in common: NaN equals NaN, lists are compared by content."""
    return tuple(map(repr, row.values()))


def _fewest_from(events: list[tuple[int, int]], start: int) -> int:
    """Return the least number of copies at any instant from `start` on.

    >>> _fewest_from([(1, 1), (5, 1), (8, -1)], 3), _fewest_from([(5, 1)], 3)
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


def _whole(array: pa.Array | None, rows: int, default: int) -> I64:
    """Return an optional column of whole numbers, with a default for what is missing."""
    if array is None:
        return np.full(rows, default, np.int64)
    whole = array.view(pa.int64()) if array.type == TIMESTAMP else array
    return words_of(whole.fill_null(default))
