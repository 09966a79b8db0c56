"""Timestamps read from text: pieces cut out by one regular expression, then arithmetic."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.types import TIMESTAMP
from windrow.operators.evaluate.arrays import Mask, Raw, arrow, both, build, raw, validity
from windrow.operators.evaluate.datetime import in_calendar
from windrow.plan.functions.moments import MICROSECONDS_A_DAY, MOMENT

_match = arrow("extract_regex", pc.ExtractRegexOptions(MOMENT))


def parse_moment(text: pa.Array) -> pa.Array:
    """Read timestamps in the form that `windrow.plan.functions.moments` describes."""
    parts = _match(text)
    year, month, day = (_number(parts, name) for name in ("year", "month", "day"))
    hour, minute, second = (_number(parts, name) for name in ("hour", "minute", "second"))
    fraction = _padded_number(parts, "fraction", 6)
    offset, near = _offset(parts)
    start, exists = _calendar_days(year, month, day)
    fits = exists & near & (hour < 24) & (minute < 60) & (second < 60)
    of_day = ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction
    moment = start * MICROSECONDS_A_DAY + of_day - offset
    return in_calendar(build(TIMESTAMP, moment, both(validity(parts), fits)))


def _number(parts: pa.StructArray, name: str) -> Raw:
    return _integers(parts.field(name))


def _padded_number(parts: pa.StructArray, name: str, width: int) -> Raw:
    return _integers(pc.utf8_rpad(parts.field(name), width, "0"))


def _integers(digits: pa.Array) -> Raw:
    """Return numerals as integers; 0 for NULL and for what the pattern left out."""
    present = pc.coalesce(pc.if_else(pc.equal(digits, ""), "0", digits), "0")
    return raw(pc.cast(present, pa.int64()))


def _offset(parts: pa.StructArray) -> tuple[Raw, Mask]:
    """Return the µs ahead of UTC, and whether a zone so far away exists."""
    zone = pc.coalesce(parts.field("zone"), "")
    digits = pc.replace_substring_regex(zone, "[Z:+-]", "")
    clock = _integers(pc.utf8_rpad(digits, 4, "0"))
    minutes = clock // 100 * 60 + clock % 100
    sign = np.where(raw_mask(pc.starts_with(zone, "-")), -1, 1)
    return sign * minutes * 60_000_000, (minutes <= 14 * 60) & (clock % 100 < 60)


def raw_mask(array: pa.Array) -> Mask:
    """Return a truth array without NULLs as NumPy sees it."""
    found: Mask = array.to_numpy(zero_copy_only=False)
    return found


def _calendar_days(year: Raw, month: Raw, day: Raw) -> tuple[Raw, Mask]:
    """Return days since 1970, and whether the calendar has such a day."""
    months = (year - 1970) * 12 + np.clip(month, 1, 12) - 1
    start = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    after = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    real = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= after - start)
    return start + day - 1, real
