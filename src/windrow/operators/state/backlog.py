"""Changes that wait: batches as a field of a state, and a backlog that waits for the clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from windrow.core.schema import Schema
from windrow.core.time import FOREVER
from windrow.operators.delta import Delta
from windrow.operators.state.fields import State, StateField, StateLayout
from windrow.operators.state.row_columns import load_columns, save_columns
from windrow.operators.task import Saved
from windrow.operators.vector import I64, is_interned


@dataclass(frozen=True)
class BatchesField(StateField):
    """A dict of batches. `schema` names the method that returns the columns of a key's batch."""

    schema: str

    def _batches(self, owner: State) -> dict[Any, Delta]:
        return cast("dict[Any, Delta]", getattr(owner, self.name))

    def _schema(self, owner: State, key: Any) -> Schema:
        return cast("Schema", getattr(owner, self.schema)(key))

    def nbytes(self, owner: State) -> int:
        """Return the size of all batches."""
        return sum(map(batch_bytes, self._batches(owner).values()))

    def save(self, owner: State, rows: int) -> object:
        """Return keys and batches."""
        return [[key, saved_delta(batch)] for key, batch in self._batches(owner).items()]

    def load(self, owner: State, saved: object) -> None:
        """Take over keys and batches."""
        loaded = {}
        for given, batch in cast("list[tuple[Any, Saved]]", saved):
            key = tuple(given) if isinstance(given, list) else given
            loaded[key] = loaded_delta(batch, self._schema(owner, key))
        setattr(owner, self.name, loaded)

    def codes(self, owner: State) -> list[I64]:
        """Return the interned codes of all batches."""
        return [c for batch in self._batches(owner).values() for c in batch_codes(batch)]


def batch_bytes(batch: Delta) -> int:
    """Return the exact size of a batch."""
    arrays = [batch.ts, batch.exp, batch.weight]
    arrays += [a for v in batch.columns.values() for a in (v.data, v.valid)]  # type: ignore[misc]
    return sum([a.nbytes for a in arrays if a is not None])


def batch_codes(batch: Delta) -> list[I64]:
    """Return the interned codes that a batch refers to."""
    return [cast("I64", v.data) for v in batch.columns.values() if is_interned(v.type)]


def saved_delta(batch: Delta) -> Saved:
    """Return a batch as plain values."""
    times = {"ts": batch.ts, "exp": batch.exp, "weight": batch.weight}
    return {"columns": save_columns(batch.columns), **times}


def loaded_delta(saved: Saved, schema: Schema) -> Delta:
    """Return the batch of `saved_delta`."""
    columns = load_columns(schema.fields, cast("Saved", saved["columns"]))
    return Delta(saved["ts"], columns, saved["exp"], saved["weight"])  # type: ignore[arg-type]


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
        return sum(map(batch_bytes, self.batches))

    def live_codes(self) -> list[I64]:
        """Return the interned codes that waiting rows refer to."""
        return [codes for batch in self.batches for codes in batch_codes(batch)]

    def content(self, rows: int) -> Saved:
        """Return all batches as one."""
        return saved_delta(Delta.concat(self.batches)) if self.rows else {"columns": None}

    def take_over(self, saved: Saved) -> None:
        """Take over what was saved."""
        self.drain()
        if saved["columns"] is not None:
            self.push(loaded_delta(saved, self.schema))

    def invariants(self) -> None:
        """Assert the invariants."""
        batches = self.batches
        ts = np.concatenate([b.ts for b in batches]) if batches else np.empty(0, np.int64)
        assert (ts[1:] >= ts[:-1]).all(), "invariant 1: time runs backwards"
        assert len(ts) == self.rows, "invariant 2: rows are miscounted"
        assert self.first == (ts[0] if len(ts) else FOREVER), "invariant 2: first is wrong"
