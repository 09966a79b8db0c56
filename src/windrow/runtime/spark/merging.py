"""Batches whose tuples are merged by pane and group before they cross to the shards.

A streaming plan of Spark has no GROUP BY without state, so the streaming part ends before the
exchange: each batch then is a plan of its own (`foreachBatch`), which groups, exchanges and steps.

Only tuples that are not late may be merged, and that is known from where the version before has
left the clocks. A bound that is too high does no harm: single tuples are right in any case, and so
is a batch that is run again with another bound than the first time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from windrow.core.time import BEGINNING, FOREVER
from windrow.plan.catalog import Stream
from windrow.runtime.shards.client import Shards
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.store import version_of
from windrow.runtime.spark.folder import RunFolder
from windrow.runtime.spark.frame import InputFrames, entered_frame, through_shards
from windrow.runtime.spark.inspection import WatchedInput
from windrow.runtime.spark.merge_sql import MergeSql, looked_up
from windrow.runtime.spark.plan import SparkPlan, plan_of
from windrow.runtime.spark.reports import read_reports
from windrow.runtime.spark.slots import SHARD, TIME
from windrow.runtime.spark.ticks import ticks_of
from windrow.runtime.spark.worker import AtTheRim, Work

PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(slots=True)
class Merging:
    """A run that merges. `rows` are its tuples as they come; `reached`: the last version done."""

    plan: SparkPlan
    work: Work
    folder: RunFolder
    rows: DataFrame
    reached: int
    sql: MergeSql

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        program: Program,
        folder: RunFolder,
        frames: Mapping[str, DataFrame],
        rim: AtTheRim | None,
        watched: list[WatchedInput] | None = None,
    ) -> Merging:
        """Return the run of a program in which something merges."""
        plan = plan_of(program)
        work = plan.work(Shards(folder.where, program), merging=True, rim=rim)
        entry = InputFrames(folder.where, frames, ticks_of(program), watched)
        rows = entered_frame(spark, plan, entry)
        return cls(plan, work, folder, rows, folder.reached(), MergeSql.of(plan))

    def changes(self, rows: DataFrame, batch: int) -> DataFrame:
        """Return all changes of a batch, as wide rows."""
        rows.sparkSession.conf.set(PARTITIONS, str(self.plan.shards))
        merged = merged_rows(rows, self.sql, self._bounds())
        wall = looked_up([self.folder.batch_time(batch)], f"{SHARD} % 1")
        return through_shards(merged, self.plan, self.work, wall)

    def done(self, batch: int) -> None:
        """Note that a batch has reached all sinks."""
        self.reached = max(self.reached, version_of(batch))

    def _bounds(self) -> dict[str, int]:
        """Return of each stream a time from which on no tuple of the next version is late."""
        names = [e.name for e in self.plan.entries if isinstance(e, Stream)]
        if not self.reached:
            return dict.fromkeys(names, BEGINNING)
        for report in read_reports(self.folder.where).values():
            if int(report["version"]) >= self.reached:
                return {name: int(report["frontiers"][name]) for name in names}
        return dict.fromkeys(names, FOREVER)


def merged_rows(rows: DataFrame, sql: MergeSql, bounds: Mapping[str, int]) -> DataFrame:
    """Return the wide rows of a batch, which does not stream, with tuples merged."""
    groups, values = sql.grouped(), sql.valued()
    aimed = rows.selectExpr("*", sql.target(bounds))
    selected = aimed.selectExpr(*_named(groups), TIME, *_named(values))
    folded = selected.groupBy(*groups).agg(*(expr(e).alias(n) for n, e in sql.folded().items()))
    return folded.selectExpr(*_named(sql.entered()))


def _named(columns: Mapping[str, str]) -> list[str]:
    return [f"{sql} AS {name}" for name, sql in columns.items()]
