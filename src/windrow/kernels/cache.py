"""Where compiled kernels are kept between processes, and when they must be compiled again.

    <user's cache>/windrow/kernels/<digest>/      digest = kernel sources, numba, Python

Numba notices a change in the file of a kernel, and not one in a callee of another file: it would
go on with stale code, and crash. So every state of the sources has a folder of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

DAY = 24 * 60 * 60  # seconds
UNUSED_DAYS = 30
"""Folders of other sources go when no process has used them for so long."""
NOTICE = "windrow: compiling kernels for this machine, once (up to 15 s)"

_warned: list[str] = []


@cache
def digest() -> str:
    """Return what compiled code depends on, as 16 hexadecimal digits. About a millisecond."""
    content = hashlib.sha256()
    content.update(f"{version('numba')} {version('llvmlite')} {sys.version}".encode())
    sources = [f for f in files("windrow.kernels").iterdir() if f.name.endswith(".py")]
    for source in sorted(sources, key=lambda file: file.name):
        content.update(source.name.encode())
        content.update(source.read_bytes())
    return content.hexdigest()[:16]


@cache
def cache_folder() -> Path:
    """Return the folder of these sources, and make it: the first candidate that can be written."""
    for parent in candidates():
        folder = parent / digest()
        if usable(folder):
            return folder
    return Path(tempfile.mkdtemp(prefix="windrow-kernels-"))


def candidates() -> Iterator[Path]:
    """Yield where kernels may be kept: where the user says, else the user's cache, else /tmp."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        yield Path(chosen) / "windrow-kernels"
    yield Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "windrow" / "kernels"
    yield Path(tempfile.gettempdir()) / f"windrow-kernels-{_user()}"


def usable(folder: Path) -> bool:
    """Make a folder for this user alone; return whether it can be written.

    What lies in it is run, so a folder that belongs to somebody else is not used.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=stat.S_IRWXU)
        os.utime(folder)  # for `remove_unused`: used today
        tempfile.TemporaryFile(dir=folder).close()
        return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return False


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def remove_unused(now: float | None = None) -> list[Path]:
    """Delete folders of other sources that no process has used for `UNUSED_DAYS`."""
    kept = cache_folder()
    oldest = (time.time() if now is None else now) - UNUSED_DAYS * DAY
    gone = []
    for folder in kept.parent.iterdir():
        if len(folder.name) == len(kept.name) and folder != kept and _used(folder) < oldest:
            shutil.rmtree(folder, ignore_errors=True)
            gone.append(folder)
    return gone


def _used(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:  # another process was faster
        return float("inf")


def kernels_are_cold() -> bool:
    """Return whether no kernel of these sources has been compiled on this machine yet."""
    compiled = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
    return compiled and next(cache_folder().rglob("*.nbi"), None) is None


def warn_if_cold() -> None:
    """Say once a process, to a person who watches, why the first query takes seconds."""
    if _warned:
        return
    watched = sys.stderr is not None and sys.stderr.isatty()
    if (watched or os.environ.get("WINDROW_VERBOSE") == "1") and kernels_are_cold():
        sys.stderr.write(f"{NOTICE}\n")
        sys.stderr.flush()
    _warned.append(NOTICE)
