"""Time: integers, half-open intervals, one convention.

An instant is an int64: microseconds since 1970 UTC on a timestamp clock, or the user's own
ticks on an integer clock. A tuple is alive for ``ts <= τ < exp``.
"""

from __future__ import annotations

from enum import Enum

from windrow.core.errors import BindError

FOREVER = 2**63 - 1
"""The expiry time of a tuple that never expires."""

BEGINNING = -(2**63)
"""Before every instant: the clock of a query that has seen nothing."""


class Clock(Enum):
    """What an instant counts."""

    TICKS = "ticks"
    TIMESTAMP = "µs"


UNITS: dict[str, int] = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
"""Microseconds in one of each unit."""


def next_multiple(instant: int, step: int) -> int:
    """Return the first multiple of `step` at or after `instant`.

    >>> next_multiple(7, 5), next_multiple(10, 5), next_multiple(-3, 5)
    (10, 10, 0)
    """
    return -(-instant // step) * step


def last_multiple(instant: int, step: int) -> int:
    """Return the last multiple of `step` at or before `instant`.

    >>> last_multiple(7, 5), last_multiple(10, 5), last_multiple(-3, 5)
    (5, 10, -5)
    """
    return instant // step * step


def format_duration(width: int, clock: Clock) -> str:
    """Write a length of time as the language would: the largest unit that divides it.

    >>> format_duration(90_000_000, Clock.TIMESTAMP), format_duration(90, Clock.TICKS)
    ('90 SECONDS', '90')
    """
    if clock is Clock.TICKS:
        return str(width)
    for unit in ("WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND"):
        if width % UNITS[unit] == 0:
            count = width // UNITS[unit]
            return f"{count} {unit}{'' if count == 1 else 'S'}"
    return f"{width} MICROSECOND{'' if width == 1 else 'S'}"


def wall_time(text: str, user: str) -> int:
    """Return a length of processing time in µs.

    >>> wall_time("30 seconds", "idle")
    30000000
    """
    number, _, unit = text.strip().partition(" ")
    scale = UNITS.get(unit.strip().upper().rstrip("S") or "SECOND")
    if scale is None or not number.replace(".", "", 1).isdigit():
        raise BindError(
            f'{user} is "{text}", which is no length of time',
            hint="Write a number and a unit, for example '30 seconds'.",
        )
    return round(float(number) * scale)
