"""What CQL adds to SQL, as trees."""

import pytest
from sqlglot import exp

from windrow.core.errors import ParseError
from windrow.language import parse_query, to_sql
from windrow.language.syntax import Duration, PairWindow, StreamFunction, StreamWindow, Windowed


def window_of(text: str) -> StreamWindow:
    windowed = parse_query(f"SELECT a FROM s {text}").args["from_"].this
    assert isinstance(windowed, Windowed)
    window = windowed.args["window"]
    assert isinstance(window, StreamWindow)
    return window


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("[RANGE 5 MINUTES]", "[RANGE 5 MINUTES]"),
        ("[range 1 Minute]", "[RANGE 1 MINUTE]"),
        ("[RANGE 5]", "[RANGE 5]"),
        ("[RANGE 0.5 SECONDS]", "[RANGE 0.5 SECONDS]"),
        ("[RANGE .5 sec]", "[RANGE 0.5 SECONDS]"),
        ("[RANGE 10s]", "[RANGE 10 SECONDS]"),
        ("[RANGE 5min]", "[RANGE 5 MINUTES]"),
        ("[RANGE 100 ms SLIDE 10 us]", "[RANGE 100 MILLISECONDS SLIDE 10 MICROSECONDS]"),
        ("[RANGE 2 hrs]", "[RANGE 2 HOURS]"),
        ("[RANGE 1 DAY SLIDE 1 WEEK]", "[RANGE 1 DAY SLIDE 1 WEEK]"),
        ("[RANGE INTERVAL '5' MINUTE]", "[RANGE 5 MINUTES]"),
        ("[RANGE INTERVAL '5 minutes']", "[RANGE 5 MINUTES]"),
        ("[RANGE INTERVAL 5 MINUTES]", "[RANGE 5 MINUTES]"),
        ("[RANGE 5 min INTERNAL SLIDE 1 min]", "[RANGE 5 MINUTES SLIDE 1 MINUTE INTERNAL]"),
        ("[ROWS 10]", "[ROWS 10]"),
        ("[ROWS 10 INTERNAL SLIDE 2]", "[ROWS 10 SLIDE 2 INTERNAL]"),
        ("[PARTITION BY a, s.b ROWS 3]", "[PARTITION BY a, s.b ROWS 3]"),
        ("[NOW]", "[NOW]"),
        ("[UNBOUNDED]", "[UNBOUNDED]"),
        ("[RANGE UNBOUNDED]", "[UNBOUNDED]"),
        ("[WINDOW UNTIL NOW]", "[UNBOUNDED]"),
        ("[WINDOW 1 HOUR]", "[RANGE 1 HOUR]"),
        ("[WINDOW 10 min SLIDE 2 min]", "[RANGE 10 MINUTES SLIDE 2 MINUTES]"),
        ("[SINCE '2026-01-01']", "[SINCE '2026-01-01']"),
        ("[SINCE TIMESTAMP '2026-01-01']", "[SINCE '2026-01-01']"),
        ("[SINCE 17]", "[SINCE 17]"),
        ("[TUMBLE 1 HOUR]", "[TUMBLE 1 HOUR]"),
    ],
)
def test_windows_have_one_canonical_spelling(written: str, printed: str) -> None:
    assert to_sql(window_of(written)) == printed
    assert window_of(written) == window_of(printed)


def test_a_window_declares_its_parts() -> None:
    window = window_of("[RANGE 5 min SLIDE 10 sec INTERNAL]")
    assert window.args["kind"] == "range"
    assert window.args["size"] == Duration(this=exp.Literal.number(5), unit="MINUTE")
    assert window.args["slide"] == Duration(this=exp.Literal.number(10), unit="SECOND")
    assert window.args["internal"] is True


@pytest.mark.parametrize(
    "source",
    [
        "link1 AS l [RANGE 5 MINUTES]",
        "link1 [RANGE 5 MINUTES] AS l",
        "link1[RANGE 5 MINUTES] l",
        "link1 l [RANGE 5 MINUTES]",
    ],
)
def test_the_window_stands_before_or_after_the_alias(source: str) -> None:
    tree = parse_query(f"SELECT * FROM {source}")
    assert to_sql(tree) == "SELECT * FROM link1 AS l [RANGE 5 MINUTES]"
    assert tree.args["from_"].this.alias_or_name == "l"


def test_sub_queries_have_windows_too() -> None:
    tree = parse_query("SELECT * FROM (SELECT a FROM s [NOW]) [ROWS 10] AS x, t [ROWS 3]")
    first, second = tree.args["from_"].this, tree.args["joins"][0].this
    assert isinstance(first, Windowed)
    assert isinstance(first.this, exp.Subquery)
    assert first.alias_or_name == "x"
    assert isinstance(second, Windowed)
    assert isinstance(second.this, exp.Table)


