"""Results of a join of many inputs: places of rows become columns, a bounded part at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from windrow.operators.buffers import room_for
from windrow.operators.delta import Delta
from windrow.operators.join.multi.match import MultiMatch
from windrow.operators.state.row_records import RowRecords
from windrow.operators.vector import I64, Bools, Vector

FORESIGHT = 4
"""Times the results so far for which room is made ahead, at most."""

MOST = 1 << 25
"""Words for which room is made before there is any result, at most."""


class Results(Protocol):
    """Takes the results that the loops make, part after part."""

    times: I64
    made: int

    def reserve(self, more: int, share: float) -> None:
        """Make room for the times of more results; those so far come of `share` of arrivals."""

    def take(self, places: I64, count: int) -> None:
        """Take results whose times are written: `places` has a line of rows for each input."""


@dataclass(slots=True)
class Gathered:
    """Columns of results, growing: what is gathered is not copied again, but to make room.

    The columns of the inputs stand one input after the other. Room is made for as many results as
    are expected, then ahead by how many there are of how many arrivals.
    """

    match: MultiMatch
    payloads: tuple[RowRecords, ...]
    expected: int = 0
    made: int = 0
    times: I64 = field(init=False)
    words: I64 = field(init=False)
    valid: Bools = field(init=False)

    def __post_init__(self) -> None:
        self._resize(0)

    def _resize(self, room: int) -> None:
        columns = sum(len(p.fields) for p in self.payloads)
        nullable = sum(len(p.nullable) for p in self.payloads)
        times, words = room_for(2, room), room_for(columns, room)
        valid = np.empty((nullable, room), np.bool_)
        if self.made:
            for new, old in ((times, self.times), (words, self.words), (valid, self.valid)):
                new[:, : self.made] = old[:, : self.made]
        self.times, self.words, self.valid = times, words, valid

    def reserve(self, more: int, share: float) -> None:
        """See `Results`."""
        if self.made + more > self.times.shape[1]:
            guess = min(int(1.1 * self.made / share), FORESIGHT * self.made) if share else 0
            expected = min(self.expected, MOST // (2 + len(self.words)))
            self._resize(max(self.made + more, guess, expected))

    def take(self, places: I64, count: int) -> None:
        """See `Results`. What the residual drops is dropped."""
        line = bits = 0
        for payload, at in zip(self.payloads, places, strict=True):
            payload.gather(at[:count], self.words, self.valid, line, bits, self.made)
            line, bits = line + len(payload.fields), bits + len(payload.nullable)
        start, stop = self.made, self.made + count
        self.made = stop
        if self.match.residual is None:
            return
        kept = start + np.flatnonzero(self.match.residual(self._columns(start, stop)))
        self.made = start + len(kept)
        for lines in (self.times, self.words, self.valid):
            lines[:, start : self.made] = lines[:, kept]

    def _columns(self, start: int, stop: int) -> dict[str, Vector]:
        read: dict[str, Vector] = {}
        line = bits = 0
        for payload in self.payloads:
            lines = self.words[line : line + len(payload.fields), start:stop]
            nulls = self.valid[bits : bits + len(payload.nullable), start:stop]
            read |= payload.vectors(lines, nulls)
            line, bits = line + len(payload.fields), bits + len(payload.nullable)
        return read

    def delta(self) -> Delta:
        """Return all that was gathered."""
        read = self._columns(0, self.made)
        ts, exp = self.times[:, : self.made]
        return Delta(ts, {name: read[name] for name in self.match.output.names}, exp)


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
        """See `Results`. Each part has its own times."""
        del share
        self.times = np.empty((2, more), np.int64)

    def take(self, places: I64, count: int) -> None:
        """See `Results`."""
        read: dict[str, Vector] = {}
        for i in range(len(self.match.inputs)):
            read |= self.columns(i, places[i, :count])
        ts, weight = self.times[:, :count]
        columns = {name: read[name] for name in self.match.output.names}
        part = Delta(ts, columns, None, weight)
        if self.match.residual is not None:
            part = part.take(np.flatnonzero(self.match.residual(read)))
        self.parts.append(part)
