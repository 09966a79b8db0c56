"""NEG's figures: streams are as told, approaches agree, delays are as the model says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from windrow.core.errors import RunError
from windrow_lab.experiments.library.experiment import Experiment, Options
from windrow_lab.experiments.library.run import Result, run
from windrow_lab.experiments.negatives import base, contestants, messages
from windrow_lab.experiments.negatives.base import DELAY, MOST, OVERHEAD
from windrow_lab.experiments.negatives.contestants import ExpiryArena, ExpiryContestant
from windrow_lab.experiments.negatives.delays import NegFigure10, NegFigure11, NegFigure12
from windrow_lab.experiments.negatives.messages import NegFigure13
from windrow_lab.experiments.negatives.model import (
    APPROACHES,
    ITA,
    MAX_ENTRY,
    MESSAGES,
    NTA,
    PIGGYBACK,
    SECOND,
)
from windrow_lab.experiments.negatives.piggyback import (
    NegFigure14a,
    NegFigure14b,
    NegFigure15a,
    NegFigure15b,
)
from windrow_lab.experiments.negatives.streams import Multiplied, Setting, TableSetting

pytestmark = pytest.mark.long


def joined(tables: dict[str, pa.Table]) -> pa.Table:
    return tables["s1"].join(tables["s2"], "item", join_type="inner", right_suffix="_2")


def test_results_a_second_are_the_papers() -> None:
    assert Setting(50, 0.006, 20).results == pytest.approx(27)
    assert Setting(40, 0.01, 20).results == pytest.approx(28.8)
    pairs = joined(Setting(50, 0.006, 20).tables(200, seed=1))
    apart = np.abs(pairs["t"].to_numpy() - pairs["t_2"].to_numpy())
    assert np.count_nonzero(apart < 20 * SECOND) / 200 == pytest.approx(27, rel=0.15)


def test_a_tuple_joins_as_many_as_its_multiplicity_and_before_it_ends() -> None:
    setting = Multiplied(50, 0.01, 20, 3)
    tables = setting.tables(200, seed=1)
    pairs = joined(tables)
    late = pairs["t_2"].to_numpy() - pairs["t"].to_numpy()
    assert (late > 0).all()
    assert (late <= 10 * SECOND).all()
    counts = pairs.group_by("item").aggregate([("t_2", "count")])["t_2_count"].to_numpy()
    assert np.median(counts) == 3
    for table in tables.values():
        assert len(table) / 200 == pytest.approx(50, rel=0.1)
        assert (np.diff(table["t"].to_numpy()) >= 0).all()


def small(setting: Setting, *, virtual: bool = True) -> ExpiryArena:
    return ExpiryArena(setting, 4.0, 1, 2.0, seed=3, virtual=virtual)


@pytest.mark.parametrize("virtual", [True, False])
@pytest.mark.parametrize("setting", [Setting(20, 0.02, 3), TableSetting(20, 0.4, 3)])
def test_all_approaches_tell_the_same_and_what_duckdb_finds(
    setting: Setting, virtual: bool
) -> None:
    arena = small(setting, virtual=virtual)
    for approach in APPROACHES:
        found = ExpiryContestant.filled(arena, approach).run()
        assert found.check == "equal"
        assert found.counts["results_a_second"] > 2
    assert arena.agreement.changes


def test_a_join_with_a_table_is_in_the_pipeline_too() -> None:
    """Join and COUNT read what comes; under NTA also, as a message or a row, what ends."""
    setting = TableSetting(20, 0.4, 3)
    arena = small(setting)

    def entries(low: int, high: int) -> int:
        items = contestants.part_of(arena.tables["s1"], low * SECOND, high * SECOND)[
            "item"
        ].to_numpy()
        return len(items) + int(np.isin(items, setting.relations()["favorites"]["item"]).sum())

    tuples = len(contestants.part_of(arena.tables["s1"], 3 * SECOND, 7 * SECOND))
    expected = {ITA: entries(3, 7), NTA: entries(3, 7) + entries(0, 4)}
    for approach, count in expected.items():
        found = ExpiryContestant.filled(arena, approach).run().counts["tuples_in_pipeline"] * tuples
        assert found == pytest.approx(count, abs=2), approach


def test_other_changes_are_found() -> None:
    arena = small(Setting(20, 0.02, 3))
    ExpiryContestant.filled(arena, NTA).run()
    arena.agreement.changes[0] = arena.agreement.changes[0].slice(2)
    assert "first contestant" in ExpiryContestant.filled(arena, ITA).run().check


def test_a_seldom_result_shows_after_one_entry_and_its_end_waits_for_the_next() -> None:
    arena = small(TableSetting(20, 0.1, 3))
    delays = {
        a: ExpiryContestant.filled(arena, a).run().clocks[DELAY] for a in (ITA, NTA, PIGGYBACK)
    }
    entry = MAX_ENTRY / 1e3
    assert entry <= delays[NTA] < 1.5 * entry
    assert delays[PIGGYBACK] == pytest.approx(delays[NTA], rel=0.1)
    assert delays[ITA] > 4 * entry


def test_delays_are_of_the_stretch() -> None:
    """A greatest delay since the query began would never fall from one stretch to the next."""
    arena = ExpiryArena(TableSetting(20, 0.1, 3), 4.0, 6, 2.0, seed=3)
    contestant = ExpiryContestant.filled(arena, ITA)
    most = [contestant.run().clocks[MOST] for _ in range(6)]
    assert any(later < earlier for earlier, later in pairwise(most))
    whole = contestant.query.stats()["delay"]
    assert max(most) <= whole["max"] / 1e3


def test_the_average_of_stretches_is_that_of_all_that_shows_in_them() -> None:
    arena = small(Setting(20, 0.02, 3))
    contestant = ExpiryContestant.filled(arena, NTA)
    before = contestant.query.stats()["delay"]
    found = contestant.run().clocks[DELAY]
    contestant = ExpiryContestant.filled(arena, NTA)
    contestant.stretch()
    after = contestant.query.stats()["delay"]
    total = after["average"] * after["changes"] - before["average"] * before["changes"]
    assert found * 1e3 == pytest.approx(total / (after["changes"] - before["changes"]))


SMALL: dict[type[Experiment[Any]], dict[str, tuple[Any, ...]]] = {
    NegFigure10: {"selectivity": (0.1, 0.6, 1.0)},
    NegFigure11: {"selectivity": (0.002, 0.006, 0.01)},
    NegFigure12: {"rate": (20, 40, 50)},
    NegFigure13: {"multiplicity": (1, 3)},
    NegFigure14a: {"rate": (20, 50)},
    NegFigure14b: {"selectivity": (0.002, 0.01)},
    NegFigure15a: {"rate": (20, 50)},
    NegFigure15b: {"selectivity": (0.002, 0.01)},
}


@pytest.fixture(scope="module", autouse=True)
def _runs() -> Iterator[None]:
    """Let figures in small share runs among themselves, and with nobody else."""
    base.arena_of.cache_clear()
    base.stretches.cache_clear()
    yield
    base.arena_of.cache_clear()
    base.stretches.cache_clear()


def in_small(
    kind: type[Experiment[Any]], monkeypatch: pytest.MonkeyPatch, *, seed: int = 5
) -> Result:
    monkeypatch.setattr(base, "TUPLES", 150)
    monkeypatch.setattr(messages, "STRETCH", 20.0)
    monkeypatch.setattr(messages, "BATCH", 5.0)
    of_kind = type(kind.__name__, (kind,), {"__doc__": kind.__doc__, "seconds": 20})
    of_kind.factors = {**kind.factors, **SMALL[kind]}
    return run(of_kind(Options(repeats=1, seed=seed)))


@pytest.mark.parametrize("kind", SMALL)
def test_an_experiment_runs(kind: type[Experiment[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    result = in_small(kind, monkeypatch)
    assert result.findings
    for row in result.table.where(approach=ITA).rows:
        assert row.number(OVERHEAD) == 0
    if kind is NegFigure13:
        for row in result.table.where(approach=MESSAGES).rows:
            assert row.number(OVERHEAD) * row.number("multiplicity") == pytest.approx(1, rel=0.2)


def test_figures_share_runs_that_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "TUPLES", 40)
    made = []
    filled = contestants.ExpiryContestant.filled
    monkeypatch.setattr(
        base.ExpiryContestant, "filled", lambda *given: made.append(given) or filled(*given)
    )
    for _ in range(2):
        base.stretches(Setting(50, 0.01, 2), NTA, 1, 7)
    assert len(made) == 1


def test_a_wrong_answer_has_no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "SELECT MAX(s2.price) AS top, COUNT(*) + 1 AS n FROM s1, s2 WHERE s1.item = s2.item"
    monkeypatch.setattr(Setting, "truth", wrong)
    with pytest.raises(RunError, match="the answer is wrong"):
        in_small(NegFigure14a, monkeypatch, seed=6)  # what is right has been found by another


def test_the_busier_the_more_messages_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    table = in_small(NegFigure15b, monkeypatch).table
    ratios = [row.number(OVERHEAD) for row in table.where(approach=PIGGYBACK).rows]
    assert all(later < earlier for earlier, later in pairwise(ratios))
