"""The columns of stored rows, side by side: a row that is looked at anywhere comes in one piece."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.schema import Field
from windrow.core.types import is_float
from windrow.kernels.records import gather_bits, gather_words
from windrow.operators.state.aligned import aligned, row_words
from windrow.operators.state.fields import ArrayField, State
from windrow.operators.vector import I64, Bools, Vector

Moves = list[tuple[slice, slice]]
"""From where to where, piece by piece."""


@dataclass(slots=True)
class RowRecords(State):
    """Rows of `capacity` places; which places hold rows is the owner's business.

        words   [place, k]  the value of column k, floats as their bits; then words of no use
        valid   [j, place]  whether column `nullable[j]` is not NULL

    As `RowColumns`, for rows that are gathered in no order: of four columns apart, each row
    costs four misses where they do not fit the cache. A column gets its line in `valid` when
    its first NULL is announced. Invariant, asserted by `check`: all places are there, and
    `nullable` names each column at most once.
    """

    state_fields = (ArrayField("words"), ArrayField("valid"))

    fields: tuple[Field, ...]
    capacity: int
    words: I64 = field(init=False)
    valid: Bools = field(init=False)
    nullable: list[int] = field(init=False, default_factory=list)
    floats: tuple[bool, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.words = aligned((self.capacity, row_words(len(self.fields))), np.int64)
        self.valid = np.empty((0, self.capacity), np.bool_)
        self.floats = tuple(is_float(f.type) for f in self.fields)

    def admit(self, columns: dict[str, Vector]) -> None:
        """Make room for the NULLs of columns that are to be written."""
        for k, column in enumerate(self.fields):
            valid = columns[column.name].valid
            if valid is not None and k not in self.nullable and not valid.all():
                self.nullable.append(k)
                self.valid = np.vstack([self.valid, np.ones((1, self.capacity), np.bool_)])

    def write(self, where: slice | I64, columns: dict[str, Vector], part: slice) -> None:
        """Put the rows `part` of admitted columns at `where`."""
        for k, column in enumerate(self.fields):
            self.words[where, k] = columns[column.name].data[part].view(np.int64)
        for j, k in enumerate(self.nullable):
            valid = columns[self.fields[k].name].valid
            self.valid[j, where] = True if valid is None else valid[part]

    def gather(self, at: I64, out: I64, out_valid: Bools, line: int, bits: int, start: int) -> None:
        """Copy rows into the columns from `line` and `bits` on, from place `start` on."""
        gather_words(self.words, len(self.fields), at, out, line, start)
        if self.nullable:
            gather_bits(self.valid, at, out_valid, bits, start)

    def vectors(self, lines: I64, bits: Bools) -> dict[str, Vector]:
        """Return gathered lines as columns."""
        taken = {
            f.name: Vector(f.type, lines[k].view(np.float64) if self.floats[k] else lines[k])
            for k, f in enumerate(self.fields)
        }
        for j, k in enumerate(self.nullable):
            taken[self.fields[k].name].valid = bits[j]
        return taken

    def take(self, at: I64) -> dict[str, Vector]:
        """Return the rows at the places, as columns. O(places)."""
        lines = np.empty((len(self.fields), len(at)), np.int64)
        bits = np.empty((len(self.nullable), len(at)), np.bool_)
        self.gather(at, lines, bits, 0, 0, 0)
        return self.vectors(lines, bits)

    def move(self, capacity: int, moves: Moves) -> None:
        """Change the number of places; rows go along."""
        words = aligned((capacity, row_words(len(self.fields))), np.int64)
        valid = np.ones((len(self.nullable), capacity), np.bool_)
        for source, target in moves:
            words[target] = self.words[source]
            valid[:, target] = self.valid[:, source]
        self.words, self.valid, self.capacity = words, valid, capacity

    def invariants(self) -> None:
        """Assert the invariant."""
        words = row_words(len(self.fields))
        assert self.words.shape == (self.capacity, words), "a place has no words"
        assert self.valid.shape == (len(self.nullable), self.capacity), "a place has no bits"
        assert len(set(self.nullable)) == len(self.nullable), "a column has two lines of bits"
