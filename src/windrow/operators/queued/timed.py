"""A pipeline whose operators take time: one processor serves all queues, in virtual time.

    now ─────►  reads for a slice ──► done        a change shows when the work that made it is done;
    queues fill up meanwhile                      what came meanwhile has waited

Tuples come at their own times, so delay is the time that waiting and work take, and nothing else.

Also what `q.stats()` shows of queues and of the processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from windrow.core.errors import RunError
from windrow.core.processor import Costs, Processor
from windrow.core.scheduling import Ready, RoundRobin
from windrow.core.time import FOREVER
from windrow.operators.queued.pipeline import Pipeline, Served
from windrow.operators.queued.queue import ANY
from windrow.operators.task import Saved
from windrow.operators.vector import I64


@dataclass(slots=True)
class TimedPipeline(Pipeline):
    """A pipeline on a processor. `_asked`: work of operators that were asked for their clocks."""

    processor: Processor = field(default_factory=Processor)
    _asked: float = 0.0

    def opens(self, start: int) -> None:
        """The first event is at `start`: time begins with it."""
        self.processor.now = float(start)

    def work(self, clock: int, *, ends: bool) -> None:
        """Run operators as the scheduler says until `clock`, or until nothing waits."""
        processor = self.processor
        until = FOREVER if ends else clock
        while processor.now <= until:
            # Run an operator for a slice; if none is ready, jump to the next arrival.
            ready = list(self._ready(int(processor.now)))
            if ready:
                self._slice(self._chosen(ready))
                continue
            later = [q.since for q in self.queues.values() if processor.now < q.since < FOREVER]
            if not later or min(later) > until:
                break
            processor.now = float(min(later))
        processor.now = max(processor.now, float(clock))
        for i in self.inner:
            if len(queues := self.waiting_for(i)) == 1:
                queues[0].thin(int(processor.now))

    def _chosen(self, ready: list[Ready]) -> int:
        """Return the stage that the scheduler lets run."""
        chosen = self.processor.scheduler.choose(ready)
        if chosen not in (r.stage for r in ready):
            raise RunError(
                f"the scheduler has chosen {chosen!r}, which is no operator that is ready",
                detail=f"Ready were {', '.join(str(r.stage) for r in ready)}.",
                hint="Let choose() return the stage of one of those that it is given.",
            )
        return chosen

    def catch_up(self, clock: int) -> None:
        """Work off everything that has come up to `clock` before anything else comes."""
        self.work(clock, ends=True)
        Pipeline.catch_up(self, clock)

    def closed_at(self, clock: int) -> int:
        """Nothing is emitted before the work for it is done."""
        return max(clock, ceil(self.processor.now))

    def _ready(self, now: int) -> Iterator[Ready]:
        """Yield the operators that something waits for which they may read."""
        for i in self.inner:
            queues = self.waiting_for(i)
            since = min(q.since for q in queues)
            if since <= now and (len(queues) == 1 or self.reach(i, now, 1) is not None):
                yield Ready(i, sum(map(len, queues)), since)

    def _slice(self, i: int) -> None:
        """Let one operator run for a slice of time.

        It reads as long as another row fits into what is left, and reads one at least. What a row
        makes, or ends, is known when it has been read: where that takes time, or a message takes
        another, entries are read one by one. Otherwise all at once, which gives the same delays.
        """
        processor = self.processor
        costs = processor.costs_of(self.flow.stages[i].label)
        length, now, used = processor.scheduler.slice, int(processor.now), 0.0
        # Each entry takes as long as the next: as many as fit, at once.
        # One entry at a time, unless each takes the same time whatever it makes.
        most = 1
        if costs.steady:
            most = max(1, int(length / costs.entry)) if costs.entry else ANY
        served = self.serve(i, now, most)
        assert served is not None, "an operator that is ready can run"
        while served is not None:
            used += self._take_time(served, costs)
            fits = used < length and used + costs.entry <= length
            served = self.serve(i, now, most) if most == 1 and fits else None

    def _take_time(self, served: Served, costs: Costs) -> float:
        """Charge the time of what was read, and of stages asked for clocks; hand on the changes."""
        processor = self.processor
        work = _work(served, costs)
        # What others were run for before this one could go on is paid by its first entry.
        work[0] += self._asked
        self._asked = 0.0
        work = np.cumsum(work)
        done = np.ceil(processor.now + work).astype(np.int64)
        processor.now += float(work[-1])
        processor.busy += float(work[-1])
        self.hand_on(served, lambda ts: done[_entry_of(served.times, ts)])
        return float(work[-1])

    def asked(self, served: Served) -> None:
        """Note the work of an operator that one above it has asked for its clock."""
        costs = self.processor.costs_of(self.flow.stages[served.stage].label)
        self._asked += float(_work(served, costs).sum())

    def content(self, rows: int) -> Saved:
        """Return what waits, and how far the processor has come."""
        own: Saved = {"now": self.processor.now, "busy": self.processor.busy}
        if isinstance(self.processor.scheduler, RoundRobin):
            own["last"] = self.processor.scheduler.last
        return {**Pipeline.content(self, rows), "processor": own}

    def take_over(self, saved: Saved) -> None:
        """Take over what was saved."""
        Pipeline.take_over(self, saved)
        own = saved["processor"]
        self.processor.now, self.processor.busy = own["now"], own["busy"]  # type: ignore[index]
        if isinstance(self.processor.scheduler, RoundRobin):
            self.processor.scheduler.last = own.get("last", -1)  # type: ignore[attr-defined]

    def follow(self, other: Pipeline) -> None:
        """Go on after a hand-over, on the processor as the other has left it."""
        Pipeline.follow(self, other)
        if isinstance(other, TimedPipeline):
            self.processor = other.processor


def _work(served: Served, costs: Costs) -> np.ndarray:
    """Return what each entry took: its own share, and the results of its instant."""
    rows = sum(len(e.delta) for e in served.entries)
    messages = sum(e.messages for e in served.entries)
    reading = rows * costs.entry + messages * costs.of_message + served.expired * costs.expiry
    entries = max(len(served.times), 1)
    work = np.full(entries, reading / entries)
    if costs.result and len(served.made):
        by = _entry_of(served.times, served.made.ts)
        work += np.bincount(by, minlength=entries) * costs.result
    return work


def _entry_of(times: I64, ts: I64) -> I64:
    """Return after which of the entries read at `times` the changes of each instant are emitted.

    The last one of that instant, so that nothing is emitted too early; without any, the next one;
    of what is later than all, the last.

    >>> _entry_of(np.array([3, 5, 5, 8]), np.array([2, 3, 4, 5, 6, 9])).tolist()
    [0, 0, 1, 2, 3, 3]
    """
    # The first entry at or behind an instant, and the last one of it.
    following = np.searchsorted(times, ts, side="left")
    last = np.searchsorted(times, ts, side="right") - 1
    return np.clip(np.maximum(following, last), 0, max(len(times) - 1, 0))


def queue_stats(pipeline: Pipeline, stage: int) -> dict[str, object]:
    """Return what an operator has read from its queues, and what waits there; leaves have none.

    `messages_purged` were dropped because something followed them, `messages_carried` is how many
    entries then brought their news.
    """
    if stage in pipeline.leaves:
        return {}
    queues = pipeline.waiting_for(stage)
    counts = [q.counts for q in queues]
    return {
        "rows_read": sum(c.rows for c in counts),
        "messages_read": sum(c.messages for c in counts),
        "messages_purged": sum(c.purged for c in counts),
        "messages_carried": sum(c.carriers for c in counts),
        "waiting": sum(map(len, queues)),
        "longest_queue": max((c.longest for c in counts), default=0),
    }


def processor_stats(pipeline: Pipeline | None, scale: float) -> dict[str, object]:
    """Return until when the processor has worked and for how long, in units of `scale`."""
    if not isinstance(pipeline, TimedPipeline):
        return {}
    worked = pipeline.processor
    return {"processor": {"now": worked.now / scale, "busy": worked.busy / scale}}
