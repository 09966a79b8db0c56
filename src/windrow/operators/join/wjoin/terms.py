"""What a W-join compares, as lines of words: one a column of an equality, one an operand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from windrow.kernels.wjoin_loops import GE, GT, LE, LT, NE
from windrow.operators.codec import any_null, column_words
from windrow.operators.delta import Delta
from windrow.operators.join.match import MultiMatch
from windrow.operators.join.multi.layout import ordered_words
from windrow.operators.vector import I64

OPS = {"ne": NE, "lt": LT, "le": LE, "gt": GT, "ge": GE}


@dataclass(frozen=True)
class Terms:
    """The equalities and comparisons of a match, ready for the loops.

    An equality's column has one line in all its streams; an operand of a comparison has one of
    its own stream's further lines.
    """

    match: MultiMatch

    @cached_property
    def equal(self) -> I64:
        """Lines of equal values: (line, set of streams, number of the equality)."""
        found = []
        for c, equality in enumerate(self.match.equalities):
            width = len(equality.columns[equality.inputs[0]])
            found += [(self._line(c) + k, streams_of(equality.inputs), c) for k in range(width)]
        return np.array(found, np.int64).reshape(-1, 3)

    @cached_property
    def compares(self) -> I64:
        """Comparisons: (stream, line, op, other stream, its line)."""
        found = [
            (c.first, self._operand(c.first, c.column), OPS[c.op], c.second,
             self._operand(c.second, c.other))
            for c in self.match.compares
        ]  # fmt: skip
        return np.array(found, np.int64).reshape(-1, 5)

    @cached_property
    def members(self) -> I64:
        """The streams of each equality, as sets."""
        return np.array([streams_of(e.inputs) for e in self.match.equalities], np.int64)

    @cached_property
    def friends(self) -> I64:
        """The streams that a condition ties to each stream, as sets."""
        found = np.zeros(len(self.match.inputs), np.int64)
        tied = [e.inputs for e in self.match.equalities]
        tied += [(c.first, c.second) for c in self.match.compares]
        for inputs in tied:
            for i in inputs:
                found[i] |= streams_of(tuple(j for j in inputs if j != i))
        return found

    @property
    def lines(self) -> int:
        """How many lines of words there are."""
        return self._line(len(self.match.equalities)) + max(map(len, self.operands))

    @cached_property
    def operands(self) -> list[list[str]]:
        """The columns of each stream that a comparison reads."""
        found: list[dict[str, None]] = [{} for _ in self.match.inputs]
        for c in self.match.compares:
            found[c.first][c.column] = None
            found[c.second][c.other] = None
        return [list(names) for names in found]

    def _line(self, c: int) -> int:
        """Return the first line of an equality."""
        return sum(len(e.columns[e.inputs[0]]) for e in self.match.equalities[:c])

    def _operand(self, i: int, name: str) -> int:
        return self._line(len(self.match.equalities)) + self.operands[i].index(name)

    def compared(self, i: int) -> list[str]:
        """Return the columns of a stream that an equality or a comparison reads."""
        found = [name for e in self.match.equalities for name in e.columns[i]]
        return list(dict.fromkeys(found + self.operands[i]))

    def joinable(self, i: int, delta: Delta) -> Delta:
        """Return the rows that can match at all: without NULL in what is compared."""
        if not len(delta):
            return delta
        nulls = any_null([delta.columns[name] for name in self.compared(i)])
        return delta if nulls is None else delta.take(np.flatnonzero(~nulls))

    def write(self, i: int, delta: Delta, words: I64, start: int) -> None:
        """Write the words of a stream's rows, from a position on."""
        where = slice(start, start + len(delta))
        for c, equality in enumerate(self.match.equalities):
            for k, name in enumerate(equality.columns[i]):
                words[self._line(c) + k, where] = column_words(delta.columns[name])
        for name in self.operands[i]:
            words[self._operand(i, name), where] = ordered_words(delta.columns[name])


def streams_of(inputs: tuple[int, ...]) -> int:
    """Return a set of streams as bits.

    >>> streams_of((0, 2))
    5
    """
    return sum(1 << i for i in inputs)
