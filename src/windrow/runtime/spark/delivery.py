"""From the wide rows of a batch to the sinks of its queries, in one action of Spark.

files        written by the tasks that have the changes (`rim`)
noop         nothing to do
spark:FORMAT alone: Spark's own streaming sink; beside others: a write a batch, from a cache
all others   brought to the driver as Arrow
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from windrow.core.errors import RunError, WindrowError
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.store import version_of
from windrow.runtime.spark.failures import NEXT_STEP
from windrow.runtime.spark.frame import changes_of
from windrow.runtime.spark.plan import plan_of
from windrow.runtime.spark.rim import Changes, Rim
from windrow.runtime.spark.sinks.choose import NoopSink, Sink, SparkSink
from windrow.runtime.spark.sinks.folder import FolderSink


@dataclass(frozen=True, slots=True)
class Delivery:
    """The sinks of a program, in the order of its outputs."""

    program: Program
    sinks: tuple[Sink, ...]
    changes: Changes

    @classmethod
    def of(cls, program: Program, sinks: Sequence[Sink]) -> Delivery:
        """Return how a program's changes reach these sinks."""
        plan = plan_of(program)
        by_query = {sink.target.query: sink for sink in sinks}
        ordered = tuple(by_query[output.query] for output in plan.layout.outputs)
        return cls(program, ordered, Changes(plan.answered, plan.layout.outputs))

    def open(self, run: str, reached: int) -> None:
        """Prepare all sinks for a run."""
        for sink in self.sinks:
            if not isinstance(sink, NoopSink | SparkSink):
                sink.open(run, reached)

    def written(
        self, frame: DataFrame, before: Callable[[int], None] | None = None
    ) -> DataStreamWriter:
        """Return the streaming write that brings each batch to all sinks.

        `before` is called with each batch that does not go to a sink of Spark's alone.
        """
        if len(self.sinks) == 1 and isinstance(self.sinks[0], SparkSink):
            sink = self.sinks[0]
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
        """Tell whether batches may be plans of their own: not if Spark's own sink takes them all.

        That one knows batches that it has seen only as part of the streaming query.
        """
        return not (len(self.sinks) == 1 and isinstance(self.sinks[0], SparkSink))

    def deliver(self, frame: DataFrame, version: int) -> None:
        """Bring one version to all sinks."""
        if self._passed:
            self._take(frame, version)
        else:
            frame.write.format("noop").mode("overwrite").save()

    @property
    def _passed(self) -> frozenset[int]:
        """The outputs whose changes leave the tasks."""
        kept = NoopSink | FolderSink
        return frozenset(n for n, sink in enumerate(self.sinks) if not isinstance(sink, kept))

    @property
    def may_run_at_once(self) -> bool:
        """Tell whether all tasks of a batch are run, once: a sink of Spark's may want but some."""
        return not any(isinstance(sink, SparkSink) for sink in self.sinks)

    @property
    def rim(self) -> Rim | None:
        """What tasks do: write files, and hold back what nobody asks for. None: nothing.

        If all changes are for noop they go on: who measures wants them to reach Spark.
        """
        folders = {n: sink for n, sink in enumerate(self.sinks) if isinstance(sink, FolderSink)}
        if not folders and len(self._passed) in (0, len(self.sinks)):
            return None
        return Rim(self.changes, folders, self._passed)

    def _take(self, frame: DataFrame, version: int) -> None:
        """Give the driver's sinks their changes: one action, or one and a cache."""
        others = [sink for sink in self.sinks if isinstance(sink, SparkSink)]
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
        for number, sink in enumerate(self.sinks):
            if isinstance(sink, NoopSink | SparkSink | FolderSink):
                continue
            schema = sink.target.changes
            batches = [self.changes.of(number, rows, schema) for rows in parts.get(number, [])]
            with named_failures(sink.target.query):
                sink.write(version, pa.Table.from_batches(batches, schema))


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
