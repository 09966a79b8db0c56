"""When micro-batches run."""

from __future__ import annotations

import re
from typing import Any

from windrow.core.errors import RunError

INTERVAL = re.compile(r"\d+(\.\d+)? *(milliseconds?|seconds?|minutes?|hours?|days?)", re.IGNORECASE)


def read_trigger(text: str) -> dict[str, Any]:
    """Return what `DataStreamWriter.trigger` is called with.

    >>> read_trigger("available-now"), read_trigger("2 seconds")
    ({'availableNow': True}, {'processingTime': '2 seconds'})
    """
    match text.strip().lower():
        case "available-now":
            return {"availableNow": True}
        case "once":
            return {"once": True}
        case interval if INTERVAL.fullmatch(interval):
            return {"processingTime": interval}
        case _:
            raise RunError(
                f'unknown trigger "{text}"',
                hint='Use "available-now", "once" or an interval such as "2 seconds".',
            )


def ends(text: str) -> bool:
    """Tell whether a run with this trigger comes to an end by itself."""
    return "processingTime" not in read_trigger(text)
