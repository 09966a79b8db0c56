"""The two functions that run in Spark's Python workers: INGEST and STEP.

    INGEST   wide rows of all ports  ─►  handed to the shard; one small row for every shard
    STEP     what all shards heard, or rows that were forwarded  ─►  forwarded rows, or changes

Both are the same for every batch and partition: which shard and which version it is, the task
says. State lives in the shard's process, so any worker may run any of them, twice if need be.
Nothing that compiles is imported here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from windrow.core.schema import Schema
from windrow.runtime.shards.client import ShardClient, Shards
from windrow.runtime.shards.clocks import Heard, Moment
from windrow.runtime.shards.store import version_of
from windrow.runtime.spark.dead import LATE, Grave, late_letters
from windrow.runtime.spark.dead import POISON as POISONED
from windrow.runtime.spark.reports import Spent, write_report
from windrow.runtime.spark.rows import narrow, split_rows, widened
from windrow.runtime.spark.slots import OUTPUT, POISON, PORT, SEQUENCE, SHARD, TIME, Wide

Batches = Iterator[pa.RecordBatch]
Rows = Iterator[tuple[int, pa.RecordBatch]]
AtTheRim = Callable[[int, Batches], Batches]
"""What is done with the changes of a version in the task that has them."""

VERSION = "windrow.version"
"""The local property that tells tasks outside streaming batches which version they make."""

HEARD, WALL, DRAIN = "_heard", "_wall", "_drain"
HEARD_DDL = f"{SHARD} INT, {HEARD} STRING"
"""What INGEST gives: to whom, and what was heard."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A port as a worker sees it: the columns before its own, its own, and if all shards get it."""

    number: int
    head: tuple[str, ...]
    schema: Schema
    everyone: bool


@dataclass(frozen=True, slots=True)
class Work:
    """All that workers know of a program. `silent`: streams by the port that only tells times.

    `times`: each stream's time column, and whether its times are moments. `rim`: who takes the
    changes after the last level, and passes on what others want.
    """

    shards: Shards
    levels: int
    gates: Mapping[int, Gate]
    outputs: Mapping[int, Schema]
    entered: Wide
    forwarded: Mapping[int, Wide]
    answered: Wide
    silent: Mapping[int, str]
    times: Mapping[str, tuple[str, bool]]
    rim: AtTheRim | None = None


def version_here() -> int:
    """Return the version that this task makes: of its batch, or the one that the driver says."""
    task = TaskContext.get()
    assert task is not None, "only a task of Spark runs this"
    told = task.getLocalProperty(VERSION)
    if told:
        return int(told)
    batch = task.getLocalProperty("streaming.sql.batchId")
    assert batch is not None, "only a streaming query of Spark runs this"
    return version_of(int(batch))


def _place(work: Work) -> tuple[ShardClient, int, int]:
    """Return the shard that this task works for, its number and the version."""
    task = TaskContext.get()
    assert task is not None, "only a task of Spark runs this"
    number = task.partitionId()
    return work.shards.shard(number), number, version_here()


def number_rows(batches: Batches) -> Batches:
    """Say in what order a source's partition gave its rows: Spark has no such function on streams.

    Among rows of one time a count window takes those of one partition as they came.
    """
    task = TaskContext.get()
    assert task is not None, "only a task of Spark runs this"
    first = task.partitionId() << 40
    for batch in batches:
        numbers = pa.array(np.arange(first, first + batch.num_rows))
        place = batch.schema.get_field_index(SEQUENCE)
        yield batch.set_column(place, SEQUENCE, numbers)
        first += batch.num_rows


def ingest(batches: Batches, *, work: Work) -> Batches:
    """Hand the rows of one shard over; tell all shards what was heard."""
    shard, number, version = _place(work)
    aside: dict[int, list[pa.RecordBatch]] = {}
    spent = Spent()
    rows = _of_ports(spent.outside(batches), work, work.entered, aside)
    with shard, spent.counting():
        heard = shard.ingest(version, rows)
    write_report(work.shards.checkpoint, number, "ingest", version, spent, {})
    for port, stream in work.silent.items():
        if port in aside:
            heard[stream] = _times(aside[port], heard.get(stream))
    _bury(aside.get(POISON, []), work, Grave(work.shards.checkpoint, version, number))
    text = json.dumps({name: [h.first, h.newest, h.rows] for name, h in heard.items()})
    everyone = range(work.shards.count)
    yield pa.RecordBatch.from_arrays(
        [pa.array(everyone, pa.int32()), pa.array([text for _ in everyone])], names=[SHARD, HEARD]
    )


