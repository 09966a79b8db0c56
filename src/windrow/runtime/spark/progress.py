"""How far a run has come: Spark's word on batches, the shards' word on clocks and state."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from windrow.core.time import Clock
from windrow.plan.catalog import Stream
from windrow.plan.labels import clock_of
from windrow.runtime.shards.layout import layout_of
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.rebuilding import Rebuilding
from windrow.runtime.spark.reports import KERNEL, STATE, TRANSFER, Report

BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Seconds: the upper bounds of the classes in which the times of batches are counted."""

RETRIED, FATAL = "retried", "fatal"
"""Failures of a run: of a batch that was run again, and the one that has ended the run."""


@dataclass(frozen=True, slots=True)
class Activity:
    """What a run is doing, for how long, and what it waits for.

    `doing` is "starting", "rebuilding" (shards load their state), "working", "idle", "draining",
    "stopping", "ended" or "failed".
    `since_batch`: seconds since the last batch was done; None before the first.
    """

    doing: str = "ended"
    seconds: float = 0.0
    awaits: str = ""
    trigger: str = ""
    since_batch: float | None = None


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """How long batches took: so many up to each of `BOUNDS`, and over the last; and in all."""

    counts: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    seconds: float = 0.0

    def with_one(self, seconds: float) -> BatchTimes:
        """Return the same with one more batch."""
        place = bisect_left(BOUNDS, seconds)
        counts = tuple(n + (i == place) for i, n in enumerate(self.counts))
        return BatchTimes(counts, self.seconds + seconds)


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """One query: its clock, what holds it back, and what it stores on all shards.

    `behind`: how far its streams are ahead of it, in seconds or ticks, while a pace is kept.
    """

    clock: str | int | None
    held_back_by: str | None
    behind: float
    state_rows: int
    state_bytes: int


@dataclass(frozen=True, slots=True)
class ShardProgress:
    """One shard after its last version."""

    shard: int
    version: int
    rows: int
    state_rows: int
    state_bytes: int
    process_bytes: int


