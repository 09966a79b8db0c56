"""A few Python values as a column, without an Arrow array in between.

For tuples that are pushed one by one: of one value Arrow makes an array in 13 µs, and NumPy one
in 1 µs. Only values that are a type's own are taken; all others go the way of batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow import lib

from windrow.core.types import BOOLEAN, STRING
from windrow.operators.arrow import vector_from_arrow
from windrow.operators.fixed import array_of
from windrow.operators.interner import Interner
from windrow.operators.vector import F64, I64, Vector

FEW = 32
"""Values up to which Python makes them into a column sooner than Arrow does."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@dataclass(slots=True)  # freezing it would treble the time that making it takes
class Few:
    """A short column without NULLs: its words, or its texts as UTF-8. Never changed."""

    type: pa.DataType
    data: I64 | F64 | list[bytes]

    def __len__(self) -> int:
        return len(self.data)

    def vector(self, interner: Interner) -> Vector:
        """Return the values as a column of the engine."""
        data = self.data
        return Vector(self.type, interner.encode_list(data) if isinstance(data, list) else data)

    def array(self) -> pa.Array:
        """Return the values as an Arrow array."""
        data = self.data
        if not isinstance(data, list):
            return array_of(data, self.type, None)
        bounds = np.array([0, *accumulate(map(len, data))], np.int32)
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(b"".join(data))]
        return pa.Array.from_buffers(self.type, len(data), buffers)


Incoming: TypeAlias = Any  # pa.Array | Few: pyarrow has no types to check by
"""A column on its way into the engine."""


def few_values(values: list[Any], type_: pa.DataType) -> Few | None:
    """Return values as a column of the type; None if some are not its own, or do not fit."""
    kinds = set(map(type, values))
    make = MAKERS.get((type_.id, kinds.pop())) if len(kinds) == 1 else None
    if make is None:
        return None
    try:
        return Few(type_, make(values))
    except (OverflowError, UnicodeEncodeError):
        return None


def texts(values: list[str]) -> pa.Array:
    """Return texts as an Arrow array."""
    return Few(STRING, _utf8(values)).array()


def scalar_of(value: object, type_: pa.DataType) -> pa.Scalar:
    """Return a constant as Arrow holds it.

    `pa.scalar` and `pa.array` load pandas where it is installed, which takes longer than all
    else that a first query needs; buffers do not.
    """
    if value is None:
        return pa.nulls(1, type_)[0]
    if isinstance(value, bool) and type_ == BOOLEAN:
        return array_of(np.array([value], np.int64), BOOLEAN, None)[0]
    few = few_values([value], type_)
    return pa.scalar(value, type_) if few is None else few.array()[0]


def vector_of(column: Incoming, type_: pa.DataType, interner: Interner) -> Vector:
    """Return a column as one of the engine."""
    if type(column) is Few and column.type == type_:
        return column.vector(interner)
    return vector_from_arrow(array_of_column(column), type_, interner)


def array_of_column(column: Incoming) -> pa.Array:
    """Return a column as an Arrow array."""
    return column.array() if type(column) is Few else column


def arrays_of(columns: Mapping[str, Incoming]) -> dict[str, pa.Array]:
    """Return columns as Arrow arrays."""
    return {name: array_of_column(column) for name, column in columns.items()}


def _whole(values: list[int]) -> I64:
    return np.array(values, np.int64)


def _real(values: list[float]) -> F64:
    return np.array(values, np.float64)


def _moments(values: list[datetime]) -> I64:
    """Return µs since 1970; a moment without a zone is UTC."""
    zoned = [v if v.tzinfo is not None else v.replace(tzinfo=UTC) for v in values]
    return np.array([(v - EPOCH) // MICROSECOND for v in zoned], np.int64)


def _utf8(values: list[str]) -> list[bytes]:
    return [v.encode() for v in values]


MAKERS: dict[tuple[int, type], Callable[[list[Any]], I64 | F64 | list[bytes]]] = {
    (lib.Type_INT64, int): _whole,
    (lib.Type_DOUBLE, float): _real,
    (lib.Type_STRING, str): _utf8,
    (lib.Type_TIMESTAMP, datetime): _moments,
    (lib.Type_TIMESTAMP, int): _whole,
}
"""How values of a Python type become words of an Arrow type, where nothing can be lost."""
