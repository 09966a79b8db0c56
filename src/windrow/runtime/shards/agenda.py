"""When much is to be done: so that a step which has to work through hours does it in slices.

One in `EVERY` rows leaves a mark at the time at which it comes, and at each time at which a window
lets it go. A slice of a step ends where enough marks have passed:

    clock before │ · ·  ·│·· ·  · ·│·   ·  · │· ·        │ clock after
                        slices: as many rows out of each as a process and a task hold with ease

How many rows come out for a mark is measured as they come, and taken for no fewer than the rows
that it stands for: so a slice never takes in or lets go of many more than `SLICE_ROWS`, however
little came of those before. What a burst gives is known only when it is there. Marks are a guess at
the work, never at the answer: net changes do not depend on where a step is cut. One instant is
never cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from windrow.core.time import FOREVER
from windrow.operators.task import Saved
from windrow.operators.vector import I64
from windrow.plan.nodes import Plan, Scan, Window, nodes_of
from windrow.plan.windows import Range

EVERY = 1024
"""Rows for each mark."""
SLICE_ROWS = 1 << 19
"""Rows that a slice takes in and lets go, or is thought to give.

That is some tens of megabytes, and tenths of a second.

The expiry of 2.6 million results of a join took 8 MB beside its state in slices of half as many,
and 1.4 s; at once it took 275 MB and 2.4 s. Of 6.8 million groups: 109 MB and 5.7 s, against
861 MB and 9.7 s. Those slices made batches of 400,000 to 750,000 rows out 3 to 21 % slower in four
noisy pairs, which is why they are twice as large here; this size has not been timed.
"""
FIRST_MARKS = 128
"""Marks of a step's first slice: a join that explodes shows itself in few rows."""
GROWTH = 4
"""Times as many marks as before that a slice may have."""
DECAY = 2
"""Times as few rows for a mark as before that are believed: a burst may have a second part."""


@dataclass(slots=True)
class Agenda:
    """Marks of one level: `ends` lie ahead, in any order. `fan`: rows that came out for each."""

    ends: I64
    seen: int = 0
    fan: float = EVERY
    _passed: int = 0

    @classmethod
    def empty(cls) -> Agenda:
        """Return an agenda without any mark."""
        return cls(np.empty(0, np.int64))

    def note(self, times: I64, widths: Iterable[int] = (0,)) -> None:
        """Note that rows of these times are stored for so long; FOREVER is never."""
        marks = times[-self.seen % EVERY :: EVERY]
        self.seen += len(times)
        marks = marks[marks < FOREVER]
        if len(marks):
            self.ends = np.concatenate([self.ends, *(marks + width for width in widths)])

    def slices(self, arrivals: list[I64], since: int, clock: int) -> Iterator[int]:
        """Yield the instants up to which to run, the last being `clock`.

        `arrivals` are the times of rows that come in this step. Pass to `made` what a slice gave
        before asking for the next.
        """
        marks = self._due(arrivals, clock)
        at, size = 0, FIRST_MARKS
        while at + size < len(marks):
            cut = int(marks[at + size])
            end = int(np.searchsorted(marks, cut, side="right"))
            if since < cut < clock:
                self._passed = end - at
                yield cut
            at = end
            size = max(1, min(size * GROWTH, int(SLICE_ROWS / self.fan)))
        self._passed = len(marks) - at
        yield clock

    def _due(self, arrivals: list[I64], clock: int) -> I64:
        """Return the marks up to `clock`, in order; forget those that lay ahead."""
        due = self.ends <= clock
        marks = [self.ends[due], *(ts[EVERY - 1 :: EVERY] for ts in arrivals)]
        if due.any():
            self.ends = self.ends[~due]
        return np.sort(np.concatenate(marks))

    def made(self, rows: int) -> None:
        """Note how many rows the last slice emitted."""
        if self._passed:
            self.fan = max(EVERY, rows / self._passed, self.fan / DECAY)

    def save(self) -> Saved:
        """Return the marks."""
        return {"ends": self.ends, "seen": self.seen}

    @classmethod
    def load(cls, saved: Saved) -> Agenda:
        """Return an agenda from saved marks."""
        return cls(saved["ends"], saved["seen"])  # type: ignore[arg-type]


def widths_of(plan: Plan) -> dict[str, tuple[int, ...]]:
    """Return, for each stream, how long windows over it hold a tuple."""
    found: dict[str, set[int]] = {}
    for node in nodes_of(plan):
        if isinstance(node, Window) and isinstance(node.spec, Range):
            for below in nodes_of(node.source):
                if isinstance(below, Scan):
                    found.setdefault(below.stream.name, set()).add(node.spec.width)
    return {name: tuple(sorted(widths)) for name, widths in found.items()}
