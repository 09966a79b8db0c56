"""What users push, as Arrow columns of the declared types; what does not fit is set aside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyarrow import lib

from windrow.core.errors import InputError
from windrow.core.naming import near
from windrow.core.schema import Field, Schema
from windrow.operators.few import FEW, Few, Incoming, arrays_of
from windrow.operators.fixed import array_of, data_of
from windrow.operators.vector import I64, Bools
from windrow.plan.catalog import Unread
from windrow.plan.functions.moments import FIRST_MOMENT, LAST_MOMENT
from windrow.runtime.local.fitting import Given, fitted

Pushed = object
"""A pyarrow Table or RecordBatch, a pandas or polars frame, a list of dicts, or a dict of lists."""

FARTHEST = 2**62
"""Ticks on either side of 0 that a tuple's time may be: adding a window must not overflow."""


@dataclass(slots=True)
class Batch:
    """Rows that fit the declaration: columns by declared name. `poison` are those that do not."""

    rows: int
    columns: dict[str, Incoming]
    poison: pa.Table | None = None

    @property
    def arrays(self) -> dict[str, pa.Array]:
        """All columns as Arrow arrays."""
        return arrays_of(self.columns)

    def take(self, rows: I64) -> Batch:
        """Return the chosen rows."""
        chosen = array_of(rows, pa.int64(), None)
        return Batch(len(rows), {n: a.take(chosen) for n, a in self.arrays.items()})


def to_batch(
    data: Pushed,
    schema: Schema,
    target: str,
    *,
    time: str | None = None,
    extra: tuple[Field, ...] = (),
    unread: Unread = (),
) -> Batch:
    """Return the pushed rows under the declared schema.

    Columns may come in any order, in upper or lower case; a nullable one may be missing. `time`
    is the column that must be an instant of the clock. `extra` are columns that may come on top
    (of a relation's changes), `unread` those that no query reads. Rows with a value that does not
    fit become poison.
    """
    given = read_columns(data, target)
    columns = given
    if given.keys() != schema.known:
        left_out = {name.lower() for name, _ in unread}
        taken = {name: column for name, column in given.items() if name.lower() not in left_out}
        columns = _declared(taken, [*schema.names, *(f.name for f in extra)])
        _check_names(columns, schema, target, extra)
    rows = _row_count(columns, target)
    fitting: dict[str, Incoming] = {}
    faults: list[tuple[Bools, str]] = []
    for field in (*schema.fields, *(f for f in extra if f.name in columns)):
        column = columns.get(field.name)
        if column is None:
            column = pa.nulls(rows, field.type)
        fitting[field.name], wrong = fitted(column, field)
        faults += wrong
    if time is not None:
        faults += _outside_of_time(time, fitting[time])
    if not faults:
        return Batch(rows, fitting)
    return _without_poison(fitting, columns, faults, rows)


