"""SLIDE: what happens between two multiples of d is seen at the second.

changes   ──+──-────+──┊──         of ((k-1)·d, k·d]
seen      ─────────────╪──         at k·d, netted
"""

from __future__ import annotations

from windrow.core.schema import Schema
from windrow.core.time import FOREVER
from windrow.operators.delta import Delta
from windrow.operators.netting import net_per_instant
from windrow.operators.state.backlog import Backlog
from windrow.operators.state.fields import NestedField, State, StateLayout
from windrow.operators.vector import I64

SPARE = 4096
"""Changes that may wait before it is worth netting them."""


def next_multiples(times: I64, slide: int) -> I64:
    """Return the first multiple of `slide` at or after each time; never stays never.

    >>> import numpy as np
    >>> next_multiples(np.array([7, 10, -3, FOREVER]), 5)[:3]
    array([10, 10,  0])
    """
    up = times + (-times % slide)
    if len(times) and int(times.max()) > FOREVER - slide:
        up[times > FOREVER - slide] = FOREVER
    return up


class SlidChanges(State):
    """Signed changes that wait for the next multiple of `slide`, netted."""

    stored_as = StateLayout("slid-changes")
    state_fields = (NestedField("waiting"),)

    def __init__(self, schema: Schema, slide: int) -> None:
        self.slide = slide
        self.waiting = Backlog(schema, signed=True)
        self._netted = 0

    def turn(self, delta: Delta, clock: int) -> Delta:
        """Take changes; return those whose multiple the clock has reached. O(changes)."""
        if len(delta):
            ts = next_multiples(delta.ts, self.slide)
            self.waiting.push(Delta(ts, delta.columns, None, delta.weight))
        if self.waiting.first <= clock:
            self._netted = 0
            return net_per_instant(self.waiting.pop(clock))
        # Changes that cancel need not wait: net them, so that state is bounded by what differs.
        if len(self.waiting) > SPARE + 2 * self._netted:
            self.waiting.push(net_per_instant(self.waiting.drain()))
            self._netted = len(self.waiting)
        return self.waiting.pop(clock)

    def __len__(self) -> int:
        return len(self.waiting)

    def rebuild(self) -> None:
        """Nothing is known to be netted."""
        self._netted = 0