def _of_ports(
    batches: Batches, work: Work, wide: Wide, aside: dict[int, list[pa.RecordBatch]]
) -> Rows:
    """Yield the rows of ports; put those that are of none aside."""
    for number, batch in split_rows(batches, PORT):
        if number < 0:
            aside.setdefault(number, []).append(batch)
        else:
            gate = work.gates[number]
            yield number, narrow(batch, wide, number, gate.schema, gate.head)


def _times(batches: list[pa.RecordBatch], before: Heard | None) -> Heard:
    ts = np.concatenate([b.column(TIME).to_numpy() for b in batches])
    heard = Heard(int(ts.min()), int(ts.max()), len(ts))
    return heard if before is None else before.merged(heard)


def _bury(batches: list[pa.RecordBatch], work: Work, grave: Grave) -> None:
    """Keep the dead letters of this version."""
    letters: dict[str, list[tuple[str, str]]] = {}
    for batch in batches:
        for text in batch.column(work.entered.text_slot).to_pylist():
            letter = json.loads(text)
            letters.setdefault(letter["stream"], []).append((letter["reason"], letter["row"]))
    for stream, found in letters.items():
        grave.bury(stream, POISONED, sorted(found))


def step(batches: Batches, *, level: int, work: Work) -> Batches:
    """Run one level on one shard; give the rows of the next, or all changes after the last."""
    rows = _stepped(batches, level, work)
    if work.rim is None or level < work.levels - 1:
        return rows
    return work.rim(version_here(), rows)


def _stepped(batches: Batches, level: int, work: Work) -> Batches:
    shard, number, version = _place(work)
    late: dict[str, list[pa.RecordBatch]] = {}
    spent = Spent()
    with shard:
        if level == 0:
            pieces = shard.pieces(version, 0, (), _moment(batches))
        else:
            rows = _of_ports(spent.outside(batches), work, work.forwarded[level], {})
            pieces = shard.pieces(version, level, rows, None)
        for part, key, _, batch in spent.inside(pieces):
            if batch is None:
                continue
            if part == "late":
                late.setdefault(str(key), []).append(batch)
            elif part == "changes":
                yield _answered(batch, work, int(key))
            else:
                yield from _to_forward(batch, work, level + 1, work.gates[int(key)])
        stats = shard.stats() if level == work.levels - 1 else {}
    write_report(work.shards.checkpoint, number, str(level), version, spent, stats)
    grave = Grave(work.shards.checkpoint, version, number)
    for stream, some in late.items():
        time, moments = work.times[stream]
        letters = late_letters(pa.Table.from_batches(some), time, moments=moments)
        grave.bury(stream, LATE, letters)


def _moment(batches: Batches) -> Moment:
    """Return what all shards know: what each of them heard, merged."""
    heard: dict[str, Heard] = {}
    wall, drain = 0, False
    for batch in batches:
        wall = max([wall, *batch.column(WALL).to_pylist()])
        drain = drain or any(batch.column(DRAIN).to_pylist())
        for text in batch.column(HEARD).to_pylist():
            for name, times in json.loads(text).items():
                told = Heard(*times)
                heard[name] = told if name not in heard else heard[name].merged(told)
    return Moment(heard, wall, drain)


def _to_forward(batch: pa.RecordBatch, work: Work, level: int, gate: Gate) -> Batches:
    """Yield rows for the next level; those for everybody once for each shard."""
    goals = range(work.shards.count) if gate.everyone else (-1,)
    for goal in goals:
        head = {SHARD: goal, PORT: gate.number}
        yield widened(batch, work.forwarded[level], gate.number, gate.schema, head)


def _answered(batch: pa.RecordBatch, work: Work, number: int) -> pa.RecordBatch:
    return widened(batch, work.answered, number, work.outputs[number], {OUTPUT: number})
