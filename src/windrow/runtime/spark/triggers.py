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


def drains(trigger: str, *, asked: bool | None, kept: bool) -> bool:
    """Return whether a run closes its streams at its end.

    `asked` decides. If it is None: where nothing can follow, since no checkpoint is `kept`.

    >>> [drains("available-now", asked=None, kept=kept) for kept in (True, False)]
    [False, True]
    """
    if asked and not ends(trigger):
        raise RunError(
            f'a run with the trigger "{trigger}" has no end at which it could drain',
            detail="Draining closes all streams when the input has been read.",
            hint='Stop the run, then start it with "available-now" and drain.',
        )
    return ends(trigger) and (not kept if asked is None else asked)


def ends(text: str) -> bool:
    """Return whether a run with this trigger comes to an end by itself."""
    return "processingTime" not in read_trigger(text)
