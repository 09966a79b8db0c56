"""Hash tables of few and many buckets, over the interval and over streams [MULTI figure 4]."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from windrow.optimize.join_costs import JoinStream, all_orders, lazy
from windrow.physical.conditions import Method
from windrow_lab.contest.measurement import Measurement
from windrow_lab.experiments.library.experiment import Experiment, Options, Panel
from windrow_lab.experiments.library.spread import Ratio
from windrow_lab.experiments.library.table import Levels, Row, Table
from windrow_lab.experiments.library.verdict import (
    Finding,
    Kind,
    Outcome,
    above,
    all_of,
    below,
    known,
)
from windrow_lab.experiments.orders.algorithms import Algorithm, When
from windrow_lab.experiments.orders.contestants import (
    CLOCK,
    COMPARED,
    RIGHT,
    JoinArena,
    JoinContestant,
)
from windrow_lab.experiments.orders.ranking import HASH

NLJ = "NLJ"
TABLES = {"HASH2": 2, "HASH10": 10, "HASH30": 30}
METHODS = (NLJ, *TABLES)
WORDS = "ms per 1,000 tuples"
BUCKETS_ARE_CHAINS = (
    "A bucket is a chain of rows, and k is compared along it; a row leaves at the far end of its "
    "chain when its window moves on, which costs the same however many buckets there are."
)


class MultiFigure4a(Experiment[JoinContestant]):
    """How often should a join be evaluated and old tuples let go of, and how large be its tables?

    Claim    NLJ is the slowest and the join with the largest hash tables the fastest, with the
             greatest relative improvement between NLJ and two buckets; very frequent expiration and
             re-evaluation are inefficient, and so are very rare ones; the optimal interval grows
             with the number of buckets (4, 15 and 30 for 2, 10 and 30 buckets).
    Refuted  if at some interval one with more buckets is not faster; if NLJ's time over HASH2's is
             not above HASH2's over HASH10's and that not above HASH10's over HASH30's; if by one of
             the four an interval of 1, or the largest, is not slower than its optimal one; if one
             with more buckets does not lose by the optimal interval of one with fewer.
    Source   [MULTI 6.3 and 6.4, figure 4(a)].
    """

    name = "multi-figure-4a"
    title = "the interval of evaluation and expiry"
    figures = "4(a)"
    factors = {"algorithm": (*METHODS, HASH), "interval": (1, 2, 4, 5, 10, 20, 25, 50)}
    full = {"interval": (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 25, 30, 40, 50)}
    turns = "interval"
    together = ("algorithm",)
    panels = (
        Panel("interval", CLOCK, "algorithm", "Time", "interval τ", WORDS, log_x=False),
        Panel(
            "interval", COMPARED, "algorithm", "Work", "interval τ", "comparisons a unit of time",
            log_x=False,
        ),
    )  # fmt: skip
    streams = (JoinStream(1, 100, 50),) * 4
    repeats = 7

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        stretch = 6_000 if self.options.full else 2_000
        self.arena = JoinArena.of(self.streams, stretch, self.warmups + self.repeats, self.seed)

    @property
    def set_up(self) -> str:
        """Describe the streams."""
        return (
            "Four streams with λ = 1, T = 100, v = 50, and a table of 2, 10 or 30 buckets on each; "
            f"`{HASH}` has a bucket for each value, which is windrow's. {BUCKETS_ARE_CHAINS} "
            f"A run is {self.arena.units:g} units of time. {RIGHT}"
        )

    def prepare(self, levels: Levels) -> JoinContestant:
        """Fill the windows."""
        name, interval = str(levels["algorithm"]), int(levels["interval"])
        buckets = (TABLES[name],) * 4 if name in TABLES else ()
        method = Method.LOOPS if name == NLJ else Method.HASH
        algorithm = Algorithm(method, When.LATE, interval, buckets, interval)
        return JoinContestant.filled(self.arena, algorithm, algorithm.orders((0, 1, 2, 3)))

    def measure(self, case: JoinContestant) -> Measurement:
        """Run the next stretch."""
        return case.run()

    def findings(self, table: Table) -> list[Finding]:
        """Judge tables and intervals."""
        curves = {name: table.where(algorithm=name) for name in METHODS}
        return [*self.tables(table), *self.intervals(curves), self.ours(table)]

    def tables(self, table: Table) -> list[Finding]:
        """Judge what more buckets give."""
        every = table.levels("interval")
        gains = {
            (few, many): [
                table.ratio(CLOCK, "algorithm", few, many, interval=interval) for interval in every
            ]
            for few, many in pairwise(METHODS)
        }
        middle = every[len(every) // 2]
        steps = [
            table.ratio(CLOCK, "algorithm", few, many, interval=middle)
            for few, many in pairwise(METHODS)
        ]
        work = [
            table.ratio(COMPARED, "algorithm", few, many, interval=middle)
            for few, many in pairwise(METHODS)
        ]
        costs = "; ".join(
            f"{few} takes {step} as long as {many} and compares {less} as much"
            for (few, many), step, less in zip(pairwise(METHODS), steps, work, strict=True)
        )
        return [
            Finding(
                "The NLJ is the slowest and the hash join with the largest hash table the fastest.",
                all_of(above(gain, 1) for found in gains.values() for gain in found),
                f"At τ = {middle}: {costs}.",
            ),
            Finding(
                "The greatest relative improvement is between the NLJ and two buckets; thereafter "
                "the marginal improvement decreases.",
                all_of(above(one.over(next_), 1) for one, next_ in pairwise(steps)),
                "The same ratios.",
            ),
        ]

    def intervals(self, curves: dict[str, Table]) -> list[Finding]:
        """Judge the optimal intervals."""
        best = {name: fastest(curve) for name, curve in curves.items()}
        often = {name: curve.rows[0].over(best[name], CLOCK) for name, curve in curves.items()}
        seldom = {name: curve.rows[-1].over(best[name], CLOCK) for name, curve in curves.items()}
        optima = ", ".join(f"{name} {row.value('interval')}" for name, row in best.items())
        return [
            Finding(
                "Very frequent expiration and re-evaluation are inefficient.",
                all_of(above(ratio, 1) for ratio in often.values()),
                f"Optimal intervals: {optima}. At interval 1: {each(often)} as long.",
            ),
            Finding(
                "The rate drops off when the interval is large.",
                all_of(above(ratio, 1) for ratio in seldom.values()),
                f"At the largest interval: {each(seldom)} as long as at the optimal one.",
            ),
            Finding(
                "The more buckets, the longer the optimal interval.",
                all_of(later(curves[few], curves[many]) for few, many in pairwise(METHODS)),
                f"Optimal intervals: {optima}; the paper: HASH2 4, HASH10 15, HASH30 30.",
            ),
        ]

    def ours(self, table: Table) -> Finding:
        """Judge windrow's own table."""
        ratios = [
            table.ratio(CLOCK, "algorithm", "HASH30", HASH, interval=interval)
            for interval in table.levels("interval")
        ]
        return Finding(
            "A bucket for each value is never slower than thirty.",
            all_of(above(ratio, 1) for ratio in ratios),
            f"HASH30 takes {', '.join(map(str, ratios))} as long.",
            Kind.OURS,
        )


