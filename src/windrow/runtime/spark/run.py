"""A run: one streaming query of Spark for all queries of a program, from start to end."""

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

from windrow.core.errors import RunError
from windrow.runtime.shards.client import Shards
from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.store import version_of
from windrow.runtime.spark.dead import count_dead
from windrow.runtime.spark.delivery import Delivery
from windrow.runtime.spark.failures import explained, lost_together, reason
from windrow.runtime.spark.folder import Drain, RunFolder
from windrow.runtime.spark.frame import Entry, drain_frame, frame_of
from windrow.runtime.spark.inspection import Inspection
from windrow.runtime.spark.merging import Merging
from windrow.runtime.spark.plan import plan_of
from windrow.runtime.spark.progress import Progress, Tally, progress_of
from windrow.runtime.spark.reports import read_reports
from windrow.runtime.spark.session import not_adaptive, run_at_once
from windrow.runtime.spark.sinks.choose import Sink
from windrow.runtime.spark.stats import stats_of
from windrow.runtime.spark.ticks import Ticks, ticks_of
from windrow.runtime.spark.triggers import ends, read_trigger
from windrow.runtime.spark.unreadable import damage_of
from windrow.runtime.spark.worker import VERSION

LOG = logging.getLogger(__name__)

COUNTING_SECONDS = 5.0
"""Between two counts of dead letters, which look at every file of them."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a run does: a program, its checkpoint, its sinks, when, and inputs given as frames."""

    program: Program
    folder: RunFolder
    sinks: tuple[Sink, ...]
    trigger: str
    frames: Mapping[str, DataFrame]


class Run:
    """Queries at work. `wait` for its end, or `stop` it; start again and it goes on.

    At the end of "available-now" the input is drained: what waits for later tuples comes out.
    """

    def __init__(self, spark: SparkSession, shards: Shards, job: Job) -> None:
        self.job = job
        self.folder = job.folder
        self.names = frozenset(name.lower() for name in job.program.queries)
        self._spark = spark
        self._sinks = {sink.target.query.lower(): sink for sink in job.sinks}
        self._when = read_trigger(job.trigger)
        self._delivery = Delivery.of(job.program, job.sinks)
        self._query: Any = None
        self._shards = shards
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._stopped = threading.Event()
        self._restarting = threading.Lock()
        self._at_once = False
        self._inspection = Inspection(job.folder, job.program)
        self._tally = Tally(ticks=ticks_of(job.program) is not Ticks.NEVER)
        self._dead: dict[str, dict[str, int]] = {}
        self._counted_at = 0.0

    def start(self) -> None:
        """Begin: check the sinks, finish what was cut off, read on."""
        self._delivery.open(self.folder.name(), self.folder.reached())
        self._finish_drain()
        program = self.job.program
        may = self._delivery.may_run_at_once and run_at_once(self._spark, program.shards)
        if plan_of(program).walled and ends(self.job.trigger):
            may = False  # its batches have no tick, but for the first
        self._at_once = may
        try:
            self._query = self._started(at_once=may)
        except Exception as error:
            raise explained(error, program.queries) from error
        self._thread = threading.Thread(target=self._follow, name="windrow-run", daemon=True)
        self._thread.start()

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
            entry = Entry(self.folder.where, frames, ticks_of(program), watched)
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
            if ends(self.job.trigger) and not self._stopped.is_set():
                self._begin_drain()
        except BaseException as error:
            self._failure = error

    def _await_end(self) -> None:
        """Wait for the end of input, or for `stop`.

        Spark repeats no task of a stage whose tasks run at once: it gives the batch up. It is run
        again then, and all after it, with an exchange in place of the meeting. A batch with files
        that cannot be read is run again without them.
        """
        while True:
            try:
                self._query.awaitTermination()
            except StreamingQueryException as error:
                if not self._inspection.after(error):
                    if not (lost_together(error) and self._at_once):
                        raise
                    LOG.warning("a task has failed; its batch is run again: %s", reason(str(error)))
                    self._at_once = False
                if self._goes_on():
                    continue
            return

    def _goes_on(self) -> bool:
        """Start the streaming query once more, unless the run is stopped."""
        self._tally.hear(self._query.recentProgress)
        with self._restarting:
            if not self._stopped.is_set():
                self._query = self._started(at_once=self._at_once)
        return not self._stopped.is_set()

    def _is_behind(self) -> bool:
        """Tell whether all input is read, and a pace still holds a query back.

        Each start of a run that ends has a batch, if nothing else is new then the next of those.
        """
        if self.job.program.pace() is None or not ends(self.job.trigger):
            return False
        reports = read_reports(self.folder.where).values()
        return any(query["behind"] for report in reports for query in report["queries"].values())

    def _begin_drain(self) -> None:
        """Write down that the input has ended, then let everything come out."""
        batch, before = self.folder.last_batch(), self.folder.drain()
        version = version_of(batch, drain=True)
        if batch >= 0 and (before is None or before.version < version):
            self.folder.note(Drain(version, int(time.time() * 1e6), done=False))
            fault("driver-drain-noted")
            self._finish_drain()

    def _finish_drain(self) -> None:
        """Do what an intent says, also if it was cut off: versions make it harmless twice."""
        drain = self.folder.drain()
        if drain is None or drain.done:
            return
        where, rim = self.folder.where, self._delivery.rim
        frame = drain_frame(self._spark, self.job.program, where, drain.wall, rim)
        try:
            self._make(frame, drain.version)
        except Exception as error:
            raise explained(error) from error
        fault("driver-drain-given")
        self.folder.note(Drain(drain.version, drain.wall, done=True))

    @property
    def active(self) -> bool:
        """Tell whether it is still at work."""
        return self._thread is not None and self._thread.is_alive()

    def wait(
        self, timeout: float | None = None, each: Callable[[Progress], object] | None = None
    ) -> bool:
        """Wait for the end; tell whether it has come. Raises what the run has failed with.

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

    def stop(self) -> None:
        """Stop after the batch that is under way, or in it: it is run again at the next start."""
        self._stopped.set()
        with self._restarting:
            if self._query is not None and self._query.isActive:
                self._query.stop()
        if self._thread is not None:
            self._thread.join()
        self._shards.shutdown()

    def sink(self, name: str) -> Sink:
        """Return where a query's changes go."""
        return self._sinks[name.lower()]

    def progress(self) -> Progress:
        """Return how far the run has come, and what its last batch has cost."""
        if self._query is None:
            raise RunError("the run has not been started", hint="Call start() first.")
        self._tally.hear(self._query.recentProgress)
        known = progress_of(
            self._tally,
            read_reports(self.folder.where),
            self.job.program,
            active=self.active,
            status=str(self._query.status["message"]) if self.active else "ended",
            dead=self._dead_letters(),
        )
        return replace(known, **damage_of(self.folder.where))

    def stats(self, query: str) -> dict[str, object]:
        """Return what a query has cost on all shards, and how late its changes were told."""
        counted = stats_of(query, read_reports(self.folder.where), self.job.program)
        return {**counted, **damage_of(self.folder.where)}

    def _dead_letters(self) -> dict[str, dict[str, int]]:
        """Return the dead letters, counted anew every few seconds."""
        if time.monotonic() > self._counted_at + COUNTING_SECONDS or not self.active:
            self._dead = count_dead(self.folder.where)
            self._counted_at = time.monotonic()
        return self._dead
