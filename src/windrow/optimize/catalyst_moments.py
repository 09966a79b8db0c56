"""Functions of dates and timestamps as Spark SQL that no session's time zone can change.

Spark takes the parts of a TIMESTAMP in the session's zone; ours are UTC. So moments are taken
as their µs since 1970, and only dates are asked for their parts.
"""

from __future__ import annotations

from windrow.plan.functions.moments import (
    FIRST_MOMENT,
    LAST_MOMENT,
)

IN_CALENDAR = (
    f"(CASE WHEN {{micros}} BETWEEN {FIRST_MOMENT}L AND {LAST_MOMENT}L "
    "THEN timestamp_micros({micros}) END)"
)
"""The moment of some µs; NULL outside the years 0001 to 9999."""


def _of_day(unit: int, whole: int) -> str:
    return f"CAST(pmod(unix_micros({{0}}), {whole}L) div {unit}L AS INT)"


def _from_unix(name: str, unit: int) -> str:
    first, last = -(-FIRST_MOMENT // unit), LAST_MOMENT // unit
    return f"(CASE WHEN {{0}} BETWEEN {first}L AND {last}L THEN {name}({{0}}) END)"


MOMENT_CALLS = {
    **{
        name: f"{name}({{0}})"
        for name in (
            *("year", "quarter", "month", "day", "dayofweek", "weekday", "dayofyear"),
            *("weekofyear", "last_day", "unix_seconds", "unix_millis", "unix_micros"),
        )
    },
    "datediff": "datediff({0}, {1})",
    "hour": _of_day(3_600_000_000, 86_400_000_000),
    "minute": _of_day(60_000_000, 3_600_000_000),
    "second": _of_day(1_000_000, 60_000_000),
    "timestamp_seconds": _from_unix("timestamp_seconds", 1_000_000),
    "timestamp_millis": _from_unix("timestamp_millis", 1_000),
    "timestamp_micros": _from_unix("timestamp_micros", 1),
}
"""Functions whose arguments the binder has brought to DATE, TIMESTAMP or BIGINT."""


def add_interval(operation: str, args: list[str]) -> str | None:
    """Return a moment moved by a constant number of µs."""
    moment, by = args
    if not by.removeprefix("-").isdigit():
        return None
    return IN_CALENDAR.format(micros=f"{operation}(unix_micros({moment}), {by}L)")
