"""Placements of early aggregation by turns, as queries, after their windows have filled.

ticks  0 ........... start - full ........... start │ stretch │ stretch │ ...
       one that      all others               warm-ups, then repeats;
       chooses fills fill                     each stretch is one batch a stream
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa

import windrow
from windrow.experiments.aggjoins.streams import SECOND, Feed, Setting, asked
from windrow.experiments.library.experiment import EQUAL, Measurement
from windrow.experiments.library.truth import answer_difference, net_difference
from windrow.optimize.choose_early import choose_early
from windrow.optimize.early_calls import Placement
from windrow.runtime.local.database import Database
from windrow.runtime.local.early import watched
from windrow.runtime.local.handle import QueryHandle

CLOCK, CPU = "us_a_tuple", "cpu_us_a_tuple"
MET, LOOKED = "contributions", "looked_at"
HASH, LOOPS = "auto", "loops"
"""Join algorithms, as `SET join_algorithm` takes them: hash joins are what the planner takes."""

MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose bits are spread."""
NULL = -(2**62)
"""What stands for NULL in a digest."""

LOOKS = 3
"""How often a look is timed: the fastest counts."""

FILL = 8
"""Batches in which windows are filled, at most: a window of results must not come at once."""


@dataclass(slots=True)
class Arena:
    """What contestants share: the streams, when windows are full, and what the first told.

    Windows fill in `full` ticks before `start`, with a stretch to spare.
    """

    feed: Feed
    start: int
    full: int
    stretch: int
    runs: int
    told: dict[int, pa.Table] = field(default_factory=dict)

    @classmethod
    def of(
        cls, setting: Setting, stretch: float, runs: int, seed: int, *, settling: int = 0
    ) -> Arena:
        """Return streams with runs of so many seconds after the longest window.

        Before it there are as many runs as a query that chooses has to settle.
        """
        ticks = max(1, round(stretch * SECOND))
        longest = max(setting.width(i) for i in range(len(setting.streams)))
        full = (-(-longest // ticks) + 1) * ticks  # the answer that a first change takes back, too
        start = full + settling * ticks
        feed = Feed(setting, (start + (runs + 1) * ticks) / SECOND, seed)
        return cls(feed, start, full, ticks, runs)

    @property
    def setting(self) -> Setting:
        """The streams and the query."""
        return self.feed.setting


@dataclass(slots=True)
class Contestant:
    """A query with its windows full; `turns` runs are behind it. `model` stands beside counts."""

    arena: Arena
    db: Database
    query: QueryHandle
    algorithm: str
    model: Mapping[str, float]
    turns: int = 0

    @classmethod
    def filled(
        cls,
        arena: Arena,
        placement: Placement | str,
        algorithm: str = HASH,
        model: Mapping[str, float] | None = None,
    ) -> Contestant:
        """Start the query under a placement, or as `early_aggregation` says, and fill windows.

        With `auto` it begins earlier, and has settled by then.
        """
        db = windrow.connect()
        assert isinstance(db, Database)
        for statement in arena.setting.statements:
            db.execute(statement)
        way = placement if isinstance(placement, str) else asked(placement, arena.setting.names)
        query = db.query(arena.setting.text, early_aggregation=way, join_algorithm=algorithm)
        made = cls(arena, db, query, algorithm, model or {})
        begin = 0 if way == "auto" else arena.start - arena.full
        step = max(arena.stretch, arena.full // FILL)
        for low in range(begin, begin + arena.full, step):
            made._feed(low, min(low + step, begin + arena.full))
            query.changes()
        for low in range(begin + arena.full, arena.start, arena.stretch):
            made._feed(low, low + arena.stretch)
            query.changes()
        return made

    def _feed(self, low: int, high: int) -> int:
        part = self.arena.feed.part(low, high)
        for name, piece in part.items():
            self.db.push(name, piece)
        self.db.advance(high - 1)
        return sum(map(len, part.values()))

    def placement(self) -> str:
        """Return what the query aggregates early now, as `early_aggregation` takes it."""
        stages: Any = self.query.stats()["operators"]
        (found,) = [s["early_aggregation"] for s in stages if "early_aggregation" in s]
        return str(found)

    def watching(self, rows: float) -> float:
        """Return what looks at the placement take, in µs a tuple, once they are rare.

        Runs are too short to meet one each. `rows`: what comes to the operator for a tuple.
        """
        running = self.db.running(self.query.name)
        (item,) = watched(running)
        seconds = []
        for _ in range(LOOKS):
            start = perf_counter()
            facts = item.facts(running)
            assert facts is not None, "windows are full"
            choose_early(facts)
            seconds.append(perf_counter() - start)
        return min(seconds) * 1e6 * item.watch.work(1, rows) / item.watch.longest(facts)

    def run(self) -> Measurement:
        """Run the next stretch; what it told must be right."""
        arena = self.arena
        low = arena.start + self.turns * arena.stretch
        before = self._work(self.query.stats())
        gc.disable()  # to collect before each run takes longer than the run
        start, used = perf_counter(), process_time()
        tuples = self._feed(low, low + arena.stretch)
        changes = self.query.changes()
        seconds, used = perf_counter() - start, process_time() - used
        gc.enable()
        stats: Mapping[str, Any] = self.query.stats()
        counts = {
            **self.model,
            work_of(self.algorithm): (self._work(stats) - before) / tuples,
            "changes_told": len(changes) / tuples,
            "state_rows": float(stats["state_rows"]),
            "state_bytes": float(stats["state_bytes"]),
        }
        check = self._check(changes, low + arena.stretch - 1)
        self.turns += 1
        clocks = {CLOCK: seconds * 1e6 / tuples, CPU: used * 1e6 / tuples}
        return Measurement(clocks, counts, check)

    def _work(self, stats: Mapping[str, Any]) -> float:
        return met(stats) if self.algorithm == HASH else looked_at(stats)

    def _check(self, changes: pa.Table, now: int) -> str:
        """Compare what was told with the first contestant; after the last run, answers as well.

        Of these, the first contestant's is held to DuckDB's over the tuples that are alive.
        """
        arena = self.arena
        first = arena.told.setdefault(self.turns, changes)
        if first is not changes and digest(changes) != digest(first):
            wrong = net_difference(changes, first) or "by what takes itself back"
            return f"the changes differ from those of the first contestant: {wrong}"
        if self.turns < arena.runs - 1:
            return EQUAL
        answer = self.query.answer()
        known = arena.told.setdefault(arena.runs, answer)
        if known is not answer:
            equal = digest(answer) == digest(known)
            return EQUAL if equal else "the answer differs from that of the first contestant"
        alive = arena.feed.alive(now - now % (arena.setting.slide or 1))
        wrong = answer_difference(answer, arena.setting.truth, alive)
        return f"the answer differs from DuckDB's: {wrong}" if wrong else EQUAL


def digest(table: pa.Table) -> tuple[int, int]:
    """Return rows, each with its sign, and a sum of their hashes: equal for equal nets."""
    count = len(table)
    signs = table["_sign"].to_numpy() if "_sign" in table.column_names else np.ones(count, int)
    mixed = np.zeros(count, np.uint64)
    for name in table.column_names:
        if name != "_sign":
            column = table[name].cast(pa.int64()).fill_null(NULL).to_numpy()
            mixed = (mixed ^ column.astype(np.uint64)) * MIX
            mixed ^= mixed >> np.uint64(29)
    return int(signs.sum()), int((mixed * signs.astype(np.uint64)).sum(dtype=np.uint64))


def met(stats: Mapping[str, Any]) -> float:
    """Return what groups have been told: results that came or went, or contributions."""
    total = 0.0
    for operator in stats["operators"]:
        if operator["operator"] == "Aggregate":
            total += operator["tuples_in"] + operator["expiries"]
        if operator["operator"] == "AggregationJoin":
            total += operator["comparisons"]
    return total


def looked_at(stats: Mapping[str, Any]) -> float:
    """Return the rows and entries that loops have looked at."""
    return float(sum(operator["comparisons"] for operator in stats["operators"]))


def work_of(algorithm: str) -> str:
    """Return what is counted: of loops what they look at, else what groups are told."""
    return MET if algorithm == HASH else LOOKED
