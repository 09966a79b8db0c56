"""A Spark session that starts in the background, while this process gets ready itself.

The JVM and its context take seconds in which Python waits. Meanwhile the compiler is imported,
queries are planned, and the processes of the shards load.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress

import pyarrow as pa
from pyspark.sql import SparkSession

from windrow.runtime.spark.session import open_session

SETTLE_SECONDS = 10.0


def _warm_workers(session: SparkSession, count: int) -> None:
    """Let Python workers start and load what tasks need, while the driver opens the sources.

    The first batch finds them there: they are kept for the next task. If that fails, so will it.
    """
    with suppress(Exception):
        session.range(0, count, 1, count).mapInArrow(loaded, "id BIGINT").collect()


def loaded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Load what tasks of windrow need; return the rows as they are."""
    import windrow.runtime.spark.worker  # noqa: F401, PLC0415 - for what it loads

    yield from batches


class StartingSession:
    """A session of ours that has begun to start. `result` waits for it.

    It starts in a thread that nobody waits for: a process that ends before closes the JVM's input,
    by which the JVM ends as well.
    """

    def __init__(
        self, master: str | None, shards: int, conf: Mapping[str, str] | None = None
    ) -> None:
        self._session: SparkSession | None = None
        self._failure: BaseException | None = None
        self._warming: threading.Thread | None = None
        self._thread = threading.Thread(
            target=self._start, args=(master, shards, conf), name="windrow-spark", daemon=True
        )
        self._thread.start()

    def _start(self, master: str | None, shards: int, conf: Mapping[str, str] | None) -> None:
        try:
            self._session = open_session(master, shards, conf)
        except BaseException as error:
            self._failure = error
            return
        if (master or "local").startswith("local"):
            self._warming = threading.Thread(
                target=_warm_workers, args=(self._session, shards), daemon=True
            )
            self._warming.start()

    @property
    def is_done(self) -> bool:
        """Return whether `result` would return at once."""
        return not self._thread.is_alive()

    def settle(self) -> None:
        """Wait until nothing is under way in the session; call it before the session is stopped."""
        if self._warming is not None:
            self._warming.join(SETTLE_SECONDS)

    def result(self) -> SparkSession:
        """Return the session, active in this thread too, or raise what kept it from starting."""
        while self._thread.is_alive():
            self._thread.join(0.1)  # so that Ctrl-C is handled
        if self._failure is not None:
            raise self._failure
        session = self._session
        assert session is not None, "it has started, or failed"
        SparkSession._get_j_spark_session_class(session._jvm).setActiveSession(
            session._jsparkSession
        )
        return session


def begin_session(
    master: str | None, shards: int, conf: Mapping[str, str] | None = None
) -> StartingSession | None:
    """Let a session start; None if this process has one already, which is then the one to use."""
    if SparkSession.getActiveSession() is not None:
        return None
    return StartingSession(master, shards, conf)
