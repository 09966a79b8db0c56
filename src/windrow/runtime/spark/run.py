"""A run: one streaming query of Spark for all queries of a program, from start to end.

Draining is the end of input: all streams reach the newest time of any, and what waited for it is
emitted. It is asked for, or nothing can follow: rows that arrive afterwards for a slower stream are
late. An intent is written down first, so that a drain which was cut off is finished at the next
start; its version makes it harmless twice.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from windrow.core.errors import RunError, WindrowError
from windrow.core.time import Clock
from windrow.plan.catalog import Stream
from windrow.runtime.shards.client import Shards
from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.launch import ProcessPlace
from windrow.runtime.shards.lease import Lease
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.rebuilding import rebuilding_of
from windrow.runtime.shards.store import version_of
from windrow.runtime.spark.activity import RunWatch, ends, read_trigger
from windrow.runtime.spark.dead import count_dead
from windrow.runtime.spark.delivery import Delivery
from windrow.runtime.spark.failures import explained, lost_together, reason, will_repeat
from windrow.runtime.spark.folder import Drain, RunFolder
from windrow.runtime.spark.frame import InputFrames, drain_frame, frame_of
from windrow.runtime.spark.inspection import Inspection
from windrow.runtime.spark.merging import Merging
from windrow.runtime.spark.own import stats_of
from windrow.runtime.spark.plan import plan_of
from windrow.runtime.spark.progress import Progress, Tally, progress_of, shown_clock
from windrow.runtime.spark.reports import read_reports
from windrow.runtime.spark.session import not_adaptive, run_at_once
from windrow.runtime.spark.sinks.choose import Sink
from windrow.runtime.spark.ticks import Ticks, ticks_of
from windrow.runtime.spark.unreadable import damage_of
from windrow.runtime.spark.worker import VERSION

LOG = logging.getLogger(__name__)

COUNTING_SECONDS = 5.0
"""Between two counts of dead letters, which look at every file of them."""

LOOKING_SECONDS = 0.05
"""Between two looks for the end of a batch, where a run is to stop after it."""


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What a run does: a program, its checkpoint, its sinks, when, and inputs given as frames.

    `drain`: when all input is read, the streams are closed.
    """

    program: Program
    folder: RunFolder
    sinks: tuple[Sink, ...]
    trigger: str
    frames: Mapping[str, DataFrame]
    drain: bool


