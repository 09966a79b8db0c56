"""Finding a shard's process on this host, or starting it: one a shard, whoever asks first.

    FOLDER/0003.sock    where the process of shard 3 listens
    FOLDER/0003.alive   locked by the process as long as it lives
    FOLDER/0003.start   locked by a client while it starts the process
    FOLDER/0003.log     what the process has printed
    FOLDER/0003.times   the times of the shard in its newest batch (`gathering.py`)
    FOLDER/0003.failed  how it has failed last, if that would come again (`repeats.py`)

FOLDER is private to the user, and named by the checkpoint and the claim that `windrow.json` holds:
a checkpoint that was removed and made anew has other processes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import windrow
from windrow.core.errors import StateError
from windrow.runtime.shards.wire import ClosedError, Head, raise_error, receive, send, tune

LINUX = Path("/proc/self/stat").exists()
FOLDER_ENVIRONMENT = "WINDROW_RUNTIME_DIR"
LONGEST_SOCKET_NAME = 100
START_SECONDS = 60.0
ATTEMPTS = 3
UNUSED_DAYS = 30
FOLDER_NAME = 16
KINDS = ("sock", "alive", "start", "log", "times", "failed")
LOG_TAIL = 4000
DETACH = """
import os, sys
pid = os.fork()
if pid:
    os.write(1, str(pid).encode())
    os._exit(0)
os.setsid()
os.dup2(2, 1)
os.execv(sys.executable, [sys.executable, "-m", "windrow.runtime.shards.server", *sys.argv[1:]])
"""
"""Started by a client, starts the process and ends: the process is nobody's child to wait for."""
SECRETS = ("PYTHON_WORKER_FACTORY_SECRET",)
"""Variables of Spark's workers that are not the process's business."""

GONE = (
    FileNotFoundError,
    ConnectionRefusedError,
    ConnectionResetError,
    BrokenPipeError,
    ClosedError,
)
"""What a connection meets when the process is not there, or ends just now."""


@dataclass(frozen=True, slots=True)
class ProcessPlace:
    """Where a shard's process is found on this host, and with what it is started."""

    checkpoint: str
    claim: str
    shard: int
    idle: float
    memory: int = 0  # bytes of state; 0: a share of the machine's
    snapshot_rows: int = 0  # rows of log after which a snapshot is due; 0: our rules

    @property
    def folder(self) -> Path:
        """The private folder of all shards of this checkpoint, since it was claimed."""
        named = hashlib.sha256(f"{self.checkpoint}\n{self.claim}".encode()).hexdigest()
        return runtime_folder() / named[:FOLDER_NAME]

    def path(self, kind: str) -> Path:
        """Return one of the shard's files."""
        return self.folder / f"{self.shard:04}.{kind}"


def runtime_folder() -> Path:
    """Return the folder for processes of this user on this host."""
    asked = os.environ.get(FOLDER_ENVIRONMENT)
    return Path(asked) if asked else Path(tempfile.gettempdir()) / f"windrow-{os.getuid()}"


def prepare(place: ProcessPlace) -> None:
    """Make the folder; refuse one that others could write to."""
    asked = FOLDER_ENVIRONMENT in os.environ
    place.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    place.folder.mkdir(mode=0o700, exist_ok=True)
    for folder in [place.folder] if asked else [place.folder.parent, place.folder]:
        found = folder.lstat()
        if found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise StateError(
                f"{folder} is not a private folder of this user",
                hint=f"Remove it, or set {FOLDER_ENVIRONMENT} to a folder that is.",
            )
    os.utime(place.folder)  # for `remove_unused`: used today
    if len(str(place.path("sock"))) > LONGEST_SOCKET_NAME:
        raise StateError(
            f"the name of the socket {place.path('sock')} is too long",
            hint=f"Set {FOLDER_ENVIRONMENT} to a folder with a short name.",
        )


