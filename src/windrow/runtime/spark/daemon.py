"""What forks Spark's Python workers, ``-m`` as Spark's own: a worker that is cut off ends quietly.

When a run stops, Spark closes the connections of workers that have just done their work. Spark's
daemon prints a trace for each of them, at the end of a run in which nothing went wrong. What does
go wrong in a task reaches the driver by another way, and is raised there.

Nothing is imported here that starts threads: workers are forked from this process.
"""

from __future__ import annotations

from collections.abc import Callable
from socket import socket
from typing import Any

from pyspark import daemon

CUT_OFF = 1
"""The code of a worker that nobody listens to any more."""


def quiet(worker: Callable[[socket, bool], int]) -> Callable[[socket, bool], int]:
    """Return a worker that ends, without a word, when its connection is closed."""

    def work(connection: socket, authenticated: bool) -> int:  # noqa: FBT001 - as Spark calls it
        try:
            return worker(connection, authenticated)
        except (BrokenPipeError, ConnectionResetError):
            return CUT_OFF

    return work


def manage() -> None:
    """Run as Spark's daemon, whose workers end quietly."""
    module: Any = daemon
    module.worker = quiet(module.worker)
    module.manager()


if __name__ == "__main__":
    manage()
