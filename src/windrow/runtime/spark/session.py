"""The Spark session: one of ours with settings that fit, or the user's, looked over."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files

from pyspark.sql import SparkSession

from windrow.core.errors import RunError

LOG = logging.getLogger(__name__)

RETRIES = 4
"""Attempts that a task gets: a Python worker that dies must not end the run."""

TOGETHER = "spark.windrow.together"
"""Whether the tasks of all shards may run at the same time; "true" unless set."""

RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"
SPARKS_BATCH_ROWS, BATCH_ROWS = 10_000, 32_768
"""Rows of an Arrow batch: Spark's default, and ours. A row may have 64 kB: a batch has 2 GB."""

ADAPTIVE = "spark.sql.adaptive.enabled"
_STARTING = threading.Lock()

SETTINGS: dict[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    ADAPTIVE: "false",  # partitions are shards: they must not be merged
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true",
    "spark.python.unix.domain.socket.enabled": "true",  # over TCP each task waits 40 ms for an ACK
    "spark.driver.maxResultSize": "4g",  # what a batch brings to sinks in the driver
}
"""What a session of ours is made with."""

DAEMON = "spark.python.daemon.module"
"""What forks Python workers; ours prints no trace for those that are cut off when a run stops."""

LOCAL_SETTINGS = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""The same on this machine alone."""

BETTER = {
    RECORDS: str(BATCH_ROWS),  # each batch costs a call
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",  # no limit: it is asked every row
}
"""What a session of ours has unless Spark is configured otherwise."""

FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
BETTER_LOCALLY = {
    FILE_MANAGER: "org.apache.spark.sql.execution.streaming.checkpointing"
    ".FileSystemBasedCheckpointFileManager"
}
"""The same on this machine alone. By default Spark starts ten processes (chmod, readlink) for every
file of its checkpoint, four files a batch; a rename is atomic all the same."""


def open_session(
    master: str | None, shards: int, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Start Spark, or return the session that this process has already.

    `conf` are settings of the user's own; they count more than ours.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return checked(configured(running, conf or {}))
    place = with_retries(master or "local[*]")
    settings = {**SETTINGS, "spark.sql.shuffle.partitions": str(shards)}
    local = place.startswith("local")
    if local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= LOCAL_SETTINGS
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    log = files("windrow.runtime.spark") / "log4j2.properties"
    settings["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={log}"
    if DAEMON not in os.environ.get("PYSPARK_SUBMIT_ARGS", ""):
        settings[DAEMON] = "windrow.runtime.spark.daemon"
    settings |= conf or {}
    builder = SparkSession.builder.appName("windrow").master(place)
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise RunError(
            f"Spark does not start on {place}",
            detail=str(error).splitlines()[0] if str(error) else type(error).__name__,
            hint="windrow doctor shows what is missing; --master chooses another place.",
        ) from error
    return checked(improve(session, BETTER | (BETTER_LOCALLY if local else {})))


def configured(spark: SparkSession, conf: Mapping[str, str]) -> SparkSession:
    """Set what a user asks of a session that runs already; some settings it can no longer take."""
    for name, value in conf.items():
        if spark.conf.get(name, None) == value:
            continue
        try:
            spark.conf.set(name, value)
        except Exception as error:
            raise RunError(
                f"{name} cannot be set: Spark is running already",
                detail=str(error).splitlines()[0],
                hint="Set it where that session is made: SparkSession.builder.config(...).",
            ) from error
    return spark


def improve(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Set what nobody has configured."""
    known = spark.sparkContext.getConf()
    for name, value in settings.items():
        if not known.contains(name):
            spark.conf.set(name, value)
    return spark


def with_retries(master: str) -> str:
    """Return a local master whose tasks may fail and be tried again, as on a cluster.

    >>> with_retries("local[2]"), with_retries("local"), with_retries("local[2,1]")
    ('local[2,4]', 'local[1,4]', 'local[2,1]')
    """
    if master == "local":
        return f"local[1,{RETRIES}]"
    found = re.fullmatch(r"local\[(\d+|\*)\]", master)
    return f"local[{found[1]},{RETRIES}]" if found else master


def checked(spark: SparkSession) -> SparkSession:
    """Return a session of the user's if windrow can run on it; say what does not fit."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    if zone not in ("UTC", "Etc/UTC", "Z", "+00:00", "GMT"):
        raise RunError(
            f"the session's time zone is {zone}",
            detail="windrow reads times without a zone as UTC; Spark would read them otherwise.",
            hint='Set it: spark.conf.set("spark.sql.session.timeZone", "UTC").',
        )
    for sentence in drawbacks(spark):
        LOG.warning("%s", sentence)
    return spark


@contextmanager
def not_adaptive(spark: SparkSession) -> Iterator[None]:
    """Turn adaptive execution off while a streaming query starts in the user's session.

    Adaptive plans run all stages but the last before `foreachBatch` has seen the batch. Sessions
    that windrow starts have it off anyway.
    """
    with _STARTING:
        before = spark.conf.get(ADAPTIVE)
        spark.conf.set(ADAPTIVE, "false")
        try:
            yield
        finally:
            spark.conf.set(ADAPTIVE, str(before))


def enlarge_batches(spark: SparkSession) -> None:
    """Let rows cross to Python in larger batches than by default, if nobody has said how large."""
    if int(spark.conf.get(RECORDS) or 0) == SPARKS_BATCH_ROWS:
        spark.conf.set(RECORDS, str(BATCH_ROWS))


def drawbacks(spark: SparkSession) -> list[str]:
    """Return what is possible with a session, and yet not good."""
    found = []
    if int(spark.conf.get(RECORDS) or 0) < SPARKS_BATCH_ROWS:
        found.append(
            f"{RECORDS} is small: rows cross to Python in many batches; {BATCH_ROWS} is faster"
        )
    master = spark.sparkContext.master or ""
    if re.fullmatch(r"local(\[(\d+|\*)\])?", master):
        found.append(
            f"master {master} does not repeat failed tasks: a Python worker "
            f"that dies ends the run; local[*,{RETRIES}] goes on"
        )
    return found


def run_at_once(spark: SparkSession, tasks: int) -> bool:
    """Return whether so many tasks can run at the same time, and always will: on this host alone.

    Executors of a cluster come and go. `spark.windrow.together` says no where the slots of a
    session are wanted for something else that never ends.
    """
    context = spark.sparkContext
    slots = local_slots(context.master or "", context.defaultParallelism)
    each = int(context.getConf().get("spark.task.cpus", "1") or 1)
    return spark.conf.get(TOGETHER, "true") == "true" and slots // each >= tasks


def local_slots(master: str, cores: int) -> int:
    """Return how many tasks a local master runs at once; 0 if it is not local.

    >>> local_slots("local[3,4]", 8), local_slots("local[*]", 8), local_slots("yarn", 8)
    (3, 8, 0)
    """
    if master == "local":
        return 1
    found = re.fullmatch(r"local\[(\d+|\*)(?:, *\d+)?\]", master)
    if found is None:
        return 0
    return cores if found[1] == "*" else int(found[1])
