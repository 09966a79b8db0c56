"""How lazy algorithms compare over the interval, by the model [MULTI figure 3]."""

from __future__ import annotations

from windrow.experiments.library.experiment import Experiment, Measurement, Panel
from windrow.experiments.library.spread import short
from windrow.experiments.library.table import Levels, Table
from windrow.experiments.library.verdict import Finding, Kind, known
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
NEARLY = 1.05


def panel(rate: int, letter: str) -> Panel:
    """Return the picture of one rate of the fourth stream."""
    return Panel(
        "interval", f"cost_{rate}", "algorithm", f"Figure 3{letter}: λ4 = {rate}", "interval τ",
        "comparisons a unit of time", log_x=False,
    )  # fmt: skip


class MultiFigure3(Experiment[dict[str, float]]):
    """Should new tuples always come first, if a join is evaluated now and then?

    Claim    with equal streams LAZY is as good as GENERAL, costs rise with the interval, and NAIVE
             is worse, most at small intervals; with a fast stream LAZY is as good as GENERAL for
             small intervals only, and for large ones worse than NAIVE, which is nearly as good.
    Refuted  if any of these does not hold for the best order of each algorithm; nearly is 5 %. That
             GENERAL is never worse follows from its definition, and is a test.
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
        table.ratio(cost, "algorithm", over, under, interval=interval).value
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
            known(max(same) <= ALIKE),
            f"At most {short(max(same))} times.",
            Kind.MODEL,
        ),
        Finding(
            "Equal streams: costs rise with the interval.",
            known(costs == sorted(costs)),
            f"From {costs[0]:,.0f} to {costs[-1]:,.0f}.",
            Kind.MODEL,
        ),
        Finding(
            "Equal streams: NAIVE costs more, most at small intervals.",
            known(min(worse) > 1, worse[0] == max(worse)),
            f"{short(worse[0])} times as much at the smallest, {short(worse[-1])} at the largest.",
            Kind.MODEL,
        ),
    ]


def fast_stream(table: Table) -> list[Finding]:
    """Judge figure 3b."""
    lazy_over = ratios(table, "cost_10", "LAZY", "GENERAL")
    naive_over = ratios(table, "cost_10", "NAIVE", "GENERAL")
    return [
        Finding(
            "A fast stream: NAIVE costs most at small intervals, nearly as GENERAL at large.",
            known(naive_over[0] > lazy_over[0] * ALIKE, naive_over[-1] <= NEARLY),
            f"{short(naive_over[0])} times GENERAL's cost at the smallest, "
            f"{short(naive_over[-1])} times at the largest.",
            Kind.MODEL,
        ),
        Finding(
            "A fast stream: LAZY is as good for small intervals.",
            known(lazy_over[0] <= ALIKE),
            f"{short(lazy_over[0])} times GENERAL's cost at the smallest.",
            Kind.MODEL,
        ),
        Finding(
            "A fast stream: for large intervals LAZY is worse than NAIVE.",
            known(lazy_over[-1] > naive_over[-1]),
            f"{short(lazy_over[-1])} times GENERAL's cost against {short(naive_over[-1])}.",
            Kind.MODEL,
        ),
    ]
