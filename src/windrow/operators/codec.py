"""Rows as words: how the columns of a key or a whole row become int64s that are equal iff they are.

The layout follows from the schema alone, so that a row has the same words in every batch: one word
a column, floats as canonical bits (-0.0 is 0.0, all NaNs are one), then, if any column is
nullable, one word of NULL bits. NULLs are equal to one another here; joins drop them first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from windrow.core.schema import Field
from windrow.core.types import is_float
from windrow.kernels.records import gather_word, gather_words
from windrow.operators.vector import I64, Bools, Vector

CANONICAL_NAN = np.float64("nan").view(np.int64)


@dataclass(frozen=True)
class RowCodec:
    """Between the columns of `fields` and rows of `width` words."""

    fields: tuple[Field, ...]

    @cached_property
    def nullable(self) -> bool:
        """Return whether there is a word of NULL bits."""
        return any(f.nullable for f in self.fields)

    @cached_property
    def width(self) -> int:
        """Words a row."""
        return len(self.fields) + self.nullable

    def words(self, columns: list[Vector], rows: int) -> I64:
        """Return the rows as words, shape (rows, width). One column of words is not copied."""
        if self.width == 1 and columns:
            return np.ascontiguousarray(column_words(columns[0])).reshape(rows, 1)
        out = np.empty((rows, self.width), np.int64)
        for i, column in enumerate(columns):
            out[:, i] = column_words(column)
        if self.nullable:
            nulls = out[:, -1]
            nulls[:] = 0
            for i, column in enumerate(columns):
                if column.valid is not None:
                    nulls |= (~column.valid).astype(np.int64) << i
        return out

    def columns(self, words: I64) -> list[Vector]:
        """Return the columns of rows of words."""
        return self._columns(np.ascontiguousarray(words.T))

    def columns_at(self, words: I64, rows: I64) -> list[Vector]:
        """Return the columns of the chosen rows of words. O(rows)."""
        lines = np.empty((self.width, len(rows)), np.int64)
        gather_words(words, self.width, rows, lines, 0, 0)
        return self._columns(lines)

    def column_at(self, words: I64, rows: I64, place: int) -> Vector:
        """Return one column of the chosen rows of words, without its NULLs. O(rows)."""
        line = np.empty(len(rows), np.int64)
        gather_word(words, place, rows, line)
        return Vector(
            self.fields[place].type, line.view(np.float64) if self._floats[place] else line
        )

    def _columns(self, lines: I64) -> list[Vector]:
        """Return the columns of lines of words."""
        made = [
            Vector(f.type, lines[i].view(np.float64) if self._floats[i] else lines[i])
            for i, f in enumerate(self.fields)
        ]
        if self.nullable and lines[-1].any():
            for i, field in enumerate(self.fields):
                if field.nullable:
                    made[i].valid = (lines[-1] >> i) & 1 == 0
        return made

    @cached_property
    def _floats(self) -> tuple[bool, ...]:
        return tuple(is_float(f.type) for f in self.fields)


def column_words(column: Vector) -> I64:
    """Return a column's values as int64s, equal iff the values are."""
    if column.data.dtype == np.int64:
        return column.data  # type: ignore[return-value]
    bits = (column.data + 0.0).view(np.int64)
    return np.where(np.isnan(column.data), CANONICAL_NAN, bits)


def column_of(words: I64, type_: pa.DataType) -> Vector:
    """Return the column whose words these are."""
    contiguous = np.ascontiguousarray(words)
    return Vector(type_, contiguous.view(np.float64) if is_float(type_) else contiguous)


def any_null(columns: list[Vector]) -> Bools | None:
    """Return which rows have a NULL in some column; None if no column has any."""
    found: Bools | None = None
    for column in columns:
        if column.valid is not None:
            found = ~column.valid if found is None else found | ~column.valid
    return found if found is not None and found.any() else None
