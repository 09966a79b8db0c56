"""The watermarks of streams, which every shard computes alike: from the times of all shards.

    frontier(S) = newest time of S in all batches so far - SLACK
                  at least wall - heartbeat, in a batch that brings nothing of S

A row behind its stream's frontier when its batch begins is late. A stream with the option `idle`
that has been silent for so long no longer holds the others back: its frontier goes with theirs,
until it speaks again. One with the option `heartbeat` goes on by itself: of a source that had
nothing to give when the batch began, what is still to come is younger than that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windrow.core.time import BEGINNING, FOREVER, Clock
from windrow.plan.functions.moments import FIRST_MOMENT

if TYPE_CHECKING:
    from windrow.operators.task import Saved
    from windrow.plan.catalog import Stream


@dataclass(frozen=True, slots=True)
class InputTimes:
    """Rows of one input in one batch: the first and the newest time, and how many there were.

    Without rows it is a heartbeat: the input has reached `newest`, and `first` is FOREVER. Without
    `has_time` there were only rows that cannot be used: the input is not idle, yet no further.
    """

    first: int
    newest: int
    rows: int

    @property
    def has_time(self) -> bool:
        """Whether any time is known."""
        return self.newest > BEGINNING

    def merged(self, other: InputTimes) -> InputTimes:
        """Return the times of the input on two shards together."""
        return InputTimes(
            min(self.first, other.first), max(self.newest, other.newest), self.rows + other.rows
        )


def rows_without_times(relation: str) -> str:
    """Return the name of the entry that says that a relation has rows without a time.

    It is the name of no input. A query of relations alone begins with them.
    """
    return f"\0now {relation}"


UNUSABLE = InputTimes(FOREVER, BEGINNING, 0)
"""Rows came that are late, or that cannot be read."""


@dataclass(frozen=True, slots=True)
class BatchClock:
    """The times of all inputs in a batch, the same on every shard and when the batch is run again.

    `wall` is the batch's own fixed processing time, in µs; 0 where nobody asks. `drain`: nothing
    follows.
    """

    times: Mapping[str, InputTimes]
    wall: int = 0
    drain: bool = False

    @property
    def has_wall(self) -> bool:
        """Whether clocks may follow the batch's time: not at an end of input."""
        return self.wall > 0 and not self.drain


@dataclass(slots=True)
class StreamClock:
    """The watermark of a stream (`frontier`), and what it is computed from."""

    stream: Stream
    newest: int = BEGINNING
    frontier: int = BEGINNING
    spoke: int | None = None  # µs of processing time, when rows last came
    idle: int | None = field(init=False)
    heartbeat: int | None = field(init=False)

    def __post_init__(self) -> None:
        self.idle, self.heartbeat = self.stream.idle, self.stream.heartbeat

    def advance(self, times: InputTimes | None, batch_clock: BatchClock) -> None:
        """Advance the watermark by the times of a batch."""
        timed = times is not None and times.has_time
        if times is not None and timed:
            self.newest = max(self.newest, times.newest)
            self.frontier = max(self.frontier, self.newest - self.stream.slack)
        if self.spoke is None or timed:
            self.spoke = batch_clock.wall
        if times is None and self.heartbeat is not None and batch_clock.has_wall:
            self.frontier = max(self.frontier, batch_clock.wall - self.heartbeat)

    def is_idle(self, wall: int) -> bool:
        """Return whether the stream has been silent for longer than it may."""
        return self.idle is not None and self.spoke is not None and wall - self.spoke > self.idle


@dataclass(slots=True)
class Clocks:
    """All streams of a program, and the newest time of all inputs."""

    streams: dict[str, StreamClock]
    latest: int = BEGINNING

    def advance(self, batch_clock: BatchClock) -> None:
        """Advance every watermark by the times of a batch."""
        self.latest = max([self.latest, *(h.newest for h in batch_clock.times.values())])
        for name, clock in self.streams.items():
            clock.advance(batch_clock.times.get(name), batch_clock)
        for kind in Clock:
            self._follow([c for c in self.streams.values() if c.stream.clock is kind], batch_clock)

    def _follow(self, clocks: list[StreamClock], batch_clock: BatchClock) -> None:
        """Let idle streams go with the slowest of the others; at the end, all with the newest."""
        if batch_clock.drain:
            last = max((c.newest for c in clocks), default=BEGINNING)
            for clock in clocks:
                clock.frontier = max(clock.frontier, last)
            return
        idle = [c for c in clocks if c.is_idle(batch_clock.wall)]
        awake = [c.frontier for c in clocks if c not in idle]
        for clock in idle:
            clock.frontier = max(clock.frontier, min(awake, default=BEGINNING))

    def of(self, names: tuple[str, ...]) -> int:
        """Return the clock of a query: the least of its streams.

        One of relations alone goes with the newest of all streams; without any, with the newest
        change; and before any time is known, it stands at the first moment of all.
        """
        if names:
            return min(self.streams[n].frontier for n in names)
        known = max((c.frontier for c in self.streams.values()), default=self.latest)
        return max(known, FIRST_MOMENT)

    def held_back_by(self, names: tuple[str, ...]) -> str | None:
        """Return the stream that the others wait for; None if all have come equally far."""
        reached = [self.streams[n].frontier for n in names]
        return None if len(set(reached)) < 2 else names[reached.index(min(reached))]

    def save(self) -> Saved:
        """Return the watermark of each stream."""
        streams = {n: [c.newest, c.frontier, c.spoke] for n, c in self.streams.items()}
        return {"latest": self.latest, "streams": streams}

    def load(self, saved: Saved) -> None:
        """Take over saved clocks."""
        self.latest, streams = saved["latest"], saved["streams"]  # type: ignore[assignment]
        for name, clock in self.streams.items():
            clock.newest, clock.frontier, clock.spoke = streams[name]  # type: ignore[index]
