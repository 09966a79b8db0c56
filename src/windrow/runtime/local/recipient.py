"""Periodic reports of a query: the recipient at the root of its plan [NEG 5.7].

    changes emitted  +a@3  +b@7 -a@9   +c@12          every 5 ticks
    reports          5: a       10: b      15: b c     each when the clock has passed it

It folds the query's changes into an answer of its own, up to one multiple of the period after the
other: O(changes), and O(answer) a report. What `changes()` returns is not touched.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.core.errors import InputError
from windrow.core.naming import shown
from windrow.core.time import Clock
from windrow.operators.delta import Delta
from windrow.operators.vector import I64
from windrow.operators.view import View
from windrow.plan.binding.durations import said_length
from windrow.plan.functions.moments import FIRST_MOMENT
from windrow.plan.settings import length_in
from windrow.runtime.changelog import timed_column

if TYPE_CHECKING:
    from windrow.runtime.local.query import RunningQuery

To = Callable[[int | datetime, pa.Table], object]
"""Takes an instant and the answer then."""


class Recipient:
    """Reports one query's answer as of every multiple of a period, once no more can be about it.

    `due` is the next multiple; None before the query's first event. Under an expiry that waits, or
    on a processor, a report has what was emitted by then.
    """

    def __init__(self, running: RunningQuery, period: int, to: To) -> None:
        self.period, self.to = period, to
        self.stopped = False
        self.join(running)

    def stop(self) -> None:
        """Report no more."""
        self.stopped = True

    def join(self, running: RunningQuery) -> None:
        """Start from a query's answer as emitted so far; no report is about an earlier instant.

        Where the query has none yet, everything is still to be emitted.
        """
        self._view = View(running.schema)
        self._later: list[Delta] = []
        self.due: int | None = None
        if not running.flow.begun:
            return
        known = running.clock > FIRST_MOMENT
        columns, copies = running.rows()
        start = np.full(len(copies), running.clock)
        self._view.apply(Delta(start, columns, None, copies))
        self.due = self._from(running.closed) if known else None

    def _from(self, instant: int) -> int:
        """Return the first multiple at or after an instant."""
        return -(-instant // self.period) * self.period

    def take(self, changes: Delta) -> None:
        """Take changes that the query has just emitted."""
        self._later.append(changes)

    def is_due(self, running: RunningQuery) -> bool:
        """Return whether there is a multiple that no change can be about any more."""
        if self.due is None:
            assert running.start is not None, "a query that runs has started"
            if running.clock <= FIRST_MOMENT:  # no time is known yet
                return False
            known = running.start > FIRST_MOMENT
            self.due = self._from(running.start if known else running.clock)
        return not self.stopped and self.due < running.closed + running.ended

    def report(self, running: RunningQuery) -> None:
        """Report as of the multiple that is due. It is not due again, whatever `to` raises."""
        assert self.due is not None, "a report is due"
        at = self.due
        self.due = at + self.period
        self._fold(at)
        instant = timed_column(np.array([at]), running.time_type)[0].as_py()
        self.to(instant, running.table(*self._view.rows()))

    def _fold(self, at: int) -> None:
        """Fold in the changes up to an instant; those about later ones wait."""
        waiting, self._later = self._later, []
        for delta in waiting:
            now, later = delta.split(at)
            if len(now):
                self._view.apply(now)
            if len(later):
                self._later.append(later)

    def held_back(self) -> list[Delta]:
        """Return the changes that wait."""
        return self._later

    def live_codes(self) -> list[I64]:
        """Return the interned codes that the answer refers to."""
        return self._view.live_codes()


def period_of(every: object, clock: Clock) -> int:
    """Return a period in the clock's unit.

    >>> period_of("10 seconds", Clock.TIMESTAMP), period_of(5, Clock.TICKS)
    (10000000, 5)
    """
    said = length_in(every)
    if said is None or said == "none":
        raise InputError(
            f"{shown(every)} is no period",
            hint="Give a length of time, for example every='10 seconds', or ticks: every=10.",
        )
    if " " in said and clock is Clock.TICKS:
        raise InputError(
            f"every {said.lower()}, but an integer clock has none",
            detail="The stream's TIMESTAMP BY column is an integer, so time counts its ticks.",
            hint=f"Give the number alone: every={said.partition(' ')[0]}.",
        )
    return said_length(said, clock, "every")
