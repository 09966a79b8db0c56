"""Which deletions from a bag of rows are possible: whole batches at a time.

A deletion at t needs a copy at every instant from t on, by all that is known: deletions in the
future count, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.core.schema import Schema
from windrow.core.time import BEGINNING
from windrow.operators.vector import I64, Bools
from windrow.runtime.keyed import RowNumbers


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
