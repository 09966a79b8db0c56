"""How near the planner's orders are to the best that can be measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from random import Random

from windrow.optimize.join_costs import all_orders
from windrow.optimize.join_graph import Order
from windrow.optimize.join_orders import origin_first
from windrow_lab.bench.joins.feed import JoinCase, JoinTiming, Match, Source, difference
from windrow_lab.contest.report import Bar, verdict_of
from windrow_lab.contest.turns import by_turns, fastest

NEAR = 1.25
"""An order is near the best if it takes at most so many times as long."""
BAR = 0.9
INPUTS = 4
STEPS, TICKS = 4, 8_000
FEWEST, MOST = 100, 100_000
"""Results that a join should have: some to compare, and not so many that they take all the time."""
FASTEST = 3
"""Orders that are timed again, beside the planner's."""


def measure(samples: int, repeats: int) -> Bar:
    """Say for which share of random joins the planner's orders are near the best of all."""
    random = Random(6)
    factors: list[float] = []
    differences: list[str] = []
    seconds, rows = 0.0, 0
    for _ in range(samples):
        planned, others, different = contest(arena_of(random), repeats)
        factors.append(planned.seconds / min(t.seconds for t in (planned, *others)))
        differences.append(different)
        seconds, rows = seconds + planned.seconds, rows + planned.rows
    near = sum(f <= NEAR for f in factors) / samples
    return Bar(
        "planner_orders",
        near,
        BAR,
        seconds,
        rows / seconds,
        verdict_of("; ".join(sorted({d for d in differences if d}))),
        {},
        {
            "against": f"the best of {len(all_orders(INPUTS))} orders, in {samples} joins",
            "worst_factor": max(factors),
            "median_factor": sorted(factors)[samples // 2],
        },
    )


def arena_of(random: Random) -> JoinCase:
    """Return streams that are joined along a tree, on two attributes; all else is far apart.

    On one attribute alone no loop is inside another, and all orders take the same time.
    """
    while True:
        sources = tuple(
            Source(
                every=10 ** random.uniform(0.3, 1.5),
                window=round(10 ** random.uniform(2.3, 3)),
                k=round(10 ** random.uniform(1, 2.5)),
                j=round(10 ** random.uniform(1, 2.5)),
            )
            for _ in range(INPUTS)
        )
        columns = random.sample(["k", "j", random.choice("kj")], INPUTS - 1)
        edges = [(random.randrange(i), i, columns[i - 1]) for i in range(1, INPUTS)]
        if FEWEST <= TICKS * expected(sources, edges) <= MOST:
            where = " AND ".join(f"s{p}.{column} = s{i}.{column}" for p, i, column in edges)
            return JoinCase(sources, where, ticks=TICKS, seed=random.randrange(1_000))


def expected(sources: tuple[Source, ...], edges: list[tuple[int, int, str]]) -> float:
    """Return about how many results there are a tick."""
    sizes = [s.window / s.every for s in sources]
    values = [{"k": s.k, "j": s.j} for s in sources]
    pairs = prod(max(values[p][column], values[i][column]) for p, i, column in edges)
    return sum(prod(sizes) / (s.window * pairs) for s in sources)


def contest(case: JoinCase, repeats: int) -> tuple[JoinTiming, list[JoinTiming], str]:
    """Time all global orders once, then the planner's and the fastest few by turns.

    Return these, and how any answers differ.
    The fastest of many single runs is mostly the luckiest: only the second round counts.
    """
    tables = case.tables()
    learned = Match.of(case, "hash", tables)
    learned.run(0, case.ticks, STEPS)

    def timed(given: tuple[Order, ...]) -> JoinTiming:
        return Match.of(case, "hash", tables).fix(given).run(0, case.ticks, STEPS)

    orders = [tuple(origin_first(o, i) for i in range(INPUTS)) for o in all_orders(INPUTS)]
    first = sorted(((timed(given), given) for given in orders), key=lambda run: run[0].seconds)
    runs: list[Callable[[], JoinTiming]] = [partial(timed, learned.watch.best())]
    runs += [partial(timed, given) for _, given in first[:FASTEST]]
    planned, *others = fastest(by_turns(runs, repeats))
    return planned, others, difference([planned, *others, *(timing for timing, _ in first)])
