"""How costs grow with the number of windows [MULTI figure 2]."""

from __future__ import annotations

from itertools import pairwise

from windrow.optimize.join_costs import JoinStream, eager, naive
from windrow.physical.conditions import Method
from windrow_lab.contest.measurement import Measurement
from windrow_lab.experiments.library.experiment import Experiment, Panel
from windrow_lab.experiments.library.table import Levels, Table
from windrow_lab.experiments.library.verdict import Finding, Kind, above, all_of, known
from windrow_lab.experiments.orders.algorithms import Algorithm
from windrow_lab.experiments.orders.contestants import (
    CLOCK,
    COMPARED,
    RIGHT,
    JoinArena,
    JoinContestant,
)
from windrow_lab.experiments.orders.ranking import HASH, TREE

MULTI, NAIVE = "MULTI-WAY", "NAIVE"
ALGORITHMS = {
    MULTI: Algorithm(Method.LOOPS),
    NAIVE: Algorithm(Method.NAIVE),
    HASH: Algorithm(Method.HASH),
    TREE: Algorithm(None),
}
MODELS = {MULTI: eager, NAIVE: naive}
STRETCH = 100
"""Units of time of a run."""
BETTER, FASTER = 10, 3
"""Times as many comparisons, and as long, that NAIVE takes at least from three windows on."""


class MultiFigure2(Experiment[JoinContestant]):
    """What does it save to take new tuples first, as more windows are joined?

    Claim    the improved multi-way join scales considerably better with the number of windows than
             the naive one.
    Refuted  if the naive one does not make at least ten times as many comparisons, and take three
             times as long, from three windows on; if the difference in comparisons does not grow
             with each window. How the ratio grows is shown, not judged: the paper shows the costs.
    Source   [MULTI 4.2, figure 2].
    """

    name = "multi-figure-2"
    title = "the number of windows"
    figures = "2"
    factors = {"windows": (2, 3, 4, 5, 6), "algorithm": tuple(ALGORITHMS)}
    full = {"windows": (2, 3, 4, 5, 6, 7, 8)}
    turns = "algorithm"
    panels = (
        Panel(
            "windows", COMPARED, "algorithm", "Work by number of windows", "windows",
            "comparisons a unit of time", log_x=False,
        ),
        Panel(
            "windows", CLOCK, "algorithm", "Time by number of windows", "windows",
            "ms per 1,000 tuples", log_x=False,
        ),
    )  # fmt: skip

    @property
    def set_up(self) -> str:
        """Describe the streams."""
        return (
            "All streams have λ = 1, T = 100, v = 50; the order is that of the streams. MULTI-WAY "
            f"and NAIVE are nested loops. A run is {STRETCH} units of time. {RIGHT} `model cost` "
            "is the paper's."
        )

    def prepare(self, levels: Levels) -> JoinContestant:
        """Fill the windows. Contestants of a block share the answer of the first of them."""
        n, name = int(levels["windows"]), str(levels["algorithm"])
        streams, order = (JoinStream(1, 100, 50),) * n, tuple(range(n))
        if name == next(iter(ALGORITHMS)):
            self.arena = JoinArena.of(streams, STRETCH, self.warmups + self.repeats, self.seed)
        algorithm = ALGORITHMS[name]
        model = {"model_cost": MODELS[name](streams, order)} if name in MODELS else {}
        return JoinContestant.filled(self.arena, algorithm, algorithm.orders(order), model)

    def measure(self, case: JoinContestant) -> Measurement:
        """Run the next stretch."""
        return case.run()

    def findings(self, table: Table) -> list[Finding]:
        """Judge by what was counted, by the clock and by the model."""
        return [
            *self.counted(table, COMPARED, Kind.PAPER),
            self.timed(table),
            *self.counted(table, "model_cost", Kind.MODEL),
            self.ours(table),
        ]

    def counted(self, table: Table, measure: str, kind: Kind) -> list[Finding]:
        """Judge the comparisons, counted or of the model."""
        numbers = [int(n) for n in table.levels("windows")]
        costs = {
            name: [row.number(measure) for row in table.where(algorithm=name).rows]
            for name in (NAIVE, MULTI)
        }
        gaps = [a - b for a, b in zip(costs[NAIVE], costs[MULTI], strict=True)]
        leads = [a / b for a, b in zip(costs[NAIVE], costs[MULTI], strict=True)]
        most = numbers[leads.index(max(leads))]
        return [
            Finding(
                f"NAIVE compares at least {BETTER} times as much, from three windows on.",
                known(all(n < 3 or lead >= BETTER for n, lead in zip(numbers, leads, strict=True))),
                f"It is {', '.join(f'{lead:.3g}' for lead in leads)} times as much at "
                f"{', '.join(map(str, numbers))} windows: the ratio is largest at {most}.",
                kind,
            ),
            Finding(
                "The difference in comparisons grows with each window.",
                known(all(a < b for a, b in pairwise(gaps))),
                f"It is {', '.join(f'{gap:,.0f}' for gap in gaps)} a unit of time.",
                kind,
            ),
        ]

    def timed(self, table: Table) -> Finding:
        """Judge the times."""
        ratios = {
            n: table.ratio(CLOCK, "algorithm", NAIVE, MULTI, windows=n)
            for n in table.levels("windows")
        }
        return Finding(
            f"NAIVE takes at least {FASTER} times as long, from three windows on.",
            all_of(above(ratio, FASTER) for n, ratio in ratios.items() if int(n) >= 3),
            "; ".join(f"{n} windows: {ratio}" for n, ratio in ratios.items()) + ".",
        )

    def ours(self, table: Table) -> Finding:
        """Judge the join by hash against a tree, at the most windows."""
        most = table.levels("windows")[-1]
        ratio = table.ratio(CLOCK, "algorithm", TREE, HASH, windows=most)
        loops = table.ratio(CLOCK, "algorithm", MULTI, HASH, windows=most)
        return Finding(
            f"Of {most} windows, the multi-way join by hash is faster than a tree of hash joins.",
            above(ratio, 1),
            f"The tree takes {ratio} as long; nested loops {loops}.",
            Kind.OURS,
        )
