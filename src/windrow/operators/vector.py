"""Columns inside the engine: fixed-width arrays that loops can read, whatever the SQL type.

    SQL type                                 data
    integers, BOOLEAN, DATE, TIMESTAMP,      int64
    INTERVAL, DECIMAL up to 18 digits
    FLOAT, DOUBLE                            float64
    STRING, BINARY, wider DECIMAL, ARRAY     int64 codes of an `Interner`: equal codes, equal values

NULL is a cleared bit of `valid`; its data is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.core.types import is_decimal, is_float

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

SHORT_DECIMAL = 18
"""Digits of a decimal that fit an int64."""


def is_interned(type_: pa.DataType) -> bool:
    """Return whether values of the type are kept as codes of an interner."""
    if is_decimal(type_):
        return bool(type_.precision > SHORT_DECIMAL)
    return bool(
        pa.types.is_string(type_)
        or pa.types.is_binary(type_)
        or pa.types.is_list(type_)
        or pa.types.is_struct(type_)
    )


def empty_data(type_: pa.DataType, rows: int) -> I64 | F64:
    """Return room for the data of a vector."""
    return np.empty(rows, np.float64) if is_float(type_) else np.empty(rows, np.int64)


@dataclass(slots=True)
class Vector:
    """One column of a batch. `valid` is None where nothing is NULL."""

    type: pa.DataType
    data: I64 | F64
    valid: Bools | None = None

    def __len__(self) -> int:
        return len(self.data)

    def take(self, rows: I64) -> Vector:
        """Return the chosen rows, in the order chosen."""
        valid = None if self.valid is None else self.valid[rows]
        return Vector(self.type, self.data[rows], valid)

    def slice(self, start: int, stop: int) -> Vector:
        """Return rows [start, stop) without copying."""
        valid = None if self.valid is None else self.valid[start:stop]
        return Vector(self.type, self.data[start:stop], valid)

    @classmethod
    def empty(cls, type_: pa.DataType) -> Vector:
        """Return a column of no rows."""
        return cls(type_, empty_data(type_, 0))

    @classmethod
    def concat(cls, parts: list[Vector]) -> Vector:
        """Return the parts as one column; there is at least one part."""
        if len(parts) == 1:
            return parts[0]
        valid = None
        if any(p.valid is not None for p in parts):
            valid = np.concatenate(
                [np.ones(len(p), np.bool_) if p.valid is None else p.valid for p in parts]
            )
        data: I64 | F64 = np.concatenate([p.data for p in parts])
        return cls(parts[0].type, data, valid)
