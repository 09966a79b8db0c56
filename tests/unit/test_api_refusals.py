"""What the API refuses, and that the error says what to call."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import windrow
from windrow.core.errors import BindError, InputError, ParseError, WindrowError
from windrow.runtime.spark.database import SparkDatabase, _sinks_by_query

DECLARATION = "CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts;"


@pytest.mark.parametrize("make", [windrow.connect, SparkDatabase])
def test_a_query_in_a_script_is_refused_with_what_to_call(make) -> None:
    db = make()
    with pytest.raises(BindError, match="has no name to read it by") as caught:
        db.execute(f"{DECLARATION} SELECT k FROM s [NOW]; CREATE STREAM z (ts BIGINT)")
    assert "db.query(...)" in caught.value.hint
    assert "SELECT k FROM s [NOW]" in caught.value.render()
    assert db.session.catalog.names == ("s",), "what stands before it is done"


@pytest.mark.parametrize("make", [windrow.connect, SparkDatabase])
@pytest.mark.parametrize("text", [5, None, b"SELECT 1", ["CREATE"]])
def test_texts_are_texts(make, text: object) -> None:
    db = make()
    for call in (db.execute, db.query, lambda text: db.query("SELECT 1", name=text or 5)):
        with pytest.raises(InputError, match="is a text, not"):
            call(text)


def test_half_a_character_has_a_place() -> None:
    with pytest.raises(ParseError, match="half a character") as caught:
        windrow.connect().execute("SET hold = '\ud800'")
    assert (caught.value.span.start, caught.value.span.end) == (12, 13)


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (pd.DataFrame([[1, 2]], columns=["k", "k"]), 'column "k" for "s" is given twice'),
        (pl.Series("k", [1]), 'cannot read tuples for "s" from Series'),
        (pd.Series([1], name="k"), 'cannot read tuples for "s" from Series'),
        ([{5: 1}], "is called 5, which is no text"),
        ({None: [1]}, "is called None, which is no text"),
    ],
)
def test_what_is_no_table_says_what_to_push(data: object, fact: str) -> None:
    db = windrow.connect()
    db.execute(DECLARATION)
    with pytest.raises(InputError, match=fact) as caught:
        db.push("s", data)
    assert caught.value.hint


def test_a_mixed_column_of_a_frame_is_taken_value_by_value() -> None:
    db = windrow.connect()
    db.execute("CREATE STREAM s (ts BIGINT, k BIGINT, w STRING) TIMESTAMP BY ts")
    query = db.query("SELECT k, w FROM s [ROWS 9]")
    frame = pd.DataFrame({"ts": [1, 2, 3], "k": [1, "two", float("nan")], "w": ["a", "b", None]})
    db.push("s", frame)
    assert query.answer().to_pylist() == [{"k": 1, "w": "a"}, {"k": None, "w": None}]
    assert db.rejected("s")["_reason"].to_pylist() == ["k is not BIGINT"]


def test_text_with_half_a_character_is_set_aside_and_shown() -> None:
    db = windrow.connect()
    db.execute("CREATE STREAM s (ts BIGINT, w STRING) TIMESTAMP BY ts")
    db.push("s", [{"ts": 1, "w": "a\ud800"}])
    assert db.rejected("s").to_pylist() == [
        {"_reason": "w is not STRING", "ts": "1", "w": "a\\ud800"}
    ]


@pytest.mark.parametrize("to", [None, 5, "print"])
def test_a_report_goes_to_a_function(to: object) -> None:
    db = windrow.connect()
    db.execute(DECLARATION)
    query = db.query("SELECT k FROM s [RANGE 5]")
    with pytest.raises(InputError, match="goes to a function"):
        query.report(every=5, to=to)  # type: ignore[arg-type]


def test_sinks_by_query_and_for_all_others() -> None:
    assert _sinks_by_query(None, None) == ({}, "noop")
    assert _sinks_by_query("memory", None) == ({}, "memory")
    assert _sinks_by_query(None, "memory") == ({}, "memory")
    assert _sinks_by_query({"q": "console"}, "memory") == ({"q": "console"}, "memory")
    with pytest.raises(BindError, match="given twice"):
        _sinks_by_query("memory", "console")


def test_an_option_that_the_engine_does_not_have() -> None:
    for engine in ("local", "spark"):
        with pytest.raises(WindrowError, match="has no shard"):
            windrow.connect(engine, shard=2)  # type: ignore[call-overload]


REFUSED = (
    ("SELECT k, SUM(k) OVER (PARTITION BY k) FROM s [NOW]", "OVER", "GROUP BY k"),
    ("SELECT SUM(k) OVER (ORDER BY ts ROWS 3 PRECEDING), k FROM s [NOW]", "OVER", "[ROWS 10]"),
    ("SELECT k FROM s [NOW] GROUP BY k HAVING SUM(k) OVER () > 1", "OVER", "SELECT SUM(k) FROM s"),
    ("SELECT ROW_NUMBER() OVER (ORDER BY k) FROM s [NOW]", "OVER", "LIMIT n"),
    ("WITH RECURSIVE q AS (SELECT k FROM s [NOW]) SELECT k FROM q", "^error: WITH RECURSIVE", ""),
    ("SELECT NOW() FROM s [NOW]", "unknown function", "lists all functions"),
    ("SELECT WOBBLINESS(k, k) FROM s [NOW]", "unknown function", "lists all functions"),
    ("SELECT SMU(k) FROM s [NOW]", "unknown function", 'Did you mean "sum"'),
    ('SELECT k FROM s [NOW] WHERE k = "ftp"', 'unknown column "ftp"', "single quotes: 'ftp'"),
)


@pytest.mark.parametrize(("text", "fact", "hint"), REFUSED)
def test_refusals_name_what_is_refused_and_what_to_write(text: str, fact: str, hint: str) -> None:
    db = windrow.connect()
    db.execute(DECLARATION)
    with pytest.raises(WindrowError, match=fact) as caught:
        db.query(text)
    assert hint in caught.value.hint
    assert caught.value.span is not None


def test_double_quotes_stand_around_names() -> None:
    db = windrow.connect()
    db.execute(
        'CREATE STREAM "my stream" ("the time" BIGINT, "k""" BIGINT) TIMESTAMP BY "the time"'
    )
    query = db.query('SELECT m."k""" AS "a key" FROM "my stream" AS m [ROWS 2] WHERE "k""" > 0')
    db.push("my stream", [{"the time": 1, 'k"': 2}])
    assert query.answer().to_pylist() == [{"a key": 2}]
    db.execute('SET hold = "2 seconds"; CREATE RELATION r (k INT) USING csv OPTIONS (path "x.csv")')
    assert db.session.settings["hold"] == "2 SECONDS"
    assert db.session.catalog.get("r").options == (("path", "x.csv"),)
