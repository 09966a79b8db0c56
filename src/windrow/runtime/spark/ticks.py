"""Batches that happen though nothing arrives: a source of rows that only say that time passes.

Spark runs a micro-batch when a source has something new. So a program that goes on by itself reads
one more source, the last of its plan, which always has:

| who needs it | source | a batch |
| --- | --- | --- |
| a stream with `heartbeat`; `SET expiry_pace` | rate-micro-batch | at every trigger |
| a stream with `idle`, and nothing of these | rate | once a second |
| any of them in `to_spark()` | rate | once a second: by default triggers have no pause |

A start of "available-now" has one tick, so it ends by itself.

A tick carries the batch's own time, where tasks meet and no exchange does: in every batch of the
first kind, as long as the trigger is an interval.

A checkpoint knows its sources by their place, so which one it is must not depend on the trigger.
"""

from __future__ import annotations

from enum import Enum

from pyspark.sql import DataFrame, SparkSession

from windrow.plan.catalog import Stream
from windrow.runtime.shards.program import Program
from windrow.runtime.spark.plan import plan_of
from windrow.runtime.spark.slots import BATCH_TIME, PORT, SHARD, TICK, TIME, Wide, spark_type


class Ticks(Enum):
    """How often a batch happens without input: the options of the source that sees to it."""

    NEVER = ()
    EVERY_SECOND = (("rowsPerSecond", "1"),)
    EVERY_TRIGGER = (("rowsPerBatch", "1"), ("numPartitions", "1"))

    @property
    def source(self) -> str:
        """The format of the source."""
        return "rate" if self is Ticks.EVERY_SECOND else "rate-micro-batch"

    @property
    def always(self) -> bool:
        """Whether every batch has one, if the trigger is an interval."""
        return self is Ticks.EVERY_TRIGGER

    @property
    def seldom(self) -> Ticks:
        """The same where a trigger may have no pause."""
        return Ticks.NEVER if self is Ticks.NEVER else Ticks.EVERY_SECOND


def ticks_of(program: Program) -> Ticks:
    """Return how often a batch of a program has to happen."""
    if program.ticks():
        return Ticks.EVERY_TRIGGER
    idle = any(map(may_idle, plan_of(program).entries))
    return Ticks.EVERY_SECOND if idle else Ticks.NEVER


def may_idle(entry: object) -> bool:
    """Return whether an input may be silent while others go on."""
    return isinstance(entry, Stream) and entry.idle is not None


def tick_rows(spark: SparkSession, ticks: Ticks, wide: Wide) -> DataFrame:
    """Return the rows of the source that sees to it, as wide rows of no port."""
    loaded = spark.readStream.format(ticks.source).options(**dict(ticks.value)).load()
    constants = {SHARD: "0", PORT: str(TICK), TIME: BATCH_TIME}
    head = [f"CAST({constants.get(n, 'NULL')} AS {type_}) AS {n}" for n, type_ in wide.head]
    slots = [f"CAST(NULL AS {spark_type(s.type)}) AS {s.name}" for s in wide.slots]
    return loaded.selectExpr(*head, *slots)
