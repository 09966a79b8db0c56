"""Binding: what is refused, with what words, and what is accepted beside it.

`tests/golden/binding.error` holds a question a block: statements, and what comes of the last of
them, an error as the user reads it or the plan.
"""

import re

import pyarrow as pa
import pytest
from tests.golden import FOLDER, check_golden, question_of

from windrow.core.errors import BindError, WindrowError
from windrow.plan.binding.context import MAX_SOURCES
from windrow.plan.catalog import Relation
from windrow.plan.explain import explain_text
from windrow.plan.nodes import AntiJoin, Filter, Join, Plan, Project, Query, SemiJoin, inputs_of
from windrow.plan.session import Session

DECLARATIONS = """
CREATE STREAM s (ts TIMESTAMP, a BIGINT, b BIGINT NOT NULL, name STRING, x DOUBLE) TIMESTAMP BY ts;
CREATE STREAM t (ts TIMESTAMP, a BIGINT, b BIGINT NOT NULL, name STRING, x DOUBLE) TIMESTAMP BY ts;
CREATE STREAM u (ts TIMESTAMP, a BIGINT, c BIGINT) TIMESTAMP BY ts;
CREATE STREAM k (ts BIGINT, a BIGINT, b BIGINT) TIMESTAMP BY ts;
CREATE RELATION r (a BIGINT, owner STRING);
CREATE NON RETROACTIVE RELATION n (a BIGINT, price DOUBLE);
"""

GOLDEN = FOLDER / "binding.error"


def declared() -> Session:
    session = Session()
    session.execute(DECLARATIONS)
    return session


def bound(text: str) -> Query:
    [query] = declared().execute(text)
    assert isinstance(query, Query)
    return query


def refused(text: str) -> WindrowError:
    with pytest.raises(WindrowError) as caught:
        declared().execute(text)
    return caught.value


def error_of(text: str) -> WindrowError | None:
    try:
        declared().execute(text)
    except WindrowError as error:
        return error
    return None


def outcome(text: str) -> str:
    """The error of a script as a user reads it, or what its last statement gives."""
    try:
        result = declared().execute(text)[-1]
    except WindrowError as error:
        return error.render()
    return explain_text(result, patterns=False) if isinstance(result, Query) else "done"


def questions() -> list[str]:
    blocks = re.split(r"\n\n(?=\S)", GOLDEN.read_text().strip())
    return [question_of(block.partition("\n----")[0]) for block in blocks]


def test_refusals_read_as_written_down_and_what_is_beside_them_binds() -> None:
    check_golden(GOLDEN, outcome)


def test_every_error_has_a_place_and_says_why_or_what_to_do() -> None:
    for text in questions():
        error = error_of(text)
        if error is not None:
            assert error.span is not None, text
            assert 0 <= error.span.start < error.span.end <= len(text), text
            assert error.detail or error.hint, text
            assert error.text == text


def nodes(plan: Plan, *kinds: type[Plan]) -> list[Plan]:
    found = [plan] if isinstance(plan, kinds) else []
    return found + [node for below in inputs_of(plan) for node in nodes(below, *kinds)]


# ------------------------------------------------------------------ what a plan is made of


def test_each_term_of_where_is_applied_as_early_as_its_columns_allow() -> None:
    query = bound(
        "SELECT s.a FROM s [NOW], t [NOW], u [NOW] "
        "WHERE s.b = 1 AND s.a = t.a AND t.a = u.a AND s.x < t.x AND u.c = 2 AND 1 = 1"
    )
    last, first = nodes(query.root, Join)
    assert isinstance(first, Join)
    assert isinstance(last, Join)
    assert isinstance(first.left, Filter)
    assert isinstance(last.right, Filter)
    assert len(first.on.left_keys) == len(last.on.left_keys) == 1
    assert first.on.residual is not None
    assert last.on.residual is None
    assert isinstance(query.root, Project)
    assert isinstance(query.root.source, Filter), "a constant is applied at the end"


def test_joins_follow_equalities_rather_than_the_order_of_from() -> None:
    query = bound("SELECT s.a FROM s [NOW], t [NOW], u [NOW] WHERE s.a = u.a AND u.c = t.a")
    assert all(join.on.left_keys for join in nodes(query.root, Join))  # type: ignore[union-attr]


def test_exists_is_applied_below_not_exists() -> None:
    query = bound(
        "SELECT a FROM s [NOW] WHERE NOT EXISTS (SELECT * FROM t [NOW] WHERE t.a = s.a) "
        "AND EXISTS (SELECT * FROM u [NOW] WHERE u.a = s.a)"
    )
    assert [type(n) for n in nodes(query.root, AntiJoin, SemiJoin)] == [AntiJoin, SemiJoin]


@pytest.mark.parametrize(
    ("condition", "null_aware"),
    [
        ("a NOT IN (SELECT b FROM t [NOW])", True),
        ("b NOT IN (SELECT a FROM t [NOW])", True),
        ("b NOT IN (SELECT b FROM t [NOW])", False),
        ("NOT (b IN (SELECT b FROM t [NOW]))", False),
        ("COALESCE(a, 0) NOT IN (SELECT b FROM t [NOW])", False),
        ("NOT EXISTS (SELECT * FROM t [NOW] WHERE t.a = s.a)", False),
    ],
)
def test_not_in_minds_nulls_exactly_where_there_may_be_one(
    condition: str, null_aware: bool
) -> None:
    [negation] = nodes(bound(f"SELECT a FROM s [NOW] WHERE {condition}").root, AntiJoin)
    assert isinstance(negation, AntiJoin)
    assert negation.null_aware is null_aware


