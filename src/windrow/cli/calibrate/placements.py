"""A query under one placement of early aggregation, timed stretch by stretch with full windows.

ticks  0 ........... start - full ........... start │ stretch │ stretch │ ...
       a query that  all others               each stretch is one batch a stream
       chooses fills fill
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Self

import pyarrow as pa

import windrow
from windrow.cli.calibrate.streams import SECOND, Feed, StreamSetting, asked
from windrow.optimize.early_grouping import Placement
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle

HASH, LOOPS = "auto", "loops"
"""Join algorithms, as `SET join_algorithm` takes them: hash joins are what the planner takes."""

FILL = 8
"""Batches in which windows are filled, at most: a window of results must not come at once."""


@dataclass(slots=True)
class Timeline:
    """The streams of a setting in time: when windows are full, and how long a stretch is.

    Windows fill in `full` ticks before `start`, with a stretch to spare.
    """

    feed: Feed
    start: int
    full: int
    stretch: int
    runs: int

    @classmethod
    def of(
        cls, setting: StreamSetting, stretch: float, runs: int, seed: int, *, settling: int = 0
    ) -> Self:
        """Return streams with runs of so many seconds after the longest window.

        Before it there are as many runs as a query that chooses has to settle.
        """
        ticks = max(1, round(stretch * SECOND))
        longest = max(setting.width(i) for i in range(len(setting.streams)))
        # One stretch more than the window: the first change also retracts an answer.
        full = (-(-longest // ticks) + 1) * ticks
        start = full + settling * ticks
        feed = Feed(setting, (start + (runs + 1) * ticks) / SECOND, seed)
        return cls(feed, start, full, ticks, runs)

    @property
    def setting(self) -> StreamSetting:
        """The streams and the query."""
        return self.feed.setting


@dataclass(frozen=True, slots=True)
class Stretch:
    """A timed stretch: seconds of the clock and of the processor, tuples in, changes out.

    `now` is its last instant.
    """

    seconds: float
    cpu_seconds: float
    tuples: int
    changes: pa.Table
    now: int


@dataclass(slots=True)
class PlacedQuery:
    """A query with its windows full; `stretches` of them are behind it."""

    timeline: Timeline
    db: Database
    query: QueryHandle
    stretches: int = 0

    @classmethod
    def filled(
        cls, timeline: Timeline, placement: Placement | str, algorithm: str = HASH
    ) -> PlacedQuery:
        """Start the query under a placement, or as `early_aggregation` says, and fill windows.

        With `auto` it begins earlier, and has settled by then.
        """
        db = windrow.connect()
        assert isinstance(db, Database), "connect() opens the engine in this process"
        for statement in timeline.setting.statements:
            db.execute(statement)
        way = placement if isinstance(placement, str) else asked(placement, timeline.setting.names)
        query = db.query(timeline.setting.text, early_aggregation=way, join_algorithm=algorithm)
        made = cls(timeline, db, query)
        begin = 0 if way == "auto" else timeline.start - timeline.full
        step = max(timeline.stretch, timeline.full // FILL)
        for low in range(begin, begin + timeline.full, step):
            made.push(low, min(low + step, begin + timeline.full))
            query.changes()
        for low in range(begin + timeline.full, timeline.start, timeline.stretch):
            made.push(low, low + timeline.stretch)
            query.changes()
        return made

    def push(self, low: int, high: int) -> int:
        """Push the tuples of the ticks ``[low, high)``; return how many."""
        part = self.timeline.feed.part(low, high)
        for name, piece in part.items():
            self.db.push(name, piece)
        self.db.advance(high - 1)
        return sum(map(len, part.values()))

    def next_stretch(self) -> Stretch:
        """Run and time the next stretch."""
        low = self.timeline.start + self.stretches * self.timeline.stretch
        high = low + self.timeline.stretch
        gc.disable()  # to collect before each run takes longer than the run
        start, used = perf_counter(), process_time()
        tuples = self.push(low, high)
        changes = self.query.changes()
        seconds, used = perf_counter() - start, process_time() - used
        gc.enable()
        self.stretches += 1
        return Stretch(seconds, used, tuples, changes, high - 1)