def connect(place: ProcessPlace, watch: int) -> tuple[socket.socket, Head]:
    """Return a connection to the shard's process, started if there is none, and its greeting.

    The process lives as long as one of the processes that it was asked to watch.
    """
    prepare(place)
    for _ in range(ATTEMPTS):
        with suppress(*GONE):
            return _greeted(place, watch)
        with _locked(place.path("start")), suppress(*GONE):
            if not place.path("sock").exists() or not listens(place):
                _wait_for_socket(place, start(place, watch))
            return _greeted(place, watch)
    raise StateError(
        f"the process of shard {place.shard} does not start",
        detail=printed(place),
        hint=f"Its messages are in {place.path('log')}.",
    )


def warm(place: ProcessPlace, watch: int) -> None:
    """Start the process if there is none, and do not wait for it."""
    prepare(place)
    with _locked(place.path("start")):
        if not listens(place):
            start(place, watch)


def find(place: ProcessPlace) -> socket.socket | None:
    """Return a connection to the process if it is there."""
    with suppress(*GONE):
        return _greeted(place, 0)[0]
    return None


def _open(place: ProcessPlace) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(place.path("sock")))
    except BaseException:
        connection.close()
        raise
    return tune(connection)


def listens(place: ProcessPlace) -> bool:
    """Return whether there is a process that takes connections."""
    with suppress(*GONE), _open(place):
        return True
    return False


def _greeted(place: ProcessPlace, watch: int) -> tuple[socket.socket, Head]:
    connection = _open(place)
    try:
        send(connection, {"hello": place.claim, "watch": [watch, born(watch)]})
        head, _ = receive(connection)
        raise_error(head)
    except BaseException:
        connection.close()
        raise
    return connection, head


def _wait_for_socket(place: ProcessPlace, pid: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not listens(place):
        if time.monotonic() > deadline or not lives(pid):
            raise ClosedError("the process has ended, or does not begin")
        time.sleep(0.01)


def start(place: ProcessPlace, watch: int) -> int:
    """Start the process, in a session of its own, with nothing of ours open in it.

    Returns its number. It watches `watch` from the beginning.
    """
    remove_unused(place)
    numbers = (place.shard, place.idle, place.memory, place.snapshot_rows, watch)
    arguments = [place.checkpoint, place.claim, *map(str, numbers)]
    with place.path("log").open("ab") as log:
        done = subprocess.run(
            [sys.executable, "-S", "-c", DETACH, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment(),
            cwd="/",
            check=True,
        )
    return int(done.stdout)


def remove_unused(place: ProcessPlace) -> None:
    """Remove folders of other checkpoints that nobody has used for long, and no process uses.

    Only what a process leaves behind is removed: a folder with anything else in it stays.
    """
    oldest = time.time() - UNUSED_DAYS * 24 * 60 * 60
    for folder in place.folder.parent.glob("[0-9a-f]" * FOLDER_NAME):
        with suppress(OSError):
            if folder.stat().st_mtime < oldest and not _inhabited(folder):
                for path in (path for kind in KINDS for path in folder.glob(f"[0-9]*.{kind}")):
                    path.unlink()
                folder.rmdir()


def _inhabited(folder: Path) -> bool:
    for path in folder.glob("*.alive"):
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    return False


def environment() -> dict[str, str]:
    """Return the process's environment: ours, and the place that this windrow was loaded from.

    Where packages are installed Python looks by itself, and last.
    """
    package = Path(windrow.__file__).parent.parent
    ours = {name: value for name, value in os.environ.items() if name not in SECRETS}
    if not {"site-packages", "dist-packages"} & set(package.parts):
        known = ours.get("PYTHONPATH")
        ours["PYTHONPATH"] = os.pathsep.join([str(package), *([known] if known else [])])
    return ours


def printed(place: ProcessPlace) -> str:
    """Return the end of what the process has printed."""
    try:
        text = place.path("log").read_text(errors="replace")
    except OSError:
        return ""
    return text[-LOG_TAIL:].strip()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def born(pid: int) -> str:
    """Return when a process was started, as the system counts; "" if it is no more, or unknown."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def lives(pid: int, started: str = "") -> bool:
    """Return whether a process lives: the one that was born then, as numbers are used again."""
    if LINUX:
        now = born(pid)
        return now != "" and started in ("", now)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
