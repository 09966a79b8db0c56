"""`windrow run` on Spark: start, watch, stop; and what Ctrl-C and SIGTERM mean on the way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import click

from windrow import connect
from windrow.cli.run_view import Metrics, watch
from windrow.cli.signals import Signals, StopRequest, leave

if TYPE_CHECKING:
    from windrow.runtime.spark.database import SparkDatabase
    from windrow.runtime.spark.run import Run


@dataclass(frozen=True, slots=True)
class Order:
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
class Place:
    """Where Spark runs, and with what settings."""

    shards: int
    master: str | None
    conf: Mapping[str, str]


def run_spark(order: Order, place: Place) -> int:
    """Run queries until they end or are stopped; return the exit code."""
    with (
        Signals(again=end_at_once) as signals,
        connect(
            engine="spark",
            checkpoint=order.checkpoint,
            shards=place.shards,
            master=place.master,
            conf=place.conf,
        ) as db,
    ):
        try:
            run = started(order, db)
        except KeyboardInterrupt:
            asked = signals.asked or StopRequest(signal.SIGINT)
            click.echo(f"{asked.name}: stopped while it started; nothing was read", err=True)
            leave(asked.code)
        sinks = (sink for sinks in order.sinks.values() for sink in sinks)
        return watch(run, order.checkpoint, sinks, signals, order.metrics)


def started(order: Order, db: SparkDatabase) -> Run:
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
