"""The queries on Spark, over files: one file a stream and micro-batch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from windrow_lab.bench.spark.runs import batches_of, started
from windrow_lab.contest.report import verdict_of
from windrow_lab.generate.nexmark.declarations import declarations
from windrow_lab.generate.nexmark.scale import Nexmark
from windrow_lab.generate.nexmark.writing import write_nexmark
from windrow_lab.nexmark.local import Feed
from windrow_lab.nexmark.queries import NexmarkQuery
from windrow_lab.nexmark.report import Measured

WARM, COUNTED = 1, 3
"""Micro-batches: processes start and windows fill, after the check has warmed up Spark; then
those that count."""
CHECK_FILES = 3
SHARDS = 2


@dataclass(frozen=True, slots=True)
class Files:
    """The events of a feed as files: all, and those at the beginning."""

    folder: Path
    scale: Nexmark
    first: Nexmark

    @classmethod
    def of(cls, folder: Path, feed: Feed) -> Files:
        """Write the files."""
        made = cls(folder, feed.scale, feed.first)
        for scale, path, files in (
            (made.scale, made.all, WARM + COUNTED),
            (made.first, made.beginning, CHECK_FILES),
        ):
            path.mkdir(parents=True)
            assert sum(write_nexmark(path, scale, files=files)) == scale.events
        return made

    @property
    def all(self) -> Path:
        """Where all events are."""
        return self.folder / "all"

    @property
    def beginning(self) -> Path:
        """Where the events are on which answers are compared."""
        return self.folder / "beginning"

    def script(self, query: NexmarkQuery, data: Path) -> str:
        """Return the streams in a folder, one file a micro-batch, and a query over them."""
        return declarations(self.scale, data, files=1) + query.script


def measure(query: NexmarkQuery, session: Any, files: Files, feed: Feed) -> Measured:
    """Compare the changes over the first events with DuckDB, then time micro-batches."""
    difference = compared(query, session, files, feed)
    script = files.script(query, files.all)
    where = files.folder / query.name / "timed"
    with started(session, script, where, SHARDS, "noop") as (run, spark_query):
        run.wait()
    found = batches_of(spark_query, WARM, run=run)
    work: dict[str, object] = {"seconds_a_batch": [b.seconds for b in found.counted]}
    return Measured(verdict_of(difference), found.seconds, found.rows, found.results, work)


def compared(query: NexmarkQuery, session: Any, files: Files, feed: Feed) -> str:
    """Return how the changes over the first events differ from DuckDB's answers."""
    where = files.folder / query.name
    sink = f"parquet:{where / 'results'}"
    script = files.script(query, files.beginning)
    with started(session, script, where / "check", SHARDS, sink) as (run, _):
        run.wait()
    return feed.difference(query, pq.read_table(where / "results" / query.name))
