"""W-joins: merged loops against nested ones, and windows of pairs against the widest for all."""

from __future__ import annotations

from windrow.cli.bench.report import EQUAL, Bar
from windrow.experiments.library.experiment import Options
from windrow.experiments.library.table import Levels
from windrow.experiments.wjoins.base import CLOCK, WJoinExperiment
from windrow.experiments.wjoins.contest import MW, NLW, NLW_LAST, Contestant
from windrow.experiments.wjoins.rates import WJoinFigure9c
from windrow.experiments.wjoins.variations import GCA, LCA, WJoinFigure13

MERGE_BAR, LCA_BAR = 5.0, 1.0


def measure(repeats: int) -> list[Bar]:
    """Measure both where rates vary [WJOIN 9(c)], and 0.1 s against 1 s [WJOIN 13].

    The paper's nested loops go in the order of FROM; in the planner's they have no bar.
    """
    options = Options(repeats=repeats)
    varied, pairs = WJoinFigure9c(options), WJoinFigure13(options)
    slow: Levels = {"slow_rate": 10}
    return [
        against("merge_against_nested_w", varied, slow, (MW, NLW), MERGE_BAR),
        against("merge_against_ordered_nested_w", varied, slow, (MW, NLW_LAST), None),
        against("lca_against_gca", pairs, {"window_ms": 100}, (LCA, GCA), LCA_BAR),
    ]


def against(
    name: str, experiment: WJoinExperiment, levels: Levels, ways: tuple[str, str], bar: float | None
) -> Bar:
    """Compare the best runs of two ways, by turns; the first is to be the faster.

    Seconds are those of a million tuples.
    """
    arena = experiment.arena(levels)
    sides = [Contestant.filled(arena, experiment.ways[way]) for way in ways]
    turns = [[side.run() for side in sides] for _ in range(arena.runs)]
    wrong = [m.check for turn in turns for m in turn if m.check != EQUAL]
    fast, slow = (min(turn[i].clocks[CLOCK] for turn in turns) for i in range(2))
    return Bar(
        name,
        slow / fast,
        bar,
        fast,
        1e6 / fast,
        wrong[0] if wrong else EQUAL,
        {},
        {"against": f"{ways[1]}, {slow:.3g} µs a tuple"},
    )
