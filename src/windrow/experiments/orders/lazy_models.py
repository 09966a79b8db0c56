"""How lazy algorithms compare over the interval, by the model [MULTI figure 3]."""

from __future__ import annotations

from windrow.experiments.library.experiment import Experiment, Finding, Measurement, Panel
from windrow.experiments.library.table import Levels, Table
from windrow.experiments.library.words import times
from windrow.optimize.join_costs import (
    JoinStream,
    Streams,
    all_orders,
    best_general_lazy,
    lazy,
    naive_lazy,
)

INTERVALS = (1, 2, 5, 10, 20, 30, 40, 50)
ALIKE = 1.001
"""Costs within a thousandth are the same."""


def panel(rate: int, letter: str) -> Panel:
    """Return the picture of one rate of the fourth stream."""
    return Panel(
        "interval", f"cost_{rate}", "algorithm", f"Figure 3{letter}: λ4 = {rate}", "interval τ",
        "comparisons a unit of time", log_x=False,
    )  # fmt: skip


class MultiFigure3(Experiment[dict[str, float]]):
    """Should new tuples always come first, if a join is evaluated now and then?

    Claim    with equal streams LAZY is as good as GENERAL, costs rise with the interval, and NAIVE
             is worse, most at small intervals; with a fast stream GENERAL is never worse than the
             others, LAZY is as good for small intervals only, and for large ones worse than NAIVE.
    Refuted  if any of these does not hold for the best order of each algorithm.
    Source   [MULTI 4.2, figure 3; the model, as in the paper].
    """

    name = "multi-figure-3"
    title = "lazy algorithms, by the model"
    figures = "3"
    factors = {"interval": INTERVALS, "algorithm": ("NAIVE", "LAZY", "GENERAL")}
    full = {"interval": tuple(range(1, 51))}
    turns = "algorithm"
    panels = (panel(1, "a"), panel(10, "b"))
    warmups, repeats = 0, 1
    missing = {
        "measured times": "The algorithms are those of the multi-way join operator, which windrow "
        "does not have yet. The paper shows the model alone, too."
    }
    set_up = (
        "Four streams with T = 100, v = 50 and λ = 1, but for λ4: 1 (figure 3a) or 10 (3b). Each "
        "algorithm has the best of its orders at each interval."
    )

    def prepare(self, levels: Levels) -> dict[str, float]:
        """Compute the costs for both rates."""
        algorithm, interval = str(levels["algorithm"]), float(levels["interval"])
        return {
            f"cost_{rate}": best_cost(algorithm, streams_with(rate), interval) for rate in (1, 10)
        }

    def measure(self, case: dict[str, float]) -> Measurement:
        """Return the costs."""
        return Measurement(counts=case)

    def findings(self, table: Table) -> list[Finding]:
        """Compare the curves."""
        return [*equal_streams(table), *fast_stream(table)]


def streams_with(rate: float) -> Streams:
    """Return three streams alike and a fourth of some rate."""
    return [JoinStream(1, 100, 50)] * 3 + [JoinStream(rate, 100, 50)]


def best_cost(algorithm: str, streams: Streams, interval: float) -> float:
    """Return the cost of an algorithm's best order."""
    if algorithm == "GENERAL":
        return best_general_lazy(streams, interval)
    cost = lazy if algorithm == "LAZY" else naive_lazy
    return min(cost(streams, order, interval) for order in all_orders(len(streams)))


def ratios(table: Table, cost: str, over: str, under: str) -> list[float]:
    """Return how many times more one algorithm costs than another, interval by interval."""
    return [
        table.ratio(cost, "algorithm", over, under, interval=interval)
        for interval in table.levels("interval")
    ]


def equal_streams(table: Table) -> list[Finding]:
    """Judge figure 3a."""
    same = ratios(table, "cost_1", "LAZY", "GENERAL")
    worse = ratios(table, "cost_1", "NAIVE", "LAZY")
    costs = [row.number("cost_1") for row in table.where(algorithm="LAZY").rows]
    return [
        Finding(
            "Equal streams: LAZY costs as much as GENERAL.",
            max(same) <= ALIKE,
            f"At most {times(max(same))}.",
        ),
        Finding(
            "Equal streams: costs rise with the interval.",
            costs == sorted(costs),
            f"From {costs[0]:,.0f} to {costs[-1]:,.0f}.",
        ),
        Finding(
            "Equal streams: NAIVE costs more, most at small intervals.",
            min(worse) > 1 and worse[0] == max(worse),
            f"{times(worse[0])} as much at the smallest, {times(worse[-1])} at the largest.",
        ),
    ]


def fast_stream(table: Table) -> list[Finding]:
    """Judge figure 3b."""
    lazy_over = ratios(table, "cost_10", "LAZY", "GENERAL")
    naive_over = ratios(table, "cost_10", "NAIVE", "GENERAL")
    return [
        Finding(
            "A fast stream: GENERAL is never worse than the others.",
            min(lazy_over + naive_over) >= 1 / ALIKE,
            f"LAZY costs up to {times(max(lazy_over))}, NAIVE up to {times(max(naive_over))}.",
        ),
        Finding(
            "A fast stream: LAZY is as good for small intervals.",
            lazy_over[0] <= ALIKE,
            f"{times(lazy_over[0])} GENERAL's cost at the smallest.",
        ),
        Finding(
            "A fast stream: for large intervals LAZY is worse than NAIVE.",
            lazy_over[-1] > naive_over[-1],
            f"{times(lazy_over[-1])} GENERAL's cost against {times(naive_over[-1])}.",
        ),
    ]
