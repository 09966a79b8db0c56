"""From unsigned edges to signed ones: rows wait for their expiration and are retracted.

    in    ts  exp            out   ts  weight
           1   4                    1   +
           3   6                    3   +
                                    4   -      at its own end, before arrivals of that instant
                                    6   -

Rows that never end are handed on and not kept. A row that ends at or before its arrival is dropped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import cast

import numpy as np

from windrow.core.schema import Field, Schema
from windrow.core.time import FOREVER
from windrow.kernels.rings import merge_ends
from windrow.operators.delta import NO_TIMES, Delta
from windrow.operators.state.calendar import CalendarQueue
from windrow.operators.state.fields import NestedField, State, StateLayout
from windrow.operators.state.plain_list import PlainList
from windrow.operators.state.ring import Ring
from windrow.operators.state.row_columns import RowColumns, load_columns, save_columns
from windrow.operators.state.row_pool import RowPool
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64


class Expirer(State, ABC):
    """Rows that wait for their end. `counters` counts expiries and comparisons.

    However they are stored, they are saved in order of arrival.
    """

    stored_as = StateLayout("waiting-rows")

    def __init__(self, schema: Schema, keep: tuple[str, ...] | None = None) -> None:
        self.counters = Counters()
        self.fields = kept_fields(schema, keep)
        self._clear()

    @abstractmethod
    def turn(self, delta: Delta, clock: int) -> Delta:
        """Take arrivals up to `clock`; return them, and the ends up to `clock`, in time order."""

    @abstractmethod
    def live(self) -> Delta:
        """Return the rows that wait, in order of arrival, each with arrival and end."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many rows wait."""

    @abstractmethod
    def _clear(self) -> None:
        """Let no row wait."""

    @abstractmethod
    def _fill(self, rows: Delta) -> None:
        """Let rows wait in an empty expirer."""

    def content(self, rows: int) -> Saved:
        """Return the rows that wait."""
        live = self.live()
        return {"ts": live.ts, "exp": live.exp, "columns": save_columns(live.columns)}

    def take_over(self, saved: Saved) -> None:
        """Let the saved rows wait."""
        self._clear()
        columns = load_columns(self.fields, cast("Saved", saved["columns"]))
        rows = Delta(cast("I64", saved["ts"]), columns, cast("I64", saved["exp"]))
        if len(rows):
            self._fill(rows)


def kept_fields(schema: Schema, keep: tuple[str, ...] | None) -> tuple[Field, ...]:
    """Return the fields of the columns that are kept: all, unless some are named."""
    return schema.fields if keep is None else tuple(f for f in schema if f.name in keep)


def insertions(delta: Delta, fields: tuple[Field, ...]) -> Delta:
    """Return the rows that live at all, with the columns kept."""
    columns = delta.columns
    if len(columns) != len(fields):
        columns = {f.name: columns[f.name] for f in fields}
        delta = delta.replace_columns(columns)
    return delta.living()


def merged(born: I64, born_at: I64, ends: I64, ends_at: I64, columns: RowColumns) -> Delta:
    """Return arrivals and ends as one signed delta, rows taken from their places."""
    total = len(born) + len(ends)
    ts, weight, at = np.empty((3, total), np.int64)
    merge_ends(born, born_at, ends, ends_at, ts, weight, at)
    return Delta(ts, columns.take(at), None, weight)


class FifoExpirer(Expirer):
    """For WKS edges: rows end in the order in which they arrive, so a ring does.

    On a MON edge nothing ends and nothing is kept. O(arrivals + ends) a turn.
    Invariant, asserted by `check`: ends ascend along the ring.
    """

    state_fields = (NestedField("ring"),)

    def __len__(self) -> int:
        return len(self.ring)

    def turn(self, delta: Delta, clock: int) -> Delta:
        """See `Expirer`."""
        ring = self.ring
        if len(delta):
            delta = insertions(delta, self.fields)
            exp = cast("I64", delta.exp)
            first = ring.append(delta.ts, exp, delta.columns)
            # Rows that never expire stand last in the batch, as `exp` ascends: they are not stored.
            mortal = ring.head
            if len(exp) and exp[-1] == FOREVER:
                mortal = first + int(np.searchsorted(exp, FOREVER))
        else:
            first = mortal = ring.head
        tail, stop = ring.tail, ring.first_after(clock)
        self.counters.expiries += stop - tail
        # Nothing expires: the batch goes through as it is.
        if stop == tail:
            ring.drop_head(mortal)
            return Delta(delta.ts, {f.name: delta.columns[f.name] for f in self.fields})
        ends_at = ring.at(tail, stop)
        out = merged(delta.ts, ring.at(first, ring.head), ring.ends(ends_at), ends_at, ring.columns)
        ring.drop_head(mortal)
        ring.drop_to(stop)
        return out

    def live(self) -> Delta:
        """See `Expirer`."""
        at = self.ring.at(self.ring.tail, self.ring.head)
        return Delta(self.ring.ts[at], self.ring.columns.take(at), self.ring.ends(at))

    def invariants(self) -> None:
        """See `Expirer`."""
        exp = self.ring.ends(self.ring.at(self.ring.tail, self.ring.head))
        assert (exp[1:] >= exp[:-1]).all(), "ends do not ascend: the edge is not WKS"
        assert not len(exp) or exp[-1] < FOREVER, "a row that never ends is kept"

    def _clear(self) -> None:
        self.ring = Ring(self.fields)

    def _fill(self, rows: Delta) -> None:
        self.ring.append(rows.ts, cast("I64", rows.exp), rows.columns)


