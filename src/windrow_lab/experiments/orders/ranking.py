"""What experiments with orders share: each order by each algorithm, model and measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import ClassVar

from windrow.operators.join.match import Order
from windrow.optimize.join_costs import Streams, eager, lazy, order_of, tree
from windrow.physical.conditions import Method
from windrow_lab.contest.measurement import Measurement
from windrow_lab.experiments.library.experiment import Experiment, Options, Panel
from windrow_lab.experiments.library.ranks import rank_correlation
from windrow_lab.experiments.library.spread import Ratio
from windrow_lab.experiments.library.table import Levels, Row, Table
from windrow_lab.experiments.library.verdict import Outcome, above, all_of, below
from windrow_lab.experiments.orders.algorithms import Algorithm, When
from windrow_lab.experiments.orders.contestants import (
    CLOCK,
    COMPARED,
    RIGHT,
    JoinArena,
    JoinContestant,
)

HASH, TREE = "hash by value", "tree of hash joins"
ALIKE = 1.000001
"""Orders whose costs are within this factor cost the same."""
NEAR = 1.1
"""The best order is the fastest if no other is faster by this factor."""


class OrderExperiment(Experiment[JoinContestant]):
    """Measures some orders by some algorithms over generated streams, with the model's costs."""

    streams: ClassVar[Streams]
    algorithms: ClassVar[Mapping[str, Algorithm]]
    turns = "order"
    together = ("algorithm",)
    panels = (
        Panel(
            "model_cost", CLOCK, "algorithm", "Time and the papers' model",
            "comparisons a unit of time, by the model", "ms per 1,000 tuples", points=True,
        ),
        Panel(
            "model_cost", COMPARED, "algorithm", "Work and the papers' model",
            "comparisons a unit of time, by the model", "comparisons a unit of time", points=True,
        ),
    )  # fmt: skip
    stretch = 100
    """Units of time of a run."""

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        runs, times = self.warmups + self.repeats, 5 if self.options.full else 1
        self.arena = JoinArena.of(self.streams, self.stretch * times, runs, self.seed)

    @property
    def set_up(self) -> str:
        """Describe the streams."""
        streams = "; ".join(
            f"S{i + 1}: λ={s.rate:g}, T={s.window:g}, v={s.values:g}"
            for i, s in enumerate(self.streams)
        )
        return (
            f"Streams {streams}. A run is {self.arena.stretch:,} ticks after all windows are full. "
            f"{RIGHT} `{HASH}` has a bucket for each value, and follows each chain once, as "
            f"windrow's joins on one key do; `{TREE}` joins two at a time and keeps results "
            "between. `model cost` is the papers'; for these two "
            "it is ours: rows of values that all windows have, and rows made."
        )

    def prepare(self, levels: Levels) -> JoinContestant:
        """Fill the windows."""
        order, algorithm = order_of(str(levels["order"])), self.algorithms[str(levels["algorithm"])]
        model = {"model_cost": model_cost(self.streams, algorithm, order)}
        return JoinContestant.filled(self.arena, algorithm, algorithm.orders(order), model)

    def measure(self, case: JoinContestant) -> Measurement:
        """Run the next stretch."""
        return case.run()


def model_cost(streams: Streams, algorithm: Algorithm, order: Order) -> float:
    """Return what the papers' model says of an order; of windrow's own ways, what ours does."""
    if algorithm.method is None:
        return tree(streams, order)
    if algorithm.method is Method.HASH and not algorithm.buckets:
        return indexed_cost(streams)
    sizes = algorithm.buckets or (1,) * len(streams)
    indexed = [replace(s, buckets=b) for s, b in zip(streams, sizes, strict=True)]
    if algorithm.when is When.EAGER:
        return eager(indexed, order)
    return lazy(indexed, order, algorithm.interval)


def indexed_cost(streams: Streams) -> float:
    """Return the rows that are looked at a unit of time if there is a bucket for each value.

    A tuple whose value some window does not have is let go of at once; else the rows of the value
    are looked at once in each window, whatever the order. Values are uniform, and windows have
    those that they share.

    >>> from windrow.optimize.join_costs import JoinStream
    >>> indexed_cost([JoinStream(1, 100, 50), JoinStream(2, 100, 25)])
    8.0
    """
    shared = min(s.values for s in streams)
    rows = [s.size / s.values for s in streams]
    return sum(
        s.rate * shared / s.values * (sum(rows) - mine)
        for s, mine in zip(streams, rows, strict=True)
    )


def of_algorithm(table: Table, name: str) -> Table:
    """Return the rows of an algorithm."""
    return table.where(algorithm=name)


def extremes(table: Table, name: str) -> tuple[Row, Row]:
    """Return the rows with the smallest and the largest of a measure."""
    ordered = sorted(table.rows, key=lambda row: row.number(name))
    return ordered[0], ordered[-1]


def worst_over_best(table: Table, measure: str = CLOCK) -> Ratio:
    """Return how many times more the model's worst order takes than its best."""
    best, worst = extremes(table, "model_cost")
    return worst.over(best, measure)


def best_is_fastest(table: Table) -> tuple[Outcome, str]:
    """Judge whether no order is faster than the model's best; orders of equal cost are alike."""
    least = min(row.number("model_cost") for row in table.rows)
    best = [row for row in table.rows if row.number("model_cost") <= least * ALIKE]
    chosen = min(best, key=lambda row: row.number(CLOCK))
    others = [row for row in table.rows if row is not chosen]
    fastest = min(others, key=lambda row: row.number(CLOCK))
    fewest = min(row.number(COMPARED) for row in table.rows)
    return (
        all_of(below(chosen.over(row, CLOCK), NEAR) for row in others),
        f"{chosen.value('order')} takes {chosen.over(fastest, CLOCK)} as long as "
        f"{fastest.value('order')}, the fastest other, and compares "
        f"{chosen.number(COMPARED) / fewest:.2f} times the fewest",
    )


def pairs_ranked(table: Table) -> list[Outcome]:
    """Judge each pair of orders that the model distinguishes: does the dearer one take longer?"""
    ordered = sorted(table.rows, key=lambda row: row.number("model_cost"))
    return [
        above(dear.over(cheap, CLOCK), 1)
        for cheap, dear in combinations(ordered, 2)
        if dear.number("model_cost") > cheap.number("model_cost") * ALIKE
    ]


def pairs_in_words(table: Table) -> str:
    """Count what the clock says of pairs of orders, and report Spearman's ρ of work and time."""
    pairs = pairs_ranked(table)
    work, time = (
        rank_correlation(
            [row.number("model_cost") for row in table.rows],
            [row.number(measure) for row in table.rows],
        )
        for measure in (COMPARED, CLOCK)
    )
    return (
        f"of {len(pairs)} pairs {pairs.count(Outcome.HELD)} are as the model says, "
        f"{pairs.count(Outcome.REFUTED)} the other way, {pairs.count(Outcome.CLOSE)} too close; "
        f"Spearman's ρ of the model is {work:.2f} with comparisons, {time:.2f} with times"
    )
