"""Finite histories: what every stream and relation of a test did, start to end.

Values are plain Python. Timestamps and intervals are ints of µs, dates ints of days, as in a
plan's literals.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from windrow.core.time import BEGINNING

Row = tuple[object, ...]
Change = tuple[int, int, Row]
"""(ts, sign, row): at `ts` one copy of `row` comes (+1) or goes (-1)."""

NAN = math.nan
"""The one NaN of all canonical rows: as one object it equals itself in tuples and counters."""


@dataclass(frozen=True, slots=True)
class StreamHistory:
    """The tuples of a stream in arrival order, each ``(ts, *values)``, `ts` not decreasing.

    The values follow the stream's declared columns, the time column included.
    """

    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        times = self.times
        assert times == sorted(times), "a stream's tuples come in time order"

    @property
    def times(self) -> list[int]:
        """The tuples' times, in arrival order."""
        return [int(row[0]) for row in self.rows]  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True)
class RelationHistory:
    """A changelog: R(τ) is the net of all changes with ``ts <= τ``.

    A change at `BEGINNING` was there before every instant, so it is no event.
    """

    changes: list[Change] = field(default_factory=list)

    @property
    def times(self) -> list[int]:
        """The instants at which the relation changes."""
        return sorted({ts for ts, _, _ in self.changes if ts > BEGINNING})


@dataclass(frozen=True, slots=True)
class World:
    """The histories of all declared names."""

    streams: dict[str, StreamHistory] = field(default_factory=dict)
    relations: dict[str, RelationHistory] = field(default_factory=dict)


def rows_of(table: pa.Table) -> list[Row]:
    """Return an Arrow table's rows as canonical Python values, to be compared with others'."""
    columns = [[canonical(v) for v in _plain(c).to_pylist()] for c in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def canonical(value: object) -> object:
    """Return a hashable value that equals all others of the same meaning.

    One NaN, no negative zero, lists and structs as tuples.
    """
    match value:
        case float():
            return NAN if math.isnan(value) else value + 0.0
        case list() | tuple():
            return tuple(canonical(v) for v in value)
        case dict():
            return tuple((k, canonical(v)) for k, v in value.items())
        case _:
            return value


def same_rows(a: Iterable[Row], b: Iterable[Row]) -> bool:
    """Tell whether two multisets of rows are equal, floats to 1e-9 relative.

    >>> same_rows([(1, 0.1 + 0.2)], Counter([(1, 0.3)])), same_rows([(1,)], [(1,), (1,)])
    (True, False)
    """
    left, right = _expanded(a), _expanded(b)
    extra, missing = left - right, right - left
    unmatched = list(missing.elements())
    for row in extra.elements():
        twin = next((other for other in unmatched if _same_row(row, other)), None)
        if twin is None:
            return False
        unmatched.remove(twin)
    return not unmatched


def _expanded(rows: Iterable[Row]) -> Counter[Row]:
    listed = rows.elements() if isinstance(rows, Counter) else rows
    return Counter(tuple(canonical(v) for v in row) for row in listed)


def _same_row(a: Row, b: Row) -> bool:
    return len(a) == len(b) and all(_same_value(x, y) for x, y in zip(a, b, strict=True))


def _same_value(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a is b or math.isclose(a, b, rel_tol=1e-9)
    return a == b


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Bring times to integers; everything else stays."""
    type_ = column.type
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        unit = pa.timestamp("us", type_.tz) if pa.types.is_timestamp(type_) else pa.duration("us")
        return column.cast(unit).cast(pa.int64())
    if pa.types.is_date32(type_):
        return column.cast(pa.int32())
    return column