class CalendarExpirer(Expirer):
    """For WK edges: rows end in any order, so a calendar queue says which are next.

    O(arrivals + ends) a turn, amortised.
    Invariant, asserted by `check`: the pool holds exactly the rows that are queued.
    """

    state_fields = (NestedField("pool"), NestedField("queue"))

    def __len__(self) -> int:
        return len(self.queue)

    def turn(self, delta: Delta, clock: int) -> Delta:
        """See `Expirer`."""
        rows = immortal = NO_TIMES
        if len(delta):
            delta = insertions(delta, self.fields)
            exp = cast("I64", delta.exp)
            rows = self.pool.add(delta.ts, delta.columns)
            immortal = rows[exp == FOREVER]
            if len(immortal):
                mortal = exp < FOREVER
                self.queue.push(exp[mortal], rows[mortal])
            else:
                self.queue.push(exp, rows)
        ends, ended = self.queue.pop(clock)
        self.counters.expiries += len(ended)
        if len(ended):
            out = merged(delta.ts, rows, ends, ended, self.pool.columns)
            self.pool.release(ended)
        else:
            out = Delta(delta.ts, {f.name: delta.columns[f.name] for f in self.fields})
        self.pool.release(immortal)
        return out

    def live(self) -> Delta:
        """See `Expirer`."""
        exp, rows = self.queue.queued()
        order = np.argsort(self.pool.ts[rows], kind="stable")
        rows = rows[order]
        return Delta(self.pool.ts[rows], self.pool.take(rows), exp[order])

    def invariants(self) -> None:
        """See `Expirer`."""
        assert np.array_equal(np.sort(self.queue.queued()[1]), self.pool.live()), "rows differ"

    def _clear(self) -> None:
        self.pool = RowPool(self.fields)
        self.queue = CalendarQueue()

    def _fill(self, rows: Delta) -> None:
        self.queue.push(cast("I64", rows.exp), self.pool.add(rows.ts, rows.columns))


class ScanningExpirer(Expirer):
    """For `direct`: a list in order of arrival, scanned whole at every instant.

    O(instants * rows) a turn, as the approach is [THESIS 2.3.3]: the baseline to compare with.
    Invariant, asserted by `check`: the pool holds exactly the rows of the list.
    """

    state_fields = (NestedField("pool"), NestedField("list"))

    def __len__(self) -> int:
        return len(self.list)

    def turn(self, delta: Delta, clock: int) -> Delta:
        """See `Expirer`."""
        exp = rows = NO_TIMES
        if len(delta):
            delta = insertions(delta, self.fields)
            exp = cast("I64", delta.exp)
            rows = self.pool.add(delta.ts, delta.columns)
        elif clock < self.list.first_end:
            return Delta(delta.ts, {f.name: delta.columns[f.name] for f in self.fields})
        ends, ended = self.list.scan(delta.ts, exp, rows, clock)
        self.counters.expiries += len(ended)
        self.counters.comparisons = self.list.comparisons
        out = merged(delta.ts, rows, ends, ended, self.pool.columns)
        self.pool.release(np.concatenate([ended, rows[exp == FOREVER]]))
        return out

    def live(self) -> Delta:
        """See `Expirer`."""
        rows = self.list.rows()
        return Delta(self.pool.ts[rows], self.pool.take(rows), self.list.exp[: len(rows)].copy())

    def invariants(self) -> None:
        """See `Expirer`."""
        assert np.array_equal(np.sort(self.list.rows()), self.pool.live()), "rows differ"

    def _clear(self) -> None:
        self.pool = RowPool(self.fields)
        self.list = PlainList()

    def _fill(self, rows: Delta) -> None:
        self.list.fill(cast("I64", rows.exp), self.pool.add(rows.ts, rows.columns))
