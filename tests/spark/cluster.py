"""A real standalone cluster on loopback: a Master and Workers, each a JVM of its own.

Each member is like a machine of its own: it leads a process group with its executors and their
Python processes, and has a folder of its own for the processes of shards. `kill_worker` ends all of
them at once, as a loss of power does.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import TypeVar

import pyspark

from windrow.runtime.shards.launch import FOLDER_ENVIRONMENT

ROOT = Path(__file__).parent.parent.parent
SPARK_HOME = Path(pyspark.__file__).parent
T = TypeVar("T")

PATIENCE = 60.0
"""Seconds after which a member that has not started never will."""


def surroundings(folder: Path, machine: Path) -> dict[str, str]:
    """The environment of a member: loopback, this Python, this source, small daemons."""
    return {
        **os.environ,
        FOLDER_ENVIRONMENT: str(machine),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
    }


@dataclass(slots=True)
class Member:
    """One process of the cluster, with what it writes."""

    process: subprocess.Popen[bytes]
    log: Path
    machine: Path

    def kill(self) -> None:
        """End it at once, with everything that it has started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for pid in shard_processes(self.machine):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.machine, ignore_errors=True)


def shard_processes(machine: Path) -> list[int]:
    """Return the processes that were started with this folder for shards."""
    told = f"{FOLDER_ENVIRONMENT}={machine}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if told in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


@dataclass(slots=True)
class Cluster:
    """A Master and so many Workers of one core each; a context manager."""

    folder: Path
    workers: int = 2
    master: str = ""
    members: list[Member] = field(default_factory=list)
    drivers: list[Member] = field(default_factory=list)

    def __enter__(self) -> Cluster:
        try:
            head = self._start("master.Master", "--host", "127.0.0.1", "--port", "0")
            self.master = self._told(head, r"Starting Spark master at (spark://\S+)")
            for _ in range(self.workers):
                self.add_worker()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for member in (*self.drivers, *reversed(self.members)):
            member.kill()

    def add_worker(self) -> None:
        """Start a Worker and wait until the Master knows it."""
        work = self.folder / f"work{len(self.members)}"
        size = ("--cores", "1", "--memory", "1g", "--work-dir", str(work))
        member = self._start("worker.Worker", "--host", "127.0.0.1", *size, self.master)
        self._told(member, r"(Successfully registered) with master")

    def kill_worker(self, number: int) -> None:
        """End the Worker, its executors and their Python processes."""
        self.members[1 + number].kill()

    def windrow(self, *args: str) -> Member:
        """Start the command `windrow` as a driver of this cluster."""
        return self.driver(*args, "--master", self.master)

    def driver(self, *args: str) -> Member:
        """Start the command `windrow` where it finds this cluster, and is ended with it."""
        command = [sys.executable, "-m", "windrow", *args]
        self.drivers.append(self._launch(command, f"driver{len(self.drivers)}"))
        return self.drivers[-1]

    def _start(self, name: str, *args: str) -> Member:
        spark_class = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
        command = [*spark_class, "--webui-port", "0", *args]
        self.members.append(self._launch(command, f"member{len(self.members)}"))
        return self.members[-1]

    def _launch(self, command: list[str], name: str) -> Member:
        log = self.folder / f"{name}.log"
        machine = Path(tempfile.mkdtemp(prefix="wr-"))  # names of sockets are short
        with log.open("wb") as out:
            process = subprocess.Popen(
                command,
                env=surroundings(self.folder, machine),
                cwd=self.folder,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Member(process, log, machine)

    def _told(self, member: Member, pattern: str) -> str:
        def found() -> str | None:
            assert member.process.poll() is None, member.log.read_text()
            match = re.search(pattern, member.log.read_text())
            return match[1] if match else None

        return wait_for(found, pattern)


def wait_for(found: Callable[[], T | None], what: str, patience: float = PATIENCE) -> T:
    """Return what `found` returns, as soon as it is something."""
    end = monotonic() + patience
    while (result := found()) is None:
        assert monotonic() < end, f"waited {patience:g} s for {what}"
        sleep(0.05)
    return result
