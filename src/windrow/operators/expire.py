"""From unsigned to signed edges: EXPIRE of NEG 4.2.1 as an operator."""

from __future__ import annotations

import numpy as np

from windrow.operators.delta import Delta
from windrow.operators.state.expirer import Expirer, FifoExpirer
from windrow.operators.stateless import Stateless
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64


class InsertionsTask(Stateless):
    """Drops `exp`: a stream of insertions, where expirations do not happen or do not matter."""

    def __init__(self) -> None:
        self.counters = Counters()

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Hand on the insertions."""
        (delta,) = inputs
        out = Delta(delta.ts, delta.columns)
        self._count(delta, out)
        return out


class ExpireTask:
    """An `Expirer` at work: unsigned or partly signed edge in, signed edge out."""

    def __init__(self, expirer: Expirer) -> None:
        self.counters = Counters()
        self._expirer = expirer

    def begin(self, start: int) -> Delta | None:
        """Nothing is there before any tuple is."""
        return None

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Hand on the changes, and a retraction for each tuple that expires by `clock`."""
        (delta,) = inputs
        out = self._expirer.turn(delta, clock)
        counters = self.counters
        counters.tuples_in += len(delta)
        counters.tuples_out += len(out)
        if delta.weight is not None:
            counters.negatives_in += int(np.count_nonzero(delta.weight < 0))
        if out.weight is not None:
            counters.negatives_out += int(np.count_nonzero(out.weight < 0))
        counters.expiries = self._expirer.counters.expiries
        counters.comparisons = self._expirer.counters.comparisons
        return out

    def state_rows(self) -> int:
        """Return the rows that are alive."""
        return len(self._expirer)

    def state_bytes(self) -> int:
        """Return the exact size of the structure."""
        return self._expirer.nbytes

    def save(self) -> Saved:
        """Return the structure's state."""
        return self._expirer.save()

    def load(self, saved: Saved) -> None:
        """Take over a saved structure."""
        self._expirer.load(saved)

    def check(self) -> None:
        """Assert the structure's invariants."""
        self._expirer.check()

    def current(self) -> Delta:
        """Return the rows that are alive."""
        return self._expirer.live()

    def leaving(self) -> Delta | None:
        """See `task.Leaving`: the rows with their ends, if these ascend with the arrivals."""
        return self._expirer.live() if isinstance(self._expirer, FifoExpirer) else None

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`. Rows that never end are not kept."""
        return (self._expirer.live(),)

    def live_codes(self) -> list[I64]:
        """Return the interned codes that live rows refer to."""
        return self._expirer.live_codes()
