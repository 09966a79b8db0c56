"""How lazy algorithms compare over the interval [MULTI figure 3]."""

from __future__ import annotations

from windrow.operators.join.match import Order
from windrow.optimize.join_costs import (
    JoinStream,
    Streams,
    all_orders,
    general_lazy,
    lazy,
    loops,
    naive_lazy,
)
from windrow.physical.conditions import Method
from windrow_lab.contest.measurement import Measurement
from windrow_lab.experiments.library.experiment import Experiment, Options, Panel
from windrow_lab.experiments.library.spread import short
from windrow_lab.experiments.library.table import Levels, Table
from windrow_lab.experiments.library.verdict import Finding, Kind, above, all_of, below, known
from windrow_lab.experiments.orders.algorithms import Algorithm, When
from windrow_lab.experiments.orders.contestants import (
    CLOCK,
    RIGHT,
    JoinArena,
    JoinContestant,
    Team,
    run_team,
)

NAIVE, LAZY, GENERAL = "NAIVE", "LAZY", "GENERAL"
METHODS = {NAIVE: Method.NAIVE, LAZY: Method.LOOPS, GENERAL: Method.LOOPS}
INTERVALS = (1, 2, 5, 10, 20, 50)
MORE_INTERVALS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 25, 30, 40, 50)
RATES = {"equal": 1, "fast": 10}
"""Rates of the fourth stream: figures 3a and 3b."""
ALIKE = 1.001
"""Costs within a thousandth are the same."""
NEARLY = 1.05


def panels(measure: str, y_label: str) -> tuple[Panel, ...]:
    """Return the pictures of both rates of the fourth stream."""
    return tuple(
        Panel(
            "interval", f"{measure}_{name}", "algorithm", f"Figure 3{letter}: λ4 = {rate}",
            "interval τ", y_label, log_x=False,
        )
        for letter, (name, rate) in zip("ab", RATES.items(), strict=True)
    )  # fmt: skip


class MultiFigure3(Experiment[Team]):
    """Should new tuples always come first, if a join is evaluated now and then?

    Claim    with equal streams LAZY is as good as GENERAL, costs rise with the interval, and NAIVE
             is worse, most at small intervals; with a fast stream LAZY is as good as GENERAL for
             small intervals only, and for large ones worse than NAIVE, which is nearly as good.
    Refuted  if any of these does not hold for the best order of each algorithm, in comparisons
             counted, or by the model; nearly is 5 %. That GENERAL is never worse follows from its
             definition, and is a test. Times (ours): if a claim at the smallest or the largest
             interval does not hold by the clock.
    Source   [MULTI 4.2, figure 3].
    """

    name = "multi-figure-3"
    title = "lazy algorithms"
    figures = "3"
    factors = {"interval": INTERVALS, "algorithm": (NAIVE, LAZY, GENERAL)}
    full = {"interval": MORE_INTERVALS}
    turns = "algorithm"
    together = ("interval",)
    panels = (*panels("comparisons", "comparisons a unit of time"), *panels(CLOCK, "ms per 1,000"))

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        stretch = 600 if self.options.full else 200
        runs = self.warmups + self.repeats
        self.arenas = {
            name: JoinArena.of(streams_with(rate), stretch, runs, self.seed)
            for name, rate in RATES.items()
        }

    @property
    def set_up(self) -> str:
        """Describe the streams."""
        return (
            "Four streams with T = 100, v = 50 and λ = 1, but for λ4: 1 (figure 3a, `equal`) or 10 "
            "(3b, `fast`). Each algorithm, by nested loops, has the best of its orders at each "
            "interval, by the model; `cost` is the model's. A run is "
            f"{self.arenas['equal'].units:g} units of time, and old tuples are removed when the "
            "join is evaluated. Rows that never were alive together are passed over in each loop, "
            f"so that at large intervals fewer are looked at than the model says. {RIGHT}"
        )

    def prepare(self, levels: Levels) -> Team:
        """Fill the windows for both rates."""
        name, interval = str(levels["algorithm"]), int(levels["interval"])
        algorithm = Algorithm(METHODS[name], When.LATE, interval, expire_every=interval)
        team = {}
        for key, arena in self.arenas.items():
            orders = best_orders(name, arena.streams, interval)
            model = {"cost": general_lazy(arena.streams, orders, interval)}
            team[key] = JoinContestant.filled(arena, algorithm, orders, model)
        return team

    def measure(self, case: Team) -> Measurement:
        """Run the next stretch of both."""
        return run_team(case)

    def findings(self, table: Table) -> list[Finding]:
        """Compare the curves: as counted, by the model, by the clock."""
        found = []
        for measure, kind in (("comparisons", Kind.PAPER), ("cost", Kind.MODEL)):
            found += [*equal_streams(table, measure, kind), *fast_stream(table, measure, kind)]
        return [*found, *clocks(table)]


