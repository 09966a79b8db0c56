"""A tree of binary joins, or one join of many inputs: which costs less.

    tree    every result of each join below the top is made and kept until it ends; it is met again
            by each partner above
    hash    nothing is kept but the inputs; what joins below the top would have made is walked
            through anew for every tuple that gets so far

So a tree is better where its lower joins give little that is asked for often, and a join of many
where they give much. Costs are nanoseconds a unit of time; the constants are measured on batches of
100,000 tuples, of which only the proportions matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from windrow.optimize.join_graph import JoinGraph, Order, results, walked

ARRIVE, PAIR = 45.0, 20.0
"""A tuple that enters a binary join, and a result, where departures are known in advance."""


@dataclass(frozen=True, slots=True)
class JoinCosts:
    """What a tree of binary joins, and what one join of many, pays for."""

    arrive: float  # tree: a tuple that enters a join, and its end
    kept: float  # tree: a result of a lower join: made, kept, met by the join above
    result: float  # tree: a result of the top join
    enter: float  # many: a tuple that enters
    link: float  # many: its place in each index
    look: float  # many: a row looked at by a loop, or a lookup: found somewhere in memory
    found: float  # many: a result
    copies: float = 0.0  # many: a tuple of an input whose rows are found by their content


UNSIGNED = JoinCosts(arrive=ARRIVE, kept=130, result=PAIR, enter=130, link=20, look=20, found=PAIR)

SIGNED = JoinCosts(
    arrive=290, kept=380, result=180, enter=350, link=50, look=80, found=100, copies=190
)
"""Where departures travel: each tuple and each result comes and goes, and what meets a tuple is
looked up twice. What is common to both, such as windows, is in here as well."""

RELATED = replace(SIGNED, result=20)
"""Where only relations have departures that are not known: in a tree, tuples' own are."""

ALIKE = 1.15
"""Costs within this factor are alike."""


def results_rate(graph: JoinGraph, chosen: Sequence[int]) -> float:
    """Return how many results a join of some inputs makes in a unit of time."""
    return sum(
        graph.inputs[i].rate * results(_with_one(graph, i), chosen)
        for i in chosen
        if graph.inputs[i].rate
    )


def _with_one(graph: JoinGraph, i: int) -> JoinGraph:
    """Return the graph with one row in input i."""
    inputs = list(graph.inputs)
    inputs[i] = replace(inputs[i], size=1.0)
    return replace(graph, inputs=tuple(inputs))


def tree_cost(graph: JoinGraph, costs: JoinCosts = UNSIGNED) -> float:
    """Return the cost of the left-deep tree of binary joins in the order of the inputs."""
    everyone = range(len(graph))
    cost = costs.arrive * sum(i.rate for i in graph.inputs)
    for n in everyone[2:]:
        cost += costs.kept * results_rate(graph, everyone[:n])
    cost += costs.look * sum(_candidates(graph, everyone[:n]) for n in everyone[2:])
    return (
        cost
        + costs.look * _candidates(graph, everyone)
        + costs.result * results_rate(graph, everyone)
    )


def _candidates(graph: JoinGraph, chosen: Sequence[int]) -> float:
    """Return the pairs that bands and comparisons throw out in the last join of some inputs."""
    last = chosen[-1]
    others = tuple(s for s in graph.shares if last not in (s.first, s.second))
    return results_rate(replace(graph, shares=others), chosen) - results_rate(graph, chosen)


def many_cost(
    graph: JoinGraph,
    orders: Sequence[Order],
    costs: JoinCosts = UNSIGNED,
    copied: frozenset[int] = frozenset(),
) -> float:
    """Return the cost of one join of all inputs under an order for each origin.

    By one key alone no loop is inside another, and what is looked at makes a result; unless
    departures travel. `copied` are inputs whose rows expire in any order.
    """
    cost = costs.found * results_rate(graph, range(len(graph)))
    apart = costs is UNSIGNED and by_one_key(graph)
    for i, given in enumerate(graph.inputs):
        links = sum(v > 0 for v in given.values)
        looks = 0.0 if apart else walked(graph, orders[i], i)
        enter = costs.enter + (costs.copies if i in copied else 0.0)
        cost += given.rate * (enter + costs.link * links + costs.look * looks)
    return cost


def by_one_key(graph: JoinGraph) -> bool:
    """Return whether one class of equal columns is all that holds between the inputs."""
    keyed = all(len(i.values) == 1 and i.values[0] > 0 for i in graph.inputs)
    return keyed and graph.indexed and not graph.shares
