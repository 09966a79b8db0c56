"""Streams of pairs of numbers, and the time that a join of them takes."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter

import numpy as np
import pyarrow as pa

import windrow
from windrow.cli.calibrate.digest import digest
from windrow.operators.watching import OrderWatch
from windrow.optimize.join_graph import Order
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle
from windrow_lab.contest.pushing import push_parts


@dataclass(frozen=True, slots=True)
class Source:
    """A stream: a tuple every so many ticks, its window in ticks, and how many values k and j have.

    `later` is how often its tuples come in the second half of the time, if otherwise. `counts`:
    its window holds so many tuples instead.
    """

    every: float
    window: int
    k: int
    j: int = 1
    later: float | None = None
    counts: bool = False

    @property
    def span(self) -> str:
        """The window as it is written."""
        return f"{'ROWS' if self.counts else 'RANGE'} {self.window}"

    def table(self, ticks: int, random: np.random.Generator) -> pa.Table:
        """Return the tuples of some time."""
        spans = [(0, ticks, self.every)]
        if self.later is not None:
            spans = [(0, ticks // 2, self.every), (ticks // 2, ticks, self.later)]
        times = np.concatenate([np.arange(low, high, step) for low, high, step in spans])
        count = len(times)
        return pa.table(
            {
                "t": times.astype(np.int64),
                "k": random.integers(0, self.k, count),
                "j": random.integers(0, self.j, count),
            }
        )


@dataclass(frozen=True, slots=True)
class JoinCase:
    """Streams, what must hold between them, and how long they are fed."""

    sources: tuple[Source, ...]
    where: str
    ticks: int
    seed: int = 6

    @property
    def text(self) -> str:
        """The query: all times of each result."""
        names = range(len(self.sources))
        columns = ", ".join(f"s{i}.t AS t{i}" for i in names)
        froms = ", ".join(f"s{i} [{s.span}]" for i, s in enumerate(self.sources))
        return f"ISTREAM(SELECT {columns} FROM {froms} WHERE {self.where})"

    def tables(self) -> dict[str, pa.Table]:
        """Return the streams' tuples."""
        random = np.random.default_rng(self.seed)
        return {f"s{i}": s.table(self.ticks, random) for i, s in enumerate(self.sources)}


@dataclass(frozen=True, slots=True)
class JoinTiming:
    """Seconds, tuples and results of the timed stretch, and what distinguishes the results."""

    seconds: float
    rows: int
    results: int
    digest: int


@dataclass(slots=True)
class Match:
    """The join of a case at work."""

    db: Database
    query: QueryHandle
    tables: dict[str, pa.Table]

    @classmethod
    def of(cls, case: JoinCase, algorithm: str, tables: dict[str, pa.Table]) -> Match:
        """Start the query by an algorithm."""
        db = windrow.connect()
        assert isinstance(db, Database)
        for name in tables:
            db.execute(f"CREATE STREAM {name} (t BIGINT, k BIGINT, j BIGINT) TIMESTAMP BY t")
        return cls(db, db.query(case.text, join_algorithm=algorithm), tables)

    @property
    def watch(self) -> OrderWatch:
        """What gives the join its orders."""
        stages = self.db.running(self.query.name).flow.stages
        (found,) = [s.watch for s in stages if isinstance(s.watch, OrderWatch)]
        return found

    def fix(self, orders: tuple[Order, ...]) -> Match:
        """Let the join keep to some orders."""
        self.watch.adapts = False
        self.watch.task.reorder(orders)
        return self

    def run(self, low: int, high: int, steps: int) -> JoinTiming:
        """Push the tuples of ``[low, high)`` in steps; return what that takes."""
        seconds, rows, results, mixed = 0.0, 0, 0, 0
        cuts = np.linspace(low, high, steps + 1).astype(int).tolist()
        gc.collect()
        for start, stop in pairwise(cuts):
            pieces = {name: between(t, start, stop) for name, t in self.tables.items()}
            begin = perf_counter()
            changes = push_parts(self.db, self.query, pieces, stop - 1)
            seconds += perf_counter() - begin
            rows += sum(map(len, pieces.values()))
            results += len(changes)
            mixed += digest_of(changes)
        return JoinTiming(seconds, rows, results, mixed % 2**64)


def between(table: pa.Table, low: int, high: int) -> pa.Table:
    """Return the tuples of some time."""
    start, stop = np.searchsorted(table["t"].to_numpy(), (low, high)).tolist()
    return table.slice(start, stop - start)


def digest_of(changes: pa.Table) -> int:
    """Return a number that is the same for the same results in any order, whenever emitted."""
    columns = [name for name in changes.column_names if name not in ("_ts", "_sign")]
    return digest(changes.select(columns))[1]


def difference(timings: Sequence[JoinTiming]) -> str:
    """Return how the answers of several runs differ; "" if they do not."""
    answers = {(t.results, t.digest) for t in timings}
    if len(answers) > 1:
        return f"{len(answers)} different answers"
    return "" if timings[0].results else "no result at all"
