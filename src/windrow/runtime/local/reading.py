"""What users push, as columns under their given names: tables, frames, dicts and lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.core.errors import InputError
from windrow.core.naming import shown
from windrow.core.types import sql_name
from windrow.operators.evaluate import evaluate
from windrow.plan.expressions import Cast, Expr
from windrow.plan.session import Inserted
from windrow.runtime.local.fitting import Given

Pushed = object
"""A pyarrow Table or RecordBatch, a pandas or polars frame, a list of dicts, or a dict of lists."""

SHAPES = "Push a pyarrow Table, a pandas or polars DataFrame, or a list of dicts."


def read_columns(data: Pushed, target: str) -> dict[str, Given]:
    """Return the columns that were pushed, under their given names."""
    if type(data) is list:
        return _from_dicts(data, target)
    if isinstance(data, pa.RecordBatch | pa.Table):
        return _from_arrow(data, target)
    if isinstance(data, Mapping):
        return {_name(k, target): _listed(v, k, target) for k, v in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _from_dicts(data, target)
    if isinstance(data, type):
        raise _unreadable(data, target)
    if _is_pandas(data):
        return _from_pandas(data, target)
    if hasattr(data, "__arrow_c_stream__"):
        return _from_arrow(_by_others(data, target, pa.table), target)
    if hasattr(data, "to_arrow"):
        return read_columns(_by_others(data, target, lambda frame: frame.to_arrow()), target)
    raise _unreadable(data, target)


def inserted_rows(inserted: Inserted) -> list[dict[str, object]]:
    """Return the rows of an INSERT, its expressions evaluated; refuse a value that does not fit."""
    return [
        {name: _value(name, expr) for name, expr in zip(inserted.columns, row, strict=True)}
        for row in inserted.rows
    ]


def _value(name: str, expr: Expr) -> object:
    found = _constant(expr)
    if found is None and isinstance(expr, Cast) and _constant(expr.value) is not None:
        raise InputError(
            f'{_constant(expr.value)} does not fit column "{name}", which is {sql_name(expr.type)}',
            hint="Give a value within its range.",
        )
    return found


def _constant(expr: Expr) -> object:
    (value,) = evaluate(expr, {}, 1).to_pylist()
    return value


def _unreadable(data: object, target: str, reason: str = "") -> InputError:
    is_column = type(data).__name__.endswith(("Series", "Array", "ndarray"))
    kind = data.__name__ if isinstance(data, type) else type(data).__name__
    return InputError(
        f'cannot read tuples for "{target}" from {kind}',
        detail=reason or ("It is one column, and has no names." if is_column else ""),
        hint='Push a dict of columns: {"k": column}, for example.' if is_column else SHAPES,
    )


def _by_others(data: Any, target: str, make: Callable[[Any], Any]) -> Any:
    """Let another library convert what is its own; what it raises becomes an error of ours."""
    try:
        return make(data)
    except Exception as error:
        raise _unreadable(data, target, f"{type(error).__name__}: {error}") from error


def _name(name: object, target: str) -> str:
    """Return the name of a column, which is a text."""
    if isinstance(name, str):
        return name
    raise InputError(
        f'a column for "{target}" is called {shown(name)}, which is no text',
        detail=f"It is of type {type(name).__name__}. Nothing was pushed.",
        hint='Call columns by their declared names, as in {"ts": 1}.',
    )


def _once(names: Iterable[str], target: str) -> list[str]:
    """Return names of columns; refuse one that is there twice."""
    seen: dict[str, None] = {}
    for name in names:
        if name in seen:
            raise InputError(
                f'column "{name}" for "{target}" is given twice',
                detail="Nothing was pushed.",
                hint="Drop one of them, or give it another name.",
            )
        seen[name] = None
    return list(seen)


def _from_arrow(data: pa.Table | pa.RecordBatch, target: str) -> dict[str, Given]:
    names = _once(data.schema.names, target)
    return {n: _one_chunk(c) for n, c in zip(names, data.columns, strict=True)}


def _is_pandas(data: object) -> bool:
    return type(data).__module__.startswith("pandas.")


def _from_pandas(frame: Any, target: str) -> dict[str, Given]:
    """Return the columns of a DataFrame, each by itself: one that is mixed is a list of values."""
    if not hasattr(frame, "columns"):
        raise _unreadable(frame, target)
    names = _once([_name(name, target) for name in frame.columns], target)
    return {name: _listed(frame[name], name, target) for name in names}


def _listed(values: Any, name: object, target: str) -> Given:
    """Return one column: an Arrow array where there is one of its kind, else a list."""
    if isinstance(values, pa.ChunkedArray):
        return _one_chunk(values)
    if isinstance(values, pa.Array):
        return values
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return _array_or_list(values, pa.array)
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        return list(values)
    if not isinstance(values, type | np.ndarray):
        if _is_pandas(values) and hasattr(values, "to_numpy") and hasattr(values, "__iter__"):
            return _array_or_list(values, lambda series: pa.array(series, from_pandas=True))
        if hasattr(values, "__arrow_c_stream__"):
            return _array_or_list(values, pa.chunked_array)
    raise InputError(
        f'column "{name}" for "{target}" is {type(values).__name__}, not a list',
        detail="It has more dimensions than one, or none." if hasattr(values, "ndim") else "",
        hint='Push a dict of lists such as {"ts": [1], "k": [2]}, or a list of dicts.',
    )


def _array_or_list(values: Any, make: Callable[[Any], Any]) -> Given:
    """Return values as an Arrow array; as a list if they are of several kinds."""
    try:
        made = make(values)
    except Exception:  # whatever a library says: then one by one
        return [None if _is_missing(value) else value for value in values]
    return _one_chunk(made)


def _is_missing(value: object) -> bool:
    """Return whether pandas means by a value that there is none: NaN, NaT or NA."""
    return type(value).__name__ in ("NaTType", "NAType") or (
        isinstance(value, float) and value != value  # noqa: PLR0124 - NaN, and nothing else
    )


def _from_dicts(rows: Sequence[object], target: str) -> dict[str, Given]:
    if len(rows) == 1 and type(rows[0]) is dict:
        return {_name(name, target): [value] for name, value in rows[0].items()}
    names: dict[str, None] = {}
    for row in rows:
        if not isinstance(row, Mapping):
            raise InputError(
                f'a tuple for "{target}" is {type(row).__name__}, not a dict',
                hint='Push a list such as [{"ts": 1, "k": 2}].',
            )
        names.update(dict.fromkeys(row))
    return {_name(n, target): [row.get(n) for row in rows] for n in names}  # type: ignore[attr-defined]


def _one_chunk(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
