"""How costs grow with the number of windows [MULTI figure 2]."""

from __future__ import annotations

from itertools import pairwise

from windrow.experiments.library.contest import Arena, Contestant
from windrow.experiments.library.experiment import Experiment, Finding, Measurement, Panel
from windrow.experiments.library.table import Levels, Table
from windrow.experiments.library.words import times
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
    Refuted  if the naive one does not cost at least ten times as much at the most windows, or if
             what it costs more does not grow with each window.
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
        """Judge by the models; the tree's work is told beside."""
        costs = {
            name: [row.number("work_a_unit") for row in table.where(algorithm=name).rows]
            for name in (NAIVE, EAGER)
        }
        gaps = [a - b for a, b in zip(costs[NAIVE], costs[EAGER], strict=True)]
        leads = [
            table.ratio("work_a_unit", "algorithm", NAIVE, EAGER, windows=n)
            for n in table.levels("windows")
        ]
        most = table.levels("windows")[-1]
        work = table.ratio("work_a_unit", "algorithm", EAGER, TREE, windows=most)
        return [
            Finding(
                f"NAIVE costs at least ten times as much as EAGER at {most} windows.",
                leads[-1] >= 10,
                f"By the model it costs {times(leads[-1])} as much; EAGER makes {times(work)} as "
                "many comparisons as windrow's tree takes in rows.",
            ),
            Finding(
                "What it costs more grows with each window.",
                all(a < b for a, b in pairwise(gaps)),
                f"It is {', '.join(f'{gap:,.0f}' for gap in gaps)} comparisons a unit of time, or "
                f"{', '.join(f'{lead:.3g}' for lead in leads)} times.",
            ),
        ]
