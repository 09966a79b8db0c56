"""The state of a join of two unsigned edges: the rows of both sides, and their keys."""

from __future__ import annotations

from typing import ClassVar

from windrow.kernels.chains import LEFT, RIGHT
from windrow.operators.delta import Delta
from windrow.operators.join.keys import JoinKeys
from windrow.operators.join.match import Match
from windrow.operators.join.rows import JoinRows
from windrow.operators.state.fields import NestedField, StateField
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.physical.conditions import Form


class StoredSides(StatefulTask):
    """A task that stores the rows of both sides of a join, chained by key.

    Invariants, asserted by `check`: those of its rows, and heads count the rows of each key and
    side; exactly the keys with rows are kept.
    """

    state_fields: ClassVar[tuple[StateField, ...]] = (
        NestedField("keys"),
        NestedField("left"),
        NestedField("right"),
    )

    def __init__(
        self,
        match: Match,
        left: Form,
        right: Form,
        *,
        compared: bool = True,
        endless: bool = False,
    ) -> None:
        self.match, self.endless = match, endless
        self.counters = Counters()
        self.keys = JoinKeys(match.left.key_codec)
        self.left = JoinRows(left, match, LEFT, compared, endless)
        self.right = JoinRows(right, match, RIGHT, compared, endless)

    def expire(self, clock: int) -> None:
        """Forget what has expired by `clock`."""
        self.counters.expiries += self.left.expire(clock, self.keys)
        self.counters.expiries += self.right.expire(clock, self.keys)

    def state_rows(self) -> int:
        """Return how many rows of both sides are stored."""
        return len(self.left) + len(self.right)

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        return self.left.held(self.keys, clock), self.right.held(self.keys, clock)

    def rebuild(self) -> None:
        """Take no more room than the rows need, however many there once were."""
        for side in (self.left, self.right):
            side.fit(len(side), self.keys.heads)

    def invariants(self) -> None:
        """Assert that chains lead to all rows, and heads count them."""
        self.left.check_chains(self.keys)
        self.right.check_chains(self.keys)
        self.keys.check_rows(self.left.codes(), self.right.codes())
