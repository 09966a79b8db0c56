"""What users push, as Arrow columns of the declared types; what does not fit is set aside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.errors import InputError
from windrow.core.schema import Field, Schema
from windrow.core.types import TIMESTAMP, sql_name
from windrow.operators.vector import I64, Bools
from windrow.plan.binding.scope import near

Pushed = object
"""A pyarrow Table or RecordBatch, a pandas or polars frame, a list of dicts, or a dict of lists."""


@dataclass(slots=True)
class Batch:
    """Rows that fit the declaration: `arrays` by declared name. `poison` are those that do not."""

    rows: int
    arrays: dict[str, pa.Array]
    poison: pa.Table | None = None

    def take(self, rows: I64) -> Batch:
        """Return the chosen rows."""
        chosen = pa.array(rows)
        return Batch(len(rows), {n: a.take(chosen) for n, a in self.arrays.items()})


def to_batch(data: Pushed, schema: Schema, target: str, extra: tuple[str, ...] = ()) -> Batch:
    """Return the pushed rows under the declared schema.

    Columns may come in any order; a nullable one may be missing. `extra` names columns that may
    come on top (of a relation's changes). Rows with a value that does not fit become poison.
    """
    columns = _columns(data, target)
    _check_names(columns, schema, target, extra)
    rows = len(next(iter(columns.values()))) if columns else 0
    arrays: dict[str, pa.Array] = {}
    bad: dict[str, Bools] = {}
    for field in (*schema, *(Field(name, pa.int64()) for name in extra if name in columns)):
        given = columns.get(field.name)
        if given is None:
            given = pa.nulls(rows, field.type)
        array, wrong = _fitted(given, field)
        arrays[field.name] = array
        if wrong is not None:
            bad[field.name] = wrong
    if not bad:
        return Batch(rows, arrays)
    return _without_poison(arrays, columns, bad, rows)


def _columns(data: Pushed, target: str) -> dict[str, pa.Array | list[object]]:
    if isinstance(data, pa.RecordBatch):
        return dict(zip(data.schema.names, data.columns, strict=True))
    if isinstance(data, pa.Table):
        return {n: _one_chunk(c) for n, c in zip(data.schema.names, data.columns, strict=True)}
    if isinstance(data, Mapping):
        return {str(k): _listed(v) for k, v in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _from_dicts(data, target)
    if hasattr(data, "__arrow_c_stream__"):
        return _columns(pa.table(data), target)
    if hasattr(data, "to_arrow"):
        return _columns(data.to_arrow(), target)
    raise InputError(
        f'cannot read tuples for "{target}" from {type(data).__name__}',
        hint="Push a pyarrow Table, a pandas or polars DataFrame, or a list of dicts.",
    )


def _listed(values: object) -> pa.Array | list[object]:
    if isinstance(values, pa.ChunkedArray):
        return _one_chunk(values)
    if isinstance(values, pa.Array):
        return values
    if isinstance(values, np.ndarray):
        return pa.array(values)
    return list(values)  # type: ignore[call-overload,no-any-return]


def _from_dicts(rows: Sequence[object], target: str) -> dict[str, pa.Array | list[object]]:
    names: dict[str, None] = {}
    for row in rows:
        if not isinstance(row, Mapping):
            raise InputError(
                f'a tuple for "{target}" is {type(row).__name__}, not a dict',
                hint='Push a list such as [{"ts": 1, "k": 2}].',
            )
        names.update(dict.fromkeys(row))
    return {name: [row.get(name) for row in rows] for name in names}  # type: ignore[attr-defined]


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _check_names(
    columns: Mapping[str, object], schema: Schema, target: str, extra: tuple[str, ...]
) -> None:
    known = {*schema.names, *extra}
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


def _fitted(given: pa.Array | list[object], field: Field) -> tuple[pa.Array, Bools | None]:
    """Return the column in its declared type, and which rows do not fit (None: all do)."""
    try:
        array = _converted(given, field.type)
        wrong = None
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        array, wrong = _row_by_row(given, field.type)
    if not field.nullable and array.null_count:
        missing: Bools = array.is_null().to_numpy(zero_copy_only=False)
        wrong = missing if wrong is None else wrong | missing
    return array, wrong


def _converted(given: pa.Array | list[object], type_: pa.DataType) -> pa.Array:
    if isinstance(given, list):
        return pa.array(given, type_) if type_ != TIMESTAMP else _moments(given)
    if given.type == type_:
        return given
    if pa.types.is_timestamp(given.type) and given.type.tz is None and type_ == TIMESTAMP:
        return given.cast(pa.timestamp("us")).view(TIMESTAMP)
    if pa.types.is_dictionary(given.type):
        given = given.dictionary_decode()
    if type_ == TIMESTAMP and pa.types.is_string(given.type):
        return pc.cast(given, TIMESTAMP)
    return given.cast(type_)


def _moments(values: list[object]) -> pa.Array:
    """Return timestamps from datetimes, ISO texts or microseconds; no zone means UTC."""
    if values and all(isinstance(v, str) or v is None for v in values):
        return pc.cast(pa.array(values, pa.string()), TIMESTAMP)
    if values and all(isinstance(v, int) or v is None for v in values):
        return pa.array(values, pa.int64()).view(TIMESTAMP)
    return pa.array(values, TIMESTAMP)


def _row_by_row(given: pa.Array | list[object], type_: pa.DataType) -> tuple[pa.Array, Bools]:
    """Convert a column in which some value does not fit. Only reached when one does not."""
    values = given if isinstance(given, list) else given.to_pylist()
    parts: list[pa.Array] = []
    wrong = np.zeros(len(values), np.bool_)
    for i, value in enumerate(values):
        try:
            parts.append(_converted([value], type_))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            wrong[i] = True
            parts.append(pa.nulls(1, type_))
    return pa.concat_arrays(parts) if parts else pa.nulls(0, type_), wrong


def _without_poison(
    arrays: dict[str, pa.Array],
    given: Mapping[str, pa.Array | list[object]],
    bad: dict[str, Bools],
    rows: int,
) -> Batch:
    wrong = np.logical_or.reduce(list(bad.values()))
    reasons = [
        "; ".join(f"{n} is not {sql_name(arrays[n].type)}" for n, rows_ in bad.items() if rows_[i])
        for i in np.flatnonzero(wrong)
    ]
    shown = {
        name: pa.array([_text(values, i) for i in np.flatnonzero(wrong)], pa.string())
        for name, values in given.items()
    }
    poison = pa.table({"_reason": pa.array(reasons, pa.string()), **shown})
    good = Batch(rows, arrays).take(np.flatnonzero(~wrong))
    good.poison = poison
    return good


def _text(values: pa.Array | list[object], i: int) -> str | None:
    value = values[i] if isinstance(values, list) else values[i].as_py()
    return None if value is None else str(value)
