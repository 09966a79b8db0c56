"""The results of a step, gathered a slice at a time into the columns that leave."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.time import FOREVER
from windrow.operators.buffers import room_for
from windrow.operators.delta import Delta
from windrow.operators.join.match import Match
from windrow.operators.state.row_records import RowRecords
from windrow.operators.vector import I64, Bools, Vector

FORESIGHT = 4
"""Times the pairs of a slice for which room is made ahead, at most, beside what there is.

One slice may be dense and the rest sparse: of nine million pairs from a hundredth of the arrivals
a straight guess makes a thousand million.
"""


@dataclass(slots=True)
class Gathered:
    """Columns of pairs, growing: what is gathered is not copied again, but to make room.

    The columns of `left` stand first, then those of `right`.
    """

    match: Match
    left: RowRecords
    right: RowRecords
    endless: bool
    made: int = 0
    room: int = 0
    times: I64 = field(init=False)
    words: I64 = field(init=False)
    valid: Bools = field(init=False)

    def __post_init__(self) -> None:
        self._resize(0)

    def _resize(self, room: int) -> None:
        columns = len(self.left.fields) + len(self.right.fields)
        nullable = len(self.left.nullable) + len(self.right.nullable)
        times, words = room_for(2, room), room_for(columns, room)
        valid = np.empty((nullable, room), np.bool_)
        if self.made:
            for new, old in ((times, self.times), (words, self.words), (valid, self.valid)):
                new[:, : self.made] = old[:, : self.made]
        self.times, self.words, self.valid, self.room = times, words, valid, room

    def more(self, pairs: int, share: float) -> tuple[I64, I64]:
        """Return where ts and exp of more pairs go. They come of `share` of the rest's arrivals."""
        if self.made + pairs > self.room:
            guess = min(int(1.1 * pairs / share), self.made + FORESIGHT * pairs)
            self._resize(self.made + max(pairs, guess))
        ts, exp = self.times[:, self.made : self.made + pairs]
        return ts, exp

    def take(self, lefts: I64, rights: I64) -> None:
        """Gather the columns of pairs whose times are written; drop what the residual drops."""
        line, bits = len(self.left.fields), len(self.left.nullable)
        self.left.gather(lefts, self.words, self.valid, 0, 0, self.made)
        self.right.gather(rights, self.words, self.valid, line, bits, self.made)
        start, stop = self.made, self.made + len(lefts)
        self.made = stop
        if self.match.residual is None:
            return
        kept = start + np.flatnonzero(self.match.residual(self._columns(start, stop)))
        self.made = start + len(kept)
        for lines in (self.times, self.words, self.valid):
            lines[:, start : self.made] = lines[:, kept]

    def _columns(self, start: int, stop: int) -> dict[str, Vector]:
        line, bits = len(self.left.fields), len(self.left.nullable)
        words, valid = self.words[:, start:stop], self.valid[:, start:stop]
        left = self.left.vectors(words[:line], valid[:bits])
        return left | self.right.vectors(words[line:], valid[bits:])

    def delta(self) -> Delta:
        """Return all that was gathered."""
        read = self._columns(0, self.made)
        ts, exp = self.times[:, : self.made]
        columns = {name: read[name] for name in self.match.output.names}
        return Delta(ts, columns, np.full(self.made, FOREVER) if self.endless else exp)
