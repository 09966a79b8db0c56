"""The results of a step, gathered a slice at a time into the columns that leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.core.time import FOREVER
from windrow.operators.delta import Delta
from windrow.operators.join.growing import Growing
from windrow.operators.vector import I64

FORESIGHT = 4
"""Times the pairs of a slice for which room is made ahead, at most, beside what there is.

One slice may be dense and the rest sparse: of nine million pairs from a hundredth of the arrivals
a straight guess makes a thousand million.
"""


@dataclass(slots=True)
class GatheredPairs(Growing):
    """Columns of pairs, growing; with `endless`, pairs that never expire."""

    endless: bool = False

    def more(self, pairs: int, share: float) -> tuple[I64, I64]:
        """Return where ts and exp of more pairs go. They come of `share` of the rest's arrivals."""
        if self.made + pairs > self.room:
            guess = min(int(1.1 * pairs / share), self.made + FORESIGHT * pairs)
            self.resize(self.made + max(pairs, guess))
        ts, exp = self.times[:, self.made : self.made + pairs]
        return ts, exp

    def delta(self) -> Delta:
        """Return all that was gathered."""
        found = super(GatheredPairs, self).delta()
        if self.endless:
            found.exp = np.full(self.made, FOREVER)
        return found
