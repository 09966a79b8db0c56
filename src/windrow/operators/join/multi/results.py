"""Results of a join of many inputs: places of rows become columns, a bounded part at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from windrow.operators.join.multi.match import MultiMatch
from windrow.operators.vector import I64, Vector

ROOM = 16_384
"""Results made before their columns are gathered: what was written is still in the cache."""

Gather = Callable[[int, I64], dict[str, Vector]]
"""Takes an input and places of its rows; returns the columns that results need."""


@dataclass(slots=True)
class Room:
    """Where results are made: the place of each input's row; time, and end or weight."""

    inputs: int
    places: I64 = field(init=False)
    times: I64 = field(init=False)

    def __post_init__(self) -> None:
        self._take(ROOM)

    def _take(self, size: int) -> None:
        self.places = np.empty((self.inputs, size), np.int64)
        self.times = np.empty((2, size), np.int64)

    def reserve(self, size: int) -> None:
        """Make room for at least `size` results; those made are lost."""
        if size > self.times.shape[1]:
            self._take(size)

    @property
    def arrays(self) -> tuple[I64, I64]:
        """What the loops write."""
        return self.places, self.times


def gathered(
    match: MultiMatch, room: Room, made: int, gather: Gather
) -> tuple[I64, I64, dict[str, Vector]]:
    """Return time, end or weight, and output columns of the results that the residual keeps."""
    read: dict[str, Vector] = {}
    for i in range(len(match.inputs)):
        read |= gather(i, room.places[i, :made])
    ts, last = room.times[0, :made].copy(), room.times[1, :made].copy()
    if match.residual is None:
        return ts, last, {name: read[name] for name in match.output.names}
    kept = np.flatnonzero(match.residual(read))
    columns = {name: read[name].take(kept) for name in match.output.names}
    return ts[kept], last[kept], columns
