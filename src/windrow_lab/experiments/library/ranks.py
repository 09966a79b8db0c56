"""How numbers go together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import combinations
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


def kendall_tau(one: list[float], other: list[float], alike: float = 1.0) -> float:
    """Return Kendall's τ: of all pairs, those in the same order less those in the reverse.

    Pairs within the factor `alike` of each other in `one` do not count. 1 where none counts.

    >>> kendall_tau([1, 2, 3], [10, 30, 20])
    0.3333333333333333
    >>> kendall_tau([1, 1.02, 3], [20, 10, 30], alike=1.05)
    1.0
    """
    agreed, pairs = 0, 0
    for i, j in combinations(range(len(one)), 2):
        low, high = sorted((one[i], one[j]))
        if high > low * alike:
            pairs += 1
            apart = (one[i] - one[j]) * (other[i] - other[j])
            agreed += (apart > 0) - (apart < 0)
    return agreed / pairs if pairs else 1.0
