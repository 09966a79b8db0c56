"""Functions of dates and timestamps, all in UTC.

Where a date is wanted, a timestamp gives its day; where a timestamp is wanted, a date gives
its midnight; a text constant is read as either.
"""

from __future__ import annotations

import re

import pyarrow as pa

from windrow.core.errors import BindError
from windrow.core.types import BIGINT, DATE, STRING, TIMESTAMP, is_temporal
from windrow.plan.expressions import Expr, Literal
from windrow.plan.functions import signature
from windrow.plan.functions.casts import resolve_cast

INT = pa.int32()

UNITS = (
    *("year", "quarter", "month", "week", "day"),
    *("hour", "minute", "second", "millisecond", "microsecond"),
)
"""What `date_trunc` cuts to. Weeks begin on Monday."""

UNIT_ALIASES = {"yyyy": "year", "yy": "year", "mon": "month", "mm": "month", "dd": "day"}

FORMAT_PIECE = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z']+)")
"""One piece of a `date_format` pattern: quoted text, a run of one letter, or other text."""

FORMAT_LETTERS = {
    "y": (1, 2, 4),
    "M": (1, 2),
    "d": (1, 2),
    "D": (1, 3),
    "H": (1, 2),
    "m": (1, 2),
    "s": (1, 2),
    "S": (1, 2, 3, 4, 5, 6),
}
"""The letters of `date_format` and how often each may stand in a row."""


def _part(usage: str) -> signature.Function:
    return signature.simple(usage, (signature.DAY,), INT)


def _part_of_day(usage: str) -> signature.Function:
    return signature.simple(usage, (signature.INSTANT,), INT)


def _unit(name: str, arg: Expr, allowed: tuple[str, ...]) -> Literal:
    known = signature.constant(name, arg, "the unit")
    unit = str(known.value).lower()
    unit = UNIT_ALIASES.get(unit, unit)
    if unit not in allowed:
        raise BindError(
            f"{name} knows no unit '{known.value}'", hint=f"It knows {', '.join(allowed)}."
        )
    return Literal(unit, STRING)


def _date_trunc(args: signature.Args) -> Expr:
    unit = _unit("date_trunc", args[0], UNITS)
    return signature.call(
        "date_trunc", (unit, signature.fit("date_trunc", args[1], signature.INSTANT)), TIMESTAMP
    )


def _trunc(args: signature.Args) -> Expr:
    """Type ``trunc(date, unit)``: the first day of the year, quarter, month or week."""
    unit = _unit("trunc", args[1], UNITS[:4])
    return signature.call("trunc", (signature.fit("trunc", args[0], signature.DAY), unit), DATE)


def _to(name: str, type_: pa.DataType) -> signature.Function:
    def resolve(args: signature.Args) -> Expr:
        return resolve_cast(args[0], type_)

    return signature.Function(name, f"{name}(value)", 1, 1, resolve)


def split_format(pattern: str) -> list[tuple[str, str]]:
    """Split a `date_format` pattern into ("text", characters) and (letter, run) pieces.

    >>> split_format("yyyy-MM'T'")
    [('y', 'yyyy'), ('text', '-'), ('M', 'MM'), ('text', 'T')]
    """
    pieces, end = [], 0
    for match in FORMAT_PIECE.finditer(pattern):
        if match.start() != end:
            break
        end = match.end()
        quoted, letter, other = match.groups()
        if letter is not None:
            pieces.append((letter, match.group()))
        else:
            text = other if quoted is None else quoted.replace("''", "'") or "'"
            pieces.append(("text", text))
    if end != len(pattern):
        raise BindError(
            f"a quote is not closed in the format '{pattern}'",
            hint="Text in a format stands between two quotes; a quote itself is written twice.",
        )
    return pieces


def _check_format(pattern: str) -> None:
    for letter, run in split_format(pattern):
        if letter != "text" and len(run) not in FORMAT_LETTERS.get(letter, ()):
            raise BindError(
                f"date_format does not know '{run}'",
                hint="It knows yyyy yy y MM M dd d DDD D HH H mm m ss s S..SSSSSS and 'text'.",
            )


def _date_format(args: signature.Args) -> Expr:
    moment = signature.fit("date_format", args[0], signature.INSTANT)
    pattern = signature.constant("date_format", args[1], "the format")
    if pattern.value is None:
        return Literal(None, STRING)
    _check_format(str(pattern.value))
    return signature.call("date_format", (moment, Literal(str(pattern.value), STRING)), STRING)


def _from_unixtime(args: signature.Args) -> Expr:
    """Type ``from_unixtime(seconds[, format])``: the moment as text."""
    seconds = signature.fit("from_unixtime", args[0], signature.WHOLE)
    moment = signature.partial("timestamp_seconds", (seconds,), TIMESTAMP)
    return _date_format((moment, *(args[1:] or (Literal("yyyy-MM-dd HH:mm:ss", STRING),))))