@dataclass(frozen=True, slots=True)
class Progress:
    """A run at a moment.

    `seconds` splits the time of the last batch: what the slowest shard took for moving rows
    (transfer), for operators (kernel) and for logs and snapshots (state); the rest is Spark's.
    `unreadable`: files that are dead letters as a whole. `missing_columns`: files that lacked a
    column which may be NULL.
    `at`: when this was so, in seconds since 1970. `rebuilding`: shards that load a snapshot, or
    replay their log.
    """

    active: bool
    status: str
    batch: int | None = None
    batches: int = 0
    rows: int = 0
    total_rows: int = 0
    rows_per_second: float = 0.0
    batch_seconds: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    queries: dict[str, QueryProgress] = field(default_factory=dict)
    shards: tuple[ShardProgress, ...] = ()
    late: dict[str, int] = field(default_factory=dict)
    dead_letters: dict[str, dict[str, int]] = field(default_factory=dict)
    activity: Activity = Activity()
    failures: dict[str, int] = field(default_factory=lambda: dict.fromkeys((RETRIED, FATAL), 0))
    batch_times: BatchTimes = BatchTimes()
    at: float = 0.0
    unreadable: dict[str, int] = field(default_factory=dict)
    missing_columns: dict[str, dict[str, int]] = field(default_factory=dict)
    rebuilding: tuple[Rebuilding, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain values."""
        return asdict(self)

    def of(self, query: str) -> dict[str, object]:
        """Return the run's progress with the clock and the state of one query."""
        named = {name.lower(): found for name, found in self.queries.items()}.get(query.lower())
        whole = self.to_dict()
        del whole["queries"]
        return {**whole, **(asdict(named) if named is not None else {"clock": None})}


@dataclass(slots=True)
class Tally:
    """Batches of a run that Spark has reported, each counted once.

    `ticks`: the last source has rows that only say that time passes, and are not counted.
    """

    ticks: bool = False
    batches: int = 0
    rows: int = 0
    newest: int = -1
    last: Mapping[str, Any] | None = None
    times: BatchTimes = BatchTimes()
    retried: int = 0

    def add(self, batches: list[Mapping[str, Any]]) -> None:
        """Count what is new; Spark reports its last hundred batches."""
        for batch in batches:
            if int(batch["batchId"]) > self.newest and "addBatch" in batch["durationMs"]:
                self.newest = int(batch["batchId"])
                self.batches += 1
                self.rows += self.rows_of(batch)
                self.last = batch
                self.times = self.times.with_one(_took(batch))

    def ended_at(self) -> float | None:
        """Return when the last batch was done, in seconds since 1970; None if nobody said."""
        if self.last is None or "timestamp" not in self.last:
            return None
        return datetime.fromisoformat(self.last["timestamp"]).timestamp() + _took(self.last)

    def rows_of(self, batch: Mapping[str, Any]) -> int:
        """Return how many rows a batch has read."""
        ticks = batch["sources"][-1]["numInputRows"] if self.ticks else 0
        return max(0, int(batch["numInputRows"]) - int(ticks))


def _took(batch: Mapping[str, Any]) -> float:
    return float(batch["durationMs"].get("triggerExecution", 0)) / 1000


def progress_of(
    tally: Tally,
    reports: Mapping[int, Report],
    program: Program,
    *,
    status: str,
    dead: dict[str, dict[str, int]],
    activity: Activity,
) -> Progress:
    """Put together the reports of Spark and of the shards."""
    clocks = {query.name: clock_of(query.root) for query in program.bound()}
    failed = activity.doing == "failed"
    known = Progress(
        activity.doing not in ("ended", "failed"),
        status,
        queries={name: query_progress(name, clock, reports) for name, clock in clocks.items()},
        shards=tuple(shard_progress(number, report) for number, report in reports.items()),
        late=summed([no_late(program), *(report["late"] for report in reports.values())]),
        dead_letters=dead,
        batches=tally.batches,
        total_rows=tally.rows,
        activity=activity,
        failures={RETRIED: tally.retried, FATAL: int(failed)},
        batch_times=tally.times,
        at=time.time(),
    )
    if tally.last is None:
        return known
    took = _took(tally.last)
    rows = tally.rows_of(tally.last)
    return Progress(
        **{
            **{name: getattr(known, name) for name in Progress.__slots__},
            "batch": tally.newest,
            "rows": rows,
            "rows_per_second": rows / took if took else 0.0,
            "batch_seconds": took,
            "seconds": split_time(took, reports),
        }
    )


def no_late(program: Program) -> dict[str, int]:
    """Return that no stream of a program has late tuples: it is known before a shard says so."""
    return {
        port.entry.name: 0
        for port in layout_of(program).ports
        if port.entry is not None and isinstance(port.entry, Stream)
    }


def split_time(took: float, reports: Mapping[int, Report]) -> dict[str, float]:
    """Return the time of a batch by where it went: the slowest shard's parts, and the rest."""
    parts = {
        part: max((float(r["seconds"].get(part, 0.0)) for r in reports.values()), default=0.0)
        for part in (TRANSFER, KERNEL, STATE)
    }
    return {"spark": max(0.0, took - sum(parts.values())), **parts}


def query_progress(name: str, clock: Clock, reports: Mapping[int, Report]) -> QueryProgress:
    """Return one query over all shards; all have the same clock once a batch is done."""
    reported = [report["queries"][name] for report in reports.values() if name in report["queries"]]
    reached = [q["clock"] for q in reported if q["clock"] is not None]
    held = [q["held_back_by"] for q in reported if q["held_back_by"] is not None]
    behind = max((int(q.get("behind", 0)) for q in reported), default=0)
    return QueryProgress(
        shown_clock(min(reached), clock) if reached else None,
        held[0] if held else None,
        behind if clock is Clock.TICKS else behind / 1_000_000,
        sum(int(q["state_rows"]) for q in reported),
        sum(int(q["state_bytes"]) for q in reported),
    )


def shown_clock(instant: int, clock: Clock) -> str | int:
    """Return an instant for people: ISO text, or ticks.

    >>> shown_clock(1_500_000, Clock.TIMESTAMP), shown_clock(7, Clock.TICKS)
    ('1970-01-01T00:00:01.500000Z', 7)
    """
    if clock is Clock.TICKS:
        return instant
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)
    return at.isoformat().replace("+00:00", "Z")


def shard_progress(number: int, report: Report) -> ShardProgress:
    """Return the report of one shard."""
    queries = report["queries"].values()
    return ShardProgress(
        number,
        int(report["version"]),
        int(report["rows_in"]),
        sum(int(q["state_rows"]) for q in queries),
        sum(int(q["state_bytes"]) for q in queries),
        int(report.get("process_bytes", 0)),
    )


def summed(counts: list[Mapping[str, int]]) -> dict[str, int]:
    """Return counters added up by name."""
    total: dict[str, int] = {}
    for each in counts:
        for name, count in each.items():
            total[name] = total.get(name, 0) + int(count)
    return total