def fastest(curve: Table) -> Row:
    """Return the row of the optimal interval."""
    return min(curve.rows, key=lambda row: row.number(CLOCK))


def later(few: Table, many: Table) -> Outcome:
    """Judge whether one with more buckets loses by the optimal interval of one with fewer."""
    own, other = fastest(many), fastest(few)
    interval = other.number("interval")
    if own.number("interval") <= interval:
        backwards = above(many.row(interval=other.value("interval")).over(own, CLOCK), 1)
        return Outcome.REFUTED if backwards is Outcome.HELD else Outcome.CLOSE
    return above(many.row(interval=other.value("interval")).over(own, CLOCK), 1)


def each(ratios: dict[str, Ratio]) -> str:
    """State a ratio for each of some names."""
    return ", ".join(f"{name} {ratio}" for name, ratio in ratios.items())


EQUAL_SIZES, ONE, FIVE, TEN = "Equal", "1 to slow", "5 to slow", "10 to slow"
SLOW = {ONE: 1, FIVE: 5, TEN: 10}
SHOWN = 12
"""The average number of buckets at which the paper's best strategy has its best rate."""


class MultiFigure4b(Experiment[JoinContestant]):
    """Should a fast stream have the larger hash table?

    Claim    allocating more buckets to a large window improves performance: five to slow streams
             works very well; ten do not work as well, but surpass it if there are more; one is best
             at eight on average, and more hurt, as large tables are dear to expire. With equal
             sizes, performance gradually increases with the number of buckets.
    Refuted  if at 12 buckets on average equal sizes do not take longer than five to slow; if ten to
             slow do not take longer than five there, or still do at the largest; if one to slow is
             not slower at the largest than at eight; if equal sizes do not become faster.
    Source   [MULTI 6.5, figure 4(b)].
    """

    name = "multi-figure-4b"
    title = "buckets for slow and for fast streams"
    figures = "4(b)"
    factors = {
        "buckets": (8, 10, SHOWN, 16, 20),
        "algorithm": (EQUAL_SIZES, ONE, FIVE, TEN, HASH),
    }
    full = {"buckets": (8, 9, 10, 11, SHOWN, 13, 16, 20, 30)}
    turns = "algorithm"
    together = ("buckets",)
    panels = (
        Panel("buckets", CLOCK, "algorithm", "Time", "buckets, on average", WORDS, log_x=False),
        Panel(
            "buckets", COMPARED, "algorithm", "Work", "buckets, on average",
            "comparisons a unit of time", log_x=False,
        ),
    )  # fmt: skip
    streams = (*(JoinStream(1, 100, 50),) * 3, JoinStream(50, 100, 50))
    interval = 5
    repeats = 7

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        stretch = 400 if self.options.full else 100
        self.arena = JoinArena.of(self.streams, stretch, self.warmups + self.repeats, self.seed)

    @property
    def set_up(self) -> str:
        """Describe the streams."""
        return (
            "Three streams with λ = 1 and one with 50, T = 100, v = 50; evaluated, and old tuples "
            "let go of, every five units of time, in the order that the model likes best for "
            "these tables (`model cost`). The slow streams' tables have as many buckets as the "
            "strategy says, the fast one's the rest of four times the average; "
            f"`{HASH}` has a bucket for each value. "
            f"{BUCKETS_ARE_CHAINS} Where two sizes differ, every row is in a chain for each. "
            f"A run is {self.arena.units:g} units of time. {RIGHT}"
        )

    def prepare(self, levels: Levels) -> JoinContestant:
        """Fill the windows."""
        name, average = str(levels["algorithm"]), int(levels["buckets"])
        sizes = sizes_of(name, average)
        indexed = [
            replace(s, buckets=b) for s, b in zip(self.streams, sizes or (50,) * 4, strict=True)
        ]
        cost, order = min((lazy(indexed, o, self.interval), o) for o in all_orders(4))
        algorithm = Algorithm(Method.HASH, When.LATE, self.interval, sizes, self.interval)
        model = {"model_cost": cost} if sizes else {}
        return JoinContestant.filled(self.arena, algorithm, algorithm.orders(order), model)

    def measure(self, case: JoinContestant) -> Measurement:
        """Run the next stretch."""
        return case.run()

    def findings(self, table: Table) -> list[Finding]:
        """Judge the strategies by the clock; work stands beside."""
        sizes = table.levels("buckets")
        low, high = sizes[0], sizes[-1]
        gain = table.ratio(CLOCK, "algorithm", EQUAL_SIZES, FIVE, buckets=SHOWN)
        less = table.ratio(COMPARED, "algorithm", EQUAL_SIZES, FIVE, buckets=SHOWN)
        model = table.ratio("model_cost", "algorithm", EQUAL_SIZES, FIVE, buckets=SHOWN)
        ten = table.ratio(CLOCK, "algorithm", TEN, FIVE, buckets=SHOWN)
        ten_last = table.ratio(CLOCK, "algorithm", TEN, FIVE, buckets=high)
        one = table.ratio(CLOCK, "buckets", high, low, algorithm=ONE)
        equal = table.ratio(CLOCK, "buckets", low, high, algorithm=EQUAL_SIZES)
        rows = [row.number(COMPARED) for row in table.where(algorithm=EQUAL_SIZES).rows]
        own = table.ratio(CLOCK, "algorithm", FIVE, HASH, buckets=SHOWN)
        return [
            Finding(
                "Allocating more hash buckets to a large window improves performance: 5 to slow.",
                above(gain, 1),
                f"At {SHOWN} on average, equal sizes take {gain} as long and compare {less} as "
                f"much; by the paper's own model {model}.",
            ),
            Finding(
                "10 to slow does not work as well, but surpasses it if more are available.",
                all_of([above(ten, 1), below(ten_last, 1)]),
                f"It takes {ten} as long at {SHOWN} on average, and {ten_last} at {high}.",
            ),
            Finding(
                "1 to slow is best at eight on average: more hurt.",
                above(one, 1),
                f"At {high} it takes {one} as long as at {low}.",
            ),
            Finding(
                "With equal sizes, performance gradually increases with the number of buckets.",
                all_of([above(equal, 1), known(rows == sorted(rows, reverse=True))]),
                f"At {low} it takes {equal} as long as at {high}; comparisons go from "
                f"{rows[0]:,.0f} to {rows[-1]:,.0f} a unit of time.",
            ),
            Finding(
                "A bucket for each value beats them all.",
                above(own, 1),
                f"5 to slow takes {own} as long at {SHOWN} on average.",
                Kind.OURS,
            ),
        ]


def sizes_of(name: str, average: int) -> tuple[int, ...]:
    """Return the buckets of each stream's table.

    >>> sizes_of("5 to slow", 12), sizes_of("Equal", 12)
    ((5, 5, 5, 33), (12, 12, 12, 12))
    """
    if name == HASH:
        return ()
    slow = SLOW.get(name, average)
    return (slow, slow, slow, 4 * average - 3 * slow)
