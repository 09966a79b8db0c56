"""The clocks of streams, as every shard computes them: from what all shards heard, alike.

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
class Heard:
    """Rows of one input in one batch: the first and the newest time, and how many there were.

    Without rows it is a heartbeat: the input has reached `newest`, and `first` is FOREVER. One
    that `tells_time` not is of rows that none may use: the input is not silent, yet no further.
    """

    first: int
    newest: int
    rows: int

    @property
    def tells_time(self) -> bool:
        """Whether the input has come anywhere."""
        return self.newest > BEGINNING

    def merged(self, other: Heard) -> Heard:
        """Return what two shards heard together."""
        return Heard(
            min(self.first, other.first), max(self.newest, other.newest), self.rows + other.rows
        )


def rows_without_times(relation: str) -> str:
    """Return the name under which shards tell of a relation's rows that take effect when heard of.

    It is that of no input. A query of relations alone begins with them.
    """
    return f"\0now {relation}"


UNUSABLE = Heard(FOREVER, BEGINNING, 0)
"""Rows came that are late, or that cannot be read."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What all shards know of a batch, the same for all: a batch that is run again has the same.

    `wall` is the batch's own fixed processing time, in µs; 0 where nobody asks. `drain`: nothing
    follows.
    """

    heard: Mapping[str, Heard]
    wall: int = 0
    drain: bool = False

    @property
    def has_wall(self) -> bool:
        """Whether time may pass by the batch's own: an end of input stands where its tuples do."""
        return self.wall > 0 and not self.drain


@dataclass(slots=True)
class StreamClock:
    """How far a stream has come."""

    stream: Stream
    newest: int = BEGINNING
    frontier: int = BEGINNING
    spoke: int | None = None  # µs of processing time, when last heard
    idle: int | None = field(init=False)
    heartbeat: int | None = field(init=False)

    def __post_init__(self) -> None:
        self.idle, self.heartbeat = self.stream.idle, self.stream.heartbeat

    def hear(self, heard: Heard | None, moment: Moment) -> None:
        """Take in what a batch brought."""
        told = heard is not None and heard.tells_time
        if heard is not None and told:
            self.newest = max(self.newest, heard.newest)
            self.frontier = max(self.frontier, self.newest - self.stream.slack)
        if self.spoke is None or told:
            self.spoke = moment.wall
        if heard is None and self.heartbeat is not None and moment.has_wall:
            self.frontier = max(self.frontier, moment.wall - self.heartbeat)

    def is_idle(self, wall: int) -> bool:
        """Tell whether it has been silent for longer than it may."""
        return self.idle is not None and self.spoke is not None and wall - self.spoke > self.idle


@dataclass(slots=True)
class Clocks:
    """All streams of a program, and the newest time of all inputs."""

    streams: dict[str, StreamClock]
    latest: int = BEGINNING

    def hear(self, moment: Moment) -> None:
        """Move every clock by what a batch brought."""
        self.latest = max([self.latest, *(h.newest for h in moment.heard.values())])
        for name, clock in self.streams.items():
            clock.hear(moment.heard.get(name), moment)
        for kind in Clock:
            self._follow([c for c in self.streams.values() if c.stream.clock is kind], moment)

    def _follow(self, clocks: list[StreamClock], moment: Moment) -> None:
        """Let idle streams go with the slowest of the others; at the end, all with the newest."""
        if moment.drain:
            last = max((c.newest for c in clocks), default=BEGINNING)
            for clock in clocks:
                clock.frontier = max(clock.frontier, last)
            return
        idle = [c for c in clocks if c.is_idle(moment.wall)]
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
        """Return how far each stream has come."""
        streams = {n: [c.newest, c.frontier, c.spoke] for n, c in self.streams.items()}
        return {"latest": self.latest, "streams": streams}

    def load(self, saved: Saved) -> None:
        """Take over saved clocks."""
        self.latest, streams = saved["latest"], saved["streams"]  # type: ignore[assignment]
        for name, clock in self.streams.items():
            clock.newest, clock.frontier, clock.spoke = streams[name]  # type: ignore[index]
