"""A query that is a step of somebody's own streaming job: `q.to_spark()`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from windrow.runtime.shards.lease import Lease
from windrow.runtime.shards.program import Program
from windrow.runtime.spark.activity import RunWatch
from windrow.runtime.spark.dead import count_dead
from windrow.runtime.spark.progress import Progress, Tally, progress_of
from windrow.runtime.spark.reports import read_reports
from windrow.runtime.spark.stats import stats_of


@dataclass(slots=True)
class OwnJob:
    """What is known of a query in a job that windrow has not started.

    The tasks say in their reports which streaming query of Spark they work for; of that one the
    batches are counted, as long as it is active.
    """

    spark: SparkSession
    program: Program
    where: str
    lease: Lease
    tally: Tally = field(default_factory=Tally)
    watch: RunWatch = field(default_factory=lambda: RunWatch(""))

    def progress(self) -> Progress:
        """Return how far the query has come, and what the job's last batch has cost."""
        reports = read_reports(self.where)
        job = self._job({str(report["query"]) for report in reports.values()})
        if job is not None:
            self.tally.add(job.recentProgress)
        status = {"message": "no active job reads it"} if job is None else job.status
        return progress_of(
            self.tally,
            reports,
            self.program,
            status=str(status["message"]),
            dead=count_dead(self.where),
            activity=self.watch.look(status, self.tally, "ended" if job is None else None),
        )

    def stats(self, query: str) -> dict[str, object]:
        """Return what the query has cost on all shards."""
        return stats_of(query, read_reports(self.where), self.program)

    def _job(self, ids: set[str]) -> Any:
        """Return Spark's streaming query that reads this one, if it is active."""
        return next((job for job in self.spark.streams.active if job.id in ids), None)
