"""Changes as users get them: `_ts`, `_sign`, then the query's columns, one row a copy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.core.schema import Schema
from windrow.core.time import Clock
from windrow.core.types import BIGINT, TIMESTAMP
from windrow.kernels.netting import signs_of
from windrow.operators.arrow import vector_to_arrow
from windrow.operators.delta import Delta
from windrow.operators.fixed import array_of
from windrow.operators.interner import Interner
from windrow.operators.vector import I64, is_interned

LARGE = 65_536
"""Changes that are a part of their own."""


def changelog_schema(schema: Schema, clock: Clock) -> pa.Schema:
    """Return the columns of a changelog."""
    time = TIMESTAMP if clock is Clock.TIMESTAMP else BIGINT
    own = [pa.field("_ts", time, nullable=False), pa.field("_sign", pa.int8(), nullable=False)]
    return pa.schema([*own, *schema.arrow()])


def large_parts(log: list[Delta]) -> list[Delta]:
    """Return changes that follow each other in few parts; what is large is not copied."""
    if len(log) == 1:
        return log
    parts: list[list[Delta]] = [[]]
    for delta in log:
        if sum(map(len, parts[-1])) >= LARGE:
            parts.append([])
        parts[-1].append(delta)
    return [Delta.concat(part) for part in parts]


def changelog(delta: Delta, schema: Schema, clock: Clock, interner: Interner) -> pa.Table:
    """Return net changes of signed rows as a table."""
    delta, signs = _one_by_one(delta)
    arrays = [
        timed_column(delta.ts, clock),
        pa.Array.from_buffers(pa.int8(), len(delta), [None, pa.py_buffer(signs)]),
        *(vector_to_arrow(delta.columns[f.name], interner) for f in schema),
    ]
    return pa.Table.from_arrays(arrays, schema=changelog_schema(schema, clock))


def _one_by_one(delta: Delta) -> tuple[Delta, npt.NDArray[np.int8]]:
    """Return changes as one row a copy, and the sign of each."""
    if delta.weight is None:
        return delta, np.ones(len(delta), np.int8)
    signs = np.empty(len(delta), np.int8)
    if signs_of(delta.weight, signs):
        return delta, signs
    rows = np.repeat(np.arange(len(delta)), np.abs(delta.weight))
    return delta.take(rows), signs[rows]


def timed_column(ts: I64, clock: Clock) -> pa.Array:
    """Return instants as the clock's SQL type."""
    return array_of(ts, TIMESTAMP if clock is Clock.TIMESTAMP else BIGINT, None)


def codes_of(delta: Delta) -> list[I64]:
    """Return the interned codes that a batch refers to."""
    return [v.data for v in delta.columns.values() if is_interned(v.type)]  # type: ignore[misc]
