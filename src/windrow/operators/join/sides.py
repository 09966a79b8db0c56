"""The state of a join of two unsigned edges: the rows of both sides, and their keys."""

from __future__ import annotations

from windrow.kernels.chains import LEFT, RIGHT
from windrow.operators.delta import Delta
from windrow.operators.join.keys import JoinKeys
from windrow.operators.join.match import Match
from windrow.operators.join.rows import Form, JoinRows
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64


class StoredSides:
    """A task that stores the rows of both sides of a join, chained by key.

    Invariants, asserted by `check`: those of its rows, and heads count the rows of each key and
    side; exactly the keys with rows are kept.
    """

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
        self.keys = JoinKeys(len(match.left.keys))
        self.left = JoinRows(match, LEFT, left, compared, endless)
        self.right = JoinRows(match, RIGHT, right, compared, endless)

    def begin(self, start: int) -> Delta | None:
        """Nothing is there before any tuple is."""

    def expire(self, clock: int) -> None:
        """Forget what has expired by `clock`."""
        self.counters.expiries += self.left.expire(clock, self.keys)
        self.counters.expiries += self.right.expire(clock, self.keys)

    def state_rows(self) -> int:
        """Return how many rows of both sides are stored."""
        return len(self.left) + len(self.right)

    def state_bytes(self) -> int:
        """Return the exact size of rows, chains and keys."""
        return self.left.nbytes + self.right.nbytes + self.keys.nbytes

    def save(self) -> Saved:
        """Return the state for `load`."""
        return {"keys": self.keys.save(), "left": self.left.save(), "right": self.right.save()}

    def load(self, saved: Saved) -> None:
        """Take over a saved state."""
        self.keys.load(saved["keys"])
        self.left.load(saved["left"])
        self.right.load(saved["right"])

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        return self.left.held(self.keys, clock), self.right.held(self.keys, clock)

    def live_codes(self) -> list[I64]:
        """Return the interned codes that keys and rows refer to."""
        found = self.keys.live_codes(self.match.left.key_codec.fields)
        return found + self.left.live_codes() + self.right.live_codes()

    def check(self) -> None:
        """Assert the invariants of the state."""
        for rows in (self.left, self.right):
            rows.check()
            rows.check_chains(self.keys)
        self.keys.check(self.left.codes(), self.right.codes())