@pytest.mark.parametrize(
    ("written", "whole"),
    [
        ("SELECT Rstream(*) FROM s", "RSTREAM(SELECT * FROM s)"),
        ("SELECT Rstream(DISTINCT a) FROM s", "RSTREAM(SELECT DISTINCT a FROM s)"),
        ("SELECT ISTREAM(a, b AS c) FROM s", "ISTREAM(SELECT a, b AS c FROM s)"),
        ("SELECT Wstream(*)[ROWS 10] FROM s", "WSTREAM(SELECT * FROM s)[ROWS 10]"),
        ("SELECT Rstream-restore(*) FROM s", "RSTREAM(SELECT * FROM s) RESTORE"),
        ("SELECT Istream-restore(a) FROM s", "ISTREAM(SELECT a FROM s) RESTORE"),
        ("ISTREAM (SELECT a FROM s) RESTORE", "ISTREAM(SELECT a FROM s) RESTORE"),
        (
            "WITH x AS (SELECT 1) SELECT Dstream(*) FROM x",
            "DSTREAM(WITH x AS (SELECT 1) SELECT * FROM x)",
        ),
    ],
)
def test_stream_functions_stand_around_the_query(written: str, whole: str) -> None:
    tree = parse_query(written)
    assert isinstance(tree, StreamFunction)
    assert to_sql(tree) == whole
    assert parse_query(whole) == tree


def test_a_stream_function_in_exists_stays_there() -> None:
    tree = parse_query("SELECT * FROM s WHERE NOT EXISTS (SELECT Rstream(*) FROM t)")
    exists = tree.find(exp.Exists)
    assert exists is not None
    assert isinstance(exists.this, StreamFunction)
    assert isinstance(exists.this.this, exp.Select)


def test_wstream_in_an_aggregate_is_an_expression() -> None:
    tree = parse_query("SELECT SUM(Wstream(SUM(a))[ROWS 10]) FROM s [RANGE 6 sec]")
    outer = tree.expressions[0]
    assert isinstance(outer, exp.Anonymous)
    inner = outer.expressions[0]
    assert isinstance(inner, StreamFunction)
    assert isinstance(inner.this, exp.Anonymous)
    assert to_sql(inner) == "WSTREAM(SUM(a))[ROWS 10]"


@pytest.mark.parametrize(
    ("written", "where"),
    [
        ("WINDOW = 10", "WINDOW = 10"),
        ("WHERE WINDOW(A, B) = 30 SECONDS", "WINDOW(A, B) = 30 SECONDS"),
        (
            "WINDOW (A,B)=5 AND WINDOW (B,C)=7 WHERE a = 1",
            "WINDOW(A, B) = 5 AND WINDOW(B, C) = 7 AND a = 1",
        ),
        ("WINDOW = 3 WHERE a = 1 OR b = 2", "WINDOW = 3 AND (a = 1 OR b = 2)"),
        (
            "DWINDOW (A,B)=5 min WHERE a = 1 AND b = 2",
            "DWINDOW(A, B) = 5 MINUTES AND a = 1 AND b = 2",
        ),
    ],
)
def test_pair_windows_are_conjuncts_of_where(written: str, where: str) -> None:
    tree = parse_query(f"SELECT * FROM s A, t B, u C {written}")
    assert to_sql(tree.args["where"].this) == where
    assert tree.find(PairWindow) is not None


def test_a_function_called_window_is_a_function() -> None:
    tree = parse_query("SELECT COUNT(*) FROM s [NOW] GROUP BY window(ts, '5 minutes')")
    assert tree.find(PairWindow) is None
    assert "WINDOW(ts, '5 minutes')" in to_sql(tree)


def test_all_in_a_call_is_refused_rather_than_dropped() -> None:
    with pytest.raises(ParseError):
        parse_query("SELECT WINDOW(ALL s, t) = 30 AS x FROM s")


@pytest.mark.parametrize("name", ["count", "Sum", "date_format", "median", "no_such_thing"])
def test_function_calls_keep_their_name(name: str) -> None:
    call = parse_query(f"SELECT {name}(a) FROM s").expressions[0]
    assert isinstance(call, exp.Anonymous)
    assert call.this == name.upper()


@pytest.mark.parametrize("quoted", ["'VT'", "“VT”", "‘VT’"])
def test_strings_have_three_kinds_of_quotes(quoted: str) -> None:
    assert parse_query(f"SELECT {quoted}").expressions[0] == exp.Literal.string("VT")


@pytest.mark.parametrize("quoted", ['"a b"', "`a b`"])
def test_names_have_two_kinds_of_quotes(quoted: str) -> None:
    assert parse_query(f"SELECT {quoted}").expressions[0] == exp.column("a b", quoted=True)
    assert parse_query(f"SELECT s.{quoted} AS {quoted} FROM {quoted} AS s [NOW]")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("'it''s'", "it's"),
        (r"'it\'s'", "it's"),
        ("“it's”", "it's"),
        (r"'\\'", "\\"),
        (r"'a\nb'", "a\nb"),
        ("''", ""),
    ],
)
def test_quotes_in_strings_are_doubled_or_escaped(written: str, meant: str) -> None:
    assert parse_query(f"SELECT {written}").expressions[0] == exp.Literal.string(meant)


def test_a_bare_word_is_a_column() -> None:
    tree = parse_query("SELECT * FROM s WHERE protocol = ftp")
    assert isinstance(tree.args["where"].this.expression, exp.Column)
