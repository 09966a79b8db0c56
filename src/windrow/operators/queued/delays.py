"""How late changes show: from the instant that they are about to when they are emitted.

Average and maximum are exact. Percentiles come from a histogram whose classes are an eighth wide:
O(1) memory, however long a query runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from windrow.kernels.queues import count_delays
from windrow.operators.state.fields import ArrayField, ScalarField, State
from windrow.operators.task import Saved
from windrow.operators.vector import I64

STEPS = 8
"""Classes for each doubling of a delay."""
CLASSES = 62 * STEPS
"""Enough for any delay there is; the first is for none at all."""
PENDING, LARGE = 64, 1 << 12
"""Small batches that wait to be counted together: a single tuple need not pay for a call."""

BOUNDS = np.concatenate([[0.0], 2.0 ** (np.arange(CLASSES - 1) / STEPS)])
"""The least delay of each class."""


class Delays(State):
    """Delays of changes, counted."""

    state_fields = (
        *map(ScalarField, ("_count", "_total", "_most")),
        ArrayField("_classes"),
    )

    def __init__(self) -> None:
        self._count = 0
        self._total = 0
        self._most = 0
        self._classes = np.zeros(CLASSES, np.int64)
        self._pending: list[
            I64
        ] = []  # instants of changes before they are emitted, as negative numbers
        self._stretch: Delays | None = None

    def begin(self) -> Delays:
        """Return delays of their own that count changes from now on, until others are begun.

        A greatest delay cannot be had as the difference of two.

        >>> delays = Delays()
        >>> delays.note(np.array([0]), 9)
        >>> stretch = delays.begin()
        >>> delays.note(np.array([10]), 12)
        >>> (stretch.count, stretch.most), (delays.count, delays.most)
        ((1, 2), (2, 9))
        """
        # Whoever asked before keeps what was counted; from now on it counts no more.
        self._stretch = Delays()
        return self._stretch

    def note(self, ts: I64, shown: I64 | int) -> None:
        """Changes about these instants were emitted at `shown`."""
        if not len(ts):
            return
        if self._stretch is not None:
            self._stretch.note(ts, shown)
        if len(ts) >= LARGE and isinstance(shown, int):
            self._counted(ts, shown)
            return
        self._pending.append(ts - shown)
        if len(self._pending) >= PENDING or len(ts) >= LARGE:
            self._settle()

    def _settle(self) -> None:
        if self._pending:
            self._counted(np.concatenate(self._pending), 0)
            self._pending = []

    def _counted(self, ts: I64, shown: int) -> None:
        total, most = count_delays(ts, shown, BOUNDS, self._classes)
        self._count += len(ts)
        self._total += int(total)
        self._most = max(self._most, int(most))

    @property
    def count(self) -> int:
        """How many changes were emitted."""
        self._settle()
        return self._count

    @property
    def average(self) -> float:
        """The mean delay; 0 without changes."""
        return self._total / self.count if self.count else 0.0

    @property
    def most(self) -> int:
        """The greatest delay."""
        self._settle()
        return self._most

    def percentile(self, share: float) -> float:
        """Return a delay that `share` of all are at or below, to an eighth; never above the most.

        >>> delays = Delays()
        >>> delays.note(np.arange(100), 100)
        >>> delays.average, delays.most, delays.percentile(0.5)
        (50.5, 100, 53.8...)
        """
        if not self.count:
            return 0.0
        # The class in which the wanted change lies; its upper bound is never too small.
        place = int(np.searchsorted(np.cumsum(self._classes), share * self._count))
        above = BOUNDS[place + 1] if place and place + 1 < CLASSES else 0.0
        return min(float(above), float(self._most))

    def figures(self, scale: float = 1.0) -> dict[str, object]:
        """Return all figures, in units of `scale`."""
        return {
            "changes": self.count,
            "average": self.average / scale,
            "p50": self.percentile(0.5) / scale,
            "p90": self.percentile(0.9) / scale,
            "p99": self.percentile(0.99) / scale,
            "max": self.most / scale,
        }

    def to_plain(self) -> dict[str, object]:
        """Return what was counted as plain values; `add` takes them."""
        self._settle()
        found = np.flatnonzero(self._classes)
        classes = [[int(i), int(self._classes[i])] for i in found]
        return {"count": self._count, "total": self._total, "most": self._most, "classes": classes}

    def add(self, plain: Mapping[str, Any]) -> None:
        """Count what others have counted as well.

        >>> delays, other = Delays(), Delays()
        >>> other.note(np.array([3, 5]), 9)
        >>> for _ in range(2):
        ...     delays.add(other.to_plain())
        >>> delays.count, delays.average, delays.most
        (4, 5.0, 6)
        """
        self._settle()
        self._count += int(plain["count"])
        self._total += int(plain["total"])
        self._most = max(self._most, int(plain["most"]))
        for place, count in plain["classes"]:
            self._classes[place] += count

    def content(self, rows: int) -> Saved:
        """Return what was counted."""
        self._settle()
        return super().content(rows)

    def rebuild(self) -> None:
        """Nothing waits to be counted."""
        self._pending = []
