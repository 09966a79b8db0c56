"""A query that is a step of the user's own streaming job: `q.to_spark()`.

Also `q.stats()`: what a query has cost so far, the shards' counts added up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from windrow.core.time import Clock
from windrow.operators.queued.delays import Delays
from windrow.plan.labels import clock_of
from windrow.plan.settings import SPARK, unused
from windrow.runtime.shards.lease import Lease
from windrow.runtime.shards.program import Program
from windrow.runtime.spark.activity import RunWatch
from windrow.runtime.spark.dead import count_dead
from windrow.runtime.spark.progress import Progress, Tally, progress_of, query_progress
from windrow.runtime.spark.reports import Report, read_reports

Counts = Mapping[str, Any]


def stats_of(name: str, reports: Mapping[int, Report], program: Program) -> dict[str, object]:
    """Return the counters of one query, an operator at a time and in all.

    As in process, but for what only one process has: queues, seconds, and a view.
    """
    query = next(q for q in program.bound() if q.name.lower() == name.lower())
    reported = [r["queries"][query.name] for r in reports.values() if query.name in r["queries"]]
    clock = clock_of(query.root)
    progress = query_progress(query.name, clock, reports)
    delays = Delays()
    for shard in reported:
        delays.add(shard["delay"])
    return {
        "strategy": program.strategy,
        "join_algorithm": query.join_algorithm,
        "early_aggregation": query.early_aggregation,
        "expiry": query.expiry.kind,
        "without_effect": {u.name: u.reason for u in unused(query, SPARK)},
        "delay": {
            **delays.figures(1e6 if clock is Clock.TIMESTAMP else 1.0),
            "behind": progress.behind,
        },
        "clock": progress.clock,
        "state_rows": progress.state_rows,
        "state_bytes": progress.state_bytes,
        "operators": together([shard["operators"] for shard in reported]),
    }


def together(shards: list[list[Counts]]) -> list[dict[str, object]]:
    """Return what the same operators have counted on all shards: numbers are added up.

    Shards that aggregate other inputs early have other operators: these stand by themselves.

    >>> together([[{"operator": "Join", "probes": 2}], [{"operator": "Join", "probes": 3}]])
    [{'operator': 'Join', 'probes': 5}]
    >>> together([[{"operator": "Join", "probes": 2}], [{"operator": "Fold", "probes": 3}]])
    [{'operator': 'Join', 'probes': 2}, {'operator': 'Fold', 'probes': 3}]
    """
    forms: dict[tuple[object, ...], list[list[Counts]]] = {}
    for shard in shards:
        form = tuple((each["operator"], each.get("structure")) for each in shard)
        forms.setdefault(form, []).append(shard)
    return [
        {name: _sum([each[name] for each in same]) for name in same[0]}
        for alike in forms.values()
        for same in zip(*alike, strict=True)
    ]


def _sum(found: list[Any]) -> object:
    return found[0] if isinstance(found[0], str) else sum(found)


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
