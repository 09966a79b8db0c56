"""The columns of stored rows: one line of words a column, one place a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from windrow.core.schema import Field
from windrow.core.types import is_float
from windrow.kernels.rings import gather_rows, scatter_words
from windrow.operators.state.fields import ArrayField, State
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Bools, Vector, is_interned


@dataclass(slots=True)
class RowColumns(State):
    """Columns of `capacity` places; which places hold rows is the owner's business.

        words   [k]  the values of column k, floats as their bits
        valid   [j]  which places of column `nullable[j]` are not NULL

    A column gets its line in `valid` when its first NULL comes. Invariant, asserted by
    `check`: all lines are `capacity` long, and `nullable` names each column at most once.
    """

    state_fields = (ArrayField("words"), ArrayField("valid"))

    fields: tuple[Field, ...]
    words: I64 = field(init=False)
    valid: Bools = field(init=False)
    nullable: list[int] = field(init=False, default_factory=list)
    floats: tuple[bool, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.words = np.empty((len(self.fields), 0), np.int64)
        self.valid = np.empty((0, 0), np.bool_)
        self.floats = tuple(is_float(f.type) for f in self.fields)

    @property
    def capacity(self) -> int:
        """How many places there are."""
        return int(self.words.shape[1])

    def write(self, where: slice | I64, columns: dict[str, Vector], part: slice) -> None:
        """Put the rows `part` of the columns at `where`."""
        scattered = isinstance(where, np.ndarray)
        for k, column in enumerate(self.fields):
            vector = columns[column.name]
            bits = vector.data[part].view(np.int64)
            if scattered:
                scatter_words(self.words[k], where, bits)
            else:
                self.words[k, where] = bits
            if vector.valid is not None or k in self.nullable:
                self._write_valid(k, where, vector, part)

    def _write_valid(self, k: int, where: slice | I64, vector: Vector, part: slice) -> None:
        if k not in self.nullable:
            if vector.valid is None or vector.valid[part].all():
                return
            self.nullable.append(k)
            self.valid = np.vstack([self.valid, np.ones((1, self.capacity), np.bool_)])
        line = self.valid[self.nullable.index(k)]
        line[where] = True if vector.valid is None else vector.valid[part]

    def take(self, at: I64) -> dict[str, Vector]:
        """Return the rows at the places, as columns. O(places)."""
        out = np.empty((len(self.fields), len(at)), np.int64)
        out_valid = np.empty((len(self.nullable), len(at)), np.bool_)
        gather_rows(self.words, self.valid, at, out, out_valid)
        taken = {
            f.name: Vector(f.type, out[k].view(np.float64) if self.floats[k] else out[k])
            for k, f in enumerate(self.fields)
        }
        for j, k in enumerate(self.nullable):
            taken[self.fields[k].name].valid = out_valid[j]
        return taken

    def resize(self, capacity: int, source: slice | I64, target: slice | I64) -> None:
        """Change the number of places; rows at `source` go to `target`."""
        words = np.empty((len(self.fields), capacity), np.int64)
        valid = np.ones((len(self.nullable), capacity), np.bool_)
        words[:, target] = self.words[:, source]
        valid[:, target] = self.valid[:, source]
        self.words, self.valid = words, valid

    def invariants(self) -> None:
        """Assert the invariant."""
        assert self.words.shape == (len(self.fields), self.capacity), "a line of words is short"
        assert self.valid.shape == (len(self.nullable), self.capacity), "a line of bits is short"
        assert len(set(self.nullable)) == len(self.nullable), "a column has two lines of bits"


def save_columns(columns: dict[str, Vector]) -> Saved:
    """Return columns as plain values: by name, `data` and `valid`."""
    return {name: {"data": v.data, "valid": v.valid} for name, v in columns.items()}


def load_columns(fields: tuple[Field, ...], saved: Saved) -> dict[str, Vector]:
    """Return the columns that were saved."""
    loaded = {}
    for f in fields:
        column = cast("Saved", saved[f.name])
        valid = cast("Bools | None", column["valid"])
        loaded[f.name] = Vector(f.type, cast("I64", column["data"]), valid)
    return loaded


def interned_codes(fields: tuple[Field, ...], columns: dict[str, Vector]) -> list[I64]:
    """Return the codes in columns of interned types."""
    return [cast("I64", columns[f.name].data) for f in fields if is_interned(f.type)]
