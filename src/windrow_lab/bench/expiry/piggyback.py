"""Piggybacking against the better and the worse of the two approaches, in virtual time [NEG 14]."""

from __future__ import annotations

from time import perf_counter

from windrow.core.errors import RunError
from windrow_lab.contest.measurement import EQUAL
from windrow_lab.contest.report import Bar
from windrow_lab.experiments.library.run import run
from windrow_lab.experiments.negatives.base import TUPLES
from windrow_lab.experiments.negatives.piggyback import (
    NegFigure14a,
    NegFigure14b,
    Performance,
    against,
)

NEAR_BAR, END_BAR = 1 / 1.1, 2.0
FIGURES: dict[str, type[Performance]] = {"rate": NegFigure14a, "selectivity": NegFigure14b}


def measure(factor: str) -> list[Bar]:
    """Return how near piggybacking is to the better at the worst level, and how far from the worse.

    Seconds are what the whole figure took to run.
    """
    start = perf_counter()
    figure = FIGURES[factor]()
    try:
        table = run(figure).table
    except RunError as error:
        return [Bar(f"piggyback_{factor}", 0.0, NEAR_BAR, 0.0, 0.0, str(error.detail))]
    seconds = perf_counter() - start
    levels = table.levels(factor)
    near = {level: 1 / against(table, "better", **{factor: level}).value for level in levels}
    ends = [1 / against(table, "worse", **{factor: lev}).value for lev in (levels[0], levels[-1])]
    worst = min(near, key=lambda level: near[level])
    rate = 2 * TUPLES * figure.repeats * len(table.rows) / seconds
    return [
        Bar(f"piggyback_{factor}", near[worst], NEAR_BAR, seconds, rate, EQUAL, {},
            {"against": f"the better of ITA and NTA, at {factor} {worst}"}),
        Bar(f"piggyback_{factor}_ends", min(ends), END_BAR, seconds, rate, EQUAL, {},
            {"against": "the worse of ITA and NTA, at both ends", "ratios": ends}),
    ]  # fmt: skip
