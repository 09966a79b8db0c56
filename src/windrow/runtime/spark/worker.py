"""The functions that run in Spark's Python workers: INGEST and STEP.

    INGEST   wide rows of all ports  ─►  handed to the shard; one small row for every shard
    STEP     the times of all shards, or rows that were forwarded  ─►  forwarded rows, or changes
    both     wide rows of all ports  ─►  handed to the shard, all shards meet, level 0 is run

Both are the same for every batch and partition: which shard and which version it is, the task
says. State lives in the shard's process, so any worker may run any of them, twice if need be.
Nothing that compiles is imported here.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from windrow.core.errors import StateError
from windrow.core.schema import Schema
from windrow.runtime.local.memory import keep_freed_memory
from windrow.runtime.shards.client import ShardClient, Shards
from windrow.runtime.shards.clocks import UNUSABLE, BatchClock, InputTimes
from windrow.runtime.shards.gathering import merged
from windrow.runtime.shards.store import version_of
from windrow.runtime.shards.wire import Piece, times_from_json, times_to_json
from windrow.runtime.spark import slots
from windrow.runtime.spark.dead import LATE, DeadLetters, Letter, late_letters
from windrow.runtime.spark.dead import POISON as POISONED
from windrow.runtime.spark.reports import Spent, write_report
from windrow.runtime.spark.rows import narrow, split_rows, widened

Batches = Iterator[pa.RecordBatch]
Rows = Iterator[tuple[int, pa.RecordBatch]]
AtTheRim = Callable[[int, Batches], Batches]
"""What is done with the changes of a version in the task that has them."""

VERSION = "windrow.version"
"""The local property that gives tasks outside streaming batches which version they make."""

QUERY = "sql.streaming.queryId"
"""The local property that names Spark's streaming query to its tasks."""

TIMES, WALL, DRAIN = "_times", "_wall", "_drain"
TIMES_DDL = f"{slots.SHARD} INT, {TIMES} STRING"
"""What INGEST gives: for which shard, and the times."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A port as a worker sees it: the columns before its own, its own, and if all shards get it."""

    number: int
    head: tuple[str, ...]
    schema: Schema
    everyone: bool


@dataclass(frozen=True, slots=True)
class Work:
    """All that workers know of a program. `silent`: streams by port of time-only rows.

    `times`: each stream's time column, and whether its times are moments. `walled`: clocks go by
    the batch's own time. `rim`: who takes the changes after the last level, and passes on what
    others want.
    """

    shards: Shards
    levels: int
    gates: Mapping[int, Gate]
    outputs: Mapping[int, Schema]
    entered: slots.Wide
    forwarded: Mapping[int, slots.Wide]
    answered: slots.Wide
    silent: Mapping[int, str]
    times: Mapping[str, tuple[str, bool]]
    walled: bool = False
    rim: AtTheRim | None = None


def version_here() -> int:
    """Return the version that this task makes: of its batch, or the one that the driver says."""
    task = TaskContext.get()
    assert task is not None, "only a task of Spark runs this"
    property_ = task.getLocalProperty(VERSION)
    if property_:
        return int(property_)
    batch = task.getLocalProperty("streaming.sql.batchId")
    assert batch is not None, "only a streaming query of Spark runs this"
    return version_of(int(batch))


KEPT = 1 << 26
"""Bytes that may stay with a worker after they were freed: what is on its way at a time."""


@cache
def make_ready() -> None:
    """Spare a worker, for as long as it lives, what would come again with every task.

    Spark's workers collect garbage after each: 20 ms of looking at modules, while it commits. And
    rows that pass need memory: without being asked, the system gives it out anew each time.
    """
    keep_freed_memory(KEPT, alone=True)
    gc.collect()
    gc.freeze()


