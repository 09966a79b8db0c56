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
from windrow.operators.state.fields import NestedField
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters


class RowStoreTask(StatefulTask):
    """id: signed edge in, the same out. Stores each distinct row with its copies.

    A plan that goes on from another is not given rows that match nothing, such as those with NULL
    keys: these may leave without having come, and have fewer than no copies.
    """

    state_fields = (NestedField("_bag"),)

    def __init__(self, schema: Schema) -> None:
        self.counters = Counters()
        self._bag = Bag(schema, signed=True)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Note the changes and hand them on."""
        (delta,) = inputs
        self._bag.add(delta.columns, delta.weights())
        self._count(delta, delta)
        return delta

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        columns, copies = self._bag.rows()
        held = Delta(np.full(len(copies), clock), columns, None, copies)
        return (held.take(np.flatnonzero(copies > 0)),)

    def state_rows(self) -> int:
        """Return how many distinct rows are stored."""
        return len(self._bag)
