"""The process of a shard: ``python -m windrow.runtime.shards.server CHECKPOINT CLAIM N ...``.

It listens before it loads what it needs: whoever started it waits for its first answer, or learns
at once that it has died.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
import time

from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.launch import ProcessPlace, born, listens

LOCK_SECONDS = 30.0


def listening(place: ProcessPlace) -> socket.socket:
    """Return a socket that listens; its name appears when it does."""
    path = place.path("sock")
    for old in (path, path.with_suffix(".new")):
        old.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path.with_suffix(".new")))
    listener.listen(64)
    fault("server-start")
    path.with_suffix(".new").rename(path)
    return listener


def hold_life(place: ProcessPlace) -> None:
    """Take the lock that only one process a shard has, and keep it till the end.

    Two can be started at once: one by `warm`, one by who came before the first listened. One that
    ends holds the lock a little longer than it listens, and is waited for.
    """
    file = os.open(place.path("alive"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + LOCK_SECONDS
    while not _locked(file):
        if listens(place):
            sys.exit(0)
        if time.monotonic() > deadline:
            sys.exit(f"shard {place.shard} has another process that does not end")
        time.sleep(0.02)
    os.truncate(file, 0)
    os.write(file, str(os.getpid()).encode())


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def serve(place: ProcessPlace, watch: int) -> None:
    """Be the process of a shard; never return."""
    hold_life(place)
    listener = listening(place)
    from windrow.runtime.shards.serving import Server  # noqa: PLC0415 - it listens before it loads

    server = Server(place, listener)
    server.watched[watch] = born(watch)
    signal.signal(signal.SIGTERM, lambda *_: server.ended.set())
    server.run()


if __name__ == "__main__":
    checkpoint, claim, number, seconds, size, rows, pid = sys.argv[1:]
    numbers = (int(number), float(seconds), int(size), int(rows))
    serve(ProcessPlace(checkpoint, claim, *numbers), int(pid))
