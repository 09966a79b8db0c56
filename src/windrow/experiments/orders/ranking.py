"""Orders ranked by the model and by the clock [MULTI table 8, THESIS figure 5.2]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from windrow.experiments.library.contest import Arena, Contestant
from windrow.experiments.library.experiment import (
    Experiment,
    Finding,
    Measurement,
    Options,
    Panel,
)
from windrow.experiments.library.table import Levels, Row, Table
from windrow.experiments.library.words import rank_correlation, times
from windrow.experiments.orders.streams import (
    TABLE_5,
    THESIS_5_5,
    JoinFeed,
    generate,
    longest,
    tree_text,
    truth_text,
)
from windrow.optimize.join_costs import (
    Order,
    Streams,
    all_orders,
    eager,
    heuristic,
    named,
    order_of,
    tree,
)

TREE = "tree of hash joins"
MULTI_WAY = "It is a plan of the multi-way join operator, which windrow does not have yet."


def model_panel(x: str, title: str, x_label: str) -> Panel:
    """Return the picture of time over a model's cost, a point an order."""
    return Panel(
        x, "ms_per_1000", "algorithm", title, x_label, "ms per 1,000 tuples",
        points=True, label="order",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class OrderCase:
    """A tree at work, and its order."""

    order: Order
    contestant: Contestant


class OrderExperiment(Experiment[OrderCase]):
    """Measures the trees of some orders over generated streams; the model's costs stand beside."""

    streams: ClassVar[Streams]
    turns = "order"
    panels = (
        model_panel("model_cost", "Time and the papers' model", "comparisons a unit of time"),
        model_panel("tree_rows", "Time and the tree's own model", "rows made a unit of time"),
    )
    stretch = 2_000
    warmups = 2

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        runs = self.warmups + self.repeats
        stretch = self.stretch * (5 if self.options.full else 1)
        start = longest(self.streams)
        tables = generate(self.streams, start + runs * stretch, self.seed)
        self.arena = Arena(JoinFeed(self.streams, tables), start, stretch, runs)

    @property
    def set_up(self) -> str:
        """Tell streams and query."""
        told = "; ".join(
            f"S{i + 1}: λ={s.rate:g}, T={s.window:g}, v={s.values:g}"
            for i, s in enumerate(self.streams)
        )
        return (
            f"Streams {told}. windrow joins two at a time, in the order of FROM, by hash; every "
            "join keeps its results. One tuple a tick, of stream i with probability λi/Σλ; a unit "
            f"of time is Σλ ticks. A run is {self.arena.stretch:,} ticks after all windows have "
            "filled. The changes of every run are equal for all orders, and the answer after the "
            "last run is DuckDB's. `model cost` is that of the eager multi-way nested-loops join, "
            "`tree rows` what a tree makes; work is per 1,000 tuples."
        )

    def prepare(self, levels: Levels) -> OrderCase:
        """Fill the windows."""
        order = order_of(str(levels["order"]))
        text = tree_text(self.streams, order)
        truth = truth_text(len(self.streams))
        return OrderCase(order, Contestant.filled(self.arena, text, truth))

    def measure(self, case: OrderCase) -> Measurement:
        """Run the next stretch; the models' costs stand beside what was counted."""
        found = case.contestant.run()
        model = {
            "model_cost": eager(self.streams, case.order),
            "tree_rows": tree(self.streams, case.order),
        }
        return Measurement(found.clocks, {**model, **found.counts}, found.check)

    def close(self, case: OrderCase) -> None:
        """Close the database."""
        case.contestant.db.close()

    def best_finding(self, table: Table, measure: str, model: str) -> Finding:
        """Tell how far a model's best order is from the fastest. Orders of equal cost are alike."""
        least = min(row.number(measure) for row in table.rows)
        best = [row for row in table.rows if row.number(measure) <= least * 1.000001]
        chosen = min(best, key=lambda row: row.number("ms_per_1000"))
        fastest = min(table.rows, key=lambda row: row.number("ms_per_1000"))
        ratio = chosen.number("ms_per_1000") / fastest.number("ms_per_1000")
        fewest = min(row.number("join_rows") for row in table.rows)
        work = chosen.number("join_rows") / fewest
        return Finding(
            f"{model} best order is within 1.1 times the fastest.",
            ratio <= 1.1,
            f"{chosen.value('order')} takes {times(ratio)} as long as {fastest.value('order')}; "
            f"its joins take in {times(work)} the fewest rows of any order.",
        )


class MultiTable8(OrderExperiment):
    """Does the order that the cost model likes best run fastest?

    Claim    the best order is the one that the model and its heuristic predict; the worst takes
             nearly five times as long (4.8 by nested loops, 4.6 by hash).
    Refuted  if the model's best order takes over 1.1 times as long as the fastest, the heuristic
             does not find it, or the model's worst takes less than 2 times as long as its best.
    Source   [MULTI 6.2, table 8; streams of table 5].
    """

    name = "multi-table-8"
    title = "best and worst order of a four-way join"
    figures = "table 8"
    streams = TABLE_5
    factors = {"algorithm": (TREE,), "order": tuple(named(o) for o in all_orders(4))}
    missing = {
        "eager NLJ, eager hash": MULTI_WAY,
        "lazy NLJ and lazy hash, τ = 5 and 10": MULTI_WAY,
    }

    def findings(self, table: Table) -> list[Finding]:
        """Judge the model by the clock."""
        cheap, dear = extremes(table, "model_cost")
        found = named(heuristic(self.streams))
        ratio = dear.number("ms_per_1000") / cheap.number("ms_per_1000")
        work = dear.number("join_rows") / cheap.number("join_rows")
        cost = dear.number("model_cost") / cheap.number("model_cost")
        clock = ranked_alike(table, "model_cost", "ms_per_1000")
        counted = ranked_alike(table, "model_cost", "join_rows")
        rows = ranked_alike(table, "tree_rows", "ms_per_1000")
        return [
            self.best_finding(table, "model_cost", "The papers' model's"),
            Finding(
                "The heuristic finds the model's best order.",
                found == cheap.value("order"),
                f"It finds {found}.",
            ),
            Finding(
                "The model's worst order takes nearly five times as long (at least 2 counts).",
                ratio >= 2,
                f"{dear.value('order')} takes {times(ratio)} as long and takes in {times(work)} as "
                f"many rows; the model says {times(cost)}. windrow's trees do not scan.",
            ),
            Finding(
                "The model ranks the orders as the clock does (a rank correlation of 0.7 counts).",
                clock >= 0.7,
                f"Spearman's ρ is {clock:.2f}, with the rows that joins take in {counted:.2f}; "
                f"of the rows that a tree should make and the clock {rows:.2f}.",
            ),
        ]


class ThesisFigure52(OrderExperiment):
    """Are orders as far apart as the cost model says?

    Claim    the relative costs of four orders are similar to the predicted ones, though not quite
             as far apart, as inserting and expiring cost the same in all; least with hash tables.
    Refuted  if the optimal order takes over 1.1 times as long as the fastest of the four, or if the
             worst is as far from it as predicted, or farther.
    Source   [THESIS 5.4.2, figure 5.2; streams of table 5.5 with λ1 = 10].
    """

    name = "thesis-5-orders"
    title = "four orders, predicted and measured"
    figures = "5.2"
    streams = THESIS_5_5
    factors = {"algorithm": (TREE,), "order": ("2134", "1234", "2341", "4312")}
    full = {"order": tuple(named(o) for o in all_orders(4))}
    missing = {
        "eager, eager with lazy expiry, lazy, lazy with restore, by nested loops": MULTI_WAY,
        "the same four with hash tables of ten buckets": MULTI_WAY,
    }

    def findings(self, table: Table) -> list[Finding]:
        """Judge the model by the clock."""
        cheap, dear = extremes(table, "model_cost")
        ratio = dear.number("ms_per_1000") / cheap.number("ms_per_1000")
        cost = dear.number("model_cost") / cheap.number("model_cost")
        return [
            self.best_finding(table, "model_cost", "The papers' model's"),
            Finding(
                "Orders are not as far apart as predicted.",
                1 / cost < ratio < cost,
                f"{dear.value('order')} takes {times(ratio)} as long as {cheap.value('order')}; "
                f"the model says {times(cost)}.",
            ),
            Finding(
                "Yet they are in the predicted order.",
                ratio > 1.05,
                f"Spearman's ρ is {ranked_alike(table, 'model_cost', 'ms_per_1000'):.2f}; by "
                "the rows that a tree makes it is "
                f"{ranked_alike(table, 'tree_rows', 'ms_per_1000'):.2f}.",
            ),
        ]


def extremes(table: Table, name: str) -> tuple[Row, Row]:
    """Return the rows with the smallest and the largest of a measure."""
    ordered = sorted(table.rows, key=lambda row: row.number(name))
    return ordered[0], ordered[-1]


def ranked_alike(table: Table, one: str, other: str) -> float:
    """Return Spearman's ρ of two measures."""
    return rank_correlation(
        [row.number(one) for row in table.rows], [row.number(other) for row in table.rows]
    )
