"""How a tree of joins is run, and why: the algorithm, the order for each origin, what lost.

`SET join_algorithm` names one; `auto` compares the tree of binary joins with one operator that has
the best orders. Orders are those of `join_orders.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.optimize import choose_wjoin
from windrow.optimize.flatten_joins import FlatJoin
from windrow.optimize.join_algorithms import (
    ALIKE,
    RELATED,
    SIGNED,
    UNSIGNED,
    JoinCosts,
    by_one_key,
    many_cost,
    tree_cost,
)
from windrow.optimize.join_estimates import (
    counts_tuples,
    estimated,
    name_of,
    paths_of,
    reaches_of,
    streams_of,
)
from windrow.optimize.join_graph import JoinGraph, Order, walked
from windrow.optimize.join_orders import RANKED, SHOWN, Costed, best_orders, ranked
from windrow.optimize.statistics import Statistics
from windrow.plan.nodes import Join, Table
from windrow.plan.patterns import PatternKind, pattern_of

ONE_IN_THREE = 1 / 3
"""Share of pairs that meet a comparison, if unknown."""

WHOLE = 100
"""Costs from which on fractions are not shown."""

AUTO, TREE, HASH, LOOPS, NAIVE = "auto", "tree", "hash", "loops", "naive"
NESTED_W, HASH_W, MERGE_W = choose_wjoin.NESTED, choose_wjoin.HASH, choose_wjoin.MERGE
W_JOINS = (NESTED_W, HASH_W, MERGE_W)


@dataclass(frozen=True, slots=True)
class JoinChoice:
    """What runs a tree of joins: `orders` has one for new tuples of each input; none for a tree."""

    algorithm: str
    names: tuple[str, ...]
    graph: JoinGraph
    orders: tuple[Order, ...]
    reason: str


def choose_join(plan: Join, flat: FlatJoin, statistics: Statistics, algorithm: str) -> JoinChoice:
    """Return the algorithm that was asked for, or the cheaper one, with its orders."""
    names = tuple(name_of(p) for p in flat.inputs)
    unindexed = (LOOPS, NAIVE, NESTED_W, MERGE_W)
    graph = estimated(plan, flat, statistics, indexed=algorithm not in unindexed)
    everyone = tuple(range(len(graph)))
    orders = (everyone,) * len(graph) if algorithm == NAIVE else best_orders(graph)
    if algorithm == AUTO and is_w_join(flat):
        return _w_join(names, flat, graph, statistics)
    if algorithm != AUTO:
        said = f"join_algorithm is {algorithm}"
        return JoinChoice(algorithm, names, graph, () if algorithm == TREE else orders, said)
    if compares_all(flat):
        said = "no equality ties them all: a tree would make each pair before it compares"
        return JoinChoice(HASH if flat.classes else LOOPS, names, graph, orders, said)
    costs, copied = _departures(flat)
    tree, many = tree_cost(graph, costs), many_cost(graph, orders, costs, copied)
    if _prefers(costs) * tree < many:
        said = f"by cost: one operator without results between costs {many / tree:.2f} times"
        return JoinChoice(TREE, names, graph, (), said)
    said = f"by cost: a tree of binary joins costs {tree / many:.2f} times, and stores more"
    return JoinChoice(HASH, names, graph, orders, said)


def _prefers(costs: JoinCosts) -> float:
    """Return how many times a tree's cost one operator may cost.

    Where costs are alike it is taken, as it stores less; not beside relations, where the inputs
    whose departures are known can be joined apart, by one operator as well.
    """
    return 1 / ALIKE if costs is RELATED else ALIKE


def _departures(flat: FlatJoin) -> tuple[JoinCosts, frozenset[int]]:
    """Return costs by how rows expire, and the inputs whose rows expire in any order."""
    strict = [i for i, p in enumerate(flat.inputs) if pattern_of(p).kind is PatternKind.STR]
    if not strict:
        return UNSIGNED, frozenset()
    copied = frozenset(i for i in strict if not counts_tuples(flat.inputs[i]))
    related = all(isinstance(flat.inputs[i], Table) for i in strict)
    return RELATED if related else SIGNED, copied


def compares_all(flat: FlatJoin) -> bool:
    """Return whether all pairs of some inputs' rows have to be compared, and some are thrown out.

    A binary join without an equality makes them first: of two windows of 3,000 rows each 2.4 GB,
    and 4 s for 6,000 tuples, where loops that compare as they go take 0.3 GB and 0.2 s.
    """
    return not _tied(flat) and (bool(flat.compares) or flat.residual is not None)


def is_w_join(flat: FlatJoin) -> bool:
    """Return whether streams without windows are joined within windows of time of each other."""
    endless = all(pattern_of(p).kind is PatternKind.MON for p in flat.inputs)
    return endless and None not in reaches_of(flat)


def _w_join(
    names: tuple[str, ...], flat: FlatJoin, graph: JoinGraph, statistics: Statistics
) -> JoinChoice:
    """Return the W-join that looks at the fewest rows; by key, the join of many instead.

    That looks at as many rows as `hash_w`, takes as long, and follows the streams with its orders.
    """
    chosen = choose_wjoin.choose_wjoin(_w_facts(flat, graph, statistics))
    said = f"windows tie the streams: {chosen.why}"
    if chosen.name != HASH_W:
        graph = replace(graph, indexed=False)
        return JoinChoice(chosen.name, names, graph, best_orders(graph), said)
    said += "; by key the join of many does as hash_w does, and can change its orders"
    return JoinChoice(HASH, names, graph, best_orders(graph), said)


def _w_facts(flat: FlatJoin, graph: JoinGraph, statistics: Statistics) -> choose_wjoin.WJoinFacts:
    paths, n = paths_of(flat), len(graph)
    windows = tuple(tuple(float(max(0, paths[j][i] or 0) + 1) for j in range(n)) for i in range(n))
    equi = _tied(flat)
    share = 1 / statistics.keys if equi else ONE_IN_THREE if flat.compares else 1.0
    rates = tuple(i.rate for i in graph.inputs)
    swings = tuple(statistics.swings.get(name, 1.0) for name in streams_of(flat))
    return choose_wjoin.WJoinFacts(rates, windows, equi, share, swings)


def _tied(flat: FlatJoin) -> bool:
    """Return whether equalities tie all inputs together."""
    tied = {0}
    for _ in flat.inputs:
        for c in flat.classes:
            if tied.intersection(c.inputs):
                tied.update(c.inputs)
    return len(tied) == len(flat.inputs)


def explained(choice: JoinChoice) -> list[str]:
    """Return in lines what was chosen, what each order costs, and which lost.

    Costs are rows that a new tuple looks at, and lookups in indexes.
    """
    how = "a tree of binary joins" if choice.algorithm == TREE else choice.algorithm
    lines = [f"join of {', '.join(choice.names)} by {how}; {choice.reason}"]
    sizes = zip(choice.names, choice.graph.inputs, strict=True)
    lines.append("  rows alive: " + ", ".join(f"{name} {i.size:,.0f}" for name, i in sizes))
    if choice.algorithm == HASH and by_one_key(choice.graph):
        lines.append("  one key decides: if rows expire in order of arrival, all orders are alike")
    return lines + [f"  {_origin(choice, i)}" for i in range(len(choice.orders))]


def _origin(choice: JoinChoice, origin: int) -> str:
    taken = _order_text(choice, costed(choice.graph, choice.orders[origin], origin))
    lost = [_order_text(choice, c) for c in losers(choice, origin)]
    said = f"new {choice.names[origin]}: {taken} looks a tuple"
    return said + (f"; lost: {', '.join(lost)}" if lost else "")


def _order_text(choice: JoinChoice, costed: Costed) -> str:
    cost = f"{costed.cost:,.0f}" if costed.cost >= WHOLE else f"{costed.cost:.3g}"
    return f"{' ► '.join(choice.names[i] for i in costed.order)} {cost}"


def costed(graph: JoinGraph, order: Order, origin: int) -> Costed:
    """Return an order with its cost for a new tuple."""
    return Costed(order, walked(graph, order, origin))


def losers(choice: JoinChoice, origin: int) -> list[Costed]:
    """Return the orders of an origin that were not taken: the best few, and the worst."""
    if choice.algorithm == NAIVE or len(choice.graph) > RANKED:
        return []
    lost = [c for c in ranked(choice.graph, origin) if c.order != choice.orders[origin]]
    return lost if len(lost) <= SHOWN + 1 else [*lost[:SHOWN], lost[-1]]


def facts(choice: JoinChoice) -> dict[str, object]:
    """Return the same for other programs."""

    def order_facts(c: Costed) -> dict[str, object]:
        return {"order": [choice.names[i] for i in c.order], "looks": round(c.cost, 3)}

    origins = [
        {
            "new": choice.names[i],
            **order_facts(costed(choice.graph, order, i)),
            "lost": [order_facts(c) for c in losers(choice, i)],
        }
        for i, order in enumerate(choice.orders)
    ]
    return {
        "inputs": list(choice.names),
        "algorithm": choice.algorithm,
        "reason": choice.reason,
        "orders": origins,
    }