class Run:
    """Queries at work. `wait` for its end, or `stop` it; start again and it goes on.

    If its job says so, the input is drained at its end: what waits for later tuples comes out.
    """

    def __init__(self, spark: SparkSession, shards: Shards, job: RunSpec, lease: Lease) -> None:
        self.job = job
        self.folder = job.folder
        self.names = frozenset(name.lower() for name in job.program.queries)
        self._spark = spark
        self._lease = lease
        self._when = read_trigger(job.trigger)
        self._delivery = Delivery.of(job.program, job.sinks)
        self._query: Any = None
        self._shards = shards
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._complete = False
        self._stopped = threading.Event()
        self._restarting = threading.Lock()
        self._at_once = False
        self._inspection = Inspection(job.folder, job.program)
        ticks = ticks_of(job.program) is not Ticks.NEVER
        self._tally = Tally(ticks=ticks, newest=job.folder.last_batch())
        self._watch = RunWatch(job.trigger)
        self._dead: dict[str, dict[str, int]] = {}
        self._counted_at = 0.0

    def start(self) -> None:
        """Begin: check the sinks, finish what was cut off, read on."""
        try:
            self._open()
        except Exception as error:
            raise explained(error, self.job.program.queries) from error
        self._thread = threading.Thread(target=self._follow, name="windrow-run", daemon=True)
        self._thread.start()
        self._lease.when_lost(self._give_up)

    def _open(self) -> None:
        """Open the sinks, and start the streaming query."""
        self._delivery.open(self.folder.name(), self.folder.reached())
        self._finish_drain()
        program = self.job.program
        if self.folder.is_drained():
            LOG.warning("%s", drained_notice(self.folder, program))
        may = self._delivery.may_run_at_once and run_at_once(self._spark, program.shards)
        if plan_of(program).walled and ends(self.job.trigger):
            may = False  # its batches have no tick, but for the first
        self._at_once = may
        self._query = self._started(at_once=may)

    def _started(self, *, at_once: bool) -> Any:
        """Start Spark's streaming query, where the last one stopped."""
        writer = self._writer(at_once=at_once).queryName(" ".join(self.job.program.queries))
        located = writer.option("checkpointLocation", self.folder.spark)
        with not_adaptive(self._spark):
            return located.trigger(**self._when).start()

    def _writer(self, *, at_once: bool) -> DataStreamWriter:
        """Return the streaming write of all batches: one plan, or a plan a batch if it merges."""
        program, frames, rim = self.job.program, self.job.frames, self._delivery.rim
        watched = self._inspection.watched = []
        if not (plan_of(program).merges and self._delivery.can_merge):
            entry = InputFrames(self.folder.where, frames, ticks_of(program), watched)
            frame = frame_of(self._spark, program, entry, rim=rim, at_once=at_once)
            return self._delivery.written(frame, self._inspection.before if watched else None)
        merging = Merging.of(self._spark, program, self.folder, frames, rim, watched)

        def take(rows: DataFrame, batch: int) -> None:
            self._inspection.before(batch)
            self._make(merging.changes(rows, batch), version_of(batch))
            merging.done(batch)

        return merging.rows.writeStream.foreachBatch(take)

    def _make(self, changes: DataFrame, version: int) -> None:
        """Bring about a version that is no streaming plan's batch."""
        self._spark.sparkContext.setLocalProperty(VERSION, str(version))
        try:
            self._delivery.deliver(changes, version)
        finally:
            self._spark.sparkContext.setLocalProperty(VERSION, None)  # type: ignore[arg-type]

    def _follow(self) -> None:
        """See the streaming query to its end, and drain the input if it came to one."""
        try:
            self._await_end()
            while self._is_behind() and self._goes_on():
                self._await_end()
            ended = not self._stopped.is_set() and self._failure is None
            if self.job.drain and ended:
                self._watch.drains = True
                begin_drain(self.folder)
                self._finish_drain()
            self._complete = ended
        except BaseException as error:
            self._failure = self._failure or error
        finally:
            self._lease.release()

    def _await_end(self) -> None:
        """Wait for the end of input, or for `stop`.

        Spark repeats no task of a stage whose tasks run at once: it gives the batch up. It is run
        again then, and all after it, with an exchange in place of the meeting; unless it would
        fail in the same way. A batch with files that cannot be read is run again without them.
        """
        while True:
            try:
                self._query.awaitTermination()
            except StreamingQueryException as error:
                if not self._inspection.after(error):
                    if will_repeat(error) or not (lost_together(error) and self._at_once):
                        raise
                    LOG.warning("a task has failed; its batch is run again: %s", reason(str(error)))
                    self._tally.retried += 1
                    self._at_once = False
                if self._goes_on():
                    continue
            return

    def _goes_on(self) -> bool:
        """Start the streaming query once more, unless the run is stopped."""
        self._tally.add(self._query.recentProgress)
        with self._restarting:
            if not self._stopped.is_set():
                self._query = self._started(at_once=self._at_once)
        return not self._stopped.is_set()

    def _is_behind(self) -> bool:
        """Return whether all input is read, and a pace still holds a query back.

        Each start of a run that ends has a batch, if nothing else is new then the next of those.
        """
        if self.job.program.pace() is None or not ends(self.job.trigger):
            return False
        reports = read_reports(self.folder.where).values()
        return any(query["behind"] for report in reports for query in report["queries"].values())

    def _finish_drain(self) -> None:
        """Do what an intent to drain says, also if it was cut off."""
        program, where, rim = self.job.program, self.folder.where, self._delivery.rim

        def deliver(wall: int, version: int) -> None:
            self._make(drain_frame(self._spark, program, where, wall, rim), version)

        finish_drain(self.folder, deliver)

    def _give_up(self, error: WindrowError) -> None:
        """End for a reason of the driver's own: another run has the checkpoint."""
        self._failure = error
        with self._restarting:
            if self._query is not None and self._query.isActive:
                self._query.stop()

    @property
    def active(self) -> bool:
        """Return whether it is still at work."""
        return self._thread is not None and self._thread.is_alive()

    def wait(
        self, timeout: float | None = None, each: Callable[[Progress], object] | None = None
    ) -> bool:
        """Wait for the end; return whether it has come. Raises what the run has failed with.

        `each` is called now and then with the progress so far.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        assert self._thread is not None, "a run is started before it is waited for"
        while self._thread.is_alive():
            left = 0.2 if deadline is None else min(0.2, deadline - time.monotonic())
            if left <= 0:
                return False
            self._thread.join(left)
            if each is not None:
                each(self.progress())
        if self._failure is not None and not self._stopped.is_set():
            raise explained(self._failure, self.job.program.queries) from self._failure
        return True

    def stop(self, within: float = 0.0) -> bool:
        """Stop; return whether that was at the end of a batch.

        The batch that is under way may take `within` seconds more. If it takes longer, it is cut
        off, and run again at the next start: nothing is lost by it.
        """
        self._watch.stops = True
        between = self._await_boundary(within) if within else False
        self._stopped.set()
        with self._restarting:
            if self._query is not None and self._query.isActive:
                self._query.stop()
        if self._thread is not None:
            self._thread.join()
        self._shards.shutdown()
        return between

    def _await_boundary(self, within: float) -> bool:
        """Wait until no batch is under way, or one has just ended; return whether that came."""
        deadline = time.monotonic() + within
        first = self.folder.last_batch()
        while self.active and self._query is not None and self._query.isActive:
            waits = not self._query.status["isTriggerActive"]
            if waits or self.folder.last_batch() > first:
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(LOOKING_SECONDS)
        return True

    def sinks(self, name: str) -> tuple[Sink, ...]:
        """Return where a query's changes go."""
        return tuple(s for s in self.job.sinks if s.target.query.lower() == name.lower())

    def progress(self) -> Progress:
        """Return how far the run has come, and what its last batch has cost."""
        if self._query is None:
            raise RunError("the run has not been started", hint="Call start() first.")
        active = self.active
        self._tally.add(self._query.recentProgress)
        status = self._query.status if active else {"message": "ended"}
        ended = "failed" if self._failure is not None and not self._stopped.is_set() else "ended"
        rebuilding = rebuilding_of(self.folder.where, self.job.program.shards) if active else []
        activity = self._watch.look(status, self._tally, None if active else ended, rebuilding)
        known = progress_of(
            self._tally,
            read_reports(self.folder.where),
            self.job.program,
            status=str(status["message"]),
            dead=self._dead_letters(),
            activity=activity,
        )
        damage = damage_of(self.folder.where)
        return replace(known, rebuilding=tuple(rebuilding), **damage)

    def shard_place(self, number: int) -> ProcessPlace:
        """Return where the process of a shard is found, if it is on this host."""
        return self._shards.place(number)

    def delivered(self, batch: int) -> int | None:
        """Return how many changes a batch had that were for noop; None if it is not known."""
        return self._delivery.delivered.get(version_of(batch))

    @property
    def ends(self) -> bool:
        """Return whether the run comes to an end by itself."""
        return ends(self.job.trigger)

    @property
    def complete(self) -> bool:
        """Return whether the run came to its end by itself, with all input read."""
        return self._complete

    @property
    def is_drained(self) -> bool:
        """Return whether the streams of the checkpoint are closed."""
        return self.folder.is_drained()

    def stats(self, query: str) -> dict[str, object]:
        """Return what a query has cost on all shards, and how late its changes were emitted."""
        counted = stats_of(query, read_reports(self.folder.where), self.job.program)
        return {**counted, **damage_of(self.folder.where)}

    def _dead_letters(self) -> dict[str, dict[str, int]]:
        """Return the dead letters, counted anew every few seconds."""
        if time.monotonic() > self._counted_at + COUNTING_SECONDS or not self.active:
            self._dead = count_dead(self.folder.where)
            self._counted_at = time.monotonic()
        return self._dead


