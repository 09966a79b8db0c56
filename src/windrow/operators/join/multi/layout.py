"""Where the loops of a join of many inputs find what they read of a row.

    rows:   [keep, exp, (older, code, newer) a port, values ...]
             0     1    2     3     4               5 ...

Without bands a row is of use as long as it is there, so `exp` is `keep`, and all else stands one
place earlier: a row of one class takes 32 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from windrow.core.types import is_float
from windrow.kernels.multi_rows import CODE, KEEP, OLDER, PORT_WORDS
from windrow.operators.codec import RowCodec, any_null, column_of, column_words
from windrow.operators.delta import Delta
from windrow.operators.join.match import MultiMatch, equality_codec
from windrow.operators.vector import I64, Vector

MAGNITUDE = np.int64(2**63 - 1)


@dataclass(frozen=True)
class RowLayout:
    """The columns of `rows` for a join; `signed` if departures of the inputs travel."""

    match: MultiMatch
    signed: bool = False

    @cached_property
    def ports(self) -> tuple[tuple[int, ...], ...]:
        """The classes of each input."""
        classes = self.match.equalities
        return tuple(
            tuple(c for c, e in enumerate(classes) if i in e.inputs)
            for i in range(len(self.match.inputs))
        )

    @cached_property
    def values(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each input that bands and comparisons read."""
        found: list[dict[str, None]] = [{} for _ in self.match.inputs]
        for b in self.match.bands:
            found[b.first][b.band.left] = None
            found[b.second][b.band.right] = None
        for c in self.match.compares:
            found[c.first][c.column] = None
            found[c.second][c.other] = None
        return tuple(tuple(names) for names in found)

    @cached_property
    def codecs(self) -> tuple[tuple[RowCodec, ...], ...]:
        """How the columns of each port become words."""
        match = self.match
        return tuple(
            tuple(equality_codec(match.equalities[c], match.inputs[i].schema, i) for c in ports)
            for i, ports in enumerate(self.ports)
        )

    @cached_property
    def exp(self) -> int:
        """The column of the end of a row."""
        return 1 if self.match.bands and not self.signed else KEEP

    @cached_property
    def first(self) -> int:
        """The column of the first port."""
        return self.exp + 1

    @cached_property
    def most_ports(self) -> int:
        """How many ports an input has at most."""
        return max(len(p) for p in self.ports)

    @cached_property
    def most_values(self) -> int:
        """How many values an input has at most."""
        return max(len(v) for v in self.values)

    @property
    def width(self) -> int:
        """Words a row."""
        return self.first + PORT_WORDS * self.most_ports + self.most_values

    def link(self, which: int, of: int) -> int:
        """Return the column of the links of input `which` in class `of`."""
        return self.first + PORT_WORDS * self.ports[which].index(of) + OLDER

    def code(self, which: int, of: int) -> int:
        """Return the column of the code of input `which` in class `of`."""
        return self.first + PORT_WORDS * self.ports[which].index(of) + CODE

    def value(self, which: int, name: str) -> int:
        """Return the column of a value."""
        after = self.first + PORT_WORDS * self.most_ports
        return after + self.values[which].index(name)

    def key_words(self, which: int, delta: Delta) -> list[I64]:
        """Return the words of new rows, for each port."""
        classes = self.match.equalities
        return [
            codec.words([delta.columns[n] for n in classes[c].columns[which]], len(delta))
            for c, codec in zip(self.ports[which], self.codecs[which], strict=True)
        ]

    def value_words(self, which: int, delta: Delta) -> list[I64]:
        """Return the values of new rows as words whose order is theirs."""
        return [ordered_words(delta.columns[name]) for name in self.values[which]]

    def value_column(self, which: int, name: str, words: I64) -> Vector:
        """Return the column whose ordered words these are."""
        type_ = self.match.inputs[which].schema[name].type
        return column_of(_folded(words) if is_float(type_) else words, type_)

    def joinable(self, which: int, delta: Delta) -> Delta:
        """Return the rows that can match at all: without NULL where something is compared."""
        if not len(delta):
            return delta
        classes = self.match.equalities
        names = {n for c in self.ports[which] for n in classes[c].columns[which]}
        nulls = any_null([delta.columns[n] for n in names.union(self.values[which])])
        return delta if nulls is None else delta.take(np.flatnonzero(~nulls))


def ordered_words(column: Vector) -> I64:
    """Return a column's values as int64s in the same order; NaN is the greatest."""
    words = column_words(column)
    return _folded(words) if is_float(column.type) else words


def _folded(bits: I64) -> I64:
    """Return the bits of floats as words in their order, or such words as bits."""
    return np.where(bits < 0, bits ^ MAGNITUDE, bits)