@dataclass(frozen=True, slots=True)
class Turn:
    """A task of Spark at work for a shard: on what, for which one, making which version."""

    work: Work
    shard: ShardClient
    number: int
    version: int
    spent: Spent
    again: bool

    @classmethod
    def here(cls, work: Work) -> Turn:
        """Return the turn of this task."""
        task = TaskContext.get()
        assert task is not None, "only a task of Spark runs this"
        make_ready()
        number = task.partitionId()
        shard, again = work.shards.shard(number), task.attemptNumber() > 0
        return cls(work, shard, number, version_here(), Spent(), again)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Be connected to the shard; a failure that would come again is not tried for twice."""
        attempt = self.work.shards.attempt(self.version, self.number, again=self.again)
        with attempt.noted(), self.shard:
            yield

    @property
    def dead_letters(self) -> DeadLetters:
        """Where its dead letters lie."""
        return DeadLetters(self.work.shards.checkpoint, self.version, self.number)

    def report(self, part: str, stats: Mapping[str, object]) -> None:
        """Write the report of the shard, and what was spent."""
        task = TaskContext.get()
        query = task.getLocalProperty(QUERY) if task is not None else None
        write_report(
            self.work.shards.checkpoint,
            f"{self.number:04}.{part}",
            {"version": self.version, "query": query, "spent": self.spent.seconds, "stats": stats},
        )


def number_rows(batches: Batches) -> Batches:
    """Say in what order a source's partition gave its rows: Spark has no such function on streams.

    Among rows of one time a count window takes those of one partition as they came.
    """
    task = TaskContext.get()
    assert task is not None, "only a task of Spark runs this"
    first = task.partitionId() << 40
    for batch in batches:
        numbers = pa.array(np.arange(first, first + batch.num_rows))
        place = batch.schema.get_field_index(slots.SEQUENCE)
        yield batch.set_column(place, slots.SEQUENCE, numbers)
        first += batch.num_rows


def ingest(batches: Batches, *, work: Work) -> Batches:
    """Hand the rows of one shard over; yield its times for all shards."""
    turn = Turn.here(work)
    with turn.working():
        times = _handed_over(batches, turn).times
    turn.report("ingest", {})
    text = json.dumps(times_to_json(times))
    everyone = range(work.shards.count)
    yield pa.RecordBatch.from_arrays(
        [pa.array(everyone, pa.int32()), pa.array([text for _ in everyone])],
        names=[slots.SHARD, TIMES],
    )


def _handed_over(batches: Batches, turn: Turn) -> BatchClock:
    """Hand the rows of one shard over; return its times, and the time of its ticks."""
    aside: dict[int, list[pa.RecordBatch]] = {}
    rows = _of_ports(turn.spent.outside(batches), turn.work, turn.work.entered, aside)
    with turn.spent.counting():
        times = turn.shard.ingest(turn.version, rows)
    for port, stream in turn.work.silent.items():
        if port in aside:
            times[stream] = _times(aside[port], times.get(stream))
    for stream in _write_rejected(aside.get(slots.POISON, []), turn):
        times.setdefault(stream, UNUSABLE)
    ticks = [
        wall for batch in aside.get(slots.TICK, []) for wall in batch.column(slots.TIME).to_pylist()
    ]
    return BatchClock(times, max(ticks, default=0))


def _of_ports(
    batches: Batches, work: Work, wide: slots.Wide, aside: dict[int, list[pa.RecordBatch]]
) -> Rows:
    """Yield the rows of ports; put those that are of none aside."""
    for number, batch in split_rows(batches, slots.GOAL, work.shards.count):
        if number < 0:
            aside.setdefault(number, []).append(batch)
        else:
            gate = work.gates[number]
            yield number, narrow(batch, wide, number, gate.schema, gate.head)


def _times(batches: list[pa.RecordBatch], before: InputTimes | None) -> InputTimes:
    """Return the times of rows that have nothing else, each of one tuple or of many."""
    ts = np.concatenate([b.column(slots.TIME).to_numpy() for b in batches])
    if slots.TUPLES not in batches[0].schema.names:
        times = InputTimes(int(ts.min()), int(ts.max()), len(ts))
    else:
        firsts = np.concatenate([b.column(slots.FIRST).to_numpy() for b in batches])
        tuples = sum(int(b.column(slots.TUPLES).to_numpy().sum()) for b in batches)
        times = InputTimes(int(firsts.min()), int(ts.max()), tuples)
    return times if before is None else before.merged(times)


def _write_rejected(batches: list[pa.RecordBatch], turn: Turn) -> list[str]:
    """Keep the dead letters of this version; return the inputs that had any."""
    by_file: dict[tuple[str, str], list[Letter]] = {}
    for batch in batches:
        for text in batch.column(turn.work.entered.text_slot).to_pylist():
            letter = json.loads(text)
            place = letter["stream"], letter.get("file") or ""
            by_file.setdefault(place, []).append((letter["reason"], letter["row"]))
    letters: dict[str, list[Letter]] = {}
    for (stream, file), found in by_file.items():
        letters.setdefault(stream, []).extend(_as_in_file(file, found) if file else found)
    for stream, found in letters.items():
        turn.dead_letters.write(stream, POISONED, sorted(found))
    return list(letters)


def _as_in_file(file: str, letters: list[Letter]) -> list[Letter]:
    from windrow.runtime.spark.raw_lines import with_lines  # noqa: PLC0415 - for dead letters only

    return with_lines(file, letters)


def ingest_and_step(batches: Batches, *, work: Work) -> Batches:
    """INGEST and STEP of level 0 at once, where the tasks of all shards run at the same time."""
    return _last(_ingested_and_stepped(batches, work), 0, work)


def _ingested_and_stepped(batches: Batches, work: Work) -> Batches:
    turn = Turn.here(work)
    with turn.working():
        batch_clock = work.shards.gathered(turn.version, turn.number, _handed_over(batches, turn))
        if work.walled and not batch_clock.wall:
            raise StateError(
                f"version {turn.version} has no tick",
                detail="A run that ends by itself has planned its batch, and others go on with it.",
            )
        yield from _answer(turn.shard.pieces(turn.version, 0, (), batch_clock), 0, turn)


def step(batches: Batches, *, level: int, work: Work) -> Batches:
    """Run one level on one shard; give the rows of the next, or all changes after the last."""
    return _last(_stepped(batches, level, work), level, work)


def _last(rows: Batches, level: int, work: Work) -> Batches:
    """Let the rim take the changes of the last level."""
    if work.rim is None or level < work.levels - 1:
        return rows
    return work.rim(version_here(), rows)


def _stepped(batches: Batches, level: int, work: Work) -> Batches:
    turn = Turn.here(work)
    with turn.working():
        if level == 0:
            pieces = turn.shard.pieces(turn.version, 0, (), _batch_clock(batches))
        else:
            rows = _of_ports(turn.spent.outside(batches), work, work.forwarded[level], {})
            pieces = turn.shard.pieces(turn.version, level, rows, None)
        yield from _answer(pieces, level, turn)


def _answer(pieces: Iterator[Piece], level: int, turn: Turn) -> Batches:
    """Yield the output of a level as wide rows; write late tuples and the shard's report."""
    work = turn.work
    late: dict[str, list[pa.RecordBatch]] = {}
    for part, key, _, batch in turn.spent.inside(pieces):
        if batch is None:
            continue
        if part == "late":
            late.setdefault(str(key), []).append(batch)
        elif part == "changes":
            yield _answered(batch, work, int(key))
        else:
            yield from _to_forward(batch, work, level + 1, work.gates[int(key)])
    turn.report(str(level), turn.shard.report)
    for stream, some in late.items():
        time, moments = work.times[stream]
        letters = late_letters(pa.Table.from_batches(some), time, moments=moments)
        turn.dead_letters.write(stream, LATE, letters)


def _batch_clock(batches: Batches) -> BatchClock:
    """Return the batch clock: the times of all shards, merged."""
    property_: list[dict[str, InputTimes]] = []
    wall, drain = 0, False
    for batch in batches:
        wall = max([wall, *batch.column(WALL).to_pylist()])
        drain = drain or any(batch.column(DRAIN).to_pylist())
        property_ += [times_from_json(json.loads(text)) for text in batch.column(TIMES).to_pylist()]
    return BatchClock(merged(property_), wall, drain)


def _to_forward(batch: pa.RecordBatch, work: Work, level: int, gate: Gate) -> Batches:
    """Yield rows for the next level; those for everybody once for each shard."""
    goals = range(work.shards.count) if gate.everyone else (-1,)
    for goal in goals:
        head = {slots.SHARD: goal, slots.PORT: gate.number}
        yield widened(batch, work.forwarded[level], gate.number, gate.schema, head)


def _answered(batch: pa.RecordBatch, work: Work, number: int) -> pa.RecordBatch:
    return widened(batch, work.answered, number, work.outputs[number], {slots.OUTPUT: number})
