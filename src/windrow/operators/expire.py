"""From unsigned to signed edges: EXPIRE of NEG 4.2.1 as an operator."""

from __future__ import annotations

from windrow.operators.delta import Delta
from windrow.operators.state.expirer import Expirer, FifoExpirer
from windrow.operators.state.fields import NestedField
from windrow.operators.stateless import StatefulTask, Stateless
from windrow.operators.task import Counters


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


class ExpireTask(StatefulTask):
    """An `Expirer` at work: unsigned or partly signed edge in, signed edge out."""

    state_fields = (NestedField("_expirer"),)

    def __init__(self, expirer: Expirer) -> None:
        self.counters = Counters()
        self._expirer = expirer

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Hand on the changes, and a retraction for each tuple that expires by `clock`."""
        (delta,) = inputs
        out = self._expirer.turn(delta, clock)
        self._count(delta, out)
        self.counters.expiries = self._expirer.counters.expiries
        self.counters.comparisons = self._expirer.counters.comparisons
        return out

    def state_rows(self) -> int:
        """Return the rows that are alive."""
        return len(self._expirer)

    def current(self) -> Delta:
        """Return the rows that are alive."""
        return self._expirer.live()

    def leaving(self) -> Delta | None:
        """See `task.Leaving`: the rows with their ends, if these ascend with the arrivals."""
        return self._expirer.live() if isinstance(self._expirer, FifoExpirer) else None

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`. Rows that never end are not kept."""
        return (self._expirer.live(),)
