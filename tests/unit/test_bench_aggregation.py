"""`windrow bench aggregation`: settings are as told, bars are reckoned, answers compared."""

from __future__ import annotations

import json
from functools import cache

import pytest
from click.testing import CliRunner

from windrow.cli.calibrate.samples import FEWEST, MOST
from windrow.cli.calibrate.samples import settings as random_settings
from windrow.cli.calibrate.streams import StreamSetting, two
from windrow.cli.main import windrow
from windrow.optimize.early_costs import EarlyFacts
from windrow_lab.bench.aggregation import grid, paper, versions
from windrow_lab.bench.aggregation.plans import Took, confirmed, contest
from windrow_lab.contest.measurement import EQUAL, Measurement
from windrow_lab.experiments.aggjoins.contestants import CLOCK

pytestmark = pytest.mark.long

NONE, FIRST, SECOND, BOTH = (False, False), (True, False), (False, True), (True, True)
SMALL = StreamSetting(two((100, 50), (60, 40), (5, 1), 0.1))


@cache
def facts() -> EarlyFacts:
    """What is told of the small setting, whoever wins."""
    return contest(SMALL, 0.2, 1, 7, (NONE,)).facts


def took(auto: tuple[bool, ...], *micros: float, slower: float = 1.0, difference: str = "") -> Took:
    """Return a setting with times of none, {b}, {a} and {a,b}; `auto` is so much slower."""
    ways = dict(zip((NONE, SECOND, FIRST, BOTH), micros, strict=True))
    mine = slower * ways[auto]
    return Took(SMALL, facts(), ways, ways, BOTH, auto, mine, mine - ways[auto], difference)


def test_bars_are_the_share_near_the_best_and_the_worst_against_joining_first() -> None:
    found = [took(BOTH, 10, 5, 6, 2), took(NONE, 2, 1.9, 3, 4), took(SECOND, 10, 12, 5, 6)]
    near, late = grid.bars(found)
    assert near.ratio == pytest.approx(2 / 3)
    assert near.facts["worst_factor"] == pytest.approx(12 / 5)
    assert not near.met
    assert late.ratio == pytest.approx(10 / 12)
    assert late.facts["settings_below"] == 1
    assert not late.met
    (near, late) = grid.bars([took(BOTH, 10, 5, 6, 2)])
    assert near.met
    assert late.met
    assert not grid.bars([took(BOTH, 10, 5, 6, 2, difference="other rows")])[0].met


def test_what_auto_does_besides_its_placement_counts_in_both_bars() -> None:
    near, late = grid.bars([took(NONE, 2, 3, 3, 4, slower=1.25)])
    assert near.facts["worst_factor"] == pytest.approx(1.25)
    assert late.ratio == pytest.approx(1 / 1.25)
    assert late.facts["watching_at_most"] == pytest.approx(0.2)
    assert not near.met
    assert not late.met


def test_of_runs_in_doubt_the_middle_one_counts_unless_an_answer_is_wrong() -> None:
    late, early, slow = (took(NONE, 2, 3, 3, 4, slower=f) for f in (1.0, 0.9, 1.3))
    assert grid.middle([slow, early, late]) is late
    wrong = took(NONE, 2, 3, 3, 4, difference="other rows")
    assert grid.middle([early, late, wrong]) is wrong


def test_a_time_is_confirmed_by_a_second_run_of_every_contestant() -> None:
    def turn(*micros: float) -> list[Measurement]:
        return [Measurement({CLOCK: m}, {}, EQUAL) for m in micros]

    assert not confirmed([turn(1.0, 2.0)], CLOCK)
    assert not confirmed([turn(1.0, 2.0), turn(1.01, 2.2)], CLOCK)
    assert confirmed([turn(1.0, 2.0), turn(1.01, 2.2), turn(3.0, 2.01)], CLOCK)


def test_settings_are_the_same_each_time_and_far_apart() -> None:
    settings = list(random_settings(200, grid.SEED))
    assert settings == list(random_settings(200, grid.SEED))
    shares = [s.streams[0].selectivity for s in settings]
    assert min(shares) < 0.002
    assert max(shares) > 0.2
    groups = [s.streams[0].groups for s in settings]
    assert groups.count(1) > 40
    assert max(groups) > 1_000
    for setting in settings:
        one, two = setting.streams
        assert FEWEST <= one.window * two.window * one.selectivity <= MOST


def test_all_placements_of_a_setting_are_timed_and_agree() -> None:
    found = contest(SMALL, 0.2, 1, 7)
    assert set(found.micros) == {NONE, FIRST, SECOND, BOTH}
    assert found.difference == ""
    assert found.met[BOTH] < found.met[NONE]
    assert found.auto in found.micros
    assert 0 < found.watching < found.auto_micros
    line = json.loads(grid.line_of(found))
    assert line["check"] == "equal"
    assert line["auto_micros_a_tuple"] > line["watching_micros_a_tuple"] > 0
    assert set(line["micros_a_tuple"]) == {"none", "{a}", "{b}", "{a,b}"}


def test_what_meets_versions_is_held_to_the_versions_of_duckdb() -> None:
    world = versions.World.of(updated=True)
    _, answer = versions._run(world, "{a,b}")
    assert world.truth(answer) == ""
    assert world.truth(answer.slice(1)) != ""
    assert versions.World.of(updated=False).truth(answer) != ""


def test_the_command_tells_bars_as_json_and_as_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "CASES", {"early_small": paper.Case(SMALL, batch=0.2)})
    run = CliRunner().invoke(
        windrow, ["bench", "aggregation", "--only", "paper", "--repeats", "1", "--no-fail"]
    )
    assert run.exit_code == 0, run.output
    first = json.loads(run.output.splitlines()[0])
    assert (first["name"], first["check"]) == ("early_small", "equal")
    assert first["ratio"] > 0
