"""The order of the loops for new tuples of each input: the best, or near it, and those that lost.

New tuples of an input begin its loops; the others follow in an order of their own, since no
intermediate results are kept that another order could not use. Up to `EXACT` inputs the best order
is found: rows that get through a set of inputs do not depend on the order inside it, so it is
enough to know the best order of every set. Beyond, the loop that lets the fewest rows through
comes next. The papers' heuristic, one order of all inputs with fast streams moved up, stands beside
[MULTI 5.1; THESIS 5.3.2]: experiments hold it against the best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from statistics import fmean

from windrow.optimize.join_graph import JoinGraph, Order, cost_of, results, walked

EXACT = 8
"""Inputs up to which the best orders are found: 128 sets an origin, some milliseconds in all."""

RANKED = 6
"""Inputs up to which all orders are listed, to show those that lost."""

SHOWN = 2
"""Orders that are shown beside the best and the worst."""


@dataclass(frozen=True, slots=True)
class Costed:
    """An order for new tuples of its first input, and what it costs for each of them."""

    order: Order
    cost: float


def best_order(graph: JoinGraph, origin: int) -> Order:
    """Return the cheapest order of loops for new tuples of an input."""
    if len(graph) > EXACT:
        return greedy(graph, origin)
    others = [i for i in range(len(graph)) if i != origin]
    best: dict[frozenset[int], tuple[float, float, Order]] = {
        frozenset({origin}): (0.0, 1.0, (origin,))
    }
    for _ in others:
        longer: dict[frozenset[int], tuple[float, float, Order]] = {}
        for bound, (cost, reach, order) in best.items():
            for j in others:
                if j in bound:
                    continue
                total = cost + reach * graph.looked_at(order, j)
                known = longer.get(bound | {j})
                if known is None or total < known[0]:
                    longer[bound | {j}] = (total, reach * graph.rows(order, j), (*order, j))
        best = longer
    ((_, _, order),) = best.values()
    return order


def greedy(graph: JoinGraph, origin: int) -> Order:
    """Return the order in which each loop lets as few rows through as it can.

    Inputs that an equality leads to come before those that only looking at all rows can join.
    """
    order: Order = (origin,)
    while len(order) < len(graph):
        rest = (j for j in range(len(graph)) if j not in order)
        order = (*order, min(rest, key=lambda j: _let_through(graph, order, j)))
    return order


def _let_through(graph: JoinGraph, order: Order, j: int) -> tuple[bool, float, float]:
    rows = graph.rows(order, j)
    return rows >= graph.inputs[j].size, rows, graph.looked_at(order, j)


def best_orders(graph: JoinGraph) -> tuple[Order, ...]:
    """Return the cheapest order of each origin."""
    return tuple(best_order(graph, i) for i in range(len(graph)))


def ranked(graph: JoinGraph, origin: int) -> list[Costed]:
    """Return all orders that begin with an origin, cheapest first."""
    others = (i for i in range(len(graph)) if i != origin)
    found = ((origin, *rest) for rest in permutations(others))
    return sorted((Costed(o, walked(graph, o, origin)) for o in found), key=lambda c: c.cost)


def origin_first(order: Order, origin: int) -> Order:
    """Return the global order with the origin moved to the front.

    >>> origin_first((0, 1, 2, 3), 2)
    (2, 0, 1, 3)
    """
    return (origin, *(i for i in order if i != origin))


def global_orders(graph: JoinGraph, order: Order) -> tuple[Order, ...]:
    """Return the orders that one order of all inputs stands for: each origin moved to its front."""
    return tuple(origin_first(order, i) for i in range(len(graph)))


def by_selectivity(graph: JoinGraph) -> Order:
    """Return the global order that lets as few rows through as it can, loop by loop [MULTI 5.1].

    The two inputs with the fewest results come first, of them the one with more values; then
    always the one that leaves the fewest.
    """
    everyone = range(len(graph))
    pairs = [(i, j) for i in everyone for j in everyone if i < j]
    pair = min(pairs, key=lambda p: results(graph, p))
    order = sorted(pair, key=lambda i: -max(graph.inputs[i].values, default=0.0))
    while len(order) < len(graph):
        rest = (i for i in everyone if i not in order)
        order.append(min(rest, key=lambda i: results(graph, [*order, i])))
    return tuple(order)


def heuristic(graph: JoinGraph) -> Order:
    """Return the cheapest of the selectivity's global order and those with fast inputs moved up.

    Fast is faster than the mean. They are not moved to the very top [THESIS 5.3.2].
    """
    start = by_selectivity(graph)
    return min(_moved_up(graph, start), key=lambda o: cost_of(graph, global_orders(graph, o)))


def _moved_up(graph: JoinGraph, start: Order) -> Iterator[Order]:
    mean = fmean(i.rate for i in graph.inputs)
    fast = [i for i in start[1:] if graph.inputs[i].rate > mean]
    slow = [i for i in start if i not in fast]
    yield start
    for places in product(range(1, len(graph)), repeat=len(fast)):
        order = list(slow)
        for place, i in sorted(zip(places, fast, strict=True)):
            order.insert(place, i)
        yield tuple(order)
