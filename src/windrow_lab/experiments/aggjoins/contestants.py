"""Placements of early aggregation as queries with full windows, by turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from windrow.cli.calibrate.digest import digest
from windrow.cli.calibrate.placements import HASH, PlacedQuery, Stretch, Timeline
from windrow.optimize.choose_early import choose_early
from windrow.optimize.early_grouping import Placement
from windrow.runtime.local.early import watched
from windrow_lab.contest.agreement import Agreement
from windrow_lab.contest.contestant import Contestant, Run
from windrow_lab.contest.truth import against_duckdb

CLOCK, CPU = "us_a_tuple", "cpu_us_a_tuple"
MET, LOOKED = "contributions", "looked_at"
LOOKS = 3
"""How often a look is timed: the fastest counts."""


@dataclass(slots=True)
class PlacementArena(Timeline):
    """What contestants share: the streams, when windows are full, what the first one emitted."""

    agreement: Agreement = field(default_factory=Agreement)


@dataclass(slots=True)
class PlacementContestant(Contestant[Stretch]):
    """A query under one placement, its windows full. `model` stands beside its counts."""

    arena: PlacementArena
    placed: PlacedQuery
    algorithm: str
    model: Mapping[str, float]

    @classmethod
    def filled(
        cls,
        arena: PlacementArena,
        placement: Placement | str,
        algorithm: str = HASH,
        model: Mapping[str, float] | None = None,
    ) -> PlacementContestant:
        """Start the query under a placement, or as `early_aggregation` says, and fill windows."""
        placed = PlacedQuery.filled(arena, placement, algorithm)
        return cls(arena, placed, algorithm, model or {})

    def placement(self) -> str:
        """Return what the query aggregates early now, as `early_aggregation` takes it."""
        stages: Any = self.placed.query.stats()["operators"]
        (found,) = [s["early_aggregation"] for s in stages if "early_aggregation" in s]
        return str(found)

    def watching(self, rows: float) -> float:
        """Return what looks at the placement take, in µs a tuple, once they are rare.

        Runs are too short to meet one each. `rows`: what comes to the operator for a tuple.
        """
        running = self.placed.db.running(self.placed.query.name)
        (item,) = watched(running)
        seconds = []
        for _ in range(LOOKS):
            start = perf_counter()
            facts = item.facts(running)
            assert facts is not None, "windows are full"
            choose_early(facts)
            seconds.append(perf_counter() - start)
        return min(seconds) * 1e6 * item.watch.work(1, rows) / item.watch.longest(facts)

    def stretch(self) -> Run[Stretch]:
        """Run the next stretch."""
        done = self.placed.next_stretch()
        low = done.now + 1 - self.arena.stretch
        return Run(low, done.now + 1, done.seconds, done.tuples, done)

    def counters(self) -> dict[str, float]:
        """Return what groups have taken so far, or the rows that loops have looked at."""
        stats: Mapping[str, Any] = self.placed.query.stats()
        done = met(stats) if self.algorithm == HASH else looked_at(stats)
        return {work_of(self.algorithm): done}

    def clocks(self, done: Run[Stretch]) -> dict[str, float]:
        """Return microseconds a tuple, of the clock and of the processor."""
        per_tuple = 1e6 / done.tuples
        return {CLOCK: done.seconds * per_tuple, CPU: done.output.cpu_seconds * per_tuple}

    def counts(self, done: Run[Stretch], more: Mapping[str, float]) -> dict[str, float]:
        """Return work and changes a tuple, and the state."""
        stats: Mapping[str, Any] = self.placed.query.stats()
        return {
            **self.model,
            **{name: n / done.tuples for name, n in more.items()},
            "changes_told": len(done.output.changes) / done.tuples,
            "state_rows": float(stats["state_rows"]),
            "state_bytes": float(stats["state_bytes"]),
        }

    def check(self, done: Run[Stretch], counts: dict[str, float]) -> str:
        """Compare the changes with the first contestant's; after the last run, answers as well.

        Of these, the first contestant's is compared with DuckDB's over the tuples that are alive.
        """
        arena = self.arena
        wrong = arena.agreement.changes_differ(self.turns, done.output.changes)
        if wrong or self.turns < arena.runs - 1:
            return wrong
        answer = self.placed.query.answer()
        mine = digest(answer)
        first = arena.agreement.first_digest("answer", mine)
        if first is not None:
            equal = first == mine
            return "" if equal else "the answer differs from that of the first contestant"
        now = done.output.now
        alive = arena.feed.alive(now - now % (arena.setting.slide or 1))
        return against_duckdb(answer, arena.setting.truth, alive)


def met(stats: Mapping[str, Any]) -> float:
    """Return what groups have taken: results that arrived or expired, or contributions."""
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
    """Return what is counted: of loops the rows they look at, else what groups take."""
    return MET if algorithm == HASH else LOOKED
