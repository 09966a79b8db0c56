"""Pairs of row numbers that loops make, and how they become columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from windrow.operators.join.match import Match
from windrow.operators.vector import I64, Vector

SMALLEST = 256

Quad = tuple[I64, I64, I64, I64]


def _room(size: int) -> Quad:
    a, b, c, d = (np.empty(size, np.int64) for _ in range(4))
    return a, b, c, d


@dataclass(slots=True)
class PairBuffer:
    """Room for pairs: (left slots, right slots, ts, exp or weight). Reused from step to step."""

    arrays: Quad = field(default_factory=lambda: _room(SMALLEST))

    @property
    def room(self) -> int:
        """How many pairs fit."""
        return len(self.arrays[0])

    def reserve(self, size: int) -> None:
        """Make room for at least `size` pairs, keeping those already made."""
        if size > self.room:
            bigger = _room(max(size, 2 * self.room))
            for old, new in zip(self.arrays, bigger, strict=True):
                new[: len(old)] = old
            self.arrays = bigger

    def fill(self, loop: Callable[[Quad], bool], expected: int) -> None:
        """Run a loop until it is done, with more room each time: it goes on where it stopped."""
        self.reserve(expected)
        while not loop(self.arrays):
            self.reserve(2 * self.room)

    def taken(self, made: int) -> Quad:
        """Return the first `made` pairs: slots to be read at once, times to keep."""
        lefts, rights, ts, last = self.arrays
        return lefts[:made], rights[:made], ts[:made].copy(), last[:made].copy()


def pair_columns(
    match: Match,
    count: int,
    left: Callable[[tuple[str, ...]], dict[str, Vector]],
    right: Callable[[tuple[str, ...]], dict[str, Vector]],
) -> tuple[dict[str, Vector], I64 | None]:
    """Return the output columns of so many pairs, and which pairs the residual keeps (None: all).

    `left` and `right` return at least the named columns of their rows.
    """
    if match.residual is None:
        read = left(match.left.output) | right(match.right.output)
        return {name: read[name] for name in match.output.names}, None
    read = left(match.left.kept) | right(match.right.kept)
    kept = np.flatnonzero(match.residual(read, count))
    return {name: read[name].take(kept) for name in match.output.names}, kept
