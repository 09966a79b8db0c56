"""`windrow experiment`: lists, refuses, runs."""

from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from windrow.cli.main import windrow
from windrow_lab.cli.experiment.show import print_verdict
from windrow_lab.experiments.library.run import Result
from windrow_lab.experiments.library.table import Table
from windrow_lab.experiments.library.verdict import Finding, Kind, Outcome, waiting
from windrow_lab.experiments.orders.intervals import MultiFigure3
from windrow_lab.experiments.registry import ALL, EXPERIMENTS


def test_every_experiment_has_a_question_a_claim_and_a_name_of_its_own() -> None:
    assert len(EXPERIMENTS) == len(ALL)
    for kind in ALL:
        words = kind.words()
        assert words.question.endswith("?")
        assert words.claim
        assert words.refuted.startswith("if ")
        assert words.source.startswith("[")
        assert kind.turns in kind.factors
        assert set(kind.full) <= set(kind.factors)


def test_list_shows_all_with_their_sources() -> None:
    shown = CliRunner().invoke(windrow, ["experiment", "list"]).output
    assert [name for name in EXPERIMENTS if name not in shown] == []
    assert "figure 3.8" in shown


def test_an_unknown_name_is_refused_with_the_closest() -> None:
    result = CliRunner().invoke(windrow, ["experiment", "thesis-3-query11"])
    assert result.exit_code == 1
    assert 'there is no experiment "thesis-3-query11"' in result.stderr
    assert "Did you mean thesis-3-query" in result.stderr


def test_the_real_trace_is_refused_where_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDROW_DATA", str(tmp_path))
    args = ["experiment", "thesis-3-query3", "--trace", "zeek", "--out", str(tmp_path)]
    result = CliRunner().invoke(windrow, args)
    assert (result.exit_code, "the real trace is not here" in result.stderr) == (1, True)
    assert "--trace lbl" in result.stderr


def test_the_terminal_tells_outcomes_by_kind() -> None:
    findings = (
        Finding("Ours.", Outcome.REFUTED, "0.5 times.", Kind.OURS),
        Finding("One.", Outcome.HELD, "2 times."),
        Finding("Two.", Outcome.CLOSE, "1.01 times."),
        waiting("Three.", "Nobody has it."),
    )
    console = Console(width=100, file=StringIO())
    with console.capture() as shown:
        print_verdict(console, MultiFigure3(), Result(Table(()), findings, {}, 0.0))
    lines = [line.strip() for line in shown.get().splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith("verdict"))
    assert lines[start : start + 7] == [
        "verdict  cannot be judged yet",
        "The paper's claims:",
        "✓ held: One. 2 times.",
        "≈ too close to call: Two. 1.01 times.",
        "– cannot be judged yet: Three. Nobody has it.",
        "windrow's own claims, which the paper does not make:",
        "✗ not held: Ours. 0.5 times.",
    ]
