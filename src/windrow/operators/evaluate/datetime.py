"""Kernels of dates and timestamps. UTC has no offsets, so all is arithmetic on µs and days."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.types import BIGINT, DATE, STRING, TIMESTAMP
from windrow.operators.evaluate import whole
from windrow.operators.evaluate.arrays import (
    Builder,
    Datum,
    Kernel,
    Raw,
    arrow,
    both,
    build,
    constants,
    micros,
    null_where,
    raw,
    reinterpret,
    unsafe_cast,
    validity,
)
from windrow.operators.few import scalar_of
from windrow.plan.expressions import Call
from windrow.plan.functions.datetime import split_format
from windrow.plan.functions.moments import (
    FIRST_DAY,
    FIRST_MOMENT,
    LAST_DAY,
    LAST_MOMENT,
    MICROSECONDS_A_DAY,
)

INT = pa.int32()
WALL = pa.timestamp("us")
"""Timestamps without a zone: Arrow then spares itself the zone's table."""

_to_int = unsafe_cast(INT)
_to_text = unsafe_cast(STRING)
_to_wall = unsafe_cast(WALL)
_days_to_date = unsafe_cast(DATE)


def days(datum: Datum) -> Raw:
    """Return dates as int32 days since 1970."""
    return raw(datum, np.int32)


def _part(name: str, options: object = None) -> Builder:
    """Build a part of a date, which Arrow knows as a 64-bit number."""
    extract = arrow(name, options)
    return lambda _: lambda date: _to_int(extract(date))


def _part_of_day(unit: int, count: int) -> Builder:
    """Build ``⌊µs / unit⌋ mod count``, which is right before 1970 as well."""

    def kernel(moment: pa.Array) -> pa.Array:
        found = (micros(moment) // unit % count).astype(np.int32)
        return build(INT, found, validity(moment))

    return lambda _: kernel


_WIDTHS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": MICROSECONDS_A_DAY,
}


