"""Joins while they run: what EXPLAIN shows of them, and orders that follow what is alive.

Whether to look, and what comes of it, follows from the state of the join alone, so that a batch
that is run again takes the same orders.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from windrow.operators.join.multi.task import MultiJoin, MultiZSetJoin
from windrow.operators.join.wjoin import WJoin
from windrow.optimize.choose_join import JoinChoice, explained, facts
from windrow.optimize.join_graph import GraphInput, JoinGraph, Order, walked
from windrow.optimize.join_orders import best_order

MARGIN = 1.1
"""An order may cost this many times the best for its origin before it is changed."""

LOOK_LEAST, LOOK_MOST = 2_048, 65_536
"""Tuples between two looks: an eighth of those alive, within these. A look takes some 100 µs for
three inputs, and twice that for each one more."""


@dataclass(slots=True)
class OrderWatch:
    """Gives a join of many inputs the orders that are best for the rows alive.

    No results are kept between loops, so another order costs nothing to take, and neither loses
    nor repeats a result. `streams` names the stream that each input reads; `spread` has the fewest
    and the most of its rows that were alive at a look, since the first of them has expired.
    """

    task: MultiJoin | MultiZSetJoin | WJoin
    choice: JoinChoice
    streams: tuple[str, ...] = ()
    reorderings: int = 0
    adapts: bool = True
    measured: JoinGraph | None = None
    spread: dict[str, tuple[int, int]] = field(default_factory=dict)

    def look(self, rows: int) -> None:
        """Change the orders that cost more than `MARGIN` times the best for their origins."""
        if not rows:
            return
        seen = sum(self.task.seen)
        step = _interval(self.task.state_rows(), len(self.task.seen))
        if seen // step == (seen - rows) // step:
            return
        self._spread()
        if not self.adapts:
            return
        self.measured = graph = self._graph()
        orders = tuple(_better(graph, order, i) for i, order in enumerate(self.task.orders))
        if orders != self.task.orders:
            self.task.reorder(orders)
            self.reorderings += 1

    def _spread(self) -> None:
        """Note how many rows are alive."""
        for name, seen, rows in zip(self.streams, self.task.seen, self.task.live(), strict=False):
            if seen > rows:
                low, high = self.spread.get(name, (rows, rows))
                self.spread[name] = min(low, rows), max(high, rows)

    def _graph(self) -> JoinGraph:
        """Return the graph of what is alive. Orders do not depend on the rates of origins."""
        seen, rows = self.task.seen, self.task.live()
        inputs = (
            GraphInput(float(seen[i]), float(rows[i]), self._values(i)) for i in range(len(seen))
        )
        return replace(self.choice.graph, inputs=tuple(inputs))

    def _values(self, i: int) -> tuple[float, ...]:
        """Return the values of an input in each class: at least one, that of the new tuple.

        A W-join counts none: those of the plan stand.
        """
        planned = self.choice.graph.inputs[i].values
        if isinstance(self.task, WJoin):
            return planned
        counted = zip(self.task.rows.live[i].tolist(), planned, strict=False)
        return tuple(max(1.0, n) if v else 0.0 for n, v in counted)

    def best(self) -> tuple[Order, ...]:
        """Return the best orders for the rows that are alive now."""
        graph = self._graph()
        return tuple(best_order(graph, i) for i in range(len(graph)))

    def current(self) -> JoinChoice:
        """Return the choice as it is now: with what was measured, once something was."""
        orders: tuple[Order, ...] = self.task.orders
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
        orders = [" ".join(names[i] for i in order) for order in self.task.orders]
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
