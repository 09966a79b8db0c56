"""How far a batch lets time pass for a query: so that no batch carries a whole backlog of expiries.

A silent night, a source that jumps: the streams are hours ahead, and a window is to be let go.
`SET expiry_pace = n` lets the clock of the query stop where about n tuples have expired on a shard,
and go on in the next batch:

    clock ├──── n ────┤──── n ────┤── rest ──┤ streams
            this batch   the next      ...

Each shard marks when its own tuples expire, and passes on with its times where it would stop;
the first of these places is where all stop. It follows from the rows, in any order, and from the
clock: a batch that is run again stops at the same instant. What is late is not decided here.

The pace is no less than what a batch brings: a query that keeps up is never held back for long.
One instant is never cut. Results of joins and groups that leave with a tuple are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.time import BEGINNING, FOREVER
from windrow.operators.task import Saved
from windrow.operators.vector import I64
from windrow.runtime.shards.clocks import InputTimes

MOST_ROWS = 1024
"""Rows that a mark stands for, at most."""
MARKS = 64
"""Marks of a batch, at least: a small pace has finer ones."""


@dataclass(slots=True)
class Pace:
    """Marks of the tuples that a shard has of a query. `rows`: how many a batch lets go.

    `ends` are in order. Rows of this batch wait in `_fresh`, by the stage that reads them, until
    all have come: so marks do not depend on the order in which they do.
    """

    rows: int
    ends: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    seen: int = 0
    _fresh: dict[int, list[I64]] = field(default_factory=dict)

    @property
    def every(self) -> int:
        """Rows that a mark stands for."""
        return max(1, min(MOST_ROWS, self.rows // MARKS))

    def note(self, stage: int, times: I64, widths: tuple[int, ...]) -> None:
        """Tuples of these times have come, and leave so much later."""
        if widths:
            ends = np.concatenate([times + width for width in widths])
            self._fresh.setdefault(stage, []).append(ends)

    def stop(self, clock: int) -> int:
        """Return the instant at which enough have expired after `clock`; FOREVER if fewer are left.

        Call it once a batch, when all its rows have come.
        """
        enough = max(self.rows, sum(len(e) for some in self._fresh.values() for e in some))
        self._mark()
        self.ends = self.ends[np.searchsorted(self.ends, clock, side="right") :]
        marks = max(1, enough // self.every)
        return int(self.ends[marks - 1]) if len(self.ends) > marks else FOREVER

    def _mark(self) -> None:
        if not self._fresh:
            return
        marks = [self.ends]
        for stage in sorted(self._fresh):
            ends = np.sort(np.concatenate(self._fresh[stage]))
            marks.append(ends[-self.seen % self.every :: self.every])
            self.seen += len(ends)
        self._fresh = {}
        self.ends = np.sort(np.concatenate(marks), kind="stable")

    def save(self) -> Saved:
        """Return the marks."""
        return {"ends": self.ends, "seen": self.seen}

    def load(self, saved: Saved) -> None:
        """Take over saved marks."""
        self.ends, self.seen = saved["ends"], saved["seen"]  # type: ignore[assignment]


def pace_name(query: int) -> str:
    """Return the name of the entry that says where query `query` stops: that of no input."""
    return f"\0pace {query}"


def pace_times(stop: int) -> InputTimes:
    """Return where a shard would stop, as times: of several shards the first counts.

    >>> pace_times(7).merged(pace_times(5)).first
    5
    """
    return InputTimes(stop, BEGINNING, 0)