def _date_trunc(call: Call) -> Kernel:
    unit = _constant(call, 0)
    if unit in _WIDTHS:
        width = _WIDTHS[unit]
        return lambda _, moment: build(TIMESTAMP, micros(moment) // width * width, validity(moment))
    floor = arrow("floor_temporal", pc.RoundTemporalOptions(unit=unit))
    return lambda _, moment: reinterpret(floor(reinterpret(moment, WALL)), TIMESTAMP)


def _trunc(call: Call) -> Kernel:
    floor = arrow("floor_temporal", pc.RoundTemporalOptions(unit=_constant(call, 1)))
    return lambda date, _: _days_to_date(floor(date))


def _constant(call: Call, place: int) -> str:
    value = getattr(call.args[place], "value", None)
    assert isinstance(value, str), "the catalogue asks for a constant here"
    return value


def _date_add(exact: whole.Exact) -> Builder:
    def kernel(date: Datum, count: Datum) -> pa.Array:
        a, b = np.broadcast_arrays(days(date).astype(np.int64), raw(count))
        moved, fits = exact(a, b)
        return as_dates(moved, both(validity(date, count), fits))

    return lambda _: kernel


def as_dates(day: Raw, valid: Raw | None) -> pa.Array:
    """Return days as dates; NULL outside the calendar."""
    fits = (day >= FIRST_DAY) & (day <= LAST_DAY)
    return build(DATE, np.where(fits, day, 0).astype(np.int32), both(valid, fits))


def in_calendar(moment: pa.Array) -> pa.Array:
    """Return timestamps, NULL where they lie outside the calendar."""
    at = micros(moment)
    if len(at) == 0 or (at.min() >= FIRST_MOMENT and at.max() <= LAST_MOMENT):
        return moment
    return null_where(moment, (at < FIRST_MOMENT) | (at > LAST_MOMENT))


def _add_months(date: Datum, count: Datum) -> pa.Array:
    """Move to the same day of another month, or to that month's last day if it is shorter."""
    day, step = np.broadcast_arrays(days(date), np.clip(raw(count), -(10**8), 10**8))
    month, month_start = _month(day)
    goal = month.astype(np.int64) + step
    near = (goal > -3_000_000) & (goal < 3_000_000)  # the months that int32 days can reach
    goal = np.where(near, goal, 0)
    start, length = _first_day(goal), _first_day(goal + 1) - _first_day(goal)
    moved = start + np.minimum(day - month_start, length - 1)
    return as_dates(moved, both(validity(date, count), near))


def _month(day: Raw) -> tuple[Raw, Raw]:
    """Return the months since January 1970, and each month's first day."""
    month = day.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return month, _first_day(month)


def _first_day(month: Raw) -> Raw:
    return month.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _make_date(*parts: Datum) -> pa.Array:
    """Return the day of a calendar; NULL if there is none, or outside the years 1 to 9999."""
    year, month, day = np.broadcast_arrays(*(raw(part) for part in parts))
    fits = (year >= 1) & (year <= 9999) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    number = np.where(fits, (year - 1970) * 12 + month - 1, 0)
    start = _first_day(number)
    fits &= day <= _first_day(number + 1) - start
    return as_dates(start + np.where(fits, day, 1) - 1, both(validity(*parts), fits))


def _last_day(date: pa.Array) -> pa.Array:
    month, _ = _month(days(date))
    return build(DATE, (_first_day(month + 1) - 1).astype(np.int32), validity(date))


def _datediff(end: Datum, start: Datum) -> pa.Array:
    return build(INT, days(end) - days(start), validity(end, start))


def _unix(unit: int) -> Builder:
    def kernel(moment: pa.Array) -> pa.Array:
        return build(BIGINT, micros(moment) // unit, validity(moment))

    return lambda _: kernel


def from_unix(unit: int) -> Kernel:
    """Return the moments that numbers of `unit` µs since 1970 name; NULL if too far."""
    multiply = whole.checked("multiply", whole.exact_product, BIGINT)
    scale = scalar_of(unit, BIGINT)
    return lambda number: in_calendar(reinterpret(multiply(number, scale), TIMESTAMP))


_PARTS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "y": pc.year,
    "M": pc.month,
    "d": pc.day,
    "D": pc.day_of_year,
    "H": pc.hour,
    "m": pc.minute,
    "s": pc.second,
}


def _date_format(call: Call) -> Kernel:
    """Write each piece of the format for all rows, then join the pieces."""
    known = constants(call, 1)
    assert known is not None, "the catalogue asks for a constant format"
    pieces = [_piece(letter, run) for letter, run in split_format(known[0])]
    join = arrow("binary_join_element_wise", pc.JoinOptions("emit_null"))
    empty = scalar_of("", STRING)

    def kernel(moment: pa.Array, _: Datum) -> pa.Array:
        wall = reinterpret(moment, WALL)
        first = pc.if_else(pc.is_valid(wall), "", None)
        return join(first, *(piece(wall) for piece in pieces), empty)

    return kernel


def _piece(letter: str, run: str) -> Kernel:
    width = len(run)
    if letter == "text":
        constant = scalar_of(run, STRING)
        return lambda _: constant
    if letter == "S":
        return lambda wall: pc.utf8_slice_codeunits(_padded(_fraction(wall), 6), 0, width)
    if letter == "y" and width == 2:
        return lambda wall: _padded(build(BIGINT, raw(pc.year(wall)) % 100, validity(wall)), 2)
    part = _PARTS[letter]
    return lambda wall: _padded(part(wall), width)


def _fraction(wall: pa.Array) -> pa.Array:
    return build(BIGINT, micros(wall) % 1_000_000, validity(wall))


def _padded(number: pa.Array, width: int) -> pa.Array:
    return pc.utf8_lpad(_to_text(number), width, "0")


BUILDERS: dict[str, Builder] = {
    "year": _part("year"),
    "quarter": _part("quarter"),
    "month": _part("month"),
    "day": _part("day"),
    "dayofweek": _part("day_of_week", pc.DayOfWeekOptions(count_from_zero=False, week_start=7)),
    "weekday": _part("day_of_week", pc.DayOfWeekOptions(count_from_zero=True, week_start=1)),
    "dayofyear": _part("day_of_year"),
    "weekofyear": _part("iso_week"),
    "hour": _part_of_day(3_600_000_000, 24),
    "minute": _part_of_day(60_000_000, 60),
    "second": _part_of_day(1_000_000, 60),
    "date_trunc": _date_trunc,
    "trunc": _trunc,
    "make_date": lambda _: _make_date,
    "date_add": _date_add(whole.exact_sum),
    "date_sub": _date_add(whole.exact_difference),
    "add_months": lambda _: _add_months,
    "datediff": lambda _: _datediff,
    "last_day": lambda _: _last_day,
    "date_format": _date_format,
    "unix_seconds": _unix(1_000_000),
    "unix_millis": _unix(1_000),
    "unix_micros": _unix(1),
    "timestamp_seconds": lambda _: from_unix(1_000_000),
    "timestamp_millis": lambda _: from_unix(1_000),
    "timestamp_micros": lambda _: from_unix(1),
}
