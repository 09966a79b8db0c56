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
from dataclasses import replace

from windrow.optimize.join_graph import JoinGraph, Order, results, walked

ARRIVE = 45.0  # a tuple that enters a binary join, and its end
KEPT = 130.0  # a result of a lower join: made, kept in a calendar, met by the join above
PAIR = 20.0  # a result of the top join
ENTER, LINK = 130.0, 20.0  # a tuple that enters a join of many, and its place in each index
LOOK = 20.0  # a row looked at by a loop, or a lookup: both are found somewhere in memory

ALIKE = 1.15
"""Costs within this factor are alike: then one operator is taken, as it remembers less."""


def births(graph: JoinGraph, chosen: Sequence[int]) -> float:
    """Return the results of a join of some inputs that are born a unit of time."""
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


def tree_cost(graph: JoinGraph) -> float:
    """Return the cost of the left-deep tree of binary joins in the order of the inputs."""
    everyone = range(len(graph))
    cost = ARRIVE * sum(i.rate for i in graph.inputs)
    for n in everyone[2:]:
        cost += KEPT * births(graph, everyone[:n])
    cost += LOOK * sum(_candidates(graph, everyone[:n]) for n in everyone[2:])
    return cost + LOOK * _candidates(graph, everyone) + PAIR * births(graph, everyone)


def _candidates(graph: JoinGraph, chosen: Sequence[int]) -> float:
    """Return the pairs that bands and comparisons throw out in the last join of some inputs."""
    last = chosen[-1]
    others = tuple(s for s in graph.shares if last not in (s.first, s.second))
    return births(replace(graph, shares=others), chosen) - births(graph, chosen)


def many_cost(graph: JoinGraph, orders: Sequence[Order]) -> float:
    """Return the cost of one join of all inputs under an order for each origin.

    By one key alone no loop is inside another, and what is looked at makes a result.
    """
    cost = PAIR * births(graph, range(len(graph)))
    for i, given in enumerate(graph.inputs):
        links = sum(v > 0 for v in given.values)
        looks = 0.0 if by_one_key(graph) else walked(graph, orders[i], i)
        cost += given.rate * (ENTER + LINK * links + LOOK * looks)
    return cost


def by_one_key(graph: JoinGraph) -> bool:
    """Tell whether one class of equal columns is all that holds between the inputs."""
    keyed = all(len(i.values) == 1 and i.values[0] > 0 for i in graph.inputs)
    return keyed and graph.indexed and not graph.shares
