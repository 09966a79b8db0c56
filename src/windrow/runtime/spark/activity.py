"""What a run is doing: at work, or idle and waiting for what. Idle is not stuck."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from windrow.runtime.shards.rebuilding import Rebuilding
from windrow.runtime.spark.progress import Activity, Tally
from windrow.runtime.spark.triggers import ends

WAITING = {
    "Waiting for data to arrive": "new data",
    "Waiting for next trigger": "the next trigger",
}
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
