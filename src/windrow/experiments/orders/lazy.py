"""Eager and lazy evaluation, with and without restore, over the interval [THESIS 5.4.3].

eager           ISTREAM(...)                    a result is told with its newest tuple
lazy            ISTREAM(... SLIDE Δ)            at the next refresh, if it is still alive
lazy, restore   ISTREAM(... SLIDE Δ) RESTORE    at the next refresh, alive or not
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from time import perf_counter

import pyarrow as pa

import windrow
from windrow.experiments.library.contest import work_of
from windrow.experiments.library.experiment import (
    EQUAL,
    Experiment,
    Measurement,
    Options,
    Panel,
)
from windrow.experiments.library.table import Levels, Table
from windrow.experiments.library.truth import answer_difference
from windrow.experiments.library.verdict import Finding, Kind, above, waiting
from windrow.experiments.orders.streams import (
    THESIS_5_5,
    JoinFeed,
    generate,
    longest,
    ticks_a_unit,
    tree_text,
    truth_text,
    width,
)
from windrow.optimize.join_costs import order_of
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle

ORDER = order_of("2134")
STREAMS = THESIS_5_5
EAGER, LAZY, RESTORE = "eager", "lazy", "lazy, restore"
FORMS = {EAGER: "ISTREAM({})", LAZY: "ISTREAM({})", RESTORE: "ISTREAM({}) RESTORE"}
INTERVALS = (1, 2, 5, 10, 20, 50)
STRETCH = 100
"""Units of time of a run: a multiple of every interval."""
TELLS = {
    EAGER: "newest AS _ts, {columns} FROM found WHERE newest < ends",
    LAZY: "refresh AS _ts, {columns} FROM found WHERE refresh < ends",
    RESTORE: "refresh AS _ts, {columns} FROM found WHERE newest < ends",
}
"""What each tells, and when, of all that have the same key."""


@dataclass(slots=True)
class LazyCase:
    """A query whose windows are full; `turns` runs are behind it."""

    algorithm: str
    interval: int  # ticks
    db: Database
    query: QueryHandle
    turns: int = 0


class ThesisLazy(Experiment[LazyCase]):
    """Does it pay to evaluate a join now and then, and what does it cost to lose nothing by it?

    Claim    lazy evaluation is more efficient than eager, and more so as the interval grows; to
             restore what would be lost has a noticeable price, yet stays below eager.
    Refuted  if (ours, of trees) at the largest interval lazy is slower than eager, or than at the
             smallest; restore is faster than lazy, or slower than eager.
    Source   [THESIS 5.4.3, figures 5.3 and 5.4; streams of table 5.5 with λ1 = 10].
    """

    name = "thesis-5-lazy"
    title = "eager and lazy evaluation"
    figures = "5.3, 5.4"
    factors = {"interval": INTERVALS, "algorithm": (EAGER, LAZY, RESTORE)}
    turns = "algorithm"
    panels = (
        Panel("interval", "ms_per_1000", "algorithm", "Time", "interval Δ", "ms per 1,000 tuples"),
        Panel(
            "interval", "results", "algorithm", "Results told", "interval Δ",
            "results per 1,000 tuples", log_y=False,
        ),
    )  # fmt: skip
    missing = {
        "nested loops; hash tables of two and of five buckets": "windrow joins by hash, and a "
        "table has as many buckets as it needs.",
        "Δ as the interval of expiry": "windrow's windows expire exactly, so eager evaluation does "
        "not depend on Δ: its line shows the noise.",
    }

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self.unit = ticks_a_unit(STREAMS)
        self.stretch = STRETCH * self.unit * (5 if self.options.full else 1)
        self.runs = self.warmups + self.repeats
        ticks = longest(STREAMS) + self.runs * self.stretch
        self.feed = JoinFeed(STREAMS, generate(STREAMS, ticks, self.seed))

    @property
    def set_up(self) -> str:
        """Tell query and streams."""
        return (
            "A tree of binary hash joins in the order S2, S1, S3, S4. A run is "
            f"{self.stretch:,} ticks, {self.stretch // self.unit} units of time, after all windows "
            "have filled; windows are 100 units. What every run tells is DuckDB's."
        )

    def prepare(self, levels: Levels) -> LazyCase:
        """Fill the windows."""
        algorithm, interval = str(levels["algorithm"]), int(levels["interval"]) * self.unit
        slide = "" if algorithm == EAGER else f" SLIDE {interval}"
        db = windrow.connect()
        for statement in self.feed.statements:
            db.execute(statement)
        query = db.query(FORMS[algorithm].format(tree_text(STREAMS, ORDER, slide)))
        self._push(db, 0, longest(STREAMS))
        query.changes()
        return LazyCase(algorithm, interval, db, query)

    def _push(self, db: Database, low: int, high: int) -> int:
        part = self.feed.part(low, high)
        for name, piece in part.items():
            db.push(name, piece)
        db.advance(high - 1)
        return sum(map(len, part.values()))

    def measure(self, case: LazyCase) -> Measurement:
        """Run the next stretch."""
        low = longest(STREAMS) + case.turns * self.stretch
        before = work_of(case.query.stats())
        gc.collect()
        start = perf_counter()
        tuples = self._push(case.db, low, low + self.stretch)
        changes = case.query.changes()
        seconds = perf_counter() - start
        done = work_of(case.query.stats())
        counts = {name: (done[name] - before[name]) * 1e3 / tuples for name in done}
        counts["results"] = len(changes) * 1e3 / tuples
        check = self.difference(case, changes, low) or EQUAL
        case.turns += 1
        return Measurement({"ms_per_1000": seconds * 1e6 / tuples}, counts, check)

    def difference(self, case: LazyCase, changes: pa.Table, low: int) -> str:
        """Return how what a run told differs from what DuckDB finds; empty if not."""
        high = low + self.stretch
        oldest = low - case.interval - longest(STREAMS)
        told = changes.drop_columns("_sign")
        truth = told_text(case.algorithm, case.interval)
        text = f"SELECT * FROM ({truth}) WHERE _ts >= {low} AND _ts < {high}"
        return answer_difference(told, text, self.feed.part(max(0, oldest), high))

    def close(self, case: LazyCase) -> None:
        """Close the database."""
        case.db.close()

    def findings(self, table: Table) -> list[Finding]:
        """Judge trees by their clocks, and tell what is lost."""
        clock, levels = "ms_per_1000", table.levels("interval")
        low, high = levels[0], levels[-1]
        gain = table.ratio(clock, "algorithm", EAGER, LAZY, interval=high)
        falls = table.ratio(clock, "interval", low, high, algorithm=LAZY)
        price = table.ratio(clock, "algorithm", RESTORE, LAZY, interval=high)
        below = table.ratio(clock, "algorithm", EAGER, RESTORE, interval=high)
        lost = 1 - table.ratio("results", "algorithm", LAZY, RESTORE, interval=high).value
        return [
            waiting(
                "Lazy is more efficient than eager, more so as Δ grows; restore lies between.",
                "The thesis speaks of multi-way joins, which windrow does not have yet.",
            ),
            Finding(
                f"As a tree, lazy is faster than eager at interval {high}.",
                above(gain, 1),
                f"Eager takes {gain} as long; lazy loses {lost:.0%} of the results.",
                Kind.OURS,
            ),
            Finding(
                "As a tree, lazy becomes faster as the interval grows.",
                above(falls, 1),
                f"It takes {falls} as long at interval {low}.",
                Kind.OURS,
            ),
            Finding(
                "As a tree, restore has a price.",
                above(price, 1),
                f"It takes {price} as long.",
                Kind.OURS,
            ),
            Finding(
                "As a tree, restore stays below eager.",
                above(below, 1),
                f"Eager takes {below} as long.",
                Kind.OURS,
            ),
        ]


def told_text(algorithm: str, interval: int) -> str:
    """Return the one-time query that tells every result of an algorithm with its time."""
    n = len(STREAMS)
    newest = f"GREATEST({', '.join(f't{i + 1}' for i in range(n))})"
    ends = f"LEAST({', '.join(f't{i + 1} + {width(STREAMS, i)}' for i in range(n))})"
    refresh = f"({newest} + {interval - 1}) // {interval} * {interval}"
    columns = ", ".join(["k", *(f"t{i + 1}" for i in range(n))])
    return (
        f"WITH found AS (SELECT *, {newest} AS newest, {ends} AS ends, {refresh} AS refresh "
        f"FROM ({truth_text(n)})) SELECT {TELLS[algorithm].format(columns=columns)}"
    )
