"""What a cluster has of what windrow needs there, as its executors say themselves.

Tasks look at the machine that they run on: its Python, its packages, its clock, its memory, and
whether it sees the checkpoint's folder. They are sent by value: windrow may be missing there.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from windrow.core.errors import RunError, WindrowError
from windrow.runtime.shards.files import open_files
from windrow.runtime.spark.failures import reason
from windrow.runtime.spark.session import open_session

PACKAGES = ("windrow", "pyspark", "pyarrow", "numpy", "numba", "pandas")
CONNECT_SECONDS = 5.0
EXECUTOR_SECONDS = 60.0
"""How long executors may take to be there: a cluster without a free core gives none."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a task saw on its machine."""

    host: str
    python: str
    packages: dict[str, str]
    digest: str
    clock: float
    memory: int
    sees_checkpoint: bool | None
    private_folder: bool


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What was found: tasks at a time, what each task saw, what this process has, and how long.

    `began` and `ended` are this machine's clock around the tasks.
    """

    slots: int
    seen: tuple[Seen, ...]
    here: Seen
    began: float
    ended: float


def unreachable(url: str) -> list[str]:
    """Return the masters of a standalone cluster that take no connection, each with the reason.

    >>> unreachable("local[2]")
    []
    """
    found: list[str] = []
    if not url.startswith("spark://"):
        return found
    for place in url.removeprefix("spark://").split(","):
        host, _, port = place.partition(":")
        try:
            socket.create_connection((host, int(port or 7077)), CONNECT_SECONDS).close()
        except (OSError, ValueError) as error:
            found.append(f"{place}: {getattr(error, 'strerror', None) or error}")
    return found


def look_at(url: str, checkpoint: str | None) -> ClusterFacts:
    """Start Spark on a cluster, let each slot look around, and stop it."""
    spark = open_session(url, 2)
    try:
        return _looked(spark, checkpoint)
    finally:
        spark.stop()


def _looked(spark: SparkSession, checkpoint: str | None) -> ClusterFacts:
    _await_executors(spark)
    slots = max(1, spark.sparkContext.defaultParallelism)
    mark = None if checkpoint is None else _marked(checkpoint)
    began = time.time()
    try:
        tasks = spark.sparkContext.parallelize(range(2 * slots), 2 * slots)
        pickling: Any = cloudpickle
        pickling.register_pickle_by_value(sys.modules[__name__])
        try:
            seen = tasks.mapPartitions(lambda _: looked_around(checkpoint, mark)).collect()
        finally:
            pickling.unregister_pickle_by_value(sys.modules[__name__])
    except WindrowError:
        raise
    except Exception as error:
        raise RunError(
            "the executors cannot run Python tasks of this program",
            detail=reason(str(error)),
            hint="Give them the Python of the driver: --conf spark.pyspark.python=..., or "
            "PYSPARK_PYTHON where the workers start.",
        ) from error
    finally:
        if checkpoint is not None and mark is not None:
            open_files(checkpoint).remove(mark)
    (here,) = looked_around(None, None)
    return ClusterFacts(slots, tuple(Seen(**s) for s in seen), Seen(**here), began, time.time())


def _await_executors(spark: SparkSession) -> None:
    """Wait until a task runs; Spark itself would wait for ever."""
    ran = threading.Event()

    def run() -> None:
        spark.sparkContext.parallelize([0], 1).count()
        ran.set()

    threading.Thread(target=run, daemon=True).start()
    if not ran.wait(EXECUTOR_SECONDS):
        spark.sparkContext.cancelAllJobs()
        raise RunError(
            f"the cluster has given no executor within {EXECUTOR_SECONDS:.0f} s",
            detail="No worker is registered, all cores are taken, or executors cannot connect to "
            "this machine, or they end as soon as they start.",
            hint="Look at the master's page and the workers' logs. If the workers cannot reach "
            "this machine: --conf spark.driver.host=ADDRESS.",
        )


def _marked(checkpoint: str) -> str:
    """Put a file into the checkpoint's folder for others to see; return its name."""
    mark = f".windrow-doctor-{uuid4().hex}"
    draft = open_files(checkpoint).draft(mark)
    draft.write(b"seen")
    draft.publish()
    draft.sync()
    return mark


def looked_around(checkpoint: str | None, mark: str | None) -> Iterator[dict[str, Any]]:
    """Yield what this machine has, as plain values. Runs where windrow may not be."""
    import platform  # noqa: PLC0415 - sent by value: what it needs it imports where it runs
    import socket as sockets  # noqa: PLC0415
    import time as times  # noqa: PLC0415

    times.sleep(0.3)  # so that every slot has its share
    yield {
        "host": sockets.gethostname(),
        "python": platform.python_version(),
        "packages": versions(),
        "digest": source_digest(),
        "clock": times.time(),
        "memory": memory(),
        "sees_checkpoint": sees(checkpoint, mark),
        "private_folder": has_private_folder(),
    }


def versions() -> dict[str, str]:
    """Return the versions of packages; "" for one that is not there."""
    import importlib.metadata  # noqa: PLC0415 - as above
    import importlib.util  # noqa: PLC0415

    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "unpackaged" if importlib.util.find_spec(name) else ""
    return found


def source_digest() -> str:
    """Return a digest of windrow's source; "" if it is not there."""
    import hashlib  # noqa: PLC0415 - as above
    import importlib.util  # noqa: PLC0415
    import pathlib  # noqa: PLC0415

    spec = importlib.util.find_spec("windrow")
    if spec is None or spec.origin is None:
        return ""
    root, digest = pathlib.Path(spec.origin).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def memory() -> int:
    """Return the bytes of memory of this machine."""
    import os  # noqa: PLC0415 - as above

    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def sees(checkpoint: str | None, mark: str | None) -> bool | None:
    """Return whether the driver's file is in the checkpoint's folder here; None if nobody asks."""
    if checkpoint is None or mark is None:
        return None
    try:
        from windrow.runtime.shards.files import open_files as opened  # noqa: PLC0415 - as above

        return opened(checkpoint).exists(mark)
    except Exception:  # whatever it is, it is not seen
        return False


def has_private_folder() -> bool:
    """Return whether a shard's process has a place for its socket here."""
    import tempfile  # noqa: PLC0415 - as above

    try:
        with tempfile.TemporaryDirectory(prefix="windrow-"):
            return True
    except OSError:
        return False
