"""The joins of many inputs in one operator: of unsigned ones, and of signed ones."""

from __future__ import annotations

from typing import ClassVar

from windrow.operators.delta import Delta
from windrow.operators.join.match import MultiMatch, Order
from windrow.operators.join.multi.inputs import JoinedInputs, SignedInputs, UnsignedInputs
from windrow.operators.join.multi.layout import RowLayout
from windrow.operators.join.multi.loops import FEW, Loops, LoopStatistics, sliced
from windrow.operators.join.multi.rows import MultiJoinRows
from windrow.operators.join.results import GatheredResults, Weighted
from windrow.operators.join.zset import count_in, count_out
from windrow.operators.state.fields import NestedField, StateField
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.physical.conditions import Form, Method


class LoopedTask(StatefulTask):
    """A task whose `inputs` are joined by loops, in orders that can be changed at any time."""

    state_fields: ClassVar[tuple[StateField, ...]] = (NestedField("inputs"),)
    inputs: JoinedInputs

    @property
    def match(self) -> MultiMatch:
        """When rows match."""
        return self.inputs.match

    @property
    def layout(self) -> RowLayout:
        """Where the loops find what they read of a row."""
        return self.inputs.layout

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

    @property
    def orders(self) -> tuple[Order, ...]:
        """The orders that are followed."""
        return self.loops.orders

    def reorder(self, orders: tuple[Order, ...]) -> None:
        """Follow other orders from now on. Costs nothing that grows with the windows."""
        self.loops.reorder(orders)

    def statistics(self) -> LoopStatistics:
        """Return what is known of the inputs."""
        return self.inputs.statistics()

    def live(self) -> tuple[int, ...]:
        """Return how many rows of each input are stored, each distinct signed one once."""
        return tuple(self.rows.live_rows())

    def state_rows(self) -> int:
        """Return how many rows of all inputs are stored."""
        return sum(self.live())

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        return self.inputs.held(clock)


class MultiJoin(LoopedTask):
    """S₁ ⋈ ... ⋈ Sₙ at work: unsigned inputs → unsigned.  ts = max, exp = min.

        arrival of Sᵢ ──► rows of orders[i][1] ──► rows of orders[i][2] ──► ...  results

    Each arrival meets the rows alive of all other inputs, one loop inside the other; nothing is
    stored but the inputs' own rows. Costs O(arrivals + rows looked at + departures) a step.
    Orders can be changed at any time, at no cost: an index on each class of each input is always
    kept, with as many buckets as there are values (bucket allocation for fast streams [MULTI 5.2]
    is what growing tables do).

    `orders[i]` begins with i, unless new tuples are to stay where their input stands: the loops
    then begin with all rows of the first [MULTI 3.3]. `expire_every`: how far time goes on before
    rows that have expired are let go of, 1 for at once, None for once in some arrivals and at the
    end of a step; no result is made of them in the meantime.
    """

    inputs: UnsignedInputs

    def __init__(
        self,
        match: MultiMatch,
        forms: tuple[Form, ...],
        orders: tuple[Order, ...],
        method: Method = Method.HASH,
        *,
        expire_every: int | None = None,
    ) -> None:
        self.counters = Counters()
        self.inputs = UnsignedInputs(match, forms, orders, method, expire_every)
        self.fan_out = 0.0  # results an arrival of the last step
        self.nothing = Delta.empty(match.output, signed=False)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Join the arrivals with what is alive, then forget what has expired by `clock`."""
        born, stored = [], self.inputs
        for i, delta in enumerate(inputs):
            self.counters.tuples_in += len(delta)
            self.seen[i] += len(delta)
            born.append(self.layout.joinable(i, delta).living())
            stored.held_rows[i].payload.admit(born[i].columns)
        total = sum(len(d) for d in born)
        before, payloads = self.state_rows() + total, tuple(h.payload for h in stored.held_rows)
        results = GatheredResults(self.match, payloads, int(1.1 * self.fan_out * total))
        for deltas, until in sliced(born, clock):
            if any(len(d) for d in deltas):
                self.loops.run(stored.entered(deltas), results, self.counters)
            stored.expire(until)
        self.counters.expiries += before - self.state_rows()
        self.counters.tuples_out += results.made
        if total >= FEW:  # what few arrivals find says little of the next step's
            self.fan_out = results.made / total
        return results.delta() if results.made else self.nothing


class MultiZSetJoin(LoopedTask):
    """S₁ ⋈ ... ⋈ Sₙ at work: signed inputs → signed. The changes of an instant add up to its Δ.

        w copies of a row of Sᵢ  ──►  w · n₁ · n₂ ··· copies of each result with rows of n₁, n₂ ...

    As `MultiJoin`, where departures travel: a departure meets the rows of all other inputs as an
    arrival does, and leaves. Costs O(changes + rows looked at); stores distinct rows with their
    copies. `ordered` says of which inputs rows depart in the order in which they came: these are
    kept one by one in a ring, and no row is looked for. Each order begins with its own input.
    """

    inputs: SignedInputs

    def __init__(
        self,
        match: MultiMatch,
        orders: tuple[Order, ...],
        method: Method = Method.HASH,
        *,
        ordered: tuple[bool, ...] | None = None,
    ) -> None:
        self.counters = Counters()
        self.inputs = SignedInputs(match, orders, method, ordered)
        self.nothing = Delta.empty(match.output, signed=True)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Apply the changes in time order; return those of the join."""
        count_in(self.counters, *inputs)
        stored = self.inputs
        changes = [stored.changed(i, delta) for i, delta in enumerate(inputs)]
        results = Weighted(self.match, lambda i, places: stored.copies[i].take(places))
        for deltas, _ in sliced(changes, clock):
            if any(len(d) for d in deltas):
                arrivals = stored.entered(deltas)
                stored.loops.run(arrivals, results, self.counters)
                stored.settle(arrivals)
        for part in results.parts:
            count_out(self.counters, part.ts, part.weights())
        return Delta.concat([self.nothing, *results.parts])
