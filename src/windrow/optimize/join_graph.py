"""What loops in each other cost, over a join graph of any shape [MULTI 4-5; THESIS 5.3].

Inputs are joined by classes of equal columns, each between some of them, and by bands and
comparisons between two. With one class of all inputs, costs are those of the papers, which
`join_costs.py` has in their words.

    class k   a ── b ── c           reaching loop j, per row that came to it:
    class x        b ── c ── d        size_j · Π classes 1 / max(values so far, values_j) · Π shares

How many rows get through a set of inputs does not depend on the order in which they are bound: of a
class with values v_1 .. v_m, min(v) / Π v. So the best order of an origin is a path through the
sets of inputs, each taken once (`join_orders.py`).

Costs are rows looked at, and lookups in an index, a unit of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

Order = tuple[int, ...]
"""Positions of inputs, counted from 0, outermost loop first."""

MEMBER = 1e-9
"""Values below this say that an input is not in a class."""


@dataclass(frozen=True, slots=True)
class GraphInput:
    """An input as the model sees it: tuples a unit of time, rows alive, values in each class.

    `values` has an entry a class: distinct values, or 0 where the input is not in the class.
    `buckets`: how many parts a hash table has, of which a loop looks at one (1: none).
    """

    rate: float
    size: float
    values: tuple[float, ...] = ()
    buckets: int = 1

    def __post_init__(self) -> None:
        assert min(self.rate, self.size, *self.values) >= 0, "rates, sizes and values are counts"


@dataclass(frozen=True, slots=True)
class Share:
    """Of the pairs of two inputs' rows, the share that bands and comparisons let through."""

    first: int
    second: int
    share: float


@dataclass(frozen=True, slots=True)
class JoinGraph:
    """Inputs, and what holds between them. `indexed`: a loop finds its rows by an equality."""

    inputs: tuple[GraphInput, ...]
    shares: tuple[Share, ...] = ()
    indexed: bool = True

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def classes(self) -> range:
        """The numbers of the classes."""
        return range(len(self.inputs[0].values))

    def rows(self, bound: Sequence[int], j: int) -> float:
        """Return how many rows of input j match one row of each bound input."""
        found = self.inputs[j].size
        for c in self.classes:
            values = self._values(bound, c)
            if values and self.inputs[j].values[c] > MEMBER:
                found /= max(min(values), self.inputs[j].values[c])
        return found * self._share(bound, j)

    def _share(self, bound: Sequence[int], j: int) -> float:
        return prod(s.share for s in self.shares if _between(s, bound, j))

    def looked_at(self, bound: Sequence[int], j: int) -> float:
        """Return what one row that comes to the loop over input j has to look at.

        With an index: those with the value of the class that has most values, and the lookup.
        """
        size = self.inputs[j].size
        if not self.indexed:
            return size / self.inputs[j].buckets
        leading = [
            max(min(values), self.inputs[j].values[c])
            for c in self.classes
            if (values := self._values(bound, c)) and self.inputs[j].values[c] > MEMBER
        ]
        return 1.0 + size / max(leading) if leading else size

    def _values(self, bound: Sequence[int], c: int) -> list[float]:
        values = (self.inputs[i].values[c] for i in bound)
        return [v for v in values if v > MEMBER]

    def longer(self, interval: float) -> JoinGraph:
        """Return the graph with what has not been expired for an interval in its windows."""
        inputs = (replace(i, size=i.size + i.rate * interval) for i in self.inputs)
        return replace(self, inputs=tuple(inputs))


def _between(share: Share, bound: Sequence[int], j: int) -> bool:
    return (share.first == j and share.second in bound) or (
        share.second == j and share.first in bound
    )


def walked(graph: JoinGraph, order: Order, origin: int, new: float = 1.0) -> float:
    """Return the cost of one evaluation for `new` tuples of the origin, wherever it stands."""
    inputs = list(graph.inputs)
    inputs[origin] = replace(inputs[origin], size=new)
    graph = replace(graph, inputs=tuple(inputs))
    reach, cost = graph.inputs[order[0]].size, 0.0
    for depth, j in enumerate(order[1:], 1):
        bound = order[:depth]
        cost += reach * (new if j == origin else graph.looked_at(bound, j))
        reach *= graph.rows(bound, j)
    return cost


def cost_of(graph: JoinGraph, orders: Sequence[Order]) -> float:
    """Return the cost of an order for each origin, tuples taken one by one."""
    parts = (i.rate * walked(graph, orders[n], n) for n, i in enumerate(graph.inputs))
    return sum(parts)


def lazy_cost_of(graph: JoinGraph, orders: Sequence[Order], interval: float) -> float:
    """Return the cost of orders where tuples are taken every `interval`, by origin."""
    longer = graph.longer(interval)
    parts = (walked(longer, o, i, graph.inputs[i].rate * interval) for i, o in enumerate(orders))
    return sum(parts) / interval


def results(graph: JoinGraph, chosen: Sequence[int]) -> float:
    """Return the results alive of a join of some inputs; the same in any order."""
    found = 1.0
    for depth, j in enumerate(chosen):
        found *= graph.rows(chosen[:depth], j)
    return found
