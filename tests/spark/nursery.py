"""Shards' processes by fork: what runs in place of Spark's Python daemon, ``-m`` as that does.

    daemon ── fork ──► nursery     has loaded all that a shard needs; forks one when asked
       └────── fork ──► workers     ask the nursery where `launch.start` would load a Python anew

A shard's process loads for more than two seconds, a worker for nearly two, and the tests of this
folder start some two hundred of each. The tests on a cluster, those of `windrow run` in a process
of its own, and of those that kill processes all but the longest start theirs as users do.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import tempfile
from pathlib import Path

import pandas
import pyspark.worker
from pyspark.sql.pandas import serializers

from windrow.runtime.shards import launch
from windrow.runtime.shards.launch import ProcessPlace, environment, remove_unused
from windrow.runtime.spark import worker
from windrow.runtime.spark.daemon import manage

ROOT = Path(__file__).parent.parent.parent
SUBMIT_ARGS = "--conf spark.python.daemon.module=tests.spark.nursery pyspark-shell"
LARGEST = 1 << 20
LOADED = (pandas, pyspark.worker, serializers, worker)
"""What all workers have from the beginning."""


def surroundings() -> dict[str, str]:
    """Return what the environment has where a driver of Spark starts, for its workers to be these.

    Not on a cluster: only a driver on this machine alone has this source's folder for its workers.
    """
    known = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(ROOT), *([known] if known else [])])
    return {"PYTHONPATH": path, "PYSPARK_SUBMIT_ARGS": SUBMIT_ARGS}


def begin(address: str) -> None:
    """Fork the nursery, which listens when this returns and ends with this process."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen(64)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        if os.fork() != 0:
            os._exit(0)
        try:
            os.setsid()  # nobody's child, as shards are
            os.close(theirs)
            serve(listener, ours)
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    os.close(ours)
    listener.close()


def serve(listener: socket.socket, parent: int) -> None:
    """Fork a shard's process for each who asks, as long as the parent's end of a pipe is open."""
    import tests.faults.processes  # noqa: F401 - with all that takes two seconds
    from windrow.operators.interner import Interner

    Interner()  # the first kernel of a process takes half a second
    with Path(os.devnull).open("r+b") as nothing:  # the daemon's input and output are Spark's
        for standard in (0, 1):
            os.dup2(nothing.fileno(), standard)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody's children to wait for
    while True:
        if parent in select.select([listener, parent], [], [])[0]:
            os._exit(0)
        connection, _ = listener.accept()
        with connection:
            asked = connection.recv(LARGEST)
            pid = os.fork()
            if pid == 0:
                be_shard(**json.loads(asked))
            connection.send(str(pid).encode())


def be_shard(place: list[object], watch: int, environ: dict[str, str]) -> None:
    """Be what `launch.start` starts; never return."""
    from tests.faults.processes import become_server

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir("/")
    become_server(ProcessPlace(*place), watch)  # type: ignore[arg-type]


def start(place: ProcessPlace, watch: int) -> int:
    """Do what `launch.start` does, by the nursery."""
    remove_unused(place)
    given = [place.checkpoint, place.claim, place.shard, place.idle, place.memory]
    asked = {"place": given, "watch": watch, "environ": environment()}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(ADDRESS)
        connection.send(json.dumps(asked).encode())
        return int(connection.recv(LARGEST))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="wr-") as folder:
        ADDRESS = f"{folder}/nursery"
        begin(ADDRESS)
        launch.start = start
        manage()