def begin_drain(folder: RunFolder) -> None:
    """Write down that the input has ended, unless nothing was read since it last did."""
    batch, before = folder.last_batch(), folder.drain()
    version = version_of(batch, drain=True)
    if batch >= 0 and (before is None or before.version < version):
        folder.note(Drain(version, int(time.time() * 1e6), done=False))
        fault("driver-drain-noted")


def finish_drain(folder: RunFolder, deliver: Callable[[int, int], object]) -> None:
    """Do what an intent says, if there is one: `deliver` what comes out at a time, as a version."""
    drain = folder.drain()
    if drain is None or drain.done:
        return
    try:
        deliver(drain.wall, drain.version)
    except Exception as error:
        raise explained(error) from error
    fault("driver-drain-given")
    folder.note(Drain(drain.version, drain.wall, done=True))


def drained_notice(folder: RunFolder, program: Program) -> str:
    """Return what it means for a run that its checkpoint was drained."""
    reached = closed_at(folder, program)
    times = ", ".join(f'"{name}" at {at}' for name, at in reached.items())
    closed = f" Its streams were closed: {times}." if times else ""
    return (
        f"the checkpoint {folder.where} was drained when it ended last.{closed} "
        "Rows before that are late: they are counted and kept with the dead letters, and no query "
        "uses them. Runs that are to be continued end without a drain."
    )


def closed_at(folder: RunFolder, program: Program) -> dict[str, str | int]:
    """Return how far each stream of a checkpoint has come, as its shards have reported last."""
    clocks = {e.name: e.clock for e in plan_of(program).entries if isinstance(e, Stream)}
    found: dict[str, str | int] = {}
    for report in read_reports(folder.where).values():
        for name, frontier in report["frontiers"].items():
            if name in clocks:
                found[name] = shown_clock(int(frontier), clocks[name] or Clock.TICKS)
    return found
