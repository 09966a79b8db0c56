"""W-joins over the same streams, with full windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from windrow.cli.calibrate.digest import digest
from windrow.operators.delta import Delta
from windrow.operators.join.match import MultiMatch, Order
from windrow.operators.join.wjoin import (
    HashWJoin,
    MergeWJoin,
    NestedWJoin,
    Windows,
    WJoin,
    reach_of,
)
from windrow_lab.contest.agreement import Agreement
from windrow_lab.contest.clock import timed
from windrow_lab.contest.contestant import Contestant, Run
from windrow_lab.contest.truth import against_duckdb
from windrow_lab.experiments.wjoins.streams import Streams, truth_text

Make = Callable[[MultiMatch], WJoin]
Step = tuple[tuple[Delta, ...], int]
"""What arrives of each stream, and the clock after it."""
Emitted = list[list[Delta]]
"""What each join emits in each step."""

CLEAN_EVERY = 10_000
"""Tuples after which ripple join and XJoin let go of what is in no window [WJOIN 4.3]."""

NLW, MW, HW = "NLW", "MW", "HW"
MW_FROM = "MW, order of FROM"
NLW_LAST = "NLW, last stream first"
RIPPLE, XJOIN = "ripple", "XJoin"
ALGORITHMS: dict[str, Make] = {
    NLW: NestedWJoin,
    MW: MergeWJoin,
    MW_FROM: lambda match: MergeWJoin(match, fewest_first=False),
    NLW_LAST: lambda match: NestedWJoin(match, last_first(len(match.inputs))),
    HW: HashWJoin,
    RIPPLE: lambda match: NestedWJoin(match, clean_every=CLEAN_EVERY),
    XJOIN: lambda match: HashWJoin(match, clean_every=CLEAN_EVERY),
}
"""The paper's algorithms. Ripple join and XJoin are the loops without knowledge of windows: they
look at all that they hold, and let go of it now and then."""


def last_first(count: int) -> list[Order]:
    """Return orders in which loops begin with the last stream: the planner's, if it is the rarest.

    >>> last_first(3)
    [(0, 2, 1), (1, 2, 0), (2, 1, 0)]
    """
    return [(i, *(j for j in reversed(range(count)) if j != i)) for i in range(count)]


@dataclass(slots=True)
class WJoinArena:
    """What contestants share: streams, joins whose results count together, and when to begin.

    A run is `stretch` ticks, in steps of `step`.
    """

    streams: Streams
    matches: Sequence[MultiMatch]
    start: int
    stretch: int
    step: int
    runs: int
    agreement: Agreement = field(default_factory=Agreement)


@dataclass(slots=True)
class WJoinContestant(Contestant[Emitted]):
    """Joins with their windows full."""

    arena: WJoinArena
    tasks: list[WJoin]

    @classmethod
    def filled(cls, arena: WJoinArena, make: Make) -> WJoinContestant:
        """Start the joins and fill their windows."""
        made = cls(arena, [make(match) for match in arena.matches])
        made._feed(made._steps(0, arena.start))
        return made

    def _steps(self, low: int, high: int) -> list[Step]:
        """Return what comes in the ticks ``[low, high)``, step by step."""
        arena, found = self.arena, []
        for at in range(low, high, arena.step):
            upto = min(at + arena.step, high)
            streams = range(len(arena.streams.times))
            inputs = tuple(arena.streams.part(i, at, upto) for i in streams)
            found.append((inputs, upto - 1))
        return found

    def _feed(self, steps: list[Step]) -> Emitted:
        return [[task.step(*step) for step in steps] for task in self.tasks]

    def stretch(self) -> Run[Emitted]:
        """Take the next stretch step by step."""
        low = self.arena.start + self.turns * self.arena.stretch
        high = low + self.arena.stretch
        steps = self._steps(low, high)
        seconds, emitted = timed(lambda: self._feed(steps))
        tuples = sum(len(delta) for inputs, _ in steps for delta in inputs)
        return Run(low, high, seconds, tuples, emitted)

    def counters(self) -> dict[str, float]:
        """Return the rows that loops have looked at so far."""
        return {"rows_looked_at": sum(task.counters.comparisons for task in self.tasks)}

    def clocks(self, done: Run[Emitted]) -> dict[str, float]:
        """Return microseconds a tuple."""
        return {"us_a_tuple": done.seconds * 1e6 / done.tuples}

    def counts(self, done: Run[Emitted], more: Mapping[str, float]) -> dict[str, float]:
        """Return rows looked at and results a tuple, and the state."""
        return {
            "rows_looked_at": more["rows_looked_at"] / done.tuples,
            "results": sum(len(part) for parts in done.output for part in parts) / done.tuples,
            "state_rows": float(sum(task.state_rows() for task in self.tasks)),
        }

    def check(self, done: Run[Emitted], counts: dict[str, float]) -> str:
        """Compare the results with the first contestant's; after the last run, with DuckDB's."""
        tables = [results_of(Delta.concat(parts)) for parts in done.output]
        digests = [digest(table) for table in tables]
        mine = sum(rows for rows, _ in digests), sum(mixed for _, mixed in digests) % 2**64
        if self.arena.agreement.first_digest(self.turns, mine) not in (None, mine):
            return "the results differ from those of the first contestant"
        if self.turns < self.arena.runs - 1:
            return ""
        differences = (
            self._difference(match, table, done.low)
            for match, table in zip(self.arena.matches, tables, strict=True)
        )
        return next(filter(None, differences), "")

    def _difference(self, match: MultiMatch, results: pa.Table, low: int) -> str:
        reach = int(reach_of(match, Windows.GLOBAL).keep.max())
        tables = {}
        for i in range(len(match.inputs)):
            part = self.arena.streams.part(i, low - reach, low + self.arena.stretch)
            names = ("t", "k", "id")
            vectors = part.columns.values()
            tables[f"s{i}"] = pa.table({n: v.data for n, v in zip(names, vectors, strict=True)})
        truth = f"SELECT * FROM ({truth_text(match)}) WHERE newest >= {low}"
        return against_duckdb(results, truth, tables, "the results differ")


def results_of(delta: Delta) -> pa.Table:
    """Return results as a table; `newest` is the time of the newest tuple of each."""
    return pa.table({n: v.data for n, v in delta.columns.items()} | {"newest": delta.ts})
