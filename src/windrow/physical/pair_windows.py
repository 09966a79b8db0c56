"""Windows of pairs of streams, and those that follow by the shortest path [WJOIN 5.2]."""

from __future__ import annotations

from windrow.physical.conditions import PairBand

FARTHEST = 2**60
"""A window that is longer is as good as none: times and their sums stay in 64 bits."""

Paths = list[list[int]]
"""By how much a row of one stream may at most be later than one of another; FARTHEST: unbound."""


def why_no_w_join(inputs: int, bands: tuple[PairBand, ...]) -> str:
    """Return why a join is none that W-joins can do; empty if they can."""
    for pair in bands:
        if pair.band.left_lag != 0 or pair.band.right_lag != 0:
            return "a window is on another time than the tuples' own"
    if any(FARTHEST in row for row in shortest(given_windows(inputs, bands))):
        return "windows do not tie all streams together"
    return ""


def given_windows(inputs: int, bands: tuple[PairBand, ...]) -> Paths:
    """Return the windows of pairs as they were given."""
    everyone = range(inputs)
    found = [[0 if k == j else FARTHEST for j in everyone] for k in everyone]
    for pair in bands:
        one, other = pair.first, pair.second
        found[one][other] = min(found[one][other], pair.band.high)
        found[other][one] = min(found[other][one], -pair.band.low)
    return found


def shortest(given: Paths) -> Paths:
    """Return the shortest paths. A path to itself below 0 says that nothing can match.

    >>> shortest([[0, 4, FARTHEST], [4, 0, 6], [FARTHEST, 6, 0]])
    [[0, 4, 10], [4, 0, 6], [10, 6, 0]]
    """
    paths = [list(row) for row in given]
    everyone = range(len(paths))
    for via in everyone:
        for k in everyone:
            for j in everyone:
                if FARTHEST not in (paths[k][via], paths[via][j]):
                    paths[k][j] = min(paths[k][j], paths[k][via] + paths[via][j])
    return [[min(most, FARTHEST) for most in row] for row in paths]
