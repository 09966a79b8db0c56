"""How near the planner's orders are to the best that can be measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from windrow.cli.bench.joins.feed import Arena, Match, Source, Timing, best, difference
from windrow.cli.bench.report import Bar, verdict_of
from windrow.optimize.join_costs import all_orders
from windrow.optimize.join_graph import Order
from windrow.optimize.join_orders import origin_first

NEAR = 1.25
"""An order is near the best if it takes at most so many times as long."""
BAR = 0.9
INPUTS = 4
STEPS = 8


def measure(samples: int, repeats: int) -> Bar:
    """Tell for which share of random joins the planner's orders are near the best of all."""
    random = Random(6)
    factors: list[float] = []
    differences: list[str] = []
    seconds, rows = 0.0, 0
    for _ in range(samples):
        planned, others = contest(arena_of(random), repeats)
        factors.append(planned.seconds / min(t.seconds for t in (planned, *others)))
        differences.append(difference([planned, *others]))
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


def arena_of(random: Random) -> Arena:
    """Return streams that are joined on one attribute; rates, windows and values are apart."""
    sources = tuple(
        Source(
            every=10 ** random.uniform(0, 1.5),
            window=round(10 ** random.uniform(2.3, 3)),
            k=round(10 ** random.uniform(1.5, 2.7)),
        )
        for _ in range(INPUTS)
    )
    where = " AND ".join(f"s0.k = s{i}.k" for i in range(1, INPUTS))
    return Arena(sources, where, ticks=4_000, seed=random.randrange(1_000))


def contest(arena: Arena, repeats: int) -> tuple[Timing, list[Timing]]:
    """Time the planner's orders and all global ones over the same tuples."""
    tables = arena.tables()
    learned = Match.of(arena, "hash", tables)
    learned.run(0, arena.ticks, STEPS)
    orders: list[tuple[Order, ...]] = [learned.watch.best()]
    orders += [tuple(origin_first(o, i) for i in range(INPUTS)) for o in all_orders(INPUTS)]

    def timed(given: tuple[Order, ...]) -> Timing:
        return Match.of(arena, "hash", tables).fix(given).run(0, arena.ticks, STEPS)

    runs: list[Callable[[], Timing]] = [partial(timed, given) for given in orders]
    planned, *others = best(runs, repeats)
    return planned, others
