"""Tuples into a query in this process, changes out, and the time between."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import pyarrow as pa

from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle
from windrow_lab.contest.report import Facts

COUNTERS = ("tuples_in", "tuples_out", "negatives_in", "negatives_out", "probes", "comparisons")

Sink = Callable[[pa.Table], None]
Piece = tuple[str, pa.RecordBatch | pa.Table]
"""Some tuples, and the name of their stream."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of work, tuples that were pushed, and the query's counters."""

    seconds: float
    rows: int
    work: Facts


def ignore(_: object) -> None:
    """Drop a result."""


def counted(stats: Mapping[str, Any]) -> Facts:
    """Return the work of all operators in a few sums."""
    operators = stats["operators"]
    sums: Facts = {name: sum(int(op[name]) for op in operators) for name in COUNTERS}
    return sums | {name: int(stats[name]) for name in ("state_rows", "state_bytes")}


def push_parts(
    db: Database, query: QueryHandle, parts: Mapping[str, pa.Table], now: int
) -> pa.Table:
    """Push a part of each stream, let the clock advance to `now`, and return the changes."""
    for name, piece in parts.items():
        db.push(name, piece)
    db.advance(now)
    return query.changes()


def pushed(
    db: Database, query: QueryHandle, pieces: Iterable[Piece], sink: Sink = ignore
) -> Timing:
    """Push the pieces, read the query's changes after each push, drain."""
    seconds, rows = 0.0, 0
    gc.collect()
    for name, piece in pieces:
        start = perf_counter()
        db.push(name, piece)
        changes = query.changes()
        seconds += perf_counter() - start
        rows += len(piece)
        sink(changes)
    start = perf_counter()
    db.drain()
    changes = query.changes()
    seconds += perf_counter() - start
    sink(changes)
    return Timing(seconds, rows, counted(query.stats()))


def batches(tables: Mapping[str, pa.Table], reads: tuple[str, ...], batch: int) -> Iterator[Piece]:
    """Yield the streams' tuples in batches, the streams by turns."""
    rows = max(len(tables[name]) for name in reads)
    for low in range(0, rows, batch):
        for name in reads:
            yield name, tables[name].slice(low, batch)