def read_columns(data: Pushed, target: str) -> dict[str, Given]:
    """Return the columns that were pushed, under their given names."""
    if type(data) is list:
        return _from_dicts(data, target)
    if isinstance(data, pa.RecordBatch):
        return dict(zip(data.schema.names, data.columns, strict=True))
    if isinstance(data, pa.Table):
        return {n: _one_chunk(c) for n, c in zip(data.schema.names, data.columns, strict=True)}
    if isinstance(data, Mapping):
        return {str(k): _listed(v, str(k), target) for k, v in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _from_dicts(data, target)
    if type(data).__module__.startswith("pandas."):
        return read_columns(pa.Table.from_pandas(data, preserve_index=False), target)
    if hasattr(data, "__arrow_c_stream__"):
        return read_columns(pa.table(data), target)
    if hasattr(data, "to_arrow"):
        return read_columns(data.to_arrow(), target)
    raise InputError(
        f'cannot read tuples for "{target}" from {type(data).__name__}',
        hint="Push a pyarrow Table, a pandas or polars DataFrame, or a list of dicts.",
    )


def _listed(values: object, name: str, target: str) -> Given:
    if isinstance(values, pa.ChunkedArray):
        return _one_chunk(values)
    if isinstance(values, pa.Array):
        return values
    if isinstance(values, np.ndarray):
        return pa.array(values)
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        return list(values)
    if hasattr(values, "__arrow_c_stream__"):
        return _one_chunk(pa.chunked_array(values))
    if hasattr(values, "to_numpy"):
        return pa.array(values, from_pandas=True)
    raise InputError(
        f'column "{name}" for "{target}" is {type(values).__name__}, not a list',
        hint='Push a dict of lists such as {"ts": [1], "k": [2]}, or a list of dicts.',
    )


def _from_dicts(rows: Sequence[object], target: str) -> dict[str, Given]:
    if len(rows) == 1 and type(rows[0]) is dict:
        return {str(name): [value] for name, value in rows[0].items()}
    names: dict[str, None] = {}
    for row in rows:
        if not isinstance(row, Mapping):
            raise InputError(
                f'a tuple for "{target}" is {type(row).__name__}, not a dict',
                hint='Push a list such as [{"ts": 1, "k": 2}].',
            )
        names.update(dict.fromkeys(row))
    return {str(n): [row.get(n) for row in rows] for n in names}  # type: ignore[attr-defined]


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _declared(columns: dict[str, Given], names: list[str]) -> dict[str, Given]:
    """Return the columns under their declared names: case does not matter, as in SQL."""
    by_lower = {name.lower(): name for name in names}
    renamed: dict[str, Given] = {}
    for name, values in columns.items():
        known = by_lower.get(name.lower(), name)
        if known in renamed:
            raise InputError(f'column "{known}" is given twice', detail="Nothing was pushed.")
        renamed[known] = values
    return renamed


def _check_names(
    columns: Mapping[str, object], schema: Schema, target: str, extra: tuple[Field, ...]
) -> None:
    known = {*schema.names, *(f.name for f in extra)}
    for name in columns:
        if name not in known:
            raise InputError(
                f'"{target}" has no column "{name}"',
                detail=f"Its columns are {', '.join(schema.names)}. Nothing was pushed.",
                hint=near(name, list(schema.names)) or "Drop the column before pushing.",
            )
    for field in schema:
        if field.name not in columns and not field.nullable and columns:
            raise InputError(
                f'column "{field.name}" of "{target}" is missing',
                detail="It is NOT NULL. Nothing was pushed.",
                hint=near(field.name, list(columns)),
            )


def _row_count(columns: Mapping[str, Given], target: str) -> int:
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise InputError(
            f'columns for "{target}" have different lengths',
            detail=f"They are {', '.join(f'{n}: {len(v)}' for n, v in columns.items())}.",
        )
    return lengths.pop() if lengths else 0


def _outside_of_time(name: str, column: Incoming) -> list[tuple[Bools, str]]:
    """Return the rows whose time no window can be added to."""
    moments = column.type.id == lib.Type_TIMESTAMP
    first, last = (FIRST_MOMENT, LAST_MOMENT) if moments else (-FARTHEST, FARTHEST)
    ts = times_of(column)
    if len(ts) <= FEW:
        inside = all(first <= t <= last for t in ts.tolist())
    else:
        inside = ts.min() >= first and ts.max() <= last
    if inside:
        return []
    outside = (ts < first) | (ts > last)
    return [(outside, f"{name} is out of range")]


def times_of(column: Incoming) -> I64:
    """Return a time column as int64s of the clock's unit; 0 for NULL."""
    if type(column) is Few:
        return column.data  # type: ignore[return-value]
    if column.null_count:
        column = column.fill_null(0)
    return data_of(column)  # type: ignore[return-value]


def _without_poison(
    columns: dict[str, Incoming],
    given: Mapping[str, Given],
    faults: list[tuple[Bools, str]],
    rows: int,
) -> Batch:
    wrong = np.logical_or.reduce([mask for mask, _ in faults])
    chosen = np.flatnonzero(wrong).tolist()
    reasons = ["; ".join(reason for mask, reason in faults if mask[i]) for i in chosen]
    shown = {
        name: pa.array([_text(values, i) for i in chosen], pa.string())
        for name, values in given.items()
    }
    poison = pa.table({"_reason": pa.array(reasons, pa.string()), **shown})
    good = Batch(rows, columns).take(np.flatnonzero(~wrong))
    good.poison = poison
    return good


def _text(values: Given, i: int) -> str | None:
    if not isinstance(values, list) and not values[i].is_valid:
        return None
    try:
        value = values[i] if isinstance(values, list) else values[i].as_py()
    except (OverflowError, ValueError):  # a moment that Python has no datetime for
        value = values[i].value
    return None if value is None else str(value)