def test_two_negations_cancel_out() -> None:
    query = bound("SELECT a FROM s [NOW] WHERE NOT (a NOT IN (SELECT a FROM t [NOW]))")
    assert len(nodes(query.root, SemiJoin)) == 1


def test_an_aggregate_written_twice_is_folded_once() -> None:
    query = bound("SELECT SUM(a), SUM(s.a) + 1, sum(A) FROM s [NOW] HAVING SUM(a) > 1")
    assert explain_text(query, patterns=False).count("Aggregate: SUM(s.a)\n") == 1


def test_bare_words_are_strings_only_where_that_is_set() -> None:
    assert isinstance(refused("SELECT a FROM s [NOW] WHERE name = ftp"), BindError)
    session = declared()
    [_, query] = session.execute(
        "SET bare_words = 'strings'; SELECT a FROM s [NOW] WHERE name = ftp"
    )
    assert isinstance(query, Query)
    assert "name = 'ftp'" in explain_text(query)


def test_a_bare_word_that_is_a_column_stays_one() -> None:
    session = declared()
    session.execute("SET bare_words = 'strings'")
    [query] = session.execute("SELECT a FROM s [NOW] WHERE name = NAME")
    assert isinstance(query, Query)
    assert "s.name = s.name" in explain_text(query)


# ------------------------------------------------------------------ bounds


def test_nested_comparisons_do_not_grow_without_bound() -> None:
    condition = "a = 1"
    for _ in range(40):
        condition = f"({condition}) BETWEEN TRUE AND FALSE"
    assert refused(f"SELECT a FROM s [NOW] WHERE {condition}").message == (
        "the expression is too large"
    )
    value = "a"
    for _ in range(40):
        value = f"NULLIF({value}, 1)"
    assert refused(f"SELECT {value} FROM s [NOW]").message == "the expression is too large"


def test_queries_of_with_do_not_grow_without_bound() -> None:
    queries = ["q0 AS (SELECT a FROM s [NOW])"]
    queries += [f"q{i} AS (SELECT x.a FROM q{i - 1} x, q{i - 1} y)" for i in range(1, 30)]
    error = refused(f"WITH {', '.join(queries)} SELECT a FROM q29")
    assert error.message == f"the query reads more than {MAX_SOURCES} sources"


@pytest.mark.parametrize("clause", ["GROUP BY", "ORDER BY", "LIMIT", "OFFSET"])
def test_a_number_of_thousands_of_digits_is_refused_or_read(clause: str) -> None:
    error = error_of(f"SELECT a FROM s [NOW] {clause} {'9' * 5000}")
    assert error is None or error.span is not None


# ------------------------------------------------------------------ the parser refuses these


@pytest.mark.parametrize(
    "text",
    [
        "WSTREAM(SELECT a FROM s [RANGE 5 SLIDE 1])[ROWS 3] RESTORE",
        "SELECT a FROM s [NOW] QUALIFY a = 1",
        "SELECT s.a FROM s [NOW], LATERAL (SELECT 1 FROM t [NOW])",
        "WITH RECURSIVE z AS (SELECT a FROM z) SELECT a FROM z",
        "SELECT DISTINCT ON (a) a FROM s [NOW]",
        "ISTREAM(RSTREAM(SELECT a FROM s [NOW]))",
        "SELECT a FROM s [NOW] UNION BY NAME SELECT a FROM t [NOW]",
        "SELECT a FROM s [NOW] LIMIT a",
    ],
)
def test_what_the_language_lacks_is_refused_with_a_place(text: str) -> None:
    error = refused(text)
    assert error.span is not None
    assert error.span.end <= len(text)


# ------------------------------------------------------------------ sessions


def test_an_error_leaves_what_the_statements_before_it_have_done() -> None:
    session = declared()
    with pytest.raises(BindError):
        session.execute("CREATE QUERY q AS SELECT a FROM s [NOW]; SELECT zz FROM s [NOW]")
    assert session.query("Q").name == "q"


def names_in(table: object) -> list[str]:
    assert isinstance(table, pa.Table)
    names: list[str] = table["name"].to_pylist()
    return names


def test_listings_follow_the_order_of_declaration() -> None:
    session = declared()
    session.execute("CREATE QUERY q AS SELECT a FROM s [NOW]")
    streams, relations, queries, settings = session.execute(
        "SHOW STREAMS; SHOW RELATIONS; SHOW QUERIES; SHOW SETTINGS"
    )
    assert names_in(streams) == ["s", "t", "u", "k"]
    assert names_in(relations) == ["r", "n"]
    assert names_in(queries) == ["q"]
    assert [" = ".join(row.values()) for row in settings.to_pylist()] == [
        "bare_words = error",
        "strategy = auto",
        "join_algorithm = auto",
        "early_aggregation = auto",
        "partials = auto",
        "expiry = auto",
        "join_messages = auto",
        "punctuation = none",
        "hold = none",
        "expiry_pace = off",
    ]


def test_a_key_is_named_in_any_case() -> None:
    session = declared()
    session.execute("CREATE RELATION z (Sku STRING, PRIMARY KEY (SKU))")
    entry = session.catalog.get("Z")
    assert isinstance(entry, Relation)
    assert entry.key == ("Sku",)
