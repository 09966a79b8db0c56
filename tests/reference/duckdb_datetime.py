"""Functions of dates and timestamps in DuckDB's SQL."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.reference.duckdb_casts import floor_div, moment
from tests.reference.duckdb_types import quote
from windrow.plan.expressions import Call, Literal

Renderer = Callable[..., str]

FIRST_DAY, LAST_DAY = -719_162, 2_932_896


def _plain(function: str) -> Renderer:
    return lambda _, *args: f"{function}({', '.join(args)})"


def _move(symbol: str) -> Renderer:
    def render(_: Call, date: str, days: str) -> str:
        moved = f"CAST(date_diff('day', DATE '1970-01-01', {date}) AS HUGEINT) {symbol} {days}"
        day = f"DATE '1970-01-01' + CAST({moved} AS INTEGER)"
        return f"CASE WHEN {moved} BETWEEN {FIRST_DAY} AND {LAST_DAY} THEN {day} END"

    return render


def _add_months(_: Call, date: str, months: str) -> str:
    moved = f"TRY({date} + to_months(TRY_CAST({months} AS INTEGER)))"
    return f"CASE WHEN year({moved}) BETWEEN 1 AND 9999 THEN {moved} END"


def _date_format(call: Call, date: str, _: str) -> str:
    pattern = call.args[1]
    assert isinstance(pattern, Literal), "formats are constant"
    numbers = {
        "y": f"year({date})",
        "M": f"month({date})",
        "d": f"day({date})",
        "H": f"hour({date})",
        "m": f"minute({date})",
        "s": f"second({date})",
        "D": f"dayofyear({date})",
        "S": f"(microsecond({date}) % 1000000)",
    }
    pieces = ["''"]
    for run in re.finditer(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|[^A-Za-z']+", str(pattern.value)):
        if run[2] is None:
            text = run[0] if run[1] is None else run[1].replace("''", "'") or "'"
            pieces.append(quote(text))
        else:
            pieces.append(_digits(numbers[run[3]], run[3], len(run[2])))
    return f"CASE WHEN {date} IS NOT NULL THEN {' || '.join(pieces)} END"


def _digits(number: str, letter: str, width: int) -> str:
    if letter == "S":
        return f"substring(lpad(CAST({number} AS VARCHAR), 6, '0'), 1, {width})"
    if letter == "y" and width == 2:
        number = f"({number} % 100)"
    text = f"CAST({number} AS VARCHAR)"
    return f"CASE WHEN length({text}) < {width} THEN lpad({text}, {width}, '0') ELSE {text} END"


def _unix(unit: int) -> Renderer:
    return lambda _, date: floor_div(f"epoch_us({date})", unit)


def _from_unix(unit: int) -> Renderer:
    return lambda _, number: moment(f"CAST({number} AS HUGEINT) * {unit}")


DATETIME: dict[str, Renderer] = {
    "make_date": lambda _, y, m, d: (
        f"CASE WHEN {y} BETWEEN 1 AND 9999 THEN TRY(make_date({y}, {m}, {d})) END"
    ),
    "year": _plain("year"),
    "quarter": _plain("quarter"),
    "month": _plain("month"),
    "day": _plain("day"),
    "dayofweek": lambda _, date: f"(dayofweek({date}) + 1)",
    "weekday": lambda _, date: f"(isodow({date}) - 1)",
    "dayofyear": _plain("dayofyear"),
    "weekofyear": _plain("weekofyear"),
    "hour": _plain("hour"),
    "minute": _plain("minute"),
    "second": _plain("second"),
    "date_trunc": _plain("date_trunc"),
    "trunc": lambda _, date, unit: f"date_trunc({unit}, {date})",
    "date_add": _move("+"),
    "date_sub": _move("-"),
    "add_months": _add_months,
    "datediff": lambda _, end, start: f"date_diff('day', {start}, {end})",
    "last_day": _plain("last_day"),
    "date_format": _date_format,
    "unix_seconds": _unix(1_000_000),
    "unix_millis": _unix(1_000),
    "unix_micros": _unix(1),
    "timestamp_seconds": _from_unix(1_000_000),
    "timestamp_millis": _from_unix(1_000),
    "timestamp_micros": _from_unix(1),
}
