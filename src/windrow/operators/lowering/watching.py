"""Joins while they run: what EXPLAIN tells of them, and orders that follow what is alive.

Whether to look, and what comes of it, follows from the state of the join alone, so that a batch
that is run again takes the same orders.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.operators.join.multi.loops import Statistics
from windrow.operators.join.multi.task import MultiJoin
from windrow.operators.join.multi.zset import MultiZSetJoin
from windrow.optimize.choose_join import JoinChoice, explained, facts
from windrow.optimize.join_graph import GraphInput, JoinGraph, Order, walked
from windrow.optimize.join_orders import best_order

MARGIN = 1.1
"""An order may cost this many times the best for its origin before it is changed."""

LOOK_LEAST, LOOK_MOST = 2_048, 65_536
"""Tuples between two looks: an eighth of those alive, within these. A look takes some 100 µs for
three inputs, and twice that for each one more."""


@dataclass(slots=True)
class ChoiceNotes:
    """Tells what was chosen, where nothing changes while it runs."""

    choice: JoinChoice

    def look(self, rows: int) -> None:
        """Nothing can be changed while it runs."""

    def notes(self) -> list[str]:
        """Return what, and why."""
        return explained(self.choice)

    def facts(self) -> dict[str, object]:
        """Return the same for other programs."""
        return facts(self.choice)

    def stats(self) -> dict[str, object]:
        """Return the algorithm: nothing is counted."""
        return {"algorithm": self.choice.algorithm}


@dataclass(slots=True)
class OrderWatch:
    """Gives a join of many inputs the orders that are best for the rows alive.

    No results are kept between loops, so another order costs nothing to take, and neither loses
    nor repeats a result.
    """

    task: MultiJoin | MultiZSetJoin
    choice: JoinChoice
    reorderings: int = 0
    adapts: bool = True
    measured: JoinGraph | None = None

    def look(self, rows: int) -> None:
        """Change the orders that cost more than `MARGIN` times the best for their origins."""
        if not self.adapts or not rows:
            return
        seen = sum(self.task.seen)
        step = _interval(self.task.state_rows(), len(self.task.seen))
        if seen // step == (seen - rows) // step:
            return
        self.measured = graph = self._graph(self.task.statistics())
        orders = tuple(_better(graph, order, i) for i, order in enumerate(self.task.loops.orders))
        if orders != self.task.loops.orders:
            self.task.reorder(orders)
            self.reorderings += 1

    def _graph(self, found: Statistics) -> JoinGraph:
        """Return the graph of what is alive. Orders do not depend on the rates of origins.

        A class has a value at least, that of the new tuple.
        """
        planned = self.choice.graph.inputs
        inputs = []
        for i, (seen, rows) in enumerate(zip(found.seen, found.rows, strict=True)):
            counted = zip(found.distinct[i].tolist(), planned[i].values, strict=True)
            values = tuple(max(1.0, n) if v else 0.0 for n, v in counted)
            inputs.append(GraphInput(float(seen), float(rows), values))
        return replace(self.choice.graph, inputs=tuple(inputs))

    def best(self) -> tuple[Order, ...]:
        """Return the best orders for the rows that are alive now."""
        graph = self._graph(self.task.statistics())
        return tuple(best_order(graph, i) for i in range(len(graph)))

    def current(self) -> JoinChoice:
        """Return the choice as it is now: with what was measured, once something was."""
        orders: tuple[Order, ...] = self.task.loops.orders
        return replace(self.choice, orders=orders, graph=self.measured or self.choice.graph)

    def notes(self) -> list[str]:
        """Return the orders that run, and those that lost."""
        again = f"  orders changed {self.reorderings} times" if self.reorderings else ""
        return explained(self.current()) + ([again] if again else [])

    def facts(self) -> dict[str, object]:
        """Return the same for other programs."""
        return {**facts(self.current()), "reorderings": self.reorderings}

    def stats(self) -> dict[str, object]:
        """Return the orders by the names of inputs, and how often they have changed."""
        names = self.choice.names
        orders = [" ".join(names[i] for i in order) for order in self.task.loops.orders]
        return {
            "algorithm": self.choice.algorithm,
            "orders": orders,
            "reorderings": self.reorderings,
        }


def _better(graph: JoinGraph, order: Order, origin: int) -> Order:
    """Return the best order for an origin, or the one that it has if that is about as good."""
    best = best_order(graph, origin)
    return best if walked(graph, order, origin) > MARGIN * walked(graph, best, origin) else order


def _interval(alive: int, inputs: int) -> int:
    """Return the tuples between two looks, a power of two: the more, the more a look costs."""
    wanted = min(max(alive // 8, LOOK_LEAST), LOOK_MOST)
    return 1 << (wanted.bit_length() - 1 + max(0, inputs - 3))
