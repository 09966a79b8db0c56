"""Scalar functions of the user's: vectorised, typed, checked, sent to shards by value."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow as wr
from windrow.core.errors import StateError
from windrow.operators.evaluate import BUILDERS
from windrow.operators.evaluate.user_defined import USER_FUNCTIONS
from windrow.plan.functions import FUNCTIONS
from windrow.plan.session import Session
from windrow.runtime.local.database import STRATEGIES, Database
from windrow.runtime.shards.checkpoint import open_checkpoint
from windrow.runtime.shards.program import Program
from windrow.runtime.spark.shipping import shipped

DECLARED = "CREATE STREAM s (ts BIGINT, k BIGINT, v DOUBLE, name STRING) TIMESTAMP BY ts;"
ROWS = [
    {"ts": t, "k": t % 3, "v": None if t == 4 else t / 2, "name": "ab"[t % 2]} for t in range(12)
]
FACTOR = 3.0


def tripled(values: pa.Array) -> pa.Array:
    return pc.multiply(values, FACTOR)


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    with patch.dict(FUNCTIONS), patch.dict(USER_FUNCTIONS), patch.dict(BUILDERS):
        yield


@pytest.fixture
def db() -> Iterator[Database]:
    with wr.connect() as opened:
        opened.execute(DECLARED)
        yield opened


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("SELECT k, tripled(v) AS x FROM s [RANGE 5]", "SELECT k, v * 3.0 AS x FROM s [RANGE 5]"),
        (
            "SELECT k, SUM(tripled(v)) AS x FROM s [RANGE 5] WHERE tripled(v) > 4 GROUP BY k",
            "SELECT k, SUM(v * 3.0) AS x FROM s [RANGE 5] WHERE v * 3.0 > 4 GROUP BY k",
        ),
        (
            "SELECT a.k FROM s AS a [RANGE 5], s AS b [RANGE 3] WHERE tripled(a.v) = tripled(b.v)",
            "SELECT a.k FROM s AS a [RANGE 5], s AS b [RANGE 3] WHERE a.v * 3.0 = b.v * 3.0",
        ),
        (
            "SELECT k FROM s [RANGE 9] WHERE tripled(2) + k > tripled(v)",
            "SELECT k FROM s [RANGE 9] WHERE 6.0 + k > v * 3.0",
        ),
    ],
)
def test_a_call_is_as_the_expression_that_it_stands_for(
    db: Database, text: str, same: str, strategy: str
) -> None:
    db.function((pa.float64(),), pa.float64())(tripled)
    queries = [db.query(t, strategy=strategy) for t in (text, same)]
    for row in ROWS:
        db.push("s", [row])
    db.advance(40)
    found = [sorted(map(str, q.changes().to_pylist())) for q in queries]
    assert found[0] == found[1] != []


@pytest.mark.parametrize(
    "give",
    [
        lambda a: a,
        lambda a: pa.chunked_array([a]),
        lambda a: a.to_pandas(),
        lambda a: a.to_pylist(),
        lambda a: np.asarray(a.to_pandas(), np.float64),
        lambda a: pd.Series(a.to_pandas(), dtype="Float64"),
        lambda a: a.cast(pa.float32()),
    ],
)
def test_values_come_back_in_any_form(db: Database, give: Callable[[pa.Array], object]) -> None:
    db.function((pa.float64(),), pa.float64(), "as_is")(give)
    q = db.query("SELECT AS_IS(v) AS v FROM s [RANGE 50]")
    db.push("s", ROWS)
    assert q.answer()["v"].to_pylist() == [row["v"] for row in ROWS]


def test_a_function_takes_several_values_constants_and_nulls(db: Database) -> None:
    @db.function((pa.string(), pa.int64(), pa.string()), pa.string())
    def spelled(name: pa.Array, k: pa.Array, end: pa.Array) -> list[str | None]:
        assert len(name) == len(k) == len(end)
        return [f"{n}{i}{e}" if n else None for n, i, e in zip(*map(list, (name, k, end)))]  # noqa: B905

    q = db.query("SELECT spelled(name, k, '!') AS x FROM s [RANGE 50]")
    db.push("s", [{"ts": 1, "k": 7, "name": "a"}, {"ts": 1, "k": 8, "name": None}])
    assert len(q.answer()) == 2


@pytest.mark.parametrize(
    ("give", "fact"),
    [
        (lambda a: 1 / 0, 'the function "broken" has failed'),
        (lambda a: a.slice(0, 1), 'the function "broken" gave 1 values for 12 rows'),
        (lambda a: ["x"] * len(a), "which is not DOUBLE"),
        (lambda a: 5, "which is not DOUBLE"),
    ],
)
def test_a_function_that_fails_ends_its_query_alone(
    db: Database, give: Callable[[pa.Array], object], fact: str
) -> None:
    db.function((pa.float64(),), pa.float64(), "broken")(give)
    broken = db.query("SELECT broken(v) AS x FROM s [RANGE 50]")
    other = db.query("SELECT COUNT(*) AS n FROM s [RANGE 50]")
    with pytest.raises(wr.RunError, match=fact):
        db.push("s", ROWS)
    assert other.answer().to_pylist() == [{"n": 12}]
    with pytest.raises(wr.WindrowError):
        broken.answer()


@pytest.mark.parametrize(
    ("name", "function", "arguments", "fact"),
    [
        ("upper", tripled, (pa.float64(),), "there is already a function upper"),
        ("sum", tripled, (pa.float64(),), "there is already a function sum"),
        ("f", 5, (pa.float64(),), "a function is something to call"),
        ("f", tripled, (), "at least one"),
        ("f", tripled, ("BIGINT",), "cannot take or give 'BIGINT'"),
        (5, tripled, (pa.float64(),), "the name of a function is a text"),
    ],
)
def test_what_cannot_be_registered(
    name: str, function: Callable[..., object], arguments: tuple[pa.DataType, ...], fact: str
) -> None:
    with pytest.raises(wr.WindrowError, match=fact):
        wr.register_function(name, function, arguments, pa.float64())


def test_arguments_of_another_type_are_refused_and_numbers_widen(db: Database) -> None:
    db.function((pa.float64(),), pa.float64())(tripled)
    with pytest.raises(wr.BindError, match=r"tripled takes tripled\(DOUBLE\), not STRING"):
        db.query("SELECT tripled(name) FROM s [NOW]")
    with pytest.raises(wr.BindError, match="does not take 2 arguments"):
        db.query("SELECT tripled(v, v) FROM s [NOW]")
    q = db.query("SELECT tripled(k) AS x FROM s [RANGE 5]")
    db.push("s", [{"ts": 1, "k": 2}])
    assert q.answer().to_pylist() == [{"x": 6.0}]


# ------------------------------------------------------------------ shards

SCRIPT = DECLARED + (
    "CREATE VIEW high AS SELECT k, v FROM s [RANGE 10] WHERE tripled(v) > 3;"
    "CREATE QUERY q AS SELECT h.k, MAX(h.v) AS v FROM high AS h GROUP BY h.k"
)


def program() -> Program:
    session = Session()
    session.execute(SCRIPT)
    return Program(SCRIPT, ("q",), aggregates=shipped([session.query("q")]))


def test_a_process_that_has_never_seen_the_module_can_call_it(tmp_path: Path) -> None:
    wr.register_function("tripled", tripled, (pa.float64(),), pa.float64())
    made = program()
    assert [found.name for found in made.aggregates] == ["tripled"]
    (tmp_path / "program.json").write_text(made.to_json())
    code = """
import pathlib, sys
import pyarrow as pa
from windrow.runtime.shards.program import Program
from windrow.operators.evaluate.user_defined import USER_FUNCTIONS
Program.from_json(pathlib.Path("program.json").read_text()).bound()
assert "tests.unit.test_user_functions" not in sys.modules
print(USER_FUNCTIONS["tripled"].function(pa.array([2.0])))
"""
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "6" in done.stdout


def test_a_function_that_does_something_else_is_another_program(tmp_path: Path) -> None:
    wr.register_function("tripled", tripled, (pa.float64(),), pa.float64())
    open_checkpoint(str(tmp_path / "c"), program())
    open_checkpoint(str(tmp_path / "c"), program())
    wr.register_function("tripled", lambda v: pc.multiply(v, 4.0), (pa.float64(),), pa.float64())
    with pytest.raises(StateError):
        open_checkpoint(str(tmp_path / "c"), program())
