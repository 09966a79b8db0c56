"""What users push, as Arrow columns of the declared types; what does not fit is set aside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import lib

from windrow.core.errors import InputError
from windrow.core.naming import near, shown
from windrow.core.schema import Field, Schema
from windrow.core.time import UNITS
from windrow.core.types import DATE, TIMESTAMP
from windrow.operators.few import FEW, Few, Incoming, arrays_of
from windrow.operators.fixed import array_of, data_of
from windrow.operators.vector import I64, Bools
from windrow.plan.catalog import Unread
from windrow.plan.functions.moments import FIRST_MOMENT, LAST_MOMENT
from windrow.runtime.local.fitting import Given, fitted
from windrow.runtime.local.reading import Pushed, read_columns

FARTHEST = 2**62
"""Ticks on either side of 0 that a tuple's time may be: adding a window must not overflow."""


CALENDAR = (TIMESTAMP, DATE)
"""Types of which Python has fewer values than Arrow."""


@dataclass(frozen=True, slots=True)
class Timed:
    """The column that is a tuple's time. After `latest` a row is rejected, for the reason given."""

    column: str
    latest: int | None = None
    reason: str = ""


@dataclass(slots=True)
class FittedRows:
    """Rows that fit the declaration: columns by declared name. `poison` are those that do not."""

    rows: int
    columns: dict[str, Incoming]
    poison: pa.Table | None = None

    @property
    def arrays(self) -> dict[str, pa.Array]:
        """All columns as Arrow arrays."""
        return arrays_of(self.columns)

    def take(self, rows: I64) -> FittedRows:
        """Return the chosen rows."""
        chosen = array_of(rows, pa.int64(), None)
        return FittedRows(len(rows), {n: a.take(chosen) for n, a in self.arrays.items()})


def to_batch(
    data: Pushed,
    schema: Schema,
    target: str,
    *,
    time: Timed | None = None,
    extra: tuple[Field, ...] = (),
    unread: Unread = (),
) -> FittedRows:
    """Return the pushed rows under the declared schema.

    Columns may come in any order, in upper or lower case; a nullable one may be missing. `time`
    says which column must be an instant of the clock. `extra` are columns that may come on top
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
        if field.type in CALENDAR and (time is None or field.name != time.column):
            faults += _outside_of_calendar(field.name, fitting[field.name])
    if time is not None:
        faults += _outside_of_time(time, fitting[time.column])
    if not faults:
        return FittedRows(rows, fitting)
    return _without_poison(fitting, columns, faults, rows)


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


def _outside_of_time(time: Timed, column: Incoming) -> list[tuple[Bools, str]]:
    """Return the rows whose time no window can be added to, or is too far ahead."""
    moments = column.type.id == lib.Type_TIMESTAMP
    first, last = (FIRST_MOMENT, LAST_MOMENT) if moments else (-FARTHEST, FARTHEST)
    ts, until = times_of(column), last if time.latest is None else min(last, time.latest)
    if len(ts) <= FEW:
        inside = all(first <= t <= until for t in ts.tolist())
    else:
        inside = ts.min() >= first and ts.max() <= until
    if inside:
        return []
    outside = (ts < first) | (ts > last)
    ahead = (ts > until) & ~outside
    return [(outside, f"{time.column} is out of range"), (ahead, time.reason)]


def _outside_of_calendar(name: str, column: Incoming) -> list[tuple[Bools, str]]:
    """Return the rows with a moment, or a day, of no year from 1 to 9999: Python has none."""
    first, last = FIRST_MOMENT, LAST_MOMENT
    if column.type == DATE:
        first, last = first // UNITS["DAY"], last // UNITS["DAY"]
        column = pc.cast(column.view(pa.int32()), pa.int64())
    ts = times_of(column)
    outside = (ts < first) | (ts > last)
    return [(outside, f"{name} is out of range")] if outside.any() else []


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
) -> FittedRows:
    wrong = np.logical_or.reduce([mask for mask, _ in faults])
    chosen = np.flatnonzero(wrong).tolist()
    reasons = ["; ".join(reason for mask, reason in faults if mask[i]) for i in chosen]
    shown = {
        name: pa.array([_text(values, i) for i in chosen], pa.string())
        for name, values in given.items()
    }
    poison = pa.table({"_reason": pa.array(reasons, pa.string()), **shown})
    good = FittedRows(rows, columns).take(np.flatnonzero(~wrong))
    good.poison = poison
    return good


def _text(values: Given, i: int) -> str | None:
    """Return a value as text: what has none, or none in UTF-8, as far as it can be shown."""
    if not isinstance(values, list) and not values[i].is_valid:
        return None
    try:
        value = values[i] if isinstance(values, list) else values[i].as_py()
    except (OverflowError, ValueError):  # a moment that Python has no datetime for
        value = values[i].value
    if value is None:
        return None
    try:
        return str(value).encode("utf-8", "backslashreplace").decode()
    except Exception:  # of a class of the user's own, or a number of pages
        return shown(value)
