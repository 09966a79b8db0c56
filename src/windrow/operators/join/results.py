"""Results of joins: places of rows become columns, a bounded part at a time.

Loops of two inputs either fill a `PairBuffer`, which is read when they are done, or say before
how many pairs a slice makes, for which `GatheredPairs` has room. Loops of many inputs hand over
part after part to a `ResultSink`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from windrow.core.schema import Schema
from windrow.core.time import FOREVER
from windrow.operators.buffers import room_for
from windrow.operators.delta import Delta
from windrow.operators.join.match import Match, MultiMatch, Residual
from windrow.operators.state.row_records import RowRecords
from windrow.operators.vector import I64, Bools, Vector

FORESIGHT = 4
"""Times the results so far, or the pairs of a slice, for which room is made ahead, at most.

One slice may be dense and the rest sparse: of nine million pairs from a hundredth of the arrivals
a straight guess makes a thousand million.
"""

MOST = 1 << 25
"""Words for which room is made before there is any result, at most."""


class ResultCondition(Protocol):
    """What holds of a result besides keys and times, and which columns it has."""

    @property
    def residual(self) -> Residual | None:
        """Return which candidates hold."""

    @property
    def output(self) -> Schema:
        """The columns as emitted."""


@dataclass(slots=True)
class Growing:
    """Columns of results, growing: what is gathered is not copied again, but to make room.

    The columns of the inputs stand one input after the other.
    """

    match: ResultCondition
    payloads: tuple[RowRecords, ...]
    made: int = field(default=0, init=False)
    times: I64 = field(init=False)
    words: I64 = field(init=False)
    valid: Bools = field(init=False)

    def __post_init__(self) -> None:
        self.resize(0)

    @property
    def room(self) -> int:
        """For how many results there is room."""
        return len(self.times[0])

    def resize(self, room: int) -> None:
        """Make room, and keep what there is."""
        columns = sum(len(p.fields) for p in self.payloads)
        nullable = sum(len(p.nullable) for p in self.payloads)
        times, words = room_for(2, room), room_for(columns, room)
        valid = np.empty((nullable, room), np.bool_)
        if self.made:
            for new, old in ((times, self.times), (words, self.words), (valid, self.valid)):
                new[:, : self.made] = old[:, : self.made]
        self.times, self.words, self.valid = times, words, valid

    def gather(self, places: Iterable[I64], count: int) -> None:
        """Gather the rows of results whose times are written; drop what the residual drops."""
        self.copy(places, count, self.made)
        start, stop = self.made, self.made + count
        self.made = stop
        if self.match.residual is None:
            return
        held = self.match.residual(self._columns(start, stop), count)
        kept = start + np.flatnonzero(held)
        self.made = start + len(kept)
        for lines in (self.times, self.words, self.valid):
            # What is dropped leaves a gap: the rest of this part moves up.
            lines[:, start : self.made] = lines[:, kept]

    def copy(self, places: Iterable[I64], count: int, start: int) -> None:
        """Gather the rows of results from place `start` on. Several threads may, each its own."""
        line = bits = 0
        for payload, at in zip(self.payloads, places, strict=True):
            payload.gather(at[:count], self.words, self.valid, line, bits, start)
            line, bits = line + len(payload.fields), bits + len(payload.nullable)

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
class GatheredPairs(Growing):
    """Columns of pairs, growing; with `endless`, pairs that never expire."""

    endless: bool = False

    def more(self, pairs: int, share: float) -> tuple[I64, I64]:
        """Return where ts and exp of more pairs go. They come of `share` of the rest's arrivals."""
        if self.made + pairs > self.room:
            guess = min(int(1.1 * pairs / share), self.made + FORESIGHT * pairs)
            self.resize(self.made + max(pairs, guess))
        ts, exp = self.times[:, self.made : self.made + pairs]
        return ts, exp

    def delta(self) -> Delta:
        """Return all that was gathered."""
        found = super(GatheredPairs, self).delta()
        if self.endless:
            found.exp = np.full(self.made, FOREVER)
        return found


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
