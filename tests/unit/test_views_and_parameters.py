"""Views, INSERT, parameters, listings, and what other libraries take of a handle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.language.parameters import with_parameters
from windrow.runtime.local.database import Database

ROWS = [{"ts": t, "k": t % 3, "v": t / 2, "name": f"it's {t}"} for t in range(10)]


@pytest.fixture
def db() -> Iterator[Database]:
    with_stream = wr.connect()
    with_stream.execute(
        "CREATE STREAM s (ts BIGINT, k BIGINT, v DOUBLE, name STRING) TIMESTAMP BY ts;"
        "CREATE RELATION r (k BIGINT, owner STRING, PRIMARY KEY (k))"
    )
    yield with_stream
    with_stream.close()


# ------------------------------------------------------------------ views


@pytest.mark.parametrize(
    ("view", "reader", "same"),
    [
        (
            "v AS SELECT k, v FROM s [RANGE 5] WHERE v > 1",
            "SELECT k, SUM(v) AS t FROM v GROUP BY k",
            "SELECT k, SUM(v) AS t FROM s [RANGE 5] WHERE v > 1 GROUP BY k",
        ),
        (
            "v (at, key) AS SELECT ts, k FROM s",
            "SELECT key, COUNT(*) AS n FROM v [ROWS 4] GROUP BY key",
            "SELECT k AS key, COUNT(*) AS n FROM (SELECT k FROM s) AS v [ROWS 4] GROUP BY k",
        ),
        (
            "v AS SELECT s.k, owner FROM s [RANGE 4], r WHERE s.k = r.k",
            "SELECT x.owner FROM v AS x, v AS y WHERE x.k = y.k",
            "SELECT a.owner FROM s AS x [RANGE 4], r AS a, s AS y [RANGE 4], r AS b"
            " WHERE x.k = a.k AND y.k = b.k AND x.k = y.k",
        ),
        (
            "v AS WITH w AS (SELECT k FROM s [RANGE 3]) SELECT DISTINCT k FROM w",
            "WITH w AS (SELECT k + 1 AS k FROM v) SELECT k FROM w",
            "SELECT k + 1 AS k FROM (SELECT DISTINCT k FROM s [RANGE 3]) AS v",
        ),
    ],
)
def test_a_view_reads_as_its_query_written_in_its_place(
    db: Database, view: str, reader: str, same: str
) -> None:
    db.execute(f"CREATE VIEW {view}")
    by_view, by_text = db.query(reader), db.query(same)
    db.push("r", [{"k": 0, "owner": "a"}, {"k": 2, "owner": "b"}])
    db.push("s", ROWS)
    db.advance(30)
    found = [sorted(map(str, q.changes().to_pylist())) for q in (by_view, by_text)]
    assert found[0] == found[1] != []


def test_a_view_may_read_views_and_keeps_what_it_was_made_of(db: Database) -> None:
    db.execute("CREATE VIEW a AS SELECT k FROM s [RANGE 5]; CREATE VIEW b AS SELECT k FROM a")
    q = db.query("SELECT k FROM b")
    db.push("s", ROWS[:2])
    assert q.answer().to_pylist() == [{"k": 0}, {"k": 1}]


@pytest.mark.parametrize(
    ("text", "fact", "hint"),
    [
        ("DROP VIEW a", 'view "a" cannot be dropped: it is read by b, q', "DROP VIEW b first."),
        ("CREATE OR REPLACE VIEW a AS SELECT k FROM s [NOW]", "cannot be replaced", "DROP VIEW b"),
        ("CREATE VIEW a AS SELECT k FROM s [NOW]", '"a" is a view already', "OR REPLACE VIEW a"),
        ("CREATE STREAM A (ts TIMESTAMP)", '"A" is a view already', "DROP VIEW A first"),
        ("CREATE QUERY a AS SELECT k FROM s [NOW]", '"a" is a view already', "another name"),
        ("CREATE VIEW s AS SELECT k FROM s [NOW]", '"s" is a stream already', "another name"),
        ("CREATE VIEW c (x) AS SELECT k, v FROM s [NOW]", "names 1 columns, its query has 2", ""),
        ("CREATE VIEW c (x, X) AS SELECT k, v FROM s [NOW]", '"c" names a column twice', ""),
        ("CREATE VIEW c AS SELECT zz FROM s [NOW]", "zz", ""),
        ("CREATE VIEW c AS SELECT k FROM c", 'unknown stream or relation "c"', ""),
        ("DROP VIEW q", '"q" is a query, not a view', "DROP QUERY q"),
        ("DROP STREAM a", '"a" is a view, not a stream', "DROP VIEW a"),
    ],
)
def test_what_a_view_cannot_be(db: Database, text: str, fact: str, hint: str) -> None:
    db.execute(
        "CREATE VIEW a AS SELECT k FROM s [RANGE 5]; CREATE VIEW b AS SELECT k FROM a;"
        "CREATE QUERY q AS SELECT k FROM a"
    )
    before = db.execute("SHOW VIEWS")
    with pytest.raises(wr.WindrowError) as refused:
        db.execute(text)
    assert fact in refused.value.message
    assert hint in refused.value.hint
    assert db.execute("SHOW VIEWS").equals(before)


def test_an_error_inside_a_view_is_shown_where_the_view_is_read(db: Database) -> None:
    db.execute("CREATE VIEW slow AS SELECT k FROM s [RANGE 60 SLIDE 10]")
    text = "SELECT * FROM s [RANGE 5 SLIDE 2], slow"
    with pytest.raises(wr.SemanticError) as refused:
        db.query(text)
    span = refused.value.span
    assert span is not None
    assert text[span.start : span.end] == "slow"


def test_a_view_that_nobody_reads_is_replaced_and_dropped(db: Database) -> None:
    db.execute("CREATE VIEW a AS SELECT k FROM s; CREATE OR REPLACE VIEW a AS SELECT v FROM s")
    assert db.execute("DESCRIBE a").to_pylist() == [
        {"column": "v", "type": "DOUBLE", "nullable": True}
    ]
    db.execute("DROP VIEW a; DROP VIEW IF EXISTS a; CREATE VIEW IF NOT EXISTS a AS SELECT k FROM s")
    assert db.views() == ["a"]


# ------------------------------------------------------------------ parameters

FIRST = datetime.fromisoformat("1970-01-02")
VALUES = st.one_of(
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, width=32).map(float),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
    st.booleans(),
    st.none(),
    st.dates(date(1970, 1, 2), date(2100, 1, 1)),
    st.datetimes(FIRST, timezones=st.just(UTC)),
    st.decimals(-1000, 1000, places=3),
)


@given(VALUES)
def test_a_parameter_is_the_value_that_was_given(value: object) -> None:
    with wr.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts")
        q = db.query("SELECT :value AS x FROM s [NOW]", {"value": value})
        db.push("s", [{"ts": 1}])
        (row,) = q.answer().to_pylist()
        assert row["x"] == value
        assert value is None or isinstance(row["x"], type(value) | datetime)


def test_lists_and_lengths_of_time_are_values_too() -> None:
    with wr.connect() as db:
        db.execute(
            "CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts SLACK :slack",
            {"slack": timedelta(seconds=1)},
        )
        q = db.query(
            "SELECT k FROM s [RANGE :width SLIDE :step] WHERE k IN :keys AND ts > :from + :lag",
            params={
                "width": timedelta(minutes=1),
                "step": timedelta(seconds=10),
                "keys": [np.int64(1), 3],
                "from": datetime(2026, 1, 1, tzinfo=UTC),
                "lag": timedelta(seconds=5),
            },
        )
        db.push("s", [{"ts": f"2026-01-01T00:00:{n:02}Z", "k": n % 4} for n in range(20)])
        db.advance("2026-01-01T00:00:30Z")
        assert sorted(row["k"] for row in q.answer().to_pylist()) == [1, 1, 1, 3, 3, 3, 3]


@pytest.mark.parametrize(
    ("text", "params", "message", "place"),
    [
        ("SELECT :a FROM s", {"b": 1}, "parameter :a has no value", ":a"),
        ("SELECT :a FROM s", None, "parameter :a has no value", ":a"),
        ("SELECT k FROM s", {"b": 1}, "the text has no parameter :b", "SELECT k FROM s"),
        ("SELECT :a FROM s", {"a": object}, "cannot be the value of a parameter", ":a"),
        ("SELECT :a FROM s", {"a": Decimal("NaN")}, "cannot be the value of a parameter", ":a"),
        ("SELECT k IN :a FROM s", {"a": []}, "cannot be the value of a parameter", ":a"),
    ],
)
def test_a_parameter_that_does_not_fit_is_refused(
    text: str, params: dict[str, object] | None, message: str, place: str
) -> None:
    with pytest.raises(wr.ParseError, match=re.escape(message)) as refused:
        with_parameters(text, params)
    span = refused.value.span
    assert span is not None
    assert text[span.start : span.end] == place


def test_colons_elsewhere_are_no_parameters() -> None:
    text = "SELECT ':a', x:b, CAST('12:30' AS STRING) -- :c\nFROM s"
    assert with_parameters(text, {}) == text


# ------------------------------------------------------------------ INSERT


def test_inserted_rows_are_pushed_rows() -> None:
    declared = (
        "CREATE STREAM s (ts TIMESTAMP, k TINYINT, v DOUBLE, name STRING, d DECIMAL(5, 2));"
        "CREATE RELATION r (k BIGINT PRIMARY KEY, owner STRING);"
        "CREATE QUERY q AS SELECT s.*, owner FROM s [RANGE 1 HOUR], r WHERE s.k = r.k"
    )
    with wr.connect() as written, wr.connect() as pushed:
        written.execute(
            f"{declared}; INSERT INTO r VALUES (1, 'a'), (-2, UPPER('b'));"
            "INSERT INTO s (TS, k, v, name, d) VALUES ('2026-01-01 00:00:01', 1, 1.5, NULL, 3),"
            " (TIMESTAMP '2026-01-01 00:00:02', :k, 2, 'it''s', 1.005);"
            "INSERT INTO s (ts, k) VALUES (CAST('2026-01-02' AS DATE), 1)",
            {"k": -2},
        )
        pushed.execute(declared)
        pushed.push("r", [{"k": 1, "owner": "a"}, {"k": -2, "owner": "B"}])
        one = {"ts": "2026-01-01T00:00:01Z", "k": 1, "v": 1.5, "d": Decimal(3)}
        two = {
            "ts": "2026-01-01T00:00:02Z",
            "k": -2,
            "v": 2.0,
            "name": "it's",
            "d": Decimal("1.01"),
        }
        pushed.push("s", [one, two, {"ts": "2026-01-02T00:00:00Z", "k": 1}])
        found = [db.query("q").changes().to_pylist() for db in (written, pushed)]
        assert found[0] == found[1]
        assert len(found[0]) == 5


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("INSERT INTO s VALUES (1)", "a row has 1 values, for 4 columns"),
        ("INSERT INTO s (k, v) VALUES (1, 2), (1)", "a row has 1 values, for 2 columns"),
        ("INSERT INTO s (kk) VALUES (1)", '"s" has no column "kk"'),
        ("INSERT INTO s (name) VALUES (1)", 'column "name" is STRING, and its value'),
        ("INSERT INTO s (k) VALUES ('a')", 'column "k" is BIGINT, and its value STRING'),
        ("INSERT INTO s (k) VALUES (1e300)", 'does not fit column "k", which is BIGINT'),
        ("INSERT INTO s (k) VALUES (k)", 'unknown column "k"'),
        ("INSERT INTO s (k) VALUES (SUM(1))", "SUM"),
        ("INSERT INTO nowhere VALUES (1)", 'unknown stream or relation "nowhere"'),
        ("INSERT INTO s SELECT k FROM s", "INSERT INTO takes no query"),
        ("INSERT INTO s (k) VALUES 1", "expected a row in brackets"),
        ("INSERT s VALUES (1)", "expected INTO"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_none_is_pushed(
    db: Database, text: str, fact: str
) -> None:
    q = db.query("SELECT COUNT(*) AS n FROM s [UNBOUNDED]")
    with pytest.raises(wr.WindrowError, match=re.escape(fact)) as refused:
        db.execute(text)
    assert refused.value.span is not None
    assert q.changes().num_rows == 0


# ------------------------------------------------------------------ listings and tables


def test_what_there_is_can_be_listed(db: Database) -> None:
    db.execute("CREATE VIEW w AS SELECT k FROM s; CREATE QUERY q AS SELECT k FROM w [ROWS 2]")
    assert (db.streams(), db.relations(), db.views()) == (["s"], ["r"], ["w"])
    assert [q.name for q in db.queries()] == ["q"]
    shown = {what: db.execute(f"SHOW {what}").to_pylist() for what in ("RELATIONS", "QUERIES")}
    assert shown["RELATIONS"] == [
        {
            "name": "r",
            "columns": "k BIGINT, owner STRING",
            "key": "k",
            "updates": "retroactive",
            "source": None,
        }
    ]
    assert shown["QUERIES"][0]["query"] == "SELECT k FROM w [ROWS 2]"
    with pytest.raises(wr.BindError, match="Did you mean"):
        db.execute("DESCRIBE ww")


def test_an_answer_is_a_table_for_other_libraries(db: Database) -> None:
    q = db.query("SELECT k, COUNT(*) AS n FROM s [RANGE 5] GROUP BY k")
    db.push("s", ROWS)
    rows = q.answer().to_pylist()
    assert q.schema == q.answer().schema
    assert q.to_pandas().to_dict("records") == rows
    assert q.to_polars().to_dicts() == rows
    assert pa.table(q).to_pylist() == rows
    assert pl.DataFrame(q).to_dicts() == rows
    assert duckdb.sql("SELECT SUM(n) FROM q").fetchall() == [(5,)]


def test_a_notebook_shows_the_answer_or_the_error(db: Database) -> None:
    q = db.query("SELECT k, name FROM s [RANGE 50]", name="busy")
    db.push("s", [{"ts": 1, "k": None, "v": 0.0, "name": "<b>"}])
    html = q._repr_html_()
    assert "<td><i>NULL</i></td><td>&lt;b&gt;</td>" in html
    assert "busy: 1 row<" in html
    db.push("s", [{"ts": 2, "k": n, "v": 0.0, "name": ""} for n in range(30)])
    assert "31 rows, the first 20 shown" in q._repr_html_()
    stream = db.query("ISTREAM (SELECT k FROM s [NOW])")
    assert stream._repr_html_().startswith("<pre>error: ")


def test_the_package_says_its_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", wr.__version__)
    with pytest.raises(AttributeError):
        _ = wr.nothing
