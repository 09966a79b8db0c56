"""Shards in real processes, fed as Spark feeds them, that die where they are told to.

A process is forked from the test's own, which has everything loaded: it starts in hundredths of a
second, and is in all else what `launch.start` starts. `tests/faults/test_shard_processes.py` starts
some from nothing.
"""

from __future__ import annotations

import fcntl
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from tests.reference.shards import ShardSet

from windrow.runtime.shards import faults, launch, server, serving
from windrow.runtime.shards.client import LostError, Shards
from windrow.runtime.shards.clocks import BatchClock, InputTimes
from windrow.runtime.shards.layout import layout_of
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.store import version_of
from windrow.runtime.shards.wire import Stepped

T = TypeVar("T")


def start_by_fork(place: launch.Place, watch: int) -> int:
    """Start a shard's process, nobody's child, with the environment as it is now."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        if (grandchild := os.fork()) != 0:
            os.write(writing, str(grandchild).encode())
            os._exit(0)
        become_server(place, watch)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        return int(pipe.read())


def become_server(place: launch.Place, watch: int) -> None:
    """Be the process; never return."""
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with place.path("log").open("ab") as log:
            for stream in (1, 2):
                os.dup2(log.fileno(), stream)
        os.closerange(3, 256)
        sys.stderr = os.fdopen(2, "w")  # not what pytest has put there
        faults._met.clear()
        assert serving.Server, "loaded before the fork, so that each process need not"
        server.serve(place, watch)
    finally:
        os._exit(1)


def stubborn(task: Callable[[], T]) -> T:
    """Do a task again when its shard's process has died, as Spark does."""
    for _ in range(len(faults.POINTS)):
        try:
            return task()
        except LostError:
            continue
    return task()


class RemoteShard:
    """A shard behind its client, with the face of a `Shard` in the same process."""

    def __init__(self, shards: Shards, number: int) -> None:
        self.client = shards.shard(number, watch=os.getpid())
        self.version = 0
        self._staged: dict[int, list[pa.Table]] = {}

    def ingest(self, port: int, table: pa.Table) -> None:
        self._staged.setdefault(port, []).append(table)

    def _rows(self) -> dict[int, pa.Table]:
        staged, self._staged = self._staged, {}
        return {port: pa.concat_tables(tables) for port, tables in staged.items()}

    def times(self) -> dict[str, InputTimes]:
        rows = self._rows()
        return stubborn(lambda: self.client.ingest(self.version, rows))

    def step(self, level: int, batch_clock: BatchClock) -> Stepped:
        rows, told = self._rows(), batch_clock if level == 0 else None
        return stubborn(lambda: self.client.step(self.version, level, rows, told))


class ProcessShards(ShardSet):
    """All shards of a program as processes on a checkpoint; batches get Spark's versions."""

    def __init__(self, checkpoint: Path, program: Program, seed: int = 0) -> None:
        self.there = Shards(str(checkpoint), program)
        self.batches = 0
        self.program = program
        self.layout = layout_of(program)
        self.remote = [RemoteShard(self.there, n) for n in range(program.shards)]
        self.shards = self.remote  # type: ignore[assignment]
        self.random = random.Random(seed)

    def batch(
        self, inputs: dict[int, pa.Table], beats: dict[str, int], *, drain: bool = False
    ) -> list[pa.Table]:
        for shard in self.remote:
            shard.version = version_of(self.batches - drain, drain=drain)
        made = super().batch(inputs, beats, drain=drain)
        self.batches += not drain
        return made

    def pid(self, number: int) -> int:
        place = self.remote[number].client.place
        with suppress(OSError, ValueError):
            return int(place.path("alive").read_text())
        return 0

    def kill(self, number: int) -> None:
        """End a process as a crash would."""
        pid = self.pid(number)
        birth = launch.born(pid)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not launch.lives(pid, birth))

    def restart(self) -> None:
        """End all processes as a crash would; the next request starts them again."""
        for number in range(self.program.shards):
            self.kill(number)

    def close(self) -> None:
        for shard in self.remote:
            shard.client.close()
        self.there.shutdown()


def wait_until(true: object, seconds: float = 10.0) -> None:
    """Wait for something to become true; fail if it does not."""
    assert callable(true)
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@contextmanager
def dying(*wishes: str) -> Iterator[None]:
    """Let processes that are started inside die at the places that are named."""
    os.environ[faults.ENVIRONMENT] = ",".join(wishes)
    try:
        yield
    finally:
        del os.environ[faults.ENVIRONMENT]


def nobody_left(folder: Path) -> bool:
    """Tell whether no process of this folder is alive: nobody holds the locks."""
    return not any(launch._inhabited(inner) for inner in folder.iterdir())


def kill_all(folder: Path) -> None:
    """End what a failed test has left behind."""
    for path in folder.glob("*/*.alive"):
        with path.open() as file, suppress(OSError, ValueError):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.kill(int(file.read()), signal.SIGKILL)
