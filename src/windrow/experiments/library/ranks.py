"""How numbers go together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from statistics import StatisticsError, correlation


def rank_correlation(one: list[float], other: list[float]) -> float:
    """Return Spearman's ρ; equal values share their mean rank. 0 where one side is all alike.

    >>> rank_correlation([1, 2, 3], [10, 20, 15])
    0.5
    """
    try:
        return correlation(ranks(one), ranks(other))
    except StatisticsError:
        return 0.0


def ranks(values: list[float]) -> list[float]:
    """Return each value's rank from 0.

    >>> ranks([10, 30, 10, 20])
    [0.5, 3.0, 0.5, 2.0]
    """
    ordered = sorted(values)
    return [(bisect_left(ordered, v) + bisect_right(ordered, v) - 1) / 2 for v in values]
