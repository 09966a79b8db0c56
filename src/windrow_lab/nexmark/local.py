"""The queries in this process: checked on the first events, then timed on all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

import windrow
from windrow_lab.contest.pushing import Piece, Sink, Timing, pushed
from windrow_lab.contest.report import verdict_of
from windrow_lab.generate.nexmark.declarations import declarations
from windrow_lab.generate.nexmark.events import STREAMS, batches, side_input
from windrow_lab.generate.nexmark.scale import Nexmark
from windrow_lab.nexmark.oracle import ANSWERS, Oracle
from windrow_lab.nexmark.queries import NexmarkQuery
from windrow_lab.nexmark.report import Measured

BATCH = 100_000
"""Events a push."""
CHECKED = 300_000
"""Events at most on which answers are compared: half a minute at the usual rate."""
INSTANTS = 4

Batches = list[dict[str, pa.Table]]


@dataclass(slots=True)
class Feed:
    """Events in memory; those at the beginning are also in DuckDB."""

    scale: Nexmark
    first: Nexmark
    batches: Batches
    first_batches: Batches
    oracle: Oracle

    @classmethod
    def of(cls, scale: Nexmark) -> Feed:
        """Make the events."""
        first = beginning(scale)
        few = list(batches(first, BATCH))
        whole = {name: pa.concat_tables(batch[name] for batch in few) for name in STREAMS}
        return cls(scale, first, list(batches(scale, BATCH)), few, Oracle(whole))

    def difference(self, query: NexmarkQuery, changes: pa.Table) -> str:
        """Compare a query's changes over the first events with DuckDB's answers."""
        return self.oracle.difference(ANSWERS[query.name], changes, self.oracle.instants(INSTANTS))


def beginning(scale: Nexmark) -> Nexmark:
    """Return the scale of the events on which answers are compared."""
    return Nexmark(min(scale.events, CHECKED), scale.rate, scale.seed)


@dataclass(slots=True)
class Counted:
    """A sink that only counts."""

    rows: int = 0

    def take(self, changes: pa.Table) -> None:
        """Count changes."""
        self.rows += len(changes)


@dataclass(slots=True)
class Kept:
    """A sink that keeps all changes."""

    pieces: list[pa.Table] = field(default_factory=list)

    def table(self) -> pa.Table:
        """Return the changes as one table."""
        return pa.concat_tables(self.pieces)


def run_query(query: NexmarkQuery, scale: Nexmark, events: Batches, sink: Sink) -> Timing:
    """Push the streams that a query reads, stretch by stretch."""
    with windrow.connect() as db:
        db.execute(declarations(scale))
        db.push("side_input", side_input())
        db.execute(query.script)
        pieces = pieces_of(events, db.streams_of(query.name))
        return pushed(db, db.query(query.name), pieces, sink)


def pieces_of(events: Batches, reads: tuple[str, ...]) -> Iterator[Piece]:
    """Yield the batches of some streams by turns."""
    for batch in events:
        yield from ((name, batch[name]) for name in reads)


def measure(query: NexmarkQuery, feed: Feed, repeats: int) -> Measured:
    """Check the answer, which also compiles all loops, then take the best of some runs."""
    kept = Kept()
    run_query(query, feed.first, feed.first_batches, kept.pieces.append)
    difference = feed.difference(query, kept.table())
    del kept
    runs = []
    for _ in range(repeats):
        counted = Counted()
        runs.append((run_query(query, feed.scale, feed.batches, counted.take), counted.rows))
    if len({rows for _, rows in runs}) > 1:
        difference = difference or "runs emit different numbers of changes"
    best, results = min(runs, key=lambda run: run[0].seconds)
    return Measured(verdict_of(difference), best.seconds, best.rows, results, best.work)
