"""`windrow run` on Spark: start, watch, stop; and what Ctrl-C and SIGTERM mean on the way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import click

from windrow import connect
from windrow.cli.run_view import Compiling, Metrics, watch
from windrow.cli.signals import Phases, Signals, StopRequest, leave

if TYPE_CHECKING:
    from windrow.runtime.spark.database import SparkDatabase
    from windrow.runtime.spark.run import Run
    from windrow.runtime.spark.starting import StartingSession


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What is to run, where, and where its changes go."""

    script: str
    sinks: Mapping[str, tuple[str, ...]]
    options: Mapping[str, str]
    checkpoint: str
    trigger: str
    drain: bool
    metrics: Metrics | None

    def start(self, db: SparkDatabase) -> Run:
        """Start the run."""
        db.execute(self.script)
        return db.start(
            self.sinks,
            self.trigger,
            self.options,
            list(self.sinks),
            drain=True if self.drain else None,
        )


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where Spark runs, and with what settings."""

    shards: int
    master: str | None
    conf: Mapping[str, str]


def run_spark(order: RunRequest, place: SparkSettings, phases: Phases) -> int:
    """Run queries until they end or are stopped; return the exit code.

    Spark starts first, in the background: what this process has to load is loaded meanwhile.
    """
    with Signals(again=end_at_once) as signals:
        try:
            phases.begin("starts Spark, and loads windrow meanwhile")
            starting = _begin_spark(place)
            db = connect(
                engine="spark",
                checkpoint=order.checkpoint,
                shards=place.shards,
                master=place.master,
                conf=place.conf,
            )
            with db:
                if starting is not None:
                    db.use(starting)
                db.on_phase = phases.begin
                return _watched(order, db, signals, phases)
        except KeyboardInterrupt:
            _leave_unread(signals, phases)
        finally:
            phases.end()


def _begin_spark(place: SparkSettings) -> StartingSession | None:
    from windrow.runtime.spark.starting import begin_session  # noqa: PLC0415 - it loads pyspark

    return begin_session(place.master, place.shards, place.conf)


def _watched(order: RunRequest, db: SparkDatabase, signals: Signals, phases: Phases) -> int:
    """Start the run and see it to its end."""
    compiling = Compiling.begun()
    try:
        run = started(order, db)
    except KeyboardInterrupt:
        _leave_unread(signals, phases)
    phases.begin("runs its first batch")
    phases.end()
    sinks = (sink for sinks in order.sinks.values() for sink in sinks)
    return watch(run, order.checkpoint, sinks, signals, order.metrics, compiling)


def _leave_unread(signals: Signals, phases: Phases) -> NoReturn:
    """End because a signal came while the run started."""
    asked = signals.asked or StopRequest(signal.SIGINT)
    phases.end()
    click.echo(f"{asked.name}: stopped while it started; nothing was read", err=True)
    leave(asked.code)


def started(order: RunRequest, db: SparkDatabase) -> Run:
    """Start the run in a thread of its own, so that signals come to one that only waits.

    Raised in the middle of a call to the JVM they would leave traces; and in the main thread Spark
    would set a handler of its own for Ctrl-C.
    """
    runs: list[Run] = []
    errors: list[BaseException] = []

    def start() -> None:
        try:
            runs.append(order.start(db))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=start, name="windrow-start", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if errors:
        raise errors[0]
    return runs[0]


def end_at_once(asked: StopRequest) -> NoReturn:
    """End after a second signal, in whatever the run does."""
    click.echo(f"{asked.name}: ended at once; nothing is lost", err=True)
    leave(asked.code)
