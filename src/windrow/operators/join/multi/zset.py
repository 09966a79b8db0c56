"""The join of many signed inputs in one operator."""

from __future__ import annotations

from windrow.operators.delta import Delta
from windrow.operators.join.multi.loops import Loops, LoopStatistics, sliced
from windrow.operators.join.multi.match import MultiMatch, Order
from windrow.operators.join.multi.results import Weighted
from windrow.operators.join.multi.rows import MultiJoinRows
from windrow.operators.join.multi.signed import SignedInputs
from windrow.operators.join.zset import count_in, count_out
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64
from windrow.physical.conditions import Method


class MultiZSetJoin:
    """S₁ ⋈ ... ⋈ Sₙ at work: signed inputs → signed. The changes of an instant add up to its Δ.

        w copies of a row of Sᵢ  ──►  w · n₁ · n₂ ··· copies of each result with rows of n₁, n₂ ...

    As `MultiJoin`, where departures travel: a departure meets the rows of all other inputs as an
    arrival does, and leaves. Costs O(changes + rows looked at); stores distinct rows with their
    copies. `ordered` says of which inputs rows depart in the order in which they came: these are
    kept one by one in a ring, and no row is looked for. Each order begins with its own input.
    """

    def __init__(
        self,
        match: MultiMatch,
        orders: tuple[Order, ...],
        method: Method = Method.HASH,
        *,
        ordered: tuple[bool, ...] | None = None,
    ) -> None:
        self.match = match
        self.counters = Counters()
        self.inputs = SignedInputs(match, orders, method, ordered)
        self.nothing = Delta.empty(match.output, signed=True)

    @property
    def seen(self) -> list[int]:
        """How many changes of each input have come."""
        return self.inputs.seen

    @property
    def loops(self) -> Loops:
        """The loops, and the orders that they follow."""
        return self.inputs.loops

    @property
    def rows(self) -> MultiJoinRows:
        """The rows of all inputs, as the loops see them."""
        return self.inputs.rows

    def reorder(self, orders: tuple[Order, ...]) -> None:
        """Follow other orders from now on. Costs nothing that grows with the windows."""
        self.inputs.reorder(orders)

    @property
    def orders(self) -> tuple[Order, ...]:
        """The orders that are followed."""
        return self.loops.orders

    def begin(self, start: int) -> Delta | None:
        """Nothing is there before any tuple is."""

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Apply the changes in time order; return those of the join."""
        count_in(self.counters, *inputs)
        kept = self.inputs
        changes = [kept.changed(i, delta) for i, delta in enumerate(inputs)]
        results = Weighted(self.match, lambda i, places: kept.copies[i].take(places))
        for deltas, _ in sliced(changes, clock):
            if any(len(d) for d in deltas):
                arrivals = kept.entered(deltas)
                kept.loops.run(arrivals, results, self.counters)
                kept.settle(arrivals)
        for part in results.parts:
            count_out(self.counters, part.ts, part.weights())
        return Delta.concat([self.nothing, *results.parts])

    def statistics(self) -> LoopStatistics:
        """Return what is known of the inputs."""
        return self.inputs.statistics()

    def live(self) -> list[int]:
        """Return how many distinct rows of each input are stored."""
        return self.inputs.live()

    def state_rows(self) -> int:
        """Return how many distinct rows of all inputs are stored."""
        return sum(self.live())

    def state_bytes(self) -> int:
        """Return the exact size of rows, chains and codes."""
        return self.inputs.nbytes

    def save(self) -> Saved:
        """Return the state for `load`."""
        return self.inputs.save()

    def load(self, saved: Saved) -> None:
        """Take over a saved state."""
        self.inputs.load(saved)

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        return self.inputs.held(clock)

    def live_codes(self) -> list[I64]:
        """Return the interned codes that keys and rows refer to."""
        return self.inputs.live_codes()

    def check(self) -> None:
        """Assert the invariants of the state."""
        self.inputs.check()
