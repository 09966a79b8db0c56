"""What a command does while it starts, on standard error.

On a terminal it is one line that is replaced by the next, and gone when the command runs. With
``--verbose`` each phase has a line that stays, with the seconds since the start.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field

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
