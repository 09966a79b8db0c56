"""What a restart costs, and what the snapshots cost that make it short.

| bar | windrow | against |
| --- | --- | --- |
| restart | a run that goes on from its checkpoint after it was stopped | reading all input again |
| restart_killed | the same after its shards were killed: a snapshot and some log | the same |
| snapshot | the slowest batch during which a snapshot is written | the median of the others |
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import windrow
from windrow.runtime.shards.due import ENVIRONMENT
from windrow_lab.bench.data import Scale
from windrow_lab.bench.looking import Looking
from windrow_lab.bench.spark.data import SMALLER, Feed, make_feed
from windrow_lab.bench.spark.runs import Shot, batch_of, with_rows
from windrow_lab.bench.workloads import WORKLOADS
from windrow_lab.contest.report import Bar, Facts, verdict_of

if TYPE_CHECKING:
    from windrow_lab.bench.spark.bars import Bench

JOIN = next(w for w in WORKLOADS if w.name == "join")
RESTART_BAR = 5.0
SNAPSHOT_BAR = 1 / 1.5
FILLED = 10
"""Large triggers whose rows are the state: ten million at full size."""
SMALL_FILLED, COUNTED, EVERY = 2, 30, 4
"""Of `snapshot`: large triggers that fill the state, small ones that count, of which every fourth
has a snapshot behind it."""

FEWEST = 5
"""Batches that must have met a snapshot, for their slowest to mean anything."""


@dataclass(frozen=True, slots=True)
class Went:
    """A run: seconds from its start to its end, and what Spark reports of its batches."""

    seconds: float
    reports: list[Any]

    @property
    def results(self) -> int:
        """What the last batch has put out."""
        return batch_of(self.reports[-1]).results

    @property
    def batch(self) -> float:
        """Seconds of the median batch."""
        return median(batch_of(r).seconds for r in self.reports)


def restart(bench: Bench) -> Iterator[Bar]:
    """Start again with ten million rows of state, stopped in order or killed."""
    feed = filled(bench, "restart", bench.rows, FILLED, FILLED + 1)
    fresh = [went(shot(bench, feed, "restart-all"))]
    again = {}
    for name, killed in (("restart", False), ("restart_killed", True)):
        growing = replace(feed, folder=bench.folder / f"{name}-files")
        made = shot(bench, growing, name)
        link(feed, growing, FILLED)
        went(made, killed=killed)
        link(feed, growing, FILLED + 1)
        again[name] = went(made)
    fresh.append(went(shot(bench, feed, "restart-all-again")))  # a machine's load may change
    best = min(fresh, key=lambda run: run.seconds)
    for name, run in again.items():
        yield restart_bar(name, RESTART_BAR if name == "restart" else None, run, best, feed)


def link(feed: Feed, other: Feed, batches: int) -> None:
    """Let the files of the first batches of a feed be in the folder of another one."""
    for name in feed.streams:
        (other.folder / name).mkdir(parents=True, exist_ok=True)
        for path in sorted((feed.folder / name).glob("*.parquet"))[:batches]:
            if not (other.folder / name / path.name).exists():
                (other.folder / name / path.name).hardlink_to(path)


def restart_bar(name: str, bar: float | None, again: Went, fresh: Went, feed: Feed) -> Bar:
    """Compare what comes before the batch that both have last."""
    ours, theirs = (max(1e-3, run.seconds - fresh.batch) for run in (again, fresh))
    same = again.results == fresh.results
    rows = feed.scale.rows * len(feed.streams)
    facts: Facts = {"against": f"reading {rows:,} rows again, {theirs:.1f} s"}
    work: Facts = {"seconds_with_a_batch": again.seconds, "seconds_a_batch": fresh.batch}
    difference = "" if same else f"{again.results:,} results, not {fresh.results:,}"
    return Bar(name, theirs / ours, bar, ours, rows / ours, verdict_of(difference), work, facts)


def snapshot(bench: Bench) -> Iterator[Bar]:
    """Small batches over a large state while snapshots of it are written, and while none is."""
    small = bench.rows // SMALLER
    filling = SMALL_FILLED * SMALLER
    feed = filled(bench, "snapshot", small, filling, filling + COUNTED)
    made = shot(bench, feed, "snapshot")
    drafts = Drafts(made.checkpoint)
    with asking(small * EVERY // bench.shards), drafts:
        run = went(made)
    counted = run.reports[filling:]
    busy = [batch_of(r).seconds for r in counted if drafts.overlap(*span(r))]
    idle = [batch_of(r).seconds for r in counted if not drafts.overlap(*span(r))]
    typical = median(idle or busy)
    worst = max(busy, default=typical)
    facts: Facts = {
        "against": f"the median of {len(idle)} batches without, {typical:.3f} s",
        "batches_with": busy,
        "batches_without": idle,
    }
    enough = len(busy) >= FEWEST or bench.rows < SMALLER * 10_000
    difference = "" if enough else f"{len(busy)} batches met a snapshot, not {FEWEST}"
    verdict = verdict_of(difference)
    yield Bar("snapshot", typical / worst, SNAPSHOT_BAR, worst, small / worst, verdict, {}, facts)


def filled(bench: Bench, name: str, rows: int, filling: int, batches: int) -> Feed:
    """Write two streams whose windows hold the rows of so many triggers."""
    window = max(60, rows * filling // 2 // 60 * 60)
    scale = Scale(2 * window, window, max(1, window // 3), max(2, window // 5), 1)
    folder = bench.folder / name
    return make_feed(folder, scale, ("a", "b"), per_trigger=rows, batches=batches)


def shot(bench: Bench, feed: Feed, name: str) -> Shot:
    """Return the join over a feed, ready to be run."""
    queries = {"q": JOIN.sql(feed.scale)}
    return Shot(bench.session, feed, queries, bench.checkpoint(name), bench.shards)


def went(made: Shot, *, killed: bool = False) -> Went:
    """Run until all files are read, and stop; `killed`: its shards end as by a crash."""
    where = str(made.checkpoint)
    with windrow.connect("spark", spark=made.session, checkpoint=where, shards=made.shards) as db:
        db.execute(made.script())
        began = time.perf_counter()
        run = db.start("noop", "available-now", drain=False)
        (query,) = made.session.streams.active
        run.wait()
        seconds = time.perf_counter() - began
        if killed:
            kill_shards(run, made.shards)
    return Went(seconds, with_rows(query.recentProgress))


def kill_shards(run: Any, shards: int) -> None:
    """End the processes of all shards as a crash would."""
    for number in range(shards):
        with suppress(OSError, ValueError):
            os.kill(int(run.shard_place(number).path("alive").read_text()), signal.SIGKILL)


@contextmanager
def asking(rows: int) -> Iterator[None]:
    """Let shards that are started inside write a snapshot every so many rows."""
    before = os.environ.get(ENVIRONMENT)
    os.environ[ENVIRONMENT] = str(max(1, rows))
    try:
        yield
    finally:
        del os.environ[ENVIRONMENT]
        if before is not None:
            os.environ[ENVIRONMENT] = before


def span(report: Any) -> tuple[float, float]:
    """Return when a batch began and ended, in seconds since 1970."""
    began = datetime.fromisoformat(report["timestamp"]).timestamp()
    return began, began + batch_of(report).seconds


@dataclass
class Drafts(Looking):
    """Notes when snapshots were being written: their drafts are in the checkpoint then."""

    folder: Path
    times: list[float] = field(default_factory=list)
    seconds = 0.01

    def look(self) -> None:
        """Note the time if there is a draft."""
        if any((self.folder / "shards").glob("*/snapshots/.*.draft")):
            self.times.append(time.time())

    def overlap(self, began: float, ended: float) -> bool:
        """Return whether a snapshot was being written in an interval."""
        return any(began <= at <= ended for at in self.times)
