"""`windrow bench expiry`: bars are told, and answers are compared."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache

import pytest
from click.testing import CliRunner

from windrow.cli.main import windrow
from windrow_lab.bench.expiry import idle, messages, piggyback
from windrow_lab.experiments.negatives import base
from windrow_lab.experiments.negatives import messages as figure13
from windrow_lab.experiments.negatives.model import ITA, NTA, PIGGYBACK

pytestmark = pytest.mark.long


@cache
def of_five() -> dict[str, idle.Idle]:
    """What approaches tell of five tuples while nothing arrives."""
    return {approach: idle.idle(approach) for approach in (*idle.TIMELY, ITA)}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, idle.Idle]:
    monkeypatch.setattr(idle, "TUPLES", 5)
    return deepcopy(of_five())


def test_without_input_each_end_shows_at_its_time(told: dict[str, idle.Idle]) -> None:
    assert told[PIGGYBACK].late == [0] * 5
    assert told[ITA].late == []


def test_idle_answers_are_compared_with_duckdb(told: dict[str, idle.Idle]) -> None:
    assert idle.wrong_in(told) == ""
    told[PIGGYBACK].answers[990]["n"] += 1
    wrong = idle.wrong_in(told)
    assert wrong.startswith("piggybacking: the answer differs from DuckDB's: 1 rows should not")


def test_the_input_triggered_approach_must_tell_nothing_while_idle(
    told: dict[str, idle.Idle],
) -> None:
    told[ITA].answers[-1]["n"] = 0
    assert "ITA has changed its answer" in idle.wrong_in(told)
    told[ITA].late = [7]
    assert "ITA has emitted 1 ends" in idle.wrong_in(told)


def test_idle_ends_that_nobody_tells_are_missed(told: dict[str, idle.Idle]) -> None:
    told[ITA].changes = told[ITA].changes.slice(0, 6)
    assert "ITA: the changes differ from those of NTA" in idle.wrong_in(told)
    told[NTA].late.pop()
    assert idle.wrong_in(told) == "NTA has emitted 4 of 5 ends"


def test_a_wrong_idle_answer_misses_the_bar(
    told: dict[str, idle.Idle], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle, "idle", told.__getitem__)
    assert idle.measure().met
    monkeypatch.setattr(idle, "TRUTH", idle.TRUTH.replace("COUNT(s1.k)", "COUNT(s1.k) + 1"))
    bar = idle.measure()
    assert (bar.ratio, bar.met) == (1.0, False)
    assert "DuckDB" in bar.check


def test_the_command_prints_a_line_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle, "TUPLES", 3)
    made = CliRunner().invoke(windrow, ["bench", "expiry", "--only", "idle"])
    assert made.exit_code == 0, made.output
    told = json.loads(made.output.splitlines()[0])
    assert (told["name"], told["ratio"], told["check"]) == ("idle", 1.0, "equal")


def test_messages_are_held_to_one_for_each_tuple_that_joins() -> None:
    found = messages.Found(5, plain=2.0, messages=1.0, overhead=0.22, check="equal")
    assert found.saved == 2
    assert found.nearness == pytest.approx(1 / 1.1)


def test_join_messages_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure13, "STRETCH", 20.0)
    monkeypatch.setattr(messages, "BATCH", 5.0)
    monkeypatch.setattr(messages, "SMALL", 2.0)
    monkeypatch.setattr(figure13.NegFigure13, "seconds", 20)
    monkeypatch.setattr(messages, "MULTIPLICITIES", (1, 3))
    bars = messages.measure(1)
    assert [bar.check for bar in bars] == ["equal", "equal"]
    assert bars[0].facts["ratio_in_small_batches"] > 0
    assert bars[1].ratio > 0.7


def test_piggybacking_is_near_the_better_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "TUPLES", 400)
    named = {"__doc__": piggyback.NegFigure14b.__doc__, "repeats": 1}  # bars are met by far
    small = type("Small", (piggyback.NegFigure14b,), named)
    small.factors = {**small.factors, "selectivity": (0.001, 0.01)}
    monkeypatch.setitem(piggyback.FIGURES, "selectivity", small)
    base.arena_of.cache_clear()
    base.stretches.cache_clear()
    bars = piggyback.measure("selectivity")
    base.arena_of.cache_clear()
    base.stretches.cache_clear()
    assert [bar.name for bar in bars] == ["piggyback_selectivity", "piggyback_selectivity_ends"]
    assert all(bar.met for bar in bars)
