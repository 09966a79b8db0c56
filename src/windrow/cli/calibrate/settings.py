"""Random settings of aggregation joins of two streams: what can be far apart is."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log
from random import Random

from windrow.cli.calibrate.streams import StreamSetting
from windrow.optimize.aggregation_costs import AggregationStream

FEWEST, MOST = 200.0, 60_000.0
"""Results alive: some to group, and not so many that they take all the time."""
TUPLES = 2_000
"""In a run, about: fewer, and steps that do not depend on tuples would count."""
UNGROUPED = 0.4
"""Share of streams without a grouping attribute."""


def settings(count: int, seed: int) -> Iterator[StreamSetting]:
    """Yield settings: w, g, λ and σ each by its logarithm."""
    random = Random(seed)

    def between(low: float, high: float) -> float:
        return exp(random.uniform(log(low), log(high)))

    done = 0
    while done < count:
        share = between(0.0005, 0.5)
        windows = [between(100, 5_000) for _ in range(2)]
        groups = [1 if random.random() < UNGROUPED else round(between(2, 5_000)) for _ in range(2)]
        rates = [1_000.0, 1_000.0 * between(0.2, 5)]
        if FEWEST <= windows[0] * windows[1] * share <= MOST:
            sides = zip(rates, windows, groups, strict=True)
            yield StreamSetting(tuple(AggregationStream(r, w, g, share) for r, w, g in sides))
            done += 1


def stretch_of(setting: StreamSetting) -> float:
    """Return how many seconds have so many tuples as a run should have."""
    return TUPLES / sum(s.rate for s in setting.streams)
