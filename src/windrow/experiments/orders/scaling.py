"""How costs grow with the number of windows [MULTI figure 2]."""

from __future__ import annotations

from itertools import pairwise

from windrow.experiments.library.contest import Arena, Contestant
from windrow.experiments.library.experiment import Experiment, Measurement, Panel
from windrow.experiments.library.table import Levels, Table
from windrow.experiments.library.verdict import Finding, Kind, known
from windrow.experiments.orders.streams import (
    JoinFeed,
    generate,
    longest,
    ticks_a_unit,
    tree_text,
    truth_text,
)
from windrow.optimize.join_costs import JoinStream, eager, naive

EAGER, NAIVE, TREE = "EAGER (model)", "NAIVE (model)", "tree of hash joins"
STRETCH = 200
"""Units of time of a run."""


class MultiFigure2(Experiment[float | Contestant]):
    """What does it save to take new tuples first, as more windows are joined?

    Claim    the improved multi-way join scales considerably better with the number of windows than
             the naive one.
    Refuted  if by the model the naive one does not cost at least ten times as much from three
             windows on, or if the difference in comparisons does not grow with each window. The
             ratio is told, not judged: the paper shows the costs, and does not speak of it.
    Source   [MULTI 4.2, figure 2].
    """

    name = "multi-figure-2"
    title = "the number of windows"
    figures = "2"
    factors = {"windows": (2, 3, 4, 5, 6), "algorithm": (EAGER, NAIVE, TREE)}
    full = {"windows": (2, 3, 4, 5, 6, 7, 8)}
    turns = "algorithm"
    panels = (
        Panel(
            "windows", "work_a_unit", "algorithm", "Work by number of windows", "windows",
            "comparisons, or rows taken, a unit of time", log_x=False,
        ),
        Panel(
            "windows", "ms_per_1000", "algorithm", "Time of windrow's tree", "windows",
            "ms per 1,000 tuples", log_x=False,
        ),
    )  # fmt: skip
    missing = {
        "EAGER and NAIVE, measured": "They are plans of the multi-way join operator, which windrow "
        "does not have yet: their costs are the model's."
    }
    set_up = (
        "All streams have λ = 1, T = 100, v = 50. The model counts attribute comparisons a unit of "
        "time; of windrow's tree of binary hash joins, the rows that its joins take in are "
        "counted, and its answer is DuckDB's."
    )

    def prepare(self, levels: Levels) -> float | Contestant:
        """Compute a model's cost, or fill the windows of a tree."""
        n = int(levels["windows"])
        streams = [JoinStream(1, 100, 50)] * n
        order = tuple(range(n))
        if levels["algorithm"] != TREE:
            return (eager if levels["algorithm"] == EAGER else naive)(streams, order)
        runs, stretch = self.warmups + self.repeats, STRETCH * ticks_a_unit(streams)
        tables = generate(streams, longest(streams) + runs * stretch, self.seed)
        arena = Arena(JoinFeed(streams, tables), longest(streams), stretch, runs)
        return Contestant.filled(arena, tree_text(streams, order), truth_text(n))

    def measure(self, case: float | Contestant) -> Measurement:
        """Return the cost, or run the next stretch."""
        if isinstance(case, float):
            return Measurement(counts={"work_a_unit": case})
        found = case.run()
        taken = found.counts["join_rows"] * case.arena.stretch / STRETCH / 1e3
        return Measurement(found.clocks, {"work_a_unit": taken, **found.counts}, found.check)

    def close(self, case: float | Contestant) -> None:
        """Close the database of a tree."""
        if isinstance(case, Contestant):
            case.db.close()

    def findings(self, table: Table) -> list[Finding]:
        """Judge by the models, as the paper does; the tree's work is in the table."""
        numbers = [int(n) for n in table.levels("windows")]
        costs = {
            name: [row.number("work_a_unit") for row in table.where(algorithm=name).rows]
            for name in (NAIVE, EAGER)
        }
        gaps = [a - b for a, b in zip(costs[NAIVE], costs[EAGER], strict=True)]
        leads = [a / b for a, b in zip(costs[NAIVE], costs[EAGER], strict=True)]
        most = numbers[leads.index(max(leads))]
        return [
            Finding(
                "NAIVE costs at least ten times as much as EAGER, from three windows on.",
                known(all(n < 3 or lead >= 10 for n, lead in zip(numbers, leads, strict=True))),
                f"It costs {', '.join(f'{lead:.3g}' for lead in leads)} times as much at "
                f"{', '.join(map(str, numbers))} windows: the ratio is largest at {most}.",
                Kind.MODEL,
            ),
            Finding(
                "The difference in comparisons grows with each window.",
                known(all(a < b for a, b in pairwise(gaps))),
                f"It is {', '.join(f'{gap:,.0f}' for gap in gaps)} a unit of time.",
                Kind.MODEL,
            ),
        ]
