"""Memory of a process and all below it, looked at again and again, from /proc."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from windrow_lab.bench.looking import Looking

PROC = Path("/proc")
PAGE = os.sysconf("SC_PAGE_SIZE")
PARENT, RSS = 1, 21
"""Fields of /proc/PID/stat, counted after the name: the parent, and the pages in memory."""
MOST = int(0.7 * PAGE * os.sysconf("SC_PHYS_PAGES"))
"""Bytes that a process tree may take: the rest of the machine must live on."""


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


@dataclass
class MemoryWatch(Looking):
    """Keeps the most memory that a process tree had while the block ran.

    Calls `too_much` when it has more than `most`.
    """

    root: int
    too_much: Callable[[], None]
    most: int = MOST
    peak: int = 0

    def take(self) -> int:
        """Return the peak since this was asked last, and begin anew."""
        self.look()
        peak, self.peak = self.peak, 0
        return peak

    def look(self) -> None:
        """Keep the peak."""
        self.peak = max(self.peak, tree_bytes(self.root))
        if self.peak > self.most:
            self.too_much()
