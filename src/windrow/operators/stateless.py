"""What all operators without memory share."""

from __future__ import annotations

import numpy as np

from windrow.operators.delta import Delta
from windrow.operators.task import Counters, Saved


class Stateless:
    """The parts of `Task` that concern state, for operators that have none."""

    counters: Counters

    def begin(self, start: int) -> Delta | None:
        """Nothing is there before any tuple is."""
        return None

    def state_rows(self) -> int:
        """There is no state."""
        return 0

    def state_bytes(self) -> int:
        """There is no state."""
        return 0

    def save(self) -> Saved:
        """There is no state."""
        return {}

    def load(self, saved: Saved) -> None:
        """Nothing was stored."""

    def check(self) -> None:
        """Nothing can be wrong with nothing."""

    def live_codes(self) -> list[np.ndarray]:
        """No interned value is kept alive by this operator."""
        return []

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
