"""Changes that wait for the clock."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.schema import Schema
from windrow.core.time import FOREVER
from windrow.operators.delta import Delta
from windrow.operators.state.fields import State, StateLayout
from windrow.operators.state.row_columns import load_columns, save_columns
from windrow.operators.task import Saved
from windrow.operators.vector import I64, is_interned

FRESH = 32
"""Batches that are kept apart before they become one run."""


@dataclass(slots=True)
class Backlog(State):
    """Batches of one edge in time order; adding is O(rows), amortised, however small they are.

        runs:  [ 900 rows ][ 300 ][ 100 ]    fresh: [1][1][2] ...

    Many small batches become a run, and a run that outgrows half of its elder joins it.
    Invariants, asserted by `check`:
      1. times ascend from batch to batch;
      2. `rows` counts all that waits, and `first` is the time of the oldest.
    """

    stored_as = StateLayout("backlog")

    schema: Schema
    signed: bool
    runs: list[Delta] = field(default_factory=list)
    fresh: list[Delta] = field(default_factory=list)
    rows: int = 0
    first: int = FOREVER

    def __len__(self) -> int:
        return self.rows

    def push(self, delta: Delta) -> None:
        """Add changes that are not before those that wait."""
        if not len(delta):
            return
        if not self.rows:
            self.first = int(delta.ts[0])
        self.rows += len(delta)
        self.fresh.append(delta)
        if len(self.fresh) >= FRESH:
            self._settle()

    def _settle(self) -> None:
        runs = self.runs
        runs.append(Delta.concat(self.fresh))
        self.fresh = []
        while len(runs) > 1 and 2 * len(runs[-1]) > len(runs[-2]):
            runs[-2:] = [Delta.concat(runs[-2:])]

    def pop(self, clock: int) -> Delta:
        """Take out the changes up to and at `clock`."""
        if clock < self.first or not self.rows:
            return Delta.empty(self.schema, signed=self.signed)
        now, later = self.drain().split(clock)
        if len(later):
            self.push(later.take(np.arange(len(later))))  # a copy: lets go of what has expired
        return now

    def drain(self) -> Delta:
        """Take out all changes."""
        if not self.rows:
            return Delta.empty(self.schema, signed=self.signed)
        whole = Delta.concat(self.batches)
        self.runs, self.fresh, self.rows, self.first = [], [], 0, FOREVER
        return whole

    @property
    def batches(self) -> list[Delta]:
        """All batches, oldest first."""
        return [*self.runs, *self.fresh]

    @property
    def nbytes(self) -> int:
        """Exact size of what waits."""
        total = 0
        for batch in self.batches:
            arrays = [batch.ts, batch.exp, batch.weight]
            for vector in batch.columns.values():
                arrays += [vector.data, vector.valid]  # type: ignore[list-item]
            total += sum(a.nbytes for a in arrays if a is not None)
        return total

    def live_codes(self) -> list[I64]:
        """Return the interned codes that waiting rows refer to."""
        names = [f.name for f in self.schema if is_interned(f.type)]
        return [b.columns[n].data for b in self.batches for n in names]  # type: ignore[misc]

    def content(self, rows: int) -> Saved:
        """Return all batches as one."""
        if not self.rows:
            return {"columns": None}
        whole = Delta.concat(self.batches)
        times = {"ts": whole.ts, "exp": whole.exp, "weight": whole.weight}
        return {"columns": save_columns(whole.columns), **times}

    def take_over(self, saved: Saved) -> None:
        """Take over what was saved."""
        self.drain()
        columns = saved["columns"]
        if columns is not None:
            assert isinstance(columns, dict)
            loaded = load_columns(self.schema.fields, columns)
            ts, exp, weight = (saved[k] for k in ("ts", "exp", "weight"))
            self.push(Delta(ts, loaded, exp, weight))  # type: ignore[arg-type]

    def invariants(self) -> None:
        """Assert the invariants."""
        batches = self.batches
        ts = np.concatenate([b.ts for b in batches]) if batches else np.empty(0, np.int64)
        assert (ts[1:] >= ts[:-1]).all(), "invariant 1: time runs backwards"
        assert len(ts) == self.rows, "invariant 2: rows are miscounted"
        assert self.first == (ts[0] if len(ts) else FOREVER), "invariant 2: first is wrong"
