"""Nodes of all groups in one array, node 0 being none; freed ones are used again."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.kernels.extremes import COMPARISONS, FREE, LIVE, USED
from windrow.operators.state.fields import ArrayField, State, StateLayout
from windrow.operators.state.key_table import grown
from windrow.operators.vector import I64


@dataclass(slots=True)
class Pool(State):
    """`nodes` of `width` words; `meta` counts them (see `kernels/extremes.py`).

    Invariant, asserted by `check`: live and free nodes are all that were ever used.
    """

    stored_as = StateLayout("node-pool")
    state_fields = (ArrayField("nodes", length="used"), ArrayField("meta"))

    width: int
    link: int  # the column that chains free nodes
    nodes: I64 = field(init=False)
    meta: I64 = field(init=False)

    def __post_init__(self) -> None:
        self.nodes = np.zeros((1, self.width), np.int64)
        self.meta = np.zeros(5, np.int64)
        self.meta[USED] = 1

    def reserve(self, more: int) -> None:
        """Make room for more nodes."""
        size = 1 + int(self.meta[LIVE]) + more
        self.nodes = grown(self.nodes, size)  # type: ignore[assignment]

    def __len__(self) -> int:
        return int(self.meta[LIVE])

    def comparisons(self) -> int:
        """Return how many values have been compared."""
        return int(self.meta[COMPARISONS])

    def free(self) -> I64:
        """Return the free nodes."""
        found, at = [], int(self.meta[FREE])
        while at:
            found.append(at)
            at = int(self.nodes[at, self.link])
        return np.array(found, np.int64)

    def live(self) -> I64:
        """Return the live nodes."""
        used = np.ones(int(self.meta[USED]), np.bool_)
        used[0] = False
        used[self.free()] = False
        return np.flatnonzero(used)

    def invariants(self) -> None:
        """Assert the invariant, and that node 0 is none."""
        assert not self.nodes[0].any(), "node 0 is in use"
        assert len(self) + len(self.free()) + 1 == self.meta[USED], "nodes are lost"

    @property
    def used(self) -> int:
        """How many nodes were ever used, node 0 among them."""
        return int(self.meta[USED])
