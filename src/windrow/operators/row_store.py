"""The rows of an edge on which departures travel, for whoever goes on from them.

An aggregation join has of a tuple only what its entry adds up to. Where the tuples are not known
below it either, they are kept here, so that another plan of the query can go on from them
(`handover/`): at the cost of a look-up a change.
"""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.operators.delta import Delta
from windrow.operators.state.bag import Bag
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64


class RowStoreTask:
    """id: signed edge in, the same out. Stores each distinct row with its copies.

    A plan that goes on from another is not given rows that match nothing, such as those with NULL
    keys: these may leave without having come, and have fewer than no copies.
    """

    def __init__(self, schema: Schema) -> None:
        self.counters = Counters()
        self._bag = Bag(schema)

    def begin(self, start: int) -> Delta | None:
        """Nothing is there before any tuple is."""
        return None

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Note the changes and hand them on."""
        (delta,) = inputs
        weights = delta.weights()
        self._bag.add(delta.columns, weights)
        left = int(np.count_nonzero(weights < 0))
        self.counters.tuples_in += len(delta)
        self.counters.tuples_out += len(delta)
        self.counters.negatives_in += left
        self.counters.negatives_out += left
        return delta

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        columns, copies = self._bag.rows()
        held = Delta(np.full(len(copies), clock), columns, None, copies)
        return (held.take(np.flatnonzero(copies > 0)),)

    def state_rows(self) -> int:
        """Return how many distinct rows are stored."""
        return len(self._bag)

    def state_bytes(self) -> int:
        """Return the exact size of the rows."""
        return self._bag.nbytes

    def save(self) -> Saved:
        """Return the rows."""
        return self._bag.save()

    def load(self, saved: Saved) -> None:
        """Take over rows."""
        self._bag.load(saved)

    def check(self) -> None:
        """Assert the invariants of the rows."""
        self._bag.table.check()

    def live_codes(self) -> list[I64]:
        """Return the interned codes that rows refer to."""
        return self._bag.live_codes()
