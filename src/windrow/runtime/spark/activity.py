"""When micro-batches run, and what a run is doing: at work, or idle and waiting for what."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from windrow.core.errors import RunError
from windrow.runtime.shards.rebuilding import Rebuilding
from windrow.runtime.spark.progress import Activity, Tally

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


WAITING = {"Waiting for data to arrive": "new data", "Waiting for next trigger": "the next trigger"}
"""What Spark says while it has nothing to do, and what it waits for."""


@dataclass(slots=True)
class RunWatch:
    """Follows what a run does, as it is looked at now and then.

    `trigger` is "" if it is not ours. `drains`, `stops`: what the driver itself does at the end.
    """

    trigger: str
    drains: bool = False
    stops: bool = False
    _doing: str = "starting"
    _since: float = field(default_factory=time.monotonic)

    def look(
        self,
        status: Mapping[str, Any],
        tally: Tally,
        ended: str | None,
        rebuilding: Sequence[Rebuilding] = (),
    ) -> Activity:
        """Return what a run does by Spark's word; `ended` is how it has ended, if it has."""
        message = str(status["message"])
        doing = ended or self._now(message, tally)
        if doing in ("starting", "working") and rebuilding:
            doing = "rebuilding"
        if doing != self._doing:
            self._doing, self._since = doing, time.monotonic()
        done_at = tally.ended_at()
        since_batch = None if done_at is None else max(0.0, time.time() - done_at)
        seconds = time.monotonic() - self._since
        if doing == "working" and since_batch is not None:
            seconds = min(seconds, since_batch)
        awaits = "; ".join(each.shown() for each in rebuilding)
        if doing != "rebuilding":
            awaits = self._awaits(doing, message, tally)
        return Activity(doing, seconds, awaits, self.trigger, since_batch)

    def _now(self, message: str, tally: Tally) -> str:
        if self.stops:
            return "stopping"
        if self.drains:
            return "draining"
        looks = self._doing == "idle" and message.startswith("Getting offsets")
        if message in WAITING or looks:  # a look that finds nothing does not end it
            return "idle"
        return "starting" if tally.last is None and "nitializing" in message else "working"

    def _awaits(self, doing: str, message: str, tally: Tally) -> str:
        match doing:
            case "idle" if not self.trigger or ends(self.trigger):
                return WAITING.get(message, "new data")
            case "idle":
                return f"{WAITING.get(message, 'new data')}; looks every {self.trigger}"
            case "working" | "stopping":
                return f"batch {tally.newest + 1}"
            case "draining":
                return "what the streams still hold back"
            case "starting":
                return "Spark"
            case _:
                return ""
