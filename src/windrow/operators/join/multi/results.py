"""Results of a join of many inputs: places of rows become columns, a bounded part at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from windrow.operators.delta import Delta
from windrow.operators.join.growing import Growing
from windrow.operators.join.multi.match import MultiMatch
from windrow.operators.vector import I64, Vector

FORESIGHT = 4
"""Times the results so far for which room is made ahead, at most."""

MOST = 1 << 25
"""Words for which room is made before there is any result, at most."""


class ResultSink(Protocol):
    """Takes the results that the loops make, part after part."""

    times: I64
    made: int

    def reserve(self, more: int, share: float) -> None:
        """Make room for the times of more results; those so far come of `share` of arrivals."""

    def take(self, places: I64, count: int) -> None:
        """Take results whose times are written: `places` has a line of rows for each input."""


@dataclass(slots=True)
class GatheredResults(Growing):
    """Columns of results, growing.

    Room is made for as many results as are expected, then ahead by how many there are of how many
    arrivals.
    """

    expected: int = 0

    def reserve(self, more: int, share: float) -> None:
        """See `ResultSink`."""
        if self.made + more > self.room:
            guess = min(int(1.1 * self.made / share), FORESIGHT * self.made) if share else 0
            expected = min(self.expected, MOST // (2 + len(self.words)))
            self.resize(max(self.made + more, guess, expected))

    @property
    def keeps_all(self) -> bool:
        """Return whether each result that is written stays."""
        return self.match.residual is None

    def take(self, places: I64, count: int) -> None:
        """See `ResultSink`. What the residual drops is dropped."""
        self.gather(places, count)


@dataclass(slots=True)
class Weighted:
    """Results of signed inputs, whose rows are the words of tables: part after part.

    `columns` returns the columns of an input's rows at places, at least those that results need.
    """

    match: MultiMatch
    columns: Callable[[int, I64], dict[str, Vector]]
    made: int = 0
    times: I64 = field(default_factory=lambda: np.empty((2, 0), np.int64))
    parts: list[Delta] = field(default_factory=list)

    def reserve(self, more: int, share: float) -> None:
        """See `ResultSink`. Each part has its own times."""
        del share
        self.times = np.empty((2, more), np.int64)

    def take(self, places: I64, count: int) -> None:
        """See `ResultSink`."""
        read: dict[str, Vector] = {}
        for i in range(len(self.match.inputs)):
            read |= self.columns(i, places[i, :count])
        ts, weight = self.times[:, :count]
        columns = {name: read[name] for name in self.match.output.names}
        part = Delta(ts, columns, None, weight)
        if self.match.residual is not None:
            part = part.take(np.flatnonzero(self.match.residual(read, count)))
        self.parts.append(part)
