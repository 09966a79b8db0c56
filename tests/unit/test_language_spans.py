"""Every node knows the characters that it was made of."""

import pytest
from sqlglot import exp
from tests.paper_queries import PAPER_QUERIES, PaperQuery

from windrow.language import parse_query, parse_script, span_of
from windrow.language.statements import CreateQuery, CreateStream, Select
from windrow.language.syntax import Duration, PairWindow, StreamFunction, StreamWindow, Windowed

TEXT = (
    "SELECT a.x, COUNT(*) AS n, -b, CASE WHEN a = 1 THEN 2 END c "
    "FROM s [RANGE 5 MINUTES SLIDE 1 min] AS a JOIN (SELECT y FROM t [ROWS 3]) z ON a.y = z.y "
    "WHERE WINDOW(a, z) = 3 sec AND a.x IN (1, 2) AND CAST(a.w AS INT) IS NOT NULL "
    "AND NOT EXISTS (SELECT Rstream(*) FROM u [NOW] WHERE u.q BETWEEN 1 AND 'x') ORDER BY n"
)


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (exp.Alias, "COUNT(*) AS n"),
        (exp.Anonymous, "COUNT(*)"),
        (exp.Star, "*"),
        (exp.Neg, "-b"),
        (exp.Case, "CASE WHEN a = 1 THEN 2 END"),
        (exp.EQ, "a.y = z.y"),
        (Windowed, "s [RANGE 5 MINUTES SLIDE 1 min] AS a"),
        (StreamWindow, "[RANGE 5 MINUTES SLIDE 1 min]"),
        (Duration, "5 MINUTES"),
        (exp.Join, "JOIN (SELECT y FROM t [ROWS 3]) z ON a.y = z.y"),
        (exp.Subquery, "(SELECT y FROM t [ROWS 3])"),
        (PairWindow, "WINDOW(a, z) = 3 sec"),
        (exp.In, "a.x IN (1, 2)"),
        (exp.Cast, "CAST(a.w AS INT)"),
        (exp.DataType, "INT"),
        (exp.Is, "CAST(a.w AS INT) IS NOT NULL"),
        (exp.Null, "NULL"),
        (exp.Exists, "EXISTS (SELECT Rstream(*) FROM u [NOW] WHERE u.q BETWEEN 1 AND 'x')"),
        (StreamFunction, "SELECT Rstream(*) FROM u [NOW] WHERE u.q BETWEEN 1 AND 'x'"),
        (exp.Between, "u.q BETWEEN 1 AND 'x'"),
        (exp.Select, TEXT),
    ],
)
def test_nodes_lie_where_they_were_written(kind: type[exp.Expr], written: str) -> None:
    assert written in {place(node, TEXT) for node in parse_query(TEXT).find_all(kind)}


def place(node: exp.Expr, text: str) -> str:
    span = span_of(node)
    assert span is not None, f"{node!r} has no place"
    return text[span.start : span.end]


@pytest.mark.parametrize("query", PAPER_QUERIES, ids=lambda query: query.id)
def test_every_node_of_the_papers_queries_has_a_place(query: PaperQuery) -> None:
    for node in parse_query(query.text).walk():
        assert place(node, query.text)


def test_copies_keep_their_places() -> None:
    tree = parse_query(TEXT)
    assert [span_of(node) for node in tree.copy().walk()] == [span_of(node) for node in tree.walk()]


def test_places_count_from_the_beginning_of_the_script() -> None:
    text = "-- first\nCREATE STREAM s (ts INT, a INT); CREATE QUERY q AS SELECT a FROM s;\nSELECT b"
    create, query, select = parse_script(text)
    assert isinstance(create, CreateStream)
    assert isinstance(query, CreateQuery)
    assert isinstance(select, Select)
    assert text[create.span.start : create.span.end] == "CREATE STREAM s (ts INT, a INT)"
    assert text[create.columns[1].span.start : create.columns[1].span.end] == "a INT"
    assert query.text == "SELECT a FROM s"
    assert place(query.query, text) == "SELECT a FROM s"
    assert place(select.query.expressions[0], text) == "b"


def test_a_node_that_was_built_has_no_place() -> None:
    assert span_of(exp.column("a")) is None
