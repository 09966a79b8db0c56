"""AGGJOIN's experiments: streams are as told, plans agree, and what is wrong is found."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from windrow.cli.calibrate.digest import digest
from windrow.cli.calibrate.placements import LOOPS
from windrow.cli.calibrate.samples import Trial, calibrated, count, tried
from windrow.cli.calibrate.streams import SECOND, Feed, StreamSetting, three, two
from windrow.optimize.aggregation_costs import placements
from windrow_lab.experiments.aggjoins.base import CHOSEN, ENGINE, MODEL, AggregationExperiment
from windrow_lab.experiments.aggjoins.contestants import (
    CLOCK,
    PlacementArena,
    PlacementContestant,
    work_of,
)
from windrow_lab.experiments.aggjoins.showcases import AggJoinFigure10
from windrow_lab.experiments.aggjoins.varied import (
    AggJoinFigure6,
    AggJoinFigure7,
    AggJoinFigure8,
    AggJoinFigure9,
)
from windrow_lab.experiments.library.experiment import Options
from windrow_lab.experiments.library.ranks import kendall_tau
from windrow_lab.experiments.library.run import Result, run

SMALL = StreamSetting(two((100, 50), (60, 40), (5, 1), 0.1))


def test_a_window_has_the_tuples_that_it_is_told_to_have() -> None:
    feed = Feed(SMALL, 10, seed=3)
    alive = feed.alive(5 * SECOND)
    assert [len(alive[name]) for name in "ab"] == [60, 40]
    assert set(np.unique(alive["a"]["k"])) <= set(range(10))
    facts = feed.facts(5 * SECOND)
    pairs = set(zip(*(alive["a"][c].to_pylist() for c in "kg"), strict=True))
    assert facts.inputs[0].entries == len(pairs)
    assert facts.inputs[1].entries == len(set(alive["b"]["k"].to_pylist()))
    assert (facts.inputs[0].groups, facts.inputs[1].groups) == (5, 1)


def test_the_query_groups_by_the_streams_that_have_groups() -> None:
    assert "GROUP BY a.g" in SMALL.text
    assert "GROUP BY a.g, b.g" in StreamSetting(two(groups=(5, 5))).text
    assert "GROUP BY" not in StreamSetting(two(groups=(1, 1))).text
    assert "SUM(c.x)" in StreamSetting(three()).text


@pytest.mark.parametrize(
    "setting",
    [
        SMALL,
        StreamSetting(three(100, 30, 4, 0.2)),
        StreamSetting(two((100, 50), (60, 40), (5, 3), 0.1), slide=SECOND // 2, columns=("x", "g")),
    ],
)
@pytest.mark.parametrize("algorithm", ["auto", pytest.param(LOOPS, marks=pytest.mark.long)])
def test_all_plans_tell_the_same_and_what_duckdb_finds(
    setting: StreamSetting, algorithm: str
) -> None:
    arena = PlacementArena.of(setting, 0.5, 2, seed=5)
    for way in placements(len(setting.streams)):
        side = PlacementContestant.filled(arena, way, algorithm)
        found = [side.run() for _ in range(2)]
        assert [m.check for m in found] == ["equal", "equal"]
        assert found[1].counts[work_of(algorithm)] > 0
        assert found[1].clocks[CLOCK] > 0


def test_another_answer_is_found() -> None:
    """By the first contestant's, and the first contestant's by DuckDB's."""
    arena = PlacementArena.of(SMALL, 0.5, 1, seed=5)
    PlacementContestant.filled(arena, (True, True)).run()
    arena.agreement.changes[0] = arena.agreement.changes[0].slice(1)
    assert "first contestant" in PlacementContestant.filled(arena, (False, False)).run().check
    wrong = PlacementArena.of(SMALL, 0.5, 1, seed=5)
    wrong.feed.alive = lambda now: Feed.alive(wrong.feed, now - SECOND)  # type: ignore[method-assign]
    assert "DuckDB" in PlacementContestant.filled(wrong, (True, True)).run().check


def test_a_digest_is_of_the_net() -> None:
    rows = {"_ts": [1, 1, 2], "_sign": [1, -1, 1], "g": [3, 3, None]}
    whole, net = pa.table(rows), pa.table({k: v[2:] for k, v in rows.items()})
    assert digest(whole) == digest(net)
    assert digest(whole) != digest(whole.slice(1))


def test_ranks_agree_by_pairs_that_are_told_apart() -> None:
    assert kendall_tau([1, 2, 3, 4], [1, 2, 3, 4]) == 1
    assert kendall_tau([1, 2, 3, 4], [4, 3, 2, 1]) == -1
    assert kendall_tau([1, 1.01], [2, 1], alike=1.05) == 1


@pytest.mark.long
def test_constants_are_told_from_trials() -> None:
    trials = (Trial(SMALL), Trial(SMALL, LOOPS))
    found = list(tried(trials))
    assert len(found) == count(trials) == 8
    assert calibrated(found).early.contribute > 0


SMALL_LEVELS: dict[type[AggregationExperiment], tuple[Any, ...]] = {
    AggJoinFigure6: ("w1 = 400", "w1 = 1200", "g1 = 3", "g1 = 19683", "λ1 = 100", "λ1 = 900",
                     "σ = 0.0005", "σ = 0.05"),
    AggJoinFigure7: ("w1 = 400", "w1 = 1200", "g1 = 3", "g1 = 19683", "λ1 = 100", "λ1 = 900",
                     "σ = 0.0005", "σ = 0.05"),
    AggJoinFigure8: ("w1 = 100", "w1 = 200", "g1 = 3", "g1 = 19683", "λ1 = 100", "λ1 = 600",
                     "σ = 0.005", "σ = 0.05"),
    AggJoinFigure9: ("w1 = 100", "w1 = 200", "g1 = 3", "g1 = 19683", "λ1 = 100", "λ1 = 600",
                     "σ = 0.005", "σ = 0.05"),
    AggJoinFigure10: AggJoinFigure10.factors["setting"],
}  # fmt: skip


def in_small(kind: type[AggregationExperiment]) -> Result:
    less = {"stretch": 0.1, "warmups": 0}  # for the clock, which nobody reads here
    small = type(kind.__name__, (kind,), {"__doc__": kind.__doc__, **less})
    small.factors = {**kind.factors, "setting": SMALL_LEVELS[kind]}
    return run(small(Options(repeats=1)))


@pytest.mark.long
@pytest.mark.parametrize("kind", SMALL_LEVELS)
def test_an_experiment_runs_and_judges(kind: type[AggregationExperiment]) -> None:
    """Each setting has all plans; early aggregation of all inputs has the least to do, about."""
    result = in_small(kind)
    assert result.findings
    for setting in result.table.levels("setting"):
        rows = result.table.where(setting=setting).rows
        done = [row.number(work_of(kind.algorithm)) for row in rows]
        assert done[-1] <= max(done)
        assert kind.algorithm == LOOPS or min(done) == pytest.approx(done[-1], rel=0.01)
        assert all(row.number(MODEL) > 0 for row in rows)
        if kind.algorithm != LOOPS:
            assert sum(row.number(CHOSEN) for row in rows) == 1
            assert all(row.number(ENGINE) > 0 for row in rows)
