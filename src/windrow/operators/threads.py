"""Large loops in parts, on several cores: kernels let go of Python's lock while they run.

The process of a shard has one core, as there are as many shards as cores; a process of its own has
all that it may use, or as many as ``WINDROW_THREADS`` says.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

MOST = 4
"""Parts of a loop, at most: what they write soon fills the way to memory."""

ENV = "WINDROW_THREADS"


class _Threads:
    """How many parts run at a time, and who runs them."""

    def __init__(self) -> None:
        self.count = _wanted()
        self.pool: ThreadPoolExecutor | None = None
        self.owner = 0

    def executor(self) -> ThreadPoolExecutor:
        """Return the threads of this process: one that is forked off has none of its parent's."""
        if self.pool is None or self.owner != os.getpid():
            self.pool = ThreadPoolExecutor(MOST - 1, thread_name_prefix="windrow")
            self.owner = os.getpid()
        return self.pool


def _wanted() -> int:
    text = os.environ.get(ENV, "")
    if text.isdecimal():
        return max(1, min(int(text), MOST))
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(mine or 1, MOST)


_THREADS = _Threads()


def parts() -> int:
    """Return in how many parts a large loop is best done."""
    return _THREADS.count


def use(count: int) -> None:
    """Do large loops in so many parts from now on."""
    _THREADS.count = max(1, min(count, MOST))


def together(jobs: Sequence[Callable[[], None]]) -> None:
    """Run all jobs, the first in this thread; return when all are done, or raise what one did."""
    others = [_THREADS.executor().submit(job) for job in jobs[1:]]
    try:
        jobs[0]()
    finally:
        for other in others:
            other.exception()
    for other in others:
        other.result()
