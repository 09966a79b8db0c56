"""W-joins by turns over the same streams, after their windows have filled."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
import pyarrow as pa

from windrow.experiments.library.experiment import EQUAL, Measurement
from windrow.experiments.library.truth import answer_difference
from windrow.experiments.wjoins.streams import Streams, truth_text
from windrow.operators.delta import Delta
from windrow.operators.join.multi.match import MultiMatch, Order
from windrow.operators.join.wjoin import (
    HashWJoin,
    MergeWJoin,
    NestedWJoin,
    Windows,
    WJoin,
    reach_of,
)

Make = Callable[[MultiMatch], WJoin]
Step = tuple[tuple[Delta, ...], int]
"""What comes of each stream, and the clock after it."""

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
class Arena:
    """What contestants share: streams, joins whose results count together, and when to begin.

    A run is `stretch` ticks, in steps of `step`. `told` has what the first contestant told.
    """

    streams: Streams
    matches: Sequence[MultiMatch]
    start: int
    stretch: int
    step: int
    runs: int
    told: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Contestant:
    """Joins with their windows full; `turns` runs are behind them."""

    arena: Arena
    tasks: list[WJoin]
    turns: int = 0

    @classmethod
    def filled(cls, arena: Arena, make: Make) -> Contestant:
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

    def _feed(self, steps: list[Step]) -> list[list[Delta]]:
        return [[task.step(*step) for step in steps] for task in self.tasks]

    def run(self) -> Measurement:
        """Run the next stretch; what it told must be right."""
        low = self.arena.start + self.turns * self.arena.stretch
        steps = self._steps(low, low + self.arena.stretch)
        tuples = sum(len(delta) for inputs, _ in steps for delta in inputs)
        before = sum(task.counters.comparisons for task in self.tasks)
        gc.collect()
        start = perf_counter()
        told = self._feed(steps)
        seconds = perf_counter() - start
        looked = sum(task.counters.comparisons for task in self.tasks) - before
        results = sum(len(part) for parts in told for part in parts)
        counts = {
            "rows_looked_at": looked / tuples,
            "results": results / tuples,
            "state_rows": float(sum(task.state_rows() for task in self.tasks)),
        }
        check = self._check(told, low)
        self.turns += 1
        return Measurement({"us_a_tuple": seconds * 1e6 / tuples}, counts, check)

    def _check(self, told: list[list[Delta]], low: int) -> str:
        """Compare what was told with the first contestant; at the end, with DuckDB."""
        merged = [Delta.concat(parts) for parts in told]
        digest = sum(len(delta) for delta in merged), sum(map(digest_of, merged)) % 2**64
        if digest != self.arena.told.setdefault(self.turns, digest):
            return "the results differ from those of the first contestant"
        if self.turns < self.arena.runs - 1:
            return EQUAL
        for match, delta in zip(self.arena.matches, merged, strict=True):
            wrong = self._difference(match, delta, low)
            if wrong:
                return f"the results differ from DuckDB's: {wrong}"
        return EQUAL

    def _difference(self, match: MultiMatch, delta: Delta, low: int) -> str:
        reach = int(reach_of(match, Windows.GLOBAL).keep.max())
        tables = {}
        for i in range(len(match.inputs)):
            part = self.arena.streams.part(i, low - reach, low + self.arena.stretch)
            names = ("t", "k", "id")
            vectors = part.columns.values()
            tables[f"s{i}"] = pa.table({n: v.data for n, v in zip(names, vectors, strict=True)})
        told = pa.table({n: v.data for n, v in delta.columns.items()} | {"newest": delta.ts})
        truth = f"SELECT * FROM ({truth_text(match)}) WHERE newest >= {low}"
        return answer_difference(told, truth, tables)


def digest_of(delta: Delta) -> int:
    """Return a sum of hashes of all rows: equal for equal bags, and else hardly ever."""
    mixed = delta.ts.astype(np.uint64)
    for vector in delta.columns.values():
        mixed = (mixed ^ vector.data.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return int(mixed.sum(dtype=np.uint64))
