"""Dates and timestamps as text: the one form that CAST, literals and `to_timestamp` read.

    2024-02-29            2024-02-29 12:30        2024-02-29T12:30:00.250
    2024-2-29             2024-02-29 12:30:00Z    2024-02-29 12:30:00+02:00

Without an offset the time is UTC. Years are 0001 to 9999; blanks around are ignored.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time

MOMENT = (
    r"^ *(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
    r"(?:[ T](?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,6})[0-9]*)?)?"
    r" ?(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)? *$"
)
"""A regular expression in the syntax that Python, RE2 and Arrow share."""

MICROSECONDS_A_DAY = 86_400_000_000
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31, in days from 1970: what is moved beyond them becomes NULL."""

FIRST_MOMENT = FIRST_DAY * MICROSECONDS_A_DAY
LAST_MOMENT = (LAST_DAY + 1) * MICROSECONDS_A_DAY - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT = re.compile(MOMENT)


def parse_timestamp(text: str) -> int | None:
    """Return the µs since 1970 UTC that a text names, or None.

    >>> parse_timestamp("1970-01-01 00:00:01.5"), parse_timestamp("1970-01-01T02:00+02:00")
    (1500000, 0)
    >>> parse_timestamp("2023-02-29") is None
    True
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    part = match.groupdict()
    try:
        day = datetime(int(part["year"]), int(part["month"]), int(part["day"]), tzinfo=UTC)
        clock = time(int(part["hour"] or 0), int(part["minute"] or 0), int(part["second"] or 0))
    except ValueError:
        return None
    offset = zone_offset(part["zone"])
    if offset is None:
        return None
    seconds = (day - _EPOCH).days * 86_400 + (clock.hour * 60 + clock.minute) * 60 + clock.second
    found = seconds * 1_000_000 + int((part["fraction"] or "0").ljust(6, "0")) - offset
    return found if FIRST_MOMENT <= found <= LAST_MOMENT else None


def zone_offset(zone: str | None) -> int | None:
    """Return the µs that a zone is ahead of UTC; None if it is over 14 hours away.

    >>> zone_offset("+0130"), zone_offset("Z"), zone_offset("-15")
    (5400000000, 0, None)
    """
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    if minutes > 14 * 60 or int(digits[2:]) > 59:
        return None
    return (-minutes if zone[0] == "-" else minutes) * 60_000_000


def parse_date(text: str) -> int | None:
    """Return the days since 1970 that a text names, the time of day (in UTC) left out.

    >>> parse_date("1970-01-02"), parse_date("yesterday") is None
    (1, True)
    """
    moment = parse_timestamp(text)
    return None if moment is None else moment // MICROSECONDS_A_DAY
