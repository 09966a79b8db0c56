"""`windrow bench nexmark` at a tiny size: a wrong answer is never believed."""

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from click.testing import CliRunner, Result

from windrow.cli.main import windrow
from windrow_lab.nexmark import oracle
from windrow_lab.nexmark.queries import nexmark_query
from windrow_lab.nexmark.report import Cannot, Found, Measured

pytestmark = pytest.mark.long


def run(*args: str) -> Result:
    return CliRunner().invoke(windrow, ["bench", "nexmark", "--quick", "--events", "4000", *args])


def test_each_query_has_a_line_and_a_row() -> None:
    result = run("--only", "q2,q5")
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    assert [(line["name"], line["kind"]) for line in lines] == [("q2", "same"), ("q5", "same")]
    for line in lines:
        told = line["in process"]
        assert (told["check"], told["rows"]) == ("equal", 3_680)
        assert told["rows_per_second"] > 0
        assert told["work"]["tuples_in"] > 0
    assert "in process, rows/s" in result.stdout
    assert "Bids for some auctions." in result.stdout


def test_results_are_written_with_the_machine(tmp_path: Path) -> None:
    result = run("--only", "q2,q3", "--out", str(tmp_path / "new"))
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "new" / "results.json").read_text())
    assert [query["name"] for query in told["queries"]] == ["q2", "q3"]
    assert told["machine"]["processor"]
    lines = (tmp_path / "new" / "results.csv").read_text().splitlines()
    assert lines[0].startswith("query,engine,kind,answer,rows_per_second")
    assert [line.split(",")[:4] for line in lines[1:]] == [
        ["2", "in process", "same", "equal"],
        ["3", "in process", "same", "equal"],
    ]
    assert (tmp_path / "new" / "figure.svg").stat().st_size > 1_000


def test_a_wrong_answer_ends_with_code_1() -> None:
    with patch.dict(oracle.ANSWERS, q2="SELECT auction, price + 1 FROM b WHERE auction % 123 = 0"):
        result = run("--only", "q2")
    assert (result.exit_code, "rows are missing" in result.stdout) == (1, True)


def test_an_unknown_query_is_told() -> None:
    result = run("--only", "q5,q40")
    assert (result.exit_code, 'no Nexmark query "q40"' in result.stderr) == (1, True)


def test_what_an_engine_cannot_is_no_wrong_answer() -> None:
    found = Found(nexmark_query("q6"), {"a": Measured("equal", 2.0, 10, 3), "b": Cannot("why")})
    assert found.right
    failed = Found(nexmark_query("q6"), {"b": Cannot("it broke", expected=False)})
    assert failed.wrong() == ["b: it broke"]
    told = json.loads(found.line())
    assert (told["a"]["rows_per_second"], told["b"]) == (5, {"cannot": "why"})
