"""What operators at work have in common: their counts, and their state by `state/fields.py`."""

from __future__ import annotations

import numpy as np

from windrow.operators.delta import Delta
from windrow.operators.state.fields import State
from windrow.operators.task import Counters


class StatefulTask(State):
    """The parts of `Task` that follow from its declared state."""

    counters: Counters

    def begin(self, start: int) -> Delta | None:
        """Nothing is there before any tuple is."""
        return None

    def state_bytes(self) -> int:
        """Return the exact size of the state."""
        return self.nbytes

    def _count(self, given: Delta, made: Delta) -> None:
        counters = self.counters
        counters.tuples_in += len(given)
        counters.tuples_out += len(made)
        negatives = 0
        if given.weight is not None:
            negatives = int(np.count_nonzero(given.weight < 0))
            counters.negatives_in += negatives
        if made.weight is not None:
            if made.weight is not given.weight:
                negatives = int(np.count_nonzero(made.weight < 0))
            counters.negatives_out += negatives


class Stateless(StatefulTask):
    """A task that stores nothing."""

    def state_rows(self) -> int:
        """There is no state."""
        return 0