def streams_with(rate: float) -> Streams:
    """Return three streams alike and a fourth of some rate."""
    return [JoinStream(1, 100, 50)] * 3 + [JoinStream(rate, 100, 50)]


def best_orders(name: str, streams: Streams, interval: float) -> tuple[Order, ...]:
    """Return the cheapest orders of an algorithm, one an origin; on a tie that stands first."""
    every = all_orders(len(streams))
    if name == NAIVE:
        best = min(every, key=lambda order: naive_lazy(streams, order, interval))
        return (best,) * len(streams)
    if name == LAZY:
        best = min(every, key=lambda order: lazy(streams, order, interval))
        return Algorithm(Method.LOOPS).orders(best)
    longer = [s.longer(interval) for s in streams]
    return tuple(
        min(every, key=lambda order: (loops(longer, order, i, s.rate * interval), order[0] != i))
        for i, s in enumerate(streams)
    )


def ratios(table: Table, cost: str, over: str, under: str) -> list[float]:
    """Return how many times more one algorithm costs than another, interval by interval."""
    return [
        table.ratio(cost, "algorithm", over, under, interval=interval).value
        for interval in table.levels("interval")
    ]


def equal_streams(table: Table, measure: str, kind: Kind) -> list[Finding]:
    """Judge figure 3a."""
    cost = f"{measure}_equal"
    same = ratios(table, cost, LAZY, GENERAL)
    worse = ratios(table, cost, NAIVE, LAZY)
    costs = [row.number(cost) for row in table.where(algorithm=LAZY).rows]
    return [
        Finding(
            "Equal streams: LAZY costs as much as GENERAL.",
            known(max(same) <= ALIKE),
            f"At most {short(max(same))} times.",
            kind,
        ),
        Finding(
            "Equal streams: costs rise with the interval.",
            known(costs == sorted(costs)),
            f"From {costs[0]:,.0f} to {costs[-1]:,.0f}.",
            kind,
        ),
        Finding(
            "Equal streams: NAIVE costs more, most at small intervals.",
            known(min(worse) > 1, worse[0] == max(worse)),
            f"{short(worse[0])} times as much at the smallest, {short(worse[-1])} at the largest.",
            kind,
        ),
    ]


def fast_stream(table: Table, measure: str, kind: Kind) -> list[Finding]:
    """Judge figure 3b."""
    lazy_over = ratios(table, f"{measure}_fast", LAZY, GENERAL)
    naive_over = ratios(table, f"{measure}_fast", NAIVE, GENERAL)
    return [
        Finding(
            "A fast stream: NAIVE costs most at small intervals, nearly as GENERAL at large.",
            known(naive_over[0] > lazy_over[0] * ALIKE, naive_over[-1] <= NEARLY),
            f"{short(naive_over[0])} times GENERAL's cost at the smallest, "
            f"{short(naive_over[-1])} times at the largest.",
            kind,
        ),
        Finding(
            "A fast stream: LAZY is as good for small intervals.",
            known(lazy_over[0] <= ALIKE),
            f"{short(lazy_over[0])} times GENERAL's cost at the smallest.",
            kind,
        ),
        Finding(
            "A fast stream: for large intervals LAZY is worse than NAIVE.",
            known(lazy_over[-1] > naive_over[-1]),
            f"{short(lazy_over[-1])} times GENERAL's cost against {short(naive_over[-1])}.",
            kind,
        ),
    ]


def clocks(table: Table) -> list[Finding]:
    """Judge what the clock says at the smallest and the largest interval."""
    levels = table.levels("interval")
    first, last = levels[0], levels[-1]
    small = {
        key: table.ratio(f"{CLOCK}_{key}", "algorithm", NAIVE, LAZY, interval=first)
        for key in RATES
    }
    large = table.ratio(f"{CLOCK}_fast", "algorithm", LAZY, NAIVE, interval=last)
    near = table.ratio(f"{CLOCK}_fast", "algorithm", NAIVE, GENERAL, interval=last)
    return [
        Finding(
            f"By the clock too, NAIVE is slower at interval {first}.",
            all_of(above(ratio, 1) for ratio in small.values()),
            f"It takes {small['equal']} as long as LAZY, with a fast stream {small['fast']}.",
            Kind.OURS,
        ),
        Finding(
            f"By the clock too, with a fast stream LAZY is slower than NAIVE at interval {last}.",
            above(large, 1),
            f"It takes {large} as long; NAIVE takes {near} as long as GENERAL.",
            Kind.OURS,
        ),
        Finding(
            f"By the clock too, NAIVE is nearly as fast as GENERAL at interval {last}.",
            below(near, 1.25),
            f"It takes {near} as long: at most 1.25 times.",
            Kind.OURS,
        ),
    ]
