"""Eager and lazy evaluation, with and without restore, over the interval [THESIS 5.4.3]."""

from __future__ import annotations

from windrow.optimize.join_costs import order_of
from windrow.physical.conditions import Method
from windrow_lab.contest.measurement import Measurement
from windrow_lab.experiments.library.experiment import Experiment, Options, Panel
from windrow_lab.experiments.library.spread import Ratio
from windrow_lab.experiments.library.table import Level, Levels, Row, Table
from windrow_lab.experiments.library.verdict import Finding, Kind, above, all_of
from windrow_lab.experiments.orders.algorithms import Algorithm, When
from windrow_lab.experiments.orders.contestants import (
    CLOCK,
    COMPARED,
    RIGHT,
    JoinArena,
    JoinContestant,
    Team,
    run_team,
)
from windrow_lab.experiments.orders.streams import THESIS_5_5

ORDER = order_of("2134")
STREAMS = THESIS_5_5
EAGER, LAZY, LAST, LOOPED = "eager", "lazy", "restore, times last", "restore, times in loops"
WHEN = {EAGER: When.EAGER, LAZY: When.LOSSY, LAST: When.RESTORE, LOOPED: When.LATE}
INTERVALS = (1, 2, 5, 10, 20, 50)
RESTORE = "restore"
"""The faster of its two ways."""
SMALL = 5
"""From this interval on lazy evaluation must beat eager."""
LOOPS, TWO, FIVE, VALUE, TREE = "nlj", "hash2", "hash5", "by_value", "tree"
BUCKETS = {LOOPS: (), TWO: (2, 2, 2, 2), FIVE: (5, 5, 5, 5), VALUE: ()}
STRETCH = 100
"""Units of time of a run: a multiple of every interval."""


def panel(method: str, title: str) -> Panel:
    """Return the picture of the times of a method."""
    return Panel("interval", f"{CLOCK}_{method}", "algorithm", title, "interval Δ", "ms per 1,000")


class ThesisLazy(Experiment[Team]):
    """Does it pay to evaluate a join now and then, and what does it cost to lose nothing by it?

    Claim    lazy evaluation is more efficient than eager, and more so as the interval grows; to
             restore what would be lost has a noticeable price, yet stays below eager. Eager
             evaluation gets dearer the more seldom it expires. With five buckets all is faster, and
             the differences are less noticeable.
    Refuted  if by nested loops or by two buckets, from interval 5 on, lazy takes as long as eager,
             or at the largest interval as long as at the smallest; restore at the largest does not
             take longer than lazy, or not less than eager, by the faster way; if eager does not
             take longer at the largest interval of expiry; if by five buckets eager is not faster
             than by nested loops, or lazy gains as much as there.
    Source   [THESIS 5.4.3, figures 5.3 and 5.4; streams of table 5.5 with λ1 = 10].
    """

    name = "thesis-5-lazy"
    title = "eager and lazy evaluation"
    figures = "5.3, 5.4"
    factors = {"interval": INTERVALS, "algorithm": tuple(WHEN)}
    turns = "algorithm"
    together = ("interval",)
    panels = (
        panel(LOOPS, "Figure 5.3: nested loops"),
        panel(TWO, "Figure 5.4: two buckets"),
        panel(FIVE, "Figure 5.4: five buckets"),
        Panel(
            "interval", f"results_{LOOPS}", "algorithm", "Results emitted", "interval Δ",
            "results per 1,000 tuples", log_y=False,
        ),
    )  # fmt: skip

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        stretch = STRETCH * (5 if self.options.full else 1)
        self.arena = JoinArena.of(STREAMS, stretch, self.warmups + self.repeats, self.seed)

    @property
    def set_up(self) -> str:
        """Describe algorithms and streams."""
        return (
            "The order is S2, S1, S3, S4, windows are 100 units of time, and a run is "
            f"{self.arena.units:g}. Δ is the interval of expiry of eager evaluation, and that of "
            "evaluation of the others. Lazy evaluation joins new tuples of a key together "
            "(Algorithm 4). Restore keeps what has died since: new tuples of a key are joined "
            "together and times compared last (Algorithm 5), or each by itself and times compared "
            f"in every loop; the faster of the two is judged. `{VALUE}` has a bucket for each "
            f"value, `{TREE}` is a tree of binary hash joins: both are windrow's. {RIGHT}"
        )

    def prepare(self, levels: Levels) -> Team:
        """Fill the windows by all methods."""
        when, interval = WHEN[str(levels["algorithm"])], int(levels["interval"])
        often = 0 if when is When.EAGER else interval
        expire = interval if when is When.EAGER else 0
        team = {}
        for name, buckets in BUCKETS.items():
            method = Method.LOOPS if name == LOOPS else Method.HASH
            algorithm = Algorithm(method, when, often, buckets, 0 if name == VALUE else expire)
            team[name] = JoinContestant.filled(self.arena, algorithm, algorithm.orders(ORDER))
        if when in (When.EAGER, When.LOSSY):
            tree = Algorithm(None, when, often)
            team[TREE] = JoinContestant.filled(self.arena, tree, tree.orders(ORDER))
        return team

    def measure(self, case: Team) -> Measurement:
        """Run the next stretch by all methods."""
        return run_team(case)

    def findings(self, table: Table) -> list[Finding]:
        """Judge nested loops and two buckets, then five, then windrow's own."""
        return [
            *curves(table, LOOPS, "By nested loops"),
            *curves(table, TWO, "By two buckets"),
            *five_buckets(table),
            *ours(table),
        ]


