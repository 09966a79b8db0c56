"""Joins of windows as operators, with full windows. Each stretch is one step, (low, high]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from windrow.cli.calibrate.digest import digest
from windrow.operators.delta import Delta
from windrow.operators.join.match import Order
from windrow.optimize.join_costs import Streams
from windrow_lab.contest.agreement import Agreement
from windrow_lab.contest.clock import timed
from windrow_lab.contest.contestant import Contestant, Run
from windrow_lab.contest.measurement import EQUAL, Measurement
from windrow_lab.contest.truth import answer_difference
from windrow_lab.experiments.orders.algorithms import Algorithm, Join, When, arrivals, join_of
from windrow_lab.experiments.orders.streams import (
    generate,
    longest,
    part,
    ticks_a_unit,
    truth_text,
    width,
)

CLOCK = "ms_per_1000"
COMPARED = "comparisons"
RIGHT = (
    "Tuples go to the operators in batches, without a query around them. One tuple a tick, of "
    "stream i with probability λi/Σλ; a unit of time is Σλ ticks. The results of every run are "
    "equal for all contestants that emit the same, and those of the last run are DuckDB's. "
    "Comparisons are the rows that loops look at, a unit of time."
)
SELECTED = {
    When.EAGER: "newest AS _ts, {times} FROM found WHERE newest < ends",
    When.LOSSY: "refresh AS _ts, {times} FROM found WHERE refresh < ends",
    When.RESTORE: "refresh AS _ts, {times} FROM found WHERE newest < ends",
}
"""What is emitted, and when, of all that have the same key. LATE emits what RESTORE does."""

Emission = tuple[When, int]


@dataclass(slots=True)
class JoinArena:
    """What contestants share: streams, when windows are full, and a digest of the first answer.

    `start` and `stretch` are ticks, and multiples of all intervals.
    """

    streams: Streams
    tables: dict[str, pa.Table]
    start: int
    stretch: int
    runs: int
    agreement: Agreement = field(default_factory=Agreement)

    @classmethod
    def of(cls, streams: Streams, stretch: int, runs: int, seed: int) -> JoinArena:
        """Return streams with runs of so many units of time after the longest window."""
        ticks = stretch * ticks_a_unit(streams)
        start = -(-longest(streams) // ticks) * ticks
        tables = generate(streams, start + runs * ticks + 1, seed)
        return cls(streams, tables, start, ticks, runs)

    @property
    def units(self) -> float:
        """Units of time of a run."""
        return self.stretch / ticks_a_unit(self.streams)

    def deltas(self, algorithm: Algorithm, low: int, high: int) -> tuple[Delta, ...]:
        """Return the tuples of the ticks ``(low, high]`` as an algorithm takes them."""
        return tuple(
            arrivals(self.streams, algorithm, i, t["t"].to_numpy(), t["k"].to_numpy())
            for i, t in enumerate(part(self.tables, low + 1, high + 1).values())
        )

    def wrong(self, output: Emission, turn: int, results: pa.Table) -> str:
        """Return how results of a run differ from what they should be; empty if not.

        Of those that emit the same, the first is compared with DuckDB in the last run, the others
        with the first.
        """
        mine = digest(results)
        first = self.agreement.first_digest((output, turn), mine)
        if first is None:
            wrong = self.difference(output, turn, results) if turn == self.runs - 1 else ""
            return f"the results differ from DuckDB's: {wrong}" if wrong else ""
        if first == mine:
            return ""
        wrong = self.difference(output, turn, results) or "which is wrong"
        return f"the results differ from the first contestant's: {wrong}"

    def difference(self, output: Emission, turn: int, results: pa.Table) -> str:
        """Return how results of a run differ from DuckDB's; empty if not."""
        low = self.start + turn * self.stretch
        high = low + self.stretch
        truth = f"SELECT * FROM ({self.truth(output)}) WHERE _ts > {low} AND _ts <= {high}"
        alive = part(self.tables, max(0, low - 2 * longest(self.streams)), high + 1)
        return answer_difference(results, truth, alive)

    def truth(self, output: Emission) -> str:
        """Return the one-time query that returns all results with their times."""
        when, interval = output
        n = len(self.streams)
        times = [f"t{i + 1}" for i in range(n)]
        ends = ", ".join(f"t{i + 1} + {width(self.streams, i)}" for i in range(n))
        newest = f"GREATEST({', '.join(times)})"
        refresh = f"({newest} + {interval - 1}) // {interval} * {interval}" if interval else newest
        return (
            f"WITH found AS (SELECT *, {newest} AS newest, LEAST({ends}) AS ends, "
            f"{refresh} AS refresh FROM ({truth_text(self.streams)})) "
            f"SELECT {SELECTED[when].format(times=', '.join(times))}"
        )


