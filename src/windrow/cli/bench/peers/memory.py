"""Memory of a process and all below it, looked at again and again, from /proc."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")
POLL = 0.2
"""Seconds between two looks."""
PAGE = os.sysconf("SC_PAGE_SIZE")
PARENT, RSS = 1, 21
"""Fields of /proc/PID/stat, counted after the name: the parent, and the pages in memory."""


def tree_bytes(root: int) -> int:
    """Return the bytes in memory of a process and its descendants; shared pages count in each."""
    children: dict[int, list[int]] = defaultdict(list)
    pages: dict[int, int] = {}
    for entry in PROC.glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        pid = int(entry.parent.name)
        children[int(fields[PARENT])].append(pid)
        pages[pid] = int(fields[RSS])
    total, waiting = 0, [root]
    while waiting:
        pid = waiting.pop()
        total += pages.get(pid, 0)
        waiting += children[pid]
    return total * PAGE


@dataclass(slots=True)
class MemoryWatch:
    """Keeps the most memory that a process tree had while the block ran."""

    root: int
    peak: int = 0
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> MemoryWatch:
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        assert self._thread is not None
        self._thread.join()

    def take(self) -> int:
        """Return the peak since this was asked last, and begin anew."""
        peak, self.peak = max(self.peak, tree_bytes(self.root)), 0
        return peak

    def _look(self) -> None:
        while True:
            self.peak = max(self.peak, tree_bytes(self.root))
            if self._ended.wait(POLL):
                return
