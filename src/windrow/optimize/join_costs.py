"""What an order of n windows costs a unit of time [MULTI 4-5, appendix A; THESIS 5.3].

Windows are joined on one common attribute by loops in each other. With `size` rows in each loop and
`reach` rows that get through the loops so far:

    loop 1      loop 2             loop 3                ...
    reach_1 ──► reach_1 · size_2   reach_2 · size_3          comparisons
    = size_1    reach_2 = reach_1 · size_2 / max(v_1, v_2)   rows that go on, of min(v_1, v_2)
                                                             values

New tuples come from one stream, the origin. The algorithms differ in where the origin stands, how
many new tuples there are at a time, and how long windows are:

    eager   the origin first, one tuple                  naive   the global order as it is
    lazy    new tuples of an interval; windows grow by it
    general lazy, and each origin has an order of its own

Hash tables of b buckets make a loop scan a b-th of its window. `tree` is what windrow runs: binary
joins that keep their results. Costs are attribute comparisons a unit of time; for the tree, rows
made. Inserting and expiring do not depend on the order, and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from windrow.optimize import join_orders
from windrow.optimize.join_graph import GraphInput, JoinGraph, Order, results, walked
from windrow.optimize.join_orders import origin_first


@dataclass(frozen=True, slots=True)
class JoinStream:
    """A stream as the model sees it: λ, T, v, and the buckets of its hash table (1: none)."""

    rate: float
    window: float
    values: float
    buckets: int = 1

    def __post_init__(self) -> None:
        if min(self.rate, self.window, self.values, self.buckets) <= 0:
            msg = f"rate, window, values and buckets are positive, got {self}"
            raise ValueError(msg)

    @property
    def size(self) -> float:
        """Tuples in the window: λT."""
        return self.rate * self.window

    def longer(self, interval: float) -> JoinStream:
        """Return the stream with what has not been expired for an interval in its window."""
        return JoinStream(self.rate, self.window + interval, self.values, self.buckets)


Streams = Sequence[JoinStream]


def graph_of(streams: Streams) -> JoinGraph:
    """Return the join graph: one class of all streams, rows found by looking at a bucket."""
    inputs = (GraphInput(s.rate, s.size, (s.values,), s.buckets) for s in streams)
    return JoinGraph(tuple(inputs), indexed=False)


def loops(streams: Streams, order: Order, origin: int, new: float) -> float:
    """Return the comparisons of one evaluation for `new` tuples of the origin."""
    return walked(graph_of(streams), order, origin, new)


def eager_parts(streams: Streams, order: Order) -> list[float]:
    """Return X_1 .. X_n: what new tuples of each stream cost [THESIS 5.3.1].

    >>> table_5 = [JoinStream(10, 100, 500), JoinStream(1, 100, 50),
    ...            JoinStream(1, 200, 40), JoinStream(3, 100, 5)]
    >>> eager_parts(table_5, (0, 1, 2, 3))
    [3800.0, 3800.0, 2400.0, 6000.0]
    """
    return [
        stream.rate * loops(streams, origin_first(order, i), i, 1.0)
        for i, stream in enumerate(streams)
    ]


def eager(streams: Streams, order: Order) -> float:
    """EAGER MULTI-WAY NLJ, or with buckets the multi-way hash join [MULTI 3.2, 5.1]."""
    return sum(eager_parts(streams, order))


def naive(streams: Streams, order: Order) -> float:
    """NAIVE MULTI-WAY NLJ: new tuples stay where their stream stands [MULTI appendix A, G]."""
    return sum(s.rate * loops(streams, order, i, 1.0) for i, s in enumerate(streams))


def lazy(streams: Streams, order: Order, interval: float) -> float:
    """LAZY MULTI-WAY NLJ: every `interval`, new tuples first [MULTI appendix A, L]."""
    orders = [origin_first(order, i) for i in range(len(streams))]
    return general_lazy(streams, orders, interval)


def naive_lazy(streams: Streams, order: Order, interval: float) -> float:
    """The naive algorithm every `interval` [MULTI appendix A, H]."""
    return general_lazy(streams, [order] * len(streams), interval)


def general_lazy(streams: Streams, orders: Sequence[Order], interval: float) -> float:
    """GENERAL LAZY MULTI-WAY NLJ: an order for each origin, which may stand anywhere."""
    longer = [s.longer(interval) for s in streams]
    found = (loops(longer, order, i, streams[i].rate * interval) for i, order in enumerate(orders))
    return sum(found) / interval


def best_general_lazy(streams: Streams, interval: float) -> float:
    """Return the cost of the best orders; origins do not depend on each other."""
    longer = [s.longer(interval) for s in streams]
    return (
        sum(
            min(loops(longer, o, i, s.rate * interval) for o in all_orders(len(streams)))
            for i, s in enumerate(streams)
        )
        / interval
    )


def joined_size(streams: Streams, chosen: Sequence[int]) -> float:
    """Return φ: the results alive of a join of some windows; the same in any order."""
    return results(graph_of(streams), chosen)


def tree(streams: Streams, order: Order) -> float:
    """Return the rows that a left-deep tree of binary joins makes: all prefixes' results.

    A result is made with each of its tuples as the newest, so φ/T_i with one of stream i.
    """
    prefixes = (order[:n] for n in range(2, len(order) + 1))
    return sum(joined_size(streams, p) * sum(1 / streams[i].window for i in p) for p in prefixes)


def all_orders(n: int) -> list[Order]:
    """Return the n! global orders."""
    return list(permutations(range(n)))


def by_selectivity(streams: Streams) -> Order:
    """Return the order that lets as few rows through as it can, loop by loop [MULTI 5.1]."""
    return join_orders.by_selectivity(graph_of(streams))


def heuristic(streams: Streams) -> Order:
    """Return the cheapest of that order and those with fast streams moved up [THESIS 5.3.2]."""
    return join_orders.heuristic(graph_of(streams))


def named(order: Order) -> str:
    """Return an order as the papers write it.

    >>> named((1, 0, 2, 3))
    '2134'
    """
    return "".join(str(i + 1) for i in order)


def order_of(name: str) -> Order:
    """Return the order of a name."""
    return tuple(int(letter) - 1 for letter in name)
