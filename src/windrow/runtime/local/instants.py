"""Instants as users give them, on the clock that they are meant for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from numbers import Integral
from time import time_ns

from windrow.core.errors import InputError
from windrow.core.naming import shown
from windrow.core.time import Clock
from windrow.plan.functions.moments import FIRST_MOMENT, LAST_MOMENT, parse_timestamp
from windrow.runtime.local.ingest import FARTHEST

Instant = int | str | date | datetime

Now = Callable[[], Instant]
"""Returns what time it is: µs since 1970, ISO text or a datetime."""


def wall_clock() -> int:
    """Return what time it is by the machine, in µs since 1970."""
    return time_ns() // 1000


def counts_ticks(instant: Instant) -> bool:
    """Return whether an instant is a bare number."""
    return isinstance(instant, Integral) and hasattr(instant, "__index__")


def to_instant(instant: Instant, clock: Clock) -> int:
    """Return an instant of the clock: numbers as they are; times from ISO text or datetime.

    >>> to_instant("1970-01-01 00:00:01", Clock.TIMESTAMP), to_instant(7, Clock.TICKS)
    (1000000, 7)
    """
    first, last = (FIRST_MOMENT, LAST_MOMENT) if clock is Clock.TIMESTAMP else (-FARTHEST, FARTHEST)
    found = _number(instant) if clock is Clock.TICKS or counts_ticks(instant) else _moment(instant)
    if found is None or not first <= found <= last:
        kind = "a timestamp" if clock is Clock.TIMESTAMP else "an integer"
        raise InputError(
            f"{shown(instant)} is no instant of this clock",
            hint=f"Give {kind} that is within its range.",
        )
    return found


def _number(instant: Instant) -> int | None:
    return None if isinstance(instant, bool) or not counts_ticks(instant) else int(instant)  # type: ignore[arg-type]


def _moment(instant: object) -> int | None:
    if isinstance(instant, datetime):
        instant = (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).isoformat()
    if isinstance(instant, date):
        instant = instant.isoformat()
    return parse_timestamp(instant) if isinstance(instant, str) else None
