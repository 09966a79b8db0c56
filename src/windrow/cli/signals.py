"""Ctrl-C and SIGTERM: a command that is asked to stop, and stops where it does no harm.

| when it comes | what happens |
| --- | --- |
| while the command starts | it is raised where it comes: nothing has been read yet |
| while the command runs | it is noted; `check` raises it when the command asks |
| a second time | `again` is called with it, or it is raised where it comes |

What a command does while it starts (`Phases`) is shown on standard error. On a terminal it is one
line that is replaced by the next, and gone when the command runs. With ``--verbose`` each phase has
a line that stays, with the seconds since the start.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NoReturn

CLEAR = "\r\x1b[2K"


@dataclass(slots=True)
class Phases:
    """Where phases are shown: in lines (`verbose`), in one line, or nowhere."""

    verbose: bool = False
    terminal: bool = False
    began: float = field(default_factory=time.monotonic)
    _open: bool = False

    @classmethod
    def shown(cls, *, verbose: bool) -> Phases:
        """Return where phases are shown here."""
        return cls(verbose, sys.stderr.isatty())

    def begin(self, what: str) -> None:
        """Show what is done next."""
        seconds = time.monotonic() - self.began
        if self.verbose:
            sys.stderr.write(f"{seconds:6.2f} s  {what}\n")
        elif self.terminal:
            sys.stderr.write(f"{CLEAR}{what} ... ({seconds:.1f} s)")
            self._open = True
        sys.stderr.flush()

    def end(self) -> None:
        """Remove the line, if there is one: something else is shown now."""
        if self._open:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()
            self._open = False


CODE = 128
"""What shells add to the number of a signal for the exit code of a process that it has ended."""


class StopRequest(KeyboardInterrupt):
    """Somebody wants the command to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    @property
    def name(self) -> str:
        """What people call it."""
        return "Ctrl-C" if self.number == signal.SIGINT else signal.Signals(self.number).name

    @property
    def code(self) -> int:
        """The exit code of a process that a signal has ended."""
        return CODE + self.number


def leave(code: int) -> NoReturn:
    """End this process at once, in whatever state the bridge to the JVM is.

    The JVM ends when its input does, the shards' processes when they see that this one has.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class Signals:
    """Notices both signals as long as it is entered; what was set before comes back then.

    A note cannot be lost, as what is raised can be: Python ignores what callbacks of weak
    references raise, and the bridge to the JVM has many of them.
    """

    NUMBERS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, again: Callable[[StopRequest], object] | None = None) -> None:
        self.asked: StopRequest | None = None
        self._again = again
        self._starting = True
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        self._before = {n: signal.getsignal(n) or signal.SIG_DFL for n in self.NUMBERS}
        self._listen()
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def started(self) -> None:
        """Say that the command runs: signals are noted; one that came before is raised."""
        self._starting = False
        self.check()

    def check(self) -> None:
        """Raise what was noted."""
        if self.asked is not None:
            raise self.asked

    def _listen(self) -> None:
        for number in self.NUMBERS:
            signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        again = self.asked is not None
        self.asked = StopRequest(number)
        if again and self._again is not None:
            self._again(self.asked)
        if again or self._starting:
            raise self.asked
