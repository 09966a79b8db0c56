"""Ends of emitted rows that an edge has not announced yet: what NEG 6.1.3 counts references for.

    rows emitted   end 5, 7, 5, 9           waiting   5, 7, 9
    clock 6                                  announced 5: one message for both results

A tuple that leaves is worth a message only if some result leaves with it. The paper keeps a table
of joined tuples beside a stream-table join (JTT), and a count with every tuple of a stream-stream
join. Results carry their end, so the ends that wait serve both, and joins of many inputs.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np

from windrow.core.time import BEGINNING, FOREVER
from windrow.operators.delta import NO_TIMES
from windrow.operators.state.fields import ArrayField, State
from windrow.operators.vector import I64


class Announced(State):
    """The instants to come at which results expire. O(log n) an end, amortised, all in batches.

    Ends that come in order, as those of a window do, wait in order. Others wait in sorted runs,
    each more than twice as long as the next one: few have to be looked at when time goes on.

    Invariants, asserted by `check`:
      1. what waits in order ascends;
      2. a run is not empty, ascends, and is more than twice as long as the next;
      3. nothing in a run ends before `soonest`.
    """

    state_fields = (ArrayField("ends"),)

    def __init__(self) -> None:
        self._ordered: deque[I64] = deque()
        self._runs: list[I64] = []
        self._soonest = FOREVER

    def add(self, exp: I64) -> None:
        """Add the times at which emitted rows expire."""
        if len(exp) and exp[-1] == FOREVER:
            exp = exp[exp < FOREVER]
        if not len(exp):
            return
        last = self._ordered[-1][-1] if self._ordered else BEGINNING
        # The common case, of windows of one length: no sorting, no merging.
        if exp[0] >= last and (exp[1:] >= exp[:-1]).all():
            self._ordered.append(exp)
            return
        # Results that end together are announced by one message.
        run = _once(np.sort(exp))
        self._add(run[: run.searchsorted(FOREVER)])

    def _add(self, run: I64) -> None:
        """Let a run wait, merged with those that are not much longer."""
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            run = _merged([self._runs.pop(), run])
        self._runs.append(run)
        self._soonest = min(self._soonest, int(run[0]))

    def due(self, clock: int) -> I64:
        """Take out the ends up to `clock`; return each once, in order."""
        found = self._first(clock)
        if clock >= self._soonest:
            found += self._from_runs(clock)
        return _merged(found)

    def _first(self, clock: int) -> list[I64]:
        """Take out the ends up to `clock` that wait in order."""
        found: list[I64] = []
        while self._ordered and self._ordered[0][0] <= clock:
            part = self._ordered.popleft()
            n = int(part.searchsorted(clock, side="right"))
            found.append(part[:n])
            if n < len(part):
                self._ordered.appendleft(part[n:])
        return [np.concatenate(found)] if found else []

    def _from_runs(self, clock: int) -> list[I64]:
        """Take out the ends up to `clock` that wait in runs."""
        parted = [(run, int(run.searchsorted(clock, side="right"))) for run in self._runs]
        self._runs, self._soonest = [], FOREVER
        for run, n in parted:
            if n < len(run):
                self._add(run[n:])
        return [run[:n] for run, n in parted if n]

    @property
    def ends(self) -> I64:
        """The ends that wait, each once, in order."""
        return _merged([NO_TIMES, *self._ordered, *self._runs])

    @ends.setter
    def ends(self, ends: I64) -> None:
        self._ordered = deque([ends] if len(ends) else [])
        self._runs, self._soonest = [], FOREVER

    def invariants(self) -> None:
        """Assert the invariants."""
        ordered = np.concatenate([NO_TIMES, *self._ordered])
        assert (ordered[1:] >= ordered[:-1]).all(), "invariant 1: what is in order does not ascend"
        for run in self._runs:
            assert len(run), "invariant 2: an empty run"
            assert (run[1:] > run[:-1]).all(), "invariant 2: a run does not ascend"
            assert run[0] >= self._soonest, "invariant 3: an end comes sooner"
        for longer, run in pairwise(self._runs):
            assert len(longer) > 2 * len(run), "invariant 2: runs are not merged"


def _merged(runs: list[I64]) -> I64:
    """Return the ends of ascending runs in order, each once."""
    if len(runs) < 2:
        return _once(runs[0]) if runs else NO_TIMES
    return _once(np.sort(np.concatenate(runs), kind="stable"))


def _once(ends: I64) -> I64:
    """Return ascending ends, each once."""
    if len(ends) < 2:
        return ends
    new = ends[1:] != ends[:-1]
    return ends if new.all() else ends[np.concatenate([[True], new])]