@dataclass(slots=True)
class JoinContestant(Contestant[Delta]):
    """A join with its windows full. `model` stands beside its counts."""

    arena: JoinArena
    algorithm: Algorithm
    join: Join
    model: Mapping[str, float]

    @classmethod
    def filled(
        cls,
        arena: JoinArena,
        algorithm: Algorithm,
        orders: tuple[Order, ...],
        model: Mapping[str, float] | None = None,
    ) -> JoinContestant:
        """Fill the windows of a fresh join."""
        join = join_of(arena.streams, algorithm, orders)
        join.step(arena.deltas(algorithm, -1, arena.start), arena.start)
        return cls(arena, algorithm, join, model or {})

    def stretch(self) -> Run[Delta]:
        """Take the next stretch as one step."""
        arena = self.arena
        low = arena.start + self.turns * arena.stretch
        high = low + arena.stretch
        deltas = arena.deltas(self.algorithm, low, high)
        seconds, found = timed(lambda: self.join.step(deltas, high), collect=False)
        return Run(low, high, seconds, sum(map(len, deltas)), found)

    def counters(self) -> dict[str, float]:
        """Return the rows that loops have looked at so far."""
        return {COMPARED: self.join.compared()}

    def clocks(self, done: Run[Delta]) -> dict[str, float]:
        """Return milliseconds per thousand tuples."""
        return {CLOCK: done.seconds * 1e6 / done.tuples}

    def counts(self, done: Run[Delta], more: Mapping[str, float]) -> dict[str, float]:
        """Return comparisons a unit of time, results per thousand tuples, and the state."""
        return {
            **self.model,
            COMPARED: more[COMPARED] / self.arena.units,
            "results": len(done.output) * 1e3 / done.tuples,
            "state_rows": self.join.state_rows(),
        }

    def check(self, done: Run[Delta], counts: dict[str, float]) -> str:
        """Compare with the first contestant, or with DuckDB."""
        return self.arena.wrong(self.emission(), self.turns, self.table(done.output))

    def emission(self) -> Emission:
        """Return what is emitted, and at multiples of how many ticks."""
        when = self.algorithm.when
        interval = self.algorithm.interval * ticks_a_unit(self.arena.streams)
        return When.RESTORE if when is When.LATE else when, interval

    def table(self, found: Delta) -> pa.Table:
        """Return results as a table: when they are emitted, and the times of their tuples."""
        columns: dict[str, Any] = {
            f"t{i + 1}": found.columns[f"t{i + 1}"].data for i in range(len(self.arena.streams))
        }
        return pa.table({"_ts": found.ts, **columns})


Team = dict[str, JoinContestant]
"""Contestants of one case, each with a name that its measures carry."""


def run_team(team: Team) -> Measurement:
    """Run all of a team, one after the other."""
    found = {name: one.run() for name, one in team.items()}
    wrong = [f"{name}: {m.check}" for name, m in found.items() if m.check != EQUAL]
    return Measurement(
        {f"{key}_{name}": v for name, m in found.items() for key, v in m.clocks.items()},
        {f"{key}_{name}": v for name, m in found.items() for key, v in m.counts.items()},
        wrong[0] if wrong else EQUAL,
    )
