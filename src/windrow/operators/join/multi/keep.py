"""Until when a row of a join of many inputs is of use.

    bands    a ──5s── b ──3s── c            a result's newest tuple is of b: at most 5 s after a's,
                                            or of c: at most 8 s after a's

A row is let go of once no tuple to come can be the newest of a result with it: that of each other
input must lie within the shortest path of bands from the row's time [WJOIN 5.2]. Where one input
is not on such a path, or its tuples may be any time late, only the row's own end counts.
"""

from __future__ import annotations

import numpy as np

from windrow.core.time import FOREVER
from windrow.operators.join.match import MultiMatch, after
from windrow.operators.vector import I64

Node = tuple[int, str]
"""A time column of an input."""

Waits = tuple[tuple[tuple[str, int], ...], ...]
"""For each other input, columns of the row and how long after them its tuples may still come."""


def waits(match: MultiMatch, which: int) -> Waits | None:
    """Return how long rows of an input wait for each other input; None if for ever."""
    lags = _lags(match)
    found = []
    for other in range(len(match.inputs)):
        if other == which:
            continue
        ways = tuple(
            (column, distance + lag)
            for (i, column) in lags
            if i == which
            for (j, name), distance in _distances(match, (i, column)).items()
            if j == other and (lag := lags[j, name]) is not None
        )
        # No path of bands to that input: its tuples may match however late they come.
        if not ways:
            return None
        found.append(ways)
    return tuple(found)


def reach(match: MultiMatch, which: int) -> int | None:
    """Return how far behind the clock the time of a row of use lies at most; None if not known.

    Known if bands read the tuples' own time only, and let go of rows.
    """
    own = [lag for (i, _), lag in _lags(match).items() if i == which]
    waiting = waits(match, which)
    if waiting is None or len(own) != 1 or own[0] != 0:
        return None
    return max(min(wait for _, wait in ways) for ways in waiting)


def keep_until(exp: I64, times: dict[str, I64], waiting: Waits | None) -> I64:
    """Return until when rows are of use, of those that end at `exp`."""
    if waiting is None:
        return exp
    last = np.full(len(exp), -FOREVER)
    for ways in waiting:
        soonest = np.full(len(exp), FOREVER)
        for column, wait in ways:
            # Each path bounds the wait by itself, so the shortest one holds.
            soonest = np.minimum(soonest, after(times[column], wait))
        # The row is of use as long as any other input can still bring the newest tuple.
        last = np.maximum(last, soonest)
    kept: I64 = np.minimum(exp, last)
    return kept


def _lags(match: MultiMatch) -> dict[Node, int | None]:
    """Return the time columns that bands read, with how far they may lie behind their tuple."""
    lags: dict[Node, int | None] = {}
    for b in match.bands:
        lags[b.first, b.band.left] = b.band.left_lag
        lags[b.second, b.band.right] = b.band.right_lag
    return lags


def _distances(match: MultiMatch, start: Node) -> dict[Node, int]:
    """Return how much later than `start` each time column can be, at most."""
    far: dict[Node, int] = {start: 0}
    # Bellman and Ford: a shortest path has no more bands than there are.
    for _ in range(len(match.bands) + 1):
        for b in match.bands:
            first, second = (b.first, b.band.left), (b.second, b.band.right)
            for near, end, most in ((first, second, b.band.high), (second, first, -b.band.low)):
                if near in far and far[near] + most < far.get(end, FOREVER):
                    far[end] = far[near] + most
    return far
