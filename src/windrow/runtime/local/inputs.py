"""Inputs of streams: watermarks, tuples that SLACK holds back, and late tuples.

    frontier(S) = max(heartbeats, newest ts seen - SLACK)

A tuple behind the frontier at its arrival is late: it is kept apart and counted. Whether a tuple is
late depends only on its own stream's tuples and heartbeats before it, so neither the size of
batches nor other streams can change it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.core.time import BEGINNING
from windrow.operators.vector import I64
from windrow.plan.catalog import Stream
from windrow.runtime.local.ingest import FittedRows, times_of


@dataclass(slots=True)
class StreamInput:
    """One stream's watermark, and its tuples that wait or were late.

    Invariant: every tuple in `held` has ts > frontier, in the order of arrival.
    """

    stream: Stream
    frontier: int = BEGINNING
    newest: int = BEGINNING
    tuples: int = 0
    late: list[pa.Table] = field(default_factory=list)
    poison: list[pa.Table] = field(default_factory=list)
    held: list[tuple[I64, FittedRows]] = field(default_factory=list)

    def accept(self, batch: FittedRows) -> tuple[I64, FittedRows]:
        """Take a batch in; return what is now in order, with its times, up to the frontier.

        Without SLACK that is all but the late tuples. With SLACK, tuples ahead of the frontier
        are held back until it passes them.
        """
        if batch.poison is not None:
            self.poison.append(batch.poison)
        ts = times_of(batch.columns[self.stream.time_column])
        self.tuples += len(ts)
        if not len(ts):
            return ts, batch
        ts, batch = self._without_late(ts, batch)
        if not self.stream.slack:
            return ts, batch
        self.held.append((ts, batch))
        return self.release()

    def _without_late(self, ts: I64, batch: FittedRows) -> tuple[I64, FittedRows]:
        in_order = len(ts) == 1 or bool((ts[1:] >= ts[:-1]).all())
        if in_order and ts[0] >= max(self.newest, self.frontier):
            self.newest = int(ts[-1])
            self.frontier = max(self.frontier, self.newest - self.stream.slack)
            return ts, batch
        running = np.maximum.accumulate(ts)
        before = np.empty_like(ts)
        before[0] = self.newest
        np.maximum(running[:-1], self.newest, out=before[1:])
        slack = self.stream.slack
        reached = np.where(before == BEGINNING, BEGINNING, before - slack)
        late = ts < np.maximum(reached, self.frontier)
        self.newest = max(self.newest, int(running[-1]))
        self.frontier = max(self.frontier, self.newest - slack)
        if not late.any():
            return ts, batch
        behind = batch.take(np.flatnonzero(late))
        self.late.append(pa.table(behind.arrays))
        kept = np.flatnonzero(~late)
        return ts[kept], batch.take(kept)

    def release(self) -> tuple[I64, FittedRows]:
        """Return the held tuples up to the frontier, sorted by time, ties by arrival."""
        ts = np.concatenate([t for t, _ in self.held]) if self.held else np.empty(0, np.int64)
        batch = _joined([b for _, b in self.held], self.stream)
        self.held = []
        ready = ts <= self.frontier
        later = np.flatnonzero(~ready)
        if len(later):
            self.held = [(ts[later], batch.take(later))]
        rows = np.flatnonzero(ready)
        order = rows[np.argsort(ts[rows], kind="stable")]
        return ts[order], batch.take(order)

    def heartbeat(self, instant: int) -> tuple[I64, FittedRows]:
        """Advance the watermark to `instant`; return the tuples that it releases."""
        self.frontier = max(self.frontier, instant)
        return self.release()

    def end(self) -> tuple[I64, FittedRows]:
        """End of input: return all tuples that wait."""
        return self.heartbeat(max(self.newest, self.frontier))


def _joined(batches: list[FittedRows], stream: Stream) -> FittedRows:
    if len(batches) == 1:
        return batches[0]
    arrays = [b.arrays for b in batches]
    columns = {
        f.name: pa.concat_arrays([a[f.name] for a in arrays]) if arrays else pa.nulls(0, f.type)
        for f in stream.schema
    }
    return FittedRows(sum(b.rows for b in batches), columns)
