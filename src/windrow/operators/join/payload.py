"""The columns of remembered rows, in flat arrays by slot."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.schema import Schema
from windrow.operators.state.key_table import grown
from windrow.operators.vector import F64, I64, Bools, Vector, empty_data


@dataclass(slots=True)
class Payload:
    """Columns `names` of a schema. `valid` of a column appears with its first NULL."""

    schema: Schema
    names: tuple[str, ...]
    capacity: int
    values: dict[str, I64 | F64] = field(init=False)
    valid: dict[str, Bools] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values = {n: empty_data(self.schema[n].type, self.capacity) for n in self.names}

    def reserve(self, capacity: int) -> None:
        """Make room; slots stay what they are."""
        for name in self.names:
            self.values[name] = grown(self.values[name], capacity)  # type: ignore[assignment]
        for name, flags in self.valid.items():
            self.valid[name] = grown(flags, capacity)  # type: ignore[assignment]
        self.capacity = max(capacity, self.capacity)

    def move(self, old: I64, new: I64, capacity: int) -> None:
        """Put the rows of slots `old` into slots `new` of fresh arrays."""
        for name, values in self.values.items():
            fresh = np.empty(capacity, values.dtype)
            fresh[new] = values[old]
            self.values[name] = fresh
        for name, flags in self.valid.items():
            moved = np.ones(capacity, np.bool_)
            moved[new] = flags[old]
            self.valid[name] = moved
        self.capacity = capacity

    def write(self, columns: dict[str, Vector], places: list[tuple[slice | I64, slice]]) -> None:
        """Write rows of a batch: each place is (slots, rows)."""
        for name in self.names:
            column, values = columns[name], self.values[name]
            flags = self.valid.get(name)
            if flags is None and column.valid is not None:
                flags = self.valid[name] = np.ones(len(values), np.bool_)
            for slots, rows in places:
                values[slots] = column.data[rows]
                if flags is not None:
                    flags[slots] = True if column.valid is None else column.valid[rows]

    def take(self, names: tuple[str, ...], slots: I64) -> dict[str, Vector]:
        """Return columns of the rows in `slots`."""
        return {name: self._column(name, slots) for name in names}

    def _column(self, name: str, slots: I64) -> Vector:
        taken = self.values[name].take(slots)
        flags = self.valid.get(name)
        if flags is None:
            return Vector(self.schema[name].type, taken)
        valid = flags.take(slots)
        return Vector(self.schema[name].type, taken, None if valid.all() else valid)

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        return sum(a.nbytes for a in (*self.values.values(), *self.valid.values()))

    def save(self, slots: I64) -> dict[str, object]:
        """Return the rows of `slots`, in that order."""
        return {
            "values": {n: v[slots] for n, v in self.values.items()},
            "valid": {n: v[slots] for n, v in self.valid.items()},
        }

    def load(self, saved: dict[str, object], slots: I64) -> None:
        """Put saved rows into `slots`; there is room."""
        values, valid = saved["values"], saved["valid"]
        assert isinstance(values, dict)
        assert isinstance(valid, dict)
        for name, column in values.items():
            self.values[name][slots] = column
        for name, flags in valid.items():
            self.valid[name] = np.ones(len(self.values[name]), np.bool_)
            self.valid[name][slots] = flags
