"""Clocks around micro-batches: what Spark itself reports of each, the first ones left out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import windrow
from windrow_lab.bench.looking import Looking
from windrow_lab.bench.spark.data import COLUMNS, Feed
from windrow_lab.bench.workloads import Workload


@dataclass(frozen=True, slots=True)
class Batch:
    """A micro-batch: seconds from trigger to commit, rows in, rows out."""

    seconds: float
    rows: int
    results: int


@dataclass(frozen=True, slots=True)
class Batches:
    """The micro-batches of one run, in order."""

    all: tuple[Batch, ...]
    warm: int
    written: int = 0

    def __post_init__(self) -> None:
        assert len(self.all) > self.warm, "every micro-batch was taken for the warm-up"

    @property
    def counted(self) -> tuple[Batch, ...]:
        """Those after the warm-up."""
        return self.all[self.warm :]

    @property
    def seconds(self) -> float:
        """The median micro-batch."""
        return median(batch.seconds for batch in self.counted)

    @property
    def rows(self) -> float:
        """The rows of a micro-batch."""
        return median(batch.rows for batch in self.counted)

    @property
    def rows_per_second(self) -> float:
        """Rows of a micro-batch by the median's seconds."""
        return self.rows / self.seconds

    @property
    def state_io(self) -> float:
        """Bytes of logs and snapshots that a micro-batch has written, on average."""
        return self.written / len(self.all)

    @property
    def results(self) -> int:
        """Rows that all micro-batches have put out."""
        return sum(batch.results for batch in self.all)


def batch_of(progress: Any, run: Any = None) -> Batch:
    """Read Spark's report of a micro-batch; a run knows itself what it gave to nobody."""
    seconds = progress["durationMs"]["triggerExecution"] / 1000
    results = None if run is None else run.delivered(progress["batchId"])
    if results is None:
        results = max(0, progress["sink"]["numOutputRows"])
    return Batch(seconds, progress["numInputRows"], results)


def run_frame(frame: Any, checkpoint: Path, *, warm: int, mode: str = "append") -> Batches:
    """Run a streaming DataFrame until its files are read; results go nowhere."""
    writer = frame.writeStream.format("noop").outputMode(mode)
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    return batches_of(query, warm)


def with_rows(reports: list[Any]) -> list[Any]:
    """Leave out reports of batches that read no file: what follows the last one."""
    return [r for r in reports if any(s["startOffset"] != s["endOffset"] for s in r["sources"])]


@dataclass(frozen=True, slots=True)
class Shot:
    """Queries over a feed, ready to be run by windrow. `settings`: statements before them."""

    session: Any
    feed: Feed
    queries: dict[str, str]
    checkpoint: Path
    shards: int
    settings: str = ""

    def declarations(self) -> Iterator[str]:
        """Yield the streams of the feed, one file a micro-batch."""
        for name in self.feed.streams:
            options = f"path '{self.feed.folder / name}', maxFilesPerTrigger '1'"
            source = f"USING parquet OPTIONS ({options})"
            yield f"CREATE STREAM {name} ({COLUMNS}) {source} TIMESTAMP BY ts"

    def script(self) -> str:
        """Return the settings, the streams and the queries as one script."""
        queries = (f"CREATE QUERY {name} AS {text}" for name, text in self.queries.items())
        return ";\n".join(filter(None, (self.settings, *self.declarations(), *queries)))

    def started(self, sink: str) -> AbstractContextManager[tuple[Any, Any]]:
        """Start a run; yield it and Spark's query."""
        return started(self.session, self.script(), self.checkpoint, self.shards, sink)


@contextmanager
def started(
    session: Any,
    script: str,
    checkpoint: Path,
    shards: int,
    sink: Any,
    trigger: str = "available-now",
) -> Iterator[tuple[Any, Any]]:
    """Start all queries of a script in one run; yield it and Spark's query."""
    with windrow.connect("spark", spark=session, checkpoint=str(checkpoint), shards=shards) as db:
        db.execute(script)
        run = db.start(sink, trigger, drain=True if trigger == "available-now" else None)
        (query,) = session.streams.active
        yield run, query


def run_windrow(shot: Shot, *, warm: int) -> Batches:
    """Run queries until their files are read; results go nowhere."""
    watch = Watch(shot.checkpoint)
    with shot.started("noop") as (run, query), watch:
        run.wait()
    return batches_of(query, warm, watch.written, run)


def batches_of(query: Any, warm: int, written: int = 0, run: Any = None) -> Batches:
    """Return the micro-batches of a run that has ended."""
    reports = with_rows(query.recentProgress)
    return Batches(tuple(batch_of(report, run) for report in reports), warm, written)


def changelog_of(shot: Shot) -> pa.Table:
    """Run query `q` into Parquet files; return its changes in an order of their own."""
    folder = shot.checkpoint.with_suffix(".results")
    with shot.started(f"parquet:{folder}") as (run, _):
        run.wait()
    changes = pq.read_table(folder / "q")
    return changes.sort_by([(name, "ascending") for name in changes.column_names])


def checked(workload: Workload, shot: Shot) -> str:
    """Run query `q` into Parquet files and compare them with what Polars finds."""
    folder = shot.checkpoint.with_suffix(".results")
    with shot.started(f"parquet:{folder}") as (run, _):
        run.wait()
    check = workload.check(shot.feed.scale)
    check.take_changes(pq.read_table(folder / "q").sort_by("_ts"))
    frames = {name: pl.DataFrame(table) for name, table in shot.feed.tables.items()}
    for piece in workload.forms[0](frames, shot.feed.scale):
        check.take_other(piece)
    return check.difference()


@dataclass
class Watch(Looking):
    """Counts the bytes that shards write to a checkpoint: files stay for a batch at least."""

    folder: Path
    sizes: dict[Path, int] = field(default_factory=dict)
    seconds = 0.05

    @property
    def written(self) -> int:
        """Bytes of all files that were seen, those that are gone by now included."""
        return sum(self.sizes.values())

    def look(self) -> None:
        """Note how large each file is."""
        for path in (self.folder / "shards").glob("*/*/*"):
            try:
                size = path.stat().st_size
            except FileNotFoundError:
                continue
            self.sizes[path] = max(size, self.sizes.get(path, 0))
