"""The last step of a batch on an executor: files are written here, other changes go on.

Spark would compute a batch again for every action on it. So all queries of a run share one
action: what belongs in files is written by the tasks themselves, and what the driver's sinks
want comes out of the same pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext

from windrow.runtime.shards.layout import Output
from windrow.runtime.spark.rows import narrow, split_rows
from windrow.runtime.spark.sinks.folder import DraftFile, FolderSink
from windrow.runtime.spark.slots import OUTPUT, SIGN, TIME, Wide


@dataclass(frozen=True, slots=True)
class WideChanges:
    """How the changes of all queries lie in the wide rows that leave the shards."""

    wide: Wide
    outputs: tuple[Output, ...]

    def of(self, number: int, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """Return the changes of one query, with its own columns and types."""
        own = self.outputs[number].schema
        narrowed = narrow(batch, self.wide, number, own, (TIME, SIGN))
        times = narrowed.column(TIME).view(schema.field(TIME).type)
        return pa.RecordBatch.from_arrays([times, *narrowed.columns[1:]], schema=schema)

    def split(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the wide rows of each output."""
        if self.wide.alone:
            (number,) = self.wide.places
            return ((number, batch) for batch in batches if batch.num_rows)
        return split_rows(batches, OUTPUT)


@dataclass(frozen=True, slots=True)
class Rim:
    """What each task does with the changes of its shard: into files, on to the driver, or both."""

    changes: WideChanges
    folders: Mapping[int, tuple[FolderSink, ...]]
    passed: frozenset[int]

    def __call__(self, version: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write files; yield what is for the driver."""
        context = TaskContext.get()
        assert context is not None, "this runs in a task"
        parts: dict[tuple[int, int], DraftFile] = {}
        try:
            for number, rows in self.changes.split(batches):
                for place, sink in enumerate(self.folders.get(number, ())):
                    if (number, place) not in parts:
                        parts[number, place] = sink.begin(version, context.partitionId())
                    parts[number, place].add(self.changes.of(number, rows, sink.target.changes))
                if number in self.passed:
                    yield rows
            for part in parts.values():
                part.publish()
        except BaseException:
            for part in parts.values():
                with suppress(OSError):
                    part.abandon()
            raise