def row_of(table: Table, method: str, name: str, interval: Level) -> Row:
    """Return the row of an evaluation; of restore, that of its faster way."""
    rows = [
        table.row(interval=interval, algorithm=one)
        for one in ((LAST, LOOPED) if name == RESTORE else (name,))
    ]
    return min(rows, key=lambda row: row.number(f"{CLOCK}_{method}"))


def times_longer(table: Table, method: str, one: str, other: str, interval: Level) -> Ratio:
    """Return how many times longer one evaluation takes than another."""
    above, below = (row_of(table, method, name, interval) for name in (one, other))
    return above.over(below, f"{CLOCK}_{method}")


def over_time(table: Table, method: str, name: str) -> Ratio:
    """Return how many times longer an evaluation takes at the smallest interval."""
    levels = table.levels("interval")
    first, last = (row_of(table, method, name, level) for level in (levels[0], levels[-1]))
    return first.over(last, f"{CLOCK}_{method}")


def curves(table: Table, method: str, said: str) -> list[Finding]:
    """Judge the curves of a method."""
    levels = table.levels("interval")
    high, large = levels[-1], [n for n in levels if float(n) >= SMALL]
    gains = {n: times_longer(table, method, EAGER, LAZY, n) for n in large}
    work = table.ratio(f"{COMPARED}_{method}", "algorithm", EAGER, LAZY, interval=high)
    falls = {name: over_time(table, method, name) for name in (LAZY, RESTORE)}
    rises = over_time(table, method, EAGER).inverse
    return [
        Finding(
            f"{said}, lazy evaluation is more efficient than eager.",
            all_of(above(gain, 1) for gain in gains.values()),
            "Eager takes "
            + ", ".join(f"{gain} as long at Δ = {n}" for n, gain in gains.items())
            + f", and compares {work} as much there.",
        ),
        restored(table, method, said),
        Finding(
            f"{said}, both lazy algorithms become more efficient as Δ increases.",
            all_of(above(fall, 1) for fall in falls.values()),
            f"At Δ = {levels[0]} lazy takes {falls[LAZY]} as long as at {high}, restore "
            f"{falls[RESTORE]}.",
        ),
        Finding(
            f"{said}, the cost of eager evaluation increases with the interval of expiry.",
            above(rises, 1),
            f"At Δ = {high} it takes {rises} as long as at {levels[0]}.",
        ),
    ]


def restored(table: Table, method: str, said: str) -> Finding:
    """Judge the price of restore at the largest interval."""
    high = table.levels("interval")[-1]
    price = times_longer(table, method, RESTORE, LAZY, high)
    left = times_longer(table, method, EAGER, RESTORE, high)
    ways = times_longer(table, method, LAST, LOOPED, high)
    return Finding(
        f"{said}, there is a noticeable penalty for restore, which stays below eager.",
        all_of([above(price, 1), above(left, 1)]),
        f"At Δ = {high} restore takes {price} as long as lazy, and eager {left} as long as "
        f"restore. To compare times last takes {ways} as long as in the loops.",
    )


def five_buckets(table: Table) -> list[Finding]:
    """Judge five buckets against none."""
    high = table.levels("interval")[-1]
    row = table.row(interval=high, algorithm=EAGER)
    faster = Ratio.of(row.spread(f"{CLOCK}_{LOOPS}"), row.spread(f"{CLOCK}_{FIVE}"))
    gains = {m: times_longer(table, m, EAGER, LAZY, high) for m in (LOOPS, FIVE)}
    return [
        Finding(
            "With five buckets the query is much faster to execute.",
            above(faster, 1),
            f"Eager nested loops take {faster} as long at Δ = {high}.",
        ),
        Finding(
            "With five buckets the differences among the algorithms are less noticeable.",
            above(gains[LOOPS].over(gains[FIVE]), 1),
            f"Eager takes {gains[FIVE]} as long as lazy, by nested loops {gains[LOOPS]}.",
        ),
    ]


def ours(table: Table) -> list[Finding]:
    """Judge what windrow runs, and say what is lost."""
    high = table.levels("interval")[-1]
    kept = table.ratio(f"results_{LOOPS}", "algorithm", LAZY, LAST, interval=high).value
    gain = times_longer(table, VALUE, EAGER, LAZY, high)
    tree = times_longer(table, TREE, EAGER, LAZY, high)
    return [
        Finding(
            "With a bucket for each value, lazy is faster than eager.",
            above(gain, 1),
            f"Eager takes {gain} as long at Δ = {high}; lazy loses {1 - kept:.0%} of the results.",
            Kind.OURS,
        ),
        Finding(
            "As a tree of hash joins, lazy is faster than eager.",
            above(tree, 1),
            f"Eager takes {tree} as long at Δ = {high}.",
            Kind.OURS,
        ),
    ]
