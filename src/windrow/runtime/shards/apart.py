"""Work in a process that is forked off: it has memory as it is now, and nobody waits for it.

Pages are copied when one of both writes to them, so a snapshot of gigabytes stops its shard for
the milliseconds that the fork takes. The child does one thing and ends. It runs at a lower
priority, touches no socket and no lock file of its parent, and never publishes: a file of a child
whose parent was killed is nobody's.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from windrow.core.errors import StateError
from windrow.runtime.shards import faults
from windrow.runtime.shards.wire import error_head, raise_error

NICENESS = 5
STALL_SECONDS = 300.0
"""How long a child may write nothing before it is given up."""
LOOK_SECONDS = 0.5
ORPHAN_SECONDS = 0.2
CHUNK = 1 << 16


@dataclass(slots=True)
class Apart:
    """A child at work. `output` is the file that it writes; `_pipe` brings its error."""

    pid: int
    output: int
    _pipe: int

    def wait(self) -> None:
        """Return when it is done; raise what it has failed with."""
        message = self._read_message()
        _, status = os.waitpid(self.pid, 0)
        if message:
            raise_error(json.loads(message))
        code = os.waitstatus_to_exitcode(status)
        if code:
            raise StateError(
                "the process that wrote a snapshot has ended before its end",
                detail=f"Its exit code is {code}; the log holds all that the snapshot would.",
            )

    def _read_message(self) -> bytes:
        """Return its error, when it has ended; end it if it does not go on."""
        message, size, since = b"", -1, time.monotonic()
        try:
            while True:
                if select.select([self._pipe], [], [], LOOK_SECONDS)[0]:
                    piece = os.read(self._pipe, CHUNK)
                    if not piece:
                        return message
                    message += piece
                if (now := os.fstat(self.output).st_size) != size:
                    size, since = now, time.monotonic()
                elif time.monotonic() - since > STALL_SECONDS:
                    self.end()
        finally:
            os.close(self._pipe)

    def end(self) -> None:
        """Kill it; `wait` then raises."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def start_apart(work: Callable[[], None], output: int) -> Apart | None:
    """Do some work in a child that has `output` open, and no other file.

    None if there can be no child: not on Linux, where libraries survive it, or no room for one.
    The caller holds all locks that the work needs; other threads do not exist in the child.
    """
    if sys.platform != "linux":
        return None
    reading, writing = os.pipe()
    parent = os.getpid()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: see above
            pid = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return None
    if pid == 0:
        _be_child(work, parent, writing, output)
    os.close(writing)
    return Apart(pid, output, reading)


def _be_child(work: Callable[[], None], parent: int, pipe: int, output: int) -> NoReturn:
    code = 1
    try:
        gc.disable()  # it would write to pages that are shared
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.nice(NICENESS)
        _close_all_but(pipe, output)
        faults.die_with(parent)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
        work()
        code = 0
    except BaseException as error:
        message = json.dumps(error_head(error, traceback.format_exc())).encode()
        with suppress(OSError):
            os.write(pipe, message)
    finally:
        os._exit(code)


def _close_all_but(*kept: int) -> None:
    """Close what the parent has open: locks and sockets end with their last owner."""
    last = 2
    for file in sorted(kept):
        os.closerange(last + 1, file)
        last = file
    os.closerange(last + 1, os.sysconf("SC_OPEN_MAX"))


def _end_with(parent: int) -> None:
    """End this process soon after its parent: what it writes is then nobody's."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_SECONDS)
    os._exit(1)
