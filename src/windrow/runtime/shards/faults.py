"""Named places where a process can be made to die, for tests that it may die anywhere.

``WINDROW_FAULT="after-log-write:3"`` kills the process with SIGKILL when it comes to that place
for the third time. ``"after-log-write:3:FILE"`` does so only if FILE is not there yet, and makes
it first: then whoever is started again with the same environment goes on. Several are separated
by commas.
"""

from __future__ import annotations

import os
import signal
from collections import Counter

POINTS: tuple[str, ...] = (
    "client-half-sent",  # in the worker: some rows are on their way
    "client-sent",  # in the worker: all rows are sent, no answer yet
    "server-start",  # the process is about to listen
    "rows-half-received",
    "before-log-write",  # all rows are here, nothing is in the log
    "half-log-write",  # the draft of a log file lacks its end
    "before-log-rename",
    "after-log-rename",
    "before-ingest-answer",
    "meeting-half",  # in a task that has left its note for the others
    "before-step",  # the log holds the step, the shard has not done it
    "after-step",  # or after a slice of it
    "before-sync",  # log files are complete, yet not forced to the disk
    "after-sync",
    "half-answer",  # some of the answer is on its way
    "between-slices",  # a slice is given, others are not made yet
    "after-answer",
    "before-snapshot",
    "half-snapshot",
    "before-snapshot-rename",
    "after-snapshot",
    "during-removal",  # some of the files that nobody needs are gone
    "half-replay",  # while a lost state is rebuilt
    "driver-drain-noted",  # in the driver: that the input has ended is written down, no more
    "driver-drain-given",  # in the driver: all that comes out then is given, which is not noted
)
"""Every place, in the order in which a batch meets them."""

ENVIRONMENT = "WINDROW_FAULT"

_met: Counter[str] = Counter()
_dying_too: list[int] = []


def die_with(parent: int) -> None:
    """Say, in a process that was forked off, that its parent dies with it at a fault point."""
    _dying_too.append(parent)


def fault(point: str) -> None:
    """Die here, if the environment asks for it."""
    asked = os.environ.get(ENVIRONMENT)
    if not asked:
        return
    assert point in POINTS, f"{point} is no fault point"
    _met[point] += 1
    for wish in asked.split(","):
        name, _, rest = wish.partition(":")
        count, _, once = rest.partition(":")
        if name == point and _met[point] == int(count or 1) and _first(once):
            for pid in (*_dying_too, os.getpid()):
                os.kill(pid, signal.SIGKILL)


def _first(path: str) -> bool:
    """Return whether there was no such mark before; leave one."""
    if not path:
        return True
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
