"""W-joins: merged loops against nested ones, and windows of pairs against the widest for all."""

from __future__ import annotations

from windrow_lab.contest.report import Bar, verdict_of
from windrow_lab.contest.turns import by_turns, fastest_clocks, first_wrong
from windrow_lab.experiments.library.experiment import Options
from windrow_lab.experiments.library.table import Levels
from windrow_lab.experiments.wjoins.base import CLOCK, WJoinExperiment
from windrow_lab.experiments.wjoins.contestants import MW, NLW, NLW_LAST, WJoinContestant
from windrow_lab.experiments.wjoins.rates import WJoinFigure9c
from windrow_lab.experiments.wjoins.variations import GCA, LCA, WJoinFigure13

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
    sides = [WJoinContestant.filled(arena, experiment.ways[way]) for way in ways]
    turns = by_turns([side.run for side in sides], arena.runs)
    fast, slow = fastest_clocks(turns, CLOCK)
    return Bar(
        name,
        slow / fast,
        bar,
        fast,
        1e6 / fast,
        verdict_of(first_wrong(turns)),
        {},
        {"against": f"{ways[1]}, {slow:.3g} µs a tuple"},
    )