def _unix_timestamp(args: signature.Args) -> Expr:
    value = args[0]
    if not is_temporal(value.type) and not isinstance(value, Literal):
        value = resolve_cast(value, TIMESTAMP)
    return signature.call(
        "unix_seconds", (signature.fit("unix_timestamp", value, signature.INSTANT),), BIGINT
    )


def _unix(usage: str) -> signature.Function:
    return signature.simple(usage, (signature.INSTANT,), BIGINT)


_EPOCH = Literal(0, DATE)


def _date_part(args: signature.Args) -> Expr:
    """Write ``date_part('hour', ts)`` as the function of that part."""
    known = signature.constant("date_part", args[0], "the part")
    name = PARTS.get(str(known.value).lower().removesuffix("s"))
    if name is None:
        raise BindError(
            f"date_part knows no part '{known.value}'", hint=f"It knows {', '.join(PARTS)}."
        )
    return next(f for f in FUNCTIONS if f.name == name).resolve(args[1:])


PARTS = {
    **{
        name: name
        for name in (
            *("year", "quarter", "month", "day", "dayofweek", "weekday", "dayofyear"),
            *("weekofyear", "hour", "minute", "second"),
        )
    },
    "week": "weekofyear",
    "dow": "dayofweek",
    "doy": "dayofyear",
}
"""What `date_part` takes, and the function that it is."""


def _unix_date(args: signature.Args) -> Expr:
    day = signature.fit("unix_date", args[0], signature.DAY)
    return signature.call("datediff", (day, _EPOCH), INT)


def _date_from_unix_date(args: signature.Args) -> Expr:
    count = signature.fit("date_from_unix_date", args[0], signature.WHOLE)
    return signature.partial("date_add", (_EPOCH, count), DATE)


FUNCTIONS = (
    signature.Function("date_part", "date_part('part', timestamp)", 2, 2, _date_part),
    signature.Function("unix_date", "unix_date(date)", 1, 1, _unix_date),
    signature.Function(
        "date_from_unix_date", "date_from_unix_date(days)", 1, 1, _date_from_unix_date
    ),
    signature.simple("make_date(year, month, day)", (signature.WHOLE,) * 3, DATE, total=False),
    _part("year(date)"),
    _part("quarter(date)"),
    _part("month(date)"),
    _part("day(date)"),
    _part("dayofweek(date)"),
    _part("weekday(date)"),
    _part("dayofyear(date)"),
    _part("weekofyear(date)"),
    _part_of_day("hour(timestamp)"),
    _part_of_day("minute(timestamp)"),
    _part_of_day("second(timestamp)"),
    signature.Function("date_trunc", "date_trunc('unit', timestamp)", 2, 2, _date_trunc),
    signature.Function("trunc", "trunc(date, 'unit')", 2, 2, _trunc),
    signature.simple("date_add(date, days)", (signature.DAY, signature.WHOLE), DATE, total=False),
    signature.simple("date_sub(date, days)", (signature.DAY, signature.WHOLE), DATE, total=False),
    signature.simple(
        "add_months(date, months)", (signature.DAY, signature.WHOLE), DATE, total=False
    ),
    signature.simple("datediff(end, start)", (signature.DAY, signature.DAY), INT),
    signature.simple("last_day(date)", (signature.DAY,), DATE),
    _to("to_date", DATE),
    _to("to_timestamp", TIMESTAMP),
    signature.Function("date_format", "date_format(timestamp, 'format')", 2, 2, _date_format),
    signature.Function("unix_timestamp", "unix_timestamp(timestamp)", 1, 1, _unix_timestamp),
    signature.Function("from_unixtime", "from_unixtime(seconds[, 'format'])", 1, 2, _from_unixtime),
    _unix("unix_seconds(timestamp)"),
    _unix("unix_millis(timestamp)"),
    _unix("unix_micros(timestamp)"),
    signature.simple("timestamp_seconds(number)", (signature.WHOLE,), TIMESTAMP, total=False),
    signature.simple("timestamp_millis(number)", (signature.WHOLE,), TIMESTAMP, total=False),
    signature.simple("timestamp_micros(number)", (signature.WHOLE,), TIMESTAMP),
)

ALIASES = {
    "dayofmonth": "day",
    "day_of_week": "dayofweek",
    "day_of_year": "dayofyear",
    "week": "weekofyear",
    "datepart": "date_part",
    "to_unix_timestamp": "unix_timestamp",
    "dateadd": "date_add",
    "date_diff": "datediff",
}
