"""How far apart in time the rows of a result may be: windows of pairs, and what they imply.

WINDOW(a, b) = 5, WINDOW(b, c) = 7      a ──4── b ──6── c      so |a - c| <= 10 [WJOIN 5.2]
DWINDOW(a, b) = 5                       a ──4─► b              b is not before a
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from windrow.operators.join.match import MultiMatch
from windrow.operators.vector import I64
from windrow.physical.pair_windows import (
    FARTHEST,
    Paths,
    given_windows,
    shortest,
    why_no_w_join,
)


class Windows(Enum):
    """Which windows the loops go by. Both give one answer."""

    GLOBAL = "gca"  # the widest of all for all; results are tested again [WJOIN 5.1, GCA]
    LOCAL = "lca"  # each pair's own, at each loop; nothing is left to test [WJOIN 5.1, LCA]


@dataclass(frozen=True)
class WindowBounds:
    """The windows of a W-join, as its loops read them.

    `most[k, j]`: by how much a row of stream j may at most be later than one of stream k, as the
    loops go by it; `exact` the same, as it is. `keep[k]`: for how long a row of stream k may be
    matched by one that comes later. `possible` is False where windows contradict each other.
    """

    most: I64
    exact: I64
    keep: I64
    possible: bool

    @property
    def narrow(self) -> bool:
        """Return whether periods differ from loop to loop: not all pairs have one window."""
        return len(np.unique(self.most[~np.eye(len(self.most), dtype=np.bool_)])) > 1

    @property
    def refine(self) -> bool:
        """Return whether the loops let too much through."""
        return not np.array_equal(self.most, self.exact)


def unfit(match: MultiMatch) -> str:
    """Return why a join is none that W-joins can do; empty if they can."""
    return why_no_w_join(len(match.inputs), match.bands)


def reach_of(match: MultiMatch, windows: Windows = Windows.LOCAL) -> WindowBounds:
    """Return the windows of a join that `unfit` has nothing against."""
    given = given_windows(len(match.inputs), match.bands)
    paths = shortest(given)
    exact = np.array(paths, np.int64)
    possible = bool((np.diag(exact) >= 0).all())
    if windows is Windows.GLOBAL:
        most = np.full(exact.shape, widest(given, paths))
        np.fill_diagonal(most, 0)
    else:
        most = exact
    others = np.where(np.eye(len(exact), dtype=np.bool_), -FARTHEST, most)
    return WindowBounds(most, exact, others.max(axis=1), possible)


def paths_of(match: MultiMatch) -> Paths:
    """Return all windows, those that were not given by the shortest path."""
    return shortest(given_windows(len(match.inputs), match.bands))


def widest(given: Paths, paths: Paths) -> int:
    """Return the widest window of any pair: as it was given, or else by its shortest path.

    >>> given = [[0, 4, 9], [4, 0, FARTHEST], [9, FARTHEST, 0]]
    >>> widest(given, shortest(given))
    13
    """
    return max(
        path if most == FARTHEST else most
        for row, others in zip(given, paths, strict=True)
        for most, path in zip(row, others, strict=True)
    )
