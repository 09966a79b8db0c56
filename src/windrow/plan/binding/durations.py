"""Lengths of time and instants, from how they are written to the clock's own unit.

Also the settings that decide how expirations of a query are emitted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from sqlglot import exp

from windrow.core.errors import BindError
from windrow.core.time import FOREVER, UNITS, Clock
from windrow.language.printing import to_sql
from windrow.language.spans import span_of
from windrow.language.syntax import Duration
from windrow.plan.expiring import Expiry
from windrow.plan.functions.moments import parse_timestamp

LONGER = {"RANGE": "Write [UNBOUNDED] for a window that never ends."}
"""What to write for a length beyond all time, by where it stands, if anything means that."""


def bind_duration(node: exp.Expr, clock: Clock, user: str, *, or_zero: bool = False) -> int:
    """Return a positive length of time in the clock's unit; `or_zero`: it may also be none.

    A bare number is ticks on an integer clock and seconds on a timestamp clock.
    """
    width = _width(node, clock)
    if width.denominator != 1 or width < (0 if or_zero else 1) or width >= FOREVER:
        unit = "ticks" if clock is Clock.TICKS else "microseconds"
        kind = "whole number" if or_zero else "positive whole number"
        raise BindError(
            f"{user} must be a {kind} of {unit}, at most {FOREVER - 1}",
            detail=f"{to_sql(node)} is {_shown(width)} {unit}.",
            hint="Write a longer time, or a finer unit."
            if width < FOREVER
            else LONGER.get(user, "Write a shorter time."),
            span=span_of(node),
        )
    return int(width)


def said_length(said: str, clock: Clock | None, setting: str) -> int:
    """Return the length of time that a setting says, as `check_setting` keeps it.

    `clock` is that of the query's streams, None if it reads none.
    """
    number, _, unit = said.partition(" ")
    if not unit and clock is None:
        raise BindError(
            f"{setting} = {said} of what? The query reads no stream",
            detail="A bare number is seconds or ticks, as the clock of a stream says.",
            hint=f"Write a unit: SET {setting} = '{said} seconds'.",
        )
    if unit and clock is Clock.TICKS:
        raise BindError(
            f"{setting} = {said.lower()}, but an integer clock has no {unit.lower()}",
            detail="The stream's TIMESTAMP BY column is an integer, so time counts its ticks.",
            hint=f"SET {setting} = {number} before it, the number alone, or 'none'.",
        )
    literal = exp.Literal(this=number, is_string=False)
    written = Duration(this=literal, unit=unit.removesuffix("S") or None)
    return bind_duration(written, clock or Clock.TIMESTAMP, setting)


def _shown(width: Fraction) -> str:
    return f"{float(width):g}" if width < 10**300 else "far more"


def _width(node: exp.Expr, clock: Clock) -> Fraction:
    unit = node.args.get("unit") if isinstance(node, Duration) else None
    number = node.this if isinstance(node, Duration) else node
    count = Fraction(str(number.this))
    if clock is Clock.TIMESTAMP:
        return count * UNITS[unit or "SECOND"]
    if unit is not None:
        raise BindError(
            f"an integer clock has no {unit.lower()}s",
            detail="The stream's TIMESTAMP BY column is an integer, so time counts its ticks.",
            hint="Write the number alone.",
            span=span_of(node),
        )
    return count


def bind_count(node: exp.Expr, user: str) -> int:
    """Return a positive whole number of rows."""
    try:
        count = int(str(node.this))
    except ValueError:
        count = 0
    if not 0 < count < 2**31:
        raise BindError(
            f"{user} must be a positive whole number of rows",
            hint=f"For example {user} 100.",
            span=span_of(node),
        )
    return count


def bind_instant(node: exp.Expr, clock: Clock, user: str) -> int:
    """Return an instant: an integer, or the microseconds of an ISO timestamp."""
    text = str(node.this)
    if clock is Clock.TICKS:
        number = isinstance(node, exp.Literal) and not node.is_string
        if number and re.fullmatch(r"-?\d{1,19}", text) and -FOREVER < int(text) < FOREVER:
            return int(text)
        raise BindError(
            f"{user} on an integer clock takes an integer",
            detail=f"{to_sql(node)} is none of 64 bits.",
            hint=f"For example {user} 0.",
            span=span_of(node),
        )
    instant = parse_timestamp(text)
    if instant is None:
        raise BindError(
            f"{user} takes a timestamp, got {to_sql(node)}",
            hint=f"For example {user} '2026-01-01T00:00:00Z'.",
            span=span_of(node),
        )
    return instant


def expiry_of(settings: Mapping[str, object], clock: Clock | None) -> Expiry:
    """Return what settings say of expiry, on the clock of a query's streams."""
    kind, messages = (str(settings.get(name, "auto")) for name in ("expiry", "join_messages"))
    if (kind, messages) == ("piggyback", "off"):
        raise BindError(
            "expiry piggyback cannot go with join_messages off",
            detail="Where no tuple follows that could bring the news, messages are what does.",
            hint="Leave join_messages at auto, or SET expiry = 'negative'.",
        )
    said = str(settings.get("punctuation", "none"))
    length = None
    if said != "none" and kind == "input_triggered":
        length = said_length(said, clock, "punctuation")
    return Expiry(kind, messages, length)
