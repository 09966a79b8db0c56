"""From the wide rows of a batch to the sinks of its queries, in one action of Spark.

files        written by the tasks that have the changes (`rim`)
noop         nothing to do
spark:FORMAT alone: Spark's own streaming sink; beside others: a write a batch, from a cache
all others   brought to the driver as Arrow

A query may have several sinks. Each is given every version in order, and knows by its number one
that it has: if one of them fails, the batch is run again, and only those take it that lack it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from windrow.core.errors import RunError, WindrowError
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.store import version_of
from windrow.runtime.spark.failures import NEXT_STEP
from windrow.runtime.spark.frame import changes_of
from windrow.runtime.spark.plan import plan_of
from windrow.runtime.spark.rim import Rim, WideChanges
from windrow.runtime.spark.sinks.choose import NoopSink, Sink, SparkSink
from windrow.runtime.spark.sinks.folder import FolderSink


@dataclass(frozen=True, slots=True)
class Delivery:
    """The sinks of a program: those of each output, in the order of its outputs.

    `delivered`: how many changes batches have had that leave the tasks and are for nobody.
    """

    program: Program
    sinks: tuple[tuple[Sink, ...], ...]
    changes: WideChanges
    delivered: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program, sinks: Sequence[Sink]) -> Delivery:
        """Return how a program's changes reach these sinks."""
        plan = plan_of(program)
        ordered = tuple(
            tuple(sink for sink in sinks if sink.target.query == output.query)
            for output in plan.layout.outputs
        )
        return cls(program, ordered, WideChanges(plan.answered, plan.layout.outputs))

    @property
    def all(self) -> Iterator[Sink]:
        """All sinks of all queries."""
        return (sink for sinks in self.sinks for sink in sinks)

    @property
    def alone(self) -> SparkSink | None:
        """The sink of Spark that takes all there is, if that is the only sink."""
        first, *others = self.all
        return first if isinstance(first, SparkSink) and not others else None

    def open(self, run: str, reached: int) -> None:
        """Prepare all sinks for a run."""
        for sink in self.all:
            if not isinstance(sink, NoopSink | SparkSink):
                sink.open(run, reached)

    def written(
        self, frame: DataFrame, before: Callable[[int], None] | None = None
    ) -> DataStreamWriter:
        """Return the streaming write that brings each batch to all sinks.

        `before` is called with each batch that does not go to a sink of Spark's alone.
        """
        sink = self.alone
        if sink is not None:
            changes = changes_of(frame, self.program, sink.target.query)
            return changes.writeStream.format(sink.format).options(**sink.options)
        if not self._passed and before is None:
            return frame.writeStream.format("noop")

        def take(rows: DataFrame, batch: int) -> None:
            if before is not None:
                before(batch)
            self.deliver(rows, version_of(batch))

        return frame.writeStream.foreachBatch(take)

    @property
    def can_merge(self) -> bool:
        """Return whether batches may be plans of their own: not if Spark's own sink takes them all.

        That one knows batches that it has seen only as part of the streaming query.
        """
        return self.alone is None

    def deliver(self, frame: DataFrame, version: int) -> None:
        """Bring one version to all sinks."""
        if self._passed:
            self._take(frame, version)
        else:
            self.delivered[version] = count_rows(frame)

    @property
    def _passed(self) -> frozenset[int]:
        """The outputs whose changes leave the tasks."""
        kept = NoopSink | FolderSink
        return frozenset(
            number
            for number, sinks in enumerate(self.sinks)
            if any(not isinstance(sink, kept) for sink in sinks)
        )

    @property
    def may_run_at_once(self) -> bool:
        """Return whether every task of a batch runs exactly once; a sink of Spark may skip some."""
        return not any(isinstance(sink, SparkSink) for sink in self.all)

    @property
    def rim(self) -> Rim | None:
        """What tasks do: write files, and hold back what nobody asks for. None: nothing.

        If all changes are for noop they go on: who measures wants them to reach Spark.
        """
        written = {
            number: tuple(sink for sink in sinks if isinstance(sink, FolderSink))
            for number, sinks in enumerate(self.sinks)
        }
        folders = {number: sinks for number, sinks in written.items() if sinks}
        if not folders and len(self._passed) in (0, len(self.sinks)):
            return None
        return Rim(self.changes, folders, self._passed)

    def _take(self, frame: DataFrame, version: int) -> None:
        """Give the driver's sinks their changes: one action, or one and a cache."""
        others = [sink for sink in self.all if isinstance(sink, SparkSink)]
        if not others:
            self._give(frame.toArrow(), version)
            return
        kept = frame.persist()
        try:
            self._give(kept.toArrow(), version)
            for sink in others:
                changes = changes_of(kept, self.program, sink.target.query)
                changes.write.format(sink.format).options(**sink.options).mode("append").save()
        finally:
            kept.unpersist()

    def _give(self, wide: pa.Table, version: int) -> None:
        parts: dict[int, list[pa.RecordBatch]] = {}
        for number, rows in self.changes.split(wide.to_batches()):
            parts.setdefault(number, []).append(rows)
        for number, sinks in enumerate(self.sinks):
            taking = [s for s in sinks if not isinstance(s, NoopSink | SparkSink | FolderSink)]
            if not taking:
                continue
            schema = taking[0].target.changes
            batches = [self.changes.of(number, rows, schema) for rows in parts.get(number, [])]
            changes = pa.Table.from_batches(batches, schema)
            for sink in taking:
                with named_failures(sink.target.query):
                    sink.write(version, changes)


def count_rows(frame: DataFrame) -> int:
    """Have a frame computed, and return how many rows reach Spark.

    A batch that Spark hands to `foreachBatch` stands on an RDD of the rows that its tasks make. To
    write it to `noop` would copy each row once more: a fifth of the time of a batch of millions.
    """
    execution = frame._jdf.queryExecution()
    plan = execution.analyzed()
    stands_on_rdd = plan.getClass().getSimpleName() == "LogicalRDD"
    return int((plan.rdd() if stands_on_rdd else execution.toRdd()).count())


@contextmanager
def named_failures(query: str) -> Iterator[None]:
    """Let what a sink raises name its query."""
    try:
        yield
    except WindrowError:
        raise
    except Exception as error:
        raise RunError(
            f'the sink of "{query}" has failed',
            detail=f"{type(error).__name__}: {error}",
            hint=NEXT_STEP,
        ) from error
