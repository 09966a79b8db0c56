"""Binding keeps the meaning of the text: the bound plan answers what plain SQL answers.

The oracle evaluates bound plans, so it cannot see what the binder has lost: a NOT, a DESC, a
name taken for another. Here the text itself goes to DuckDB, and never through the binder.
"""

from collections.abc import Sequence
from functools import cache

import pyarrow as pa
import pytest
from hypothesis import given
from sqlglot import exp
from tests.generate.effort import examples
from tests.generate.expressions import EXACT_AGGREGATES, OWN_TEXT
from tests.generate.queries import queries
from tests.generate.streams import cut_times, worlds
from tests.properties.sql_corpus import (
    DECLARATIONS,
    PORTABLE,
    QUERIES,
    REFUSED,
    WINDOWED,
    WORLD,
)
from tests.properties.sql_texts import texts
from tests.reference.histories import RelationHistory, Row, StreamHistory, World
from tests.reference.oracle import Oracle, same_rows
from tests.reference.plain_sql import PlainTables, plain_sql, without_windows

from windrow.core.errors import SemanticError, WindrowError
from windrow.core.time import BEGINNING
from windrow.language.grammar import ALLOWED
from windrow.language.parse import parse_query
from windrow.language.syntax import StreamItems
from windrow.operators.evaluate import evaluate
from windrow.plan.expressions import Column, Expr, columns_of
from windrow.plan.nodes import Query
from windrow.plan.session import Session

pytestmark = pytest.mark.long


@cache
def session() -> Session:
    made = Session()
    made.execute(DECLARATIONS)
    return made


@cache
def written() -> PlainTables:
    """The tables of the written queries."""
    made = PlainTables(DECLARATIONS)
    made.load(WORLD)
    return made


@cache
def drawn() -> PlainTables:
    """The tables of the random queries, loaded anew for each."""
    return PlainTables(DECLARATIONS)


def bound(text: str) -> Query:
    (query,) = session().execute(text)
    assert isinstance(query, Query)
    return query


def check(text: str, sql: str, world: World, tables: PlainTables) -> None:
    """Hold the oracle's last answer of the bound plan against DuckDB's answer of the text."""
    query = bound(text)
    last = max(cut_times(world), default=0)
    (got,) = Oracle(query, world).answers([last]).values()
    wanted = tables.answer(sql)
    assert same_rows(got, wanted), f"{text}\n{sql}\nplan: {sorted(got.elements(), key=repr)}"
    assert is_ordered(wanted, query), f"{text} is not shown in the order written"


def shown_by(key: Expr, rows: Sequence[Row], query: Query) -> list[object]:
    """The values of an ORDER BY term: of a selected column, or computed from selected ones."""
    schema = query.root.schema
    if isinstance(key, Column):
        return [row[schema.index(key.name)] for row in rows]
    columns = {
        f.name: pa.array([row[i] for row in rows], f.type)
        for i, f in enumerate(schema)
        if f.name in columns_of(key)
    }
    return evaluate(key, columns, len(rows)).to_pylist()


def is_ordered(rows: Sequence[Row], query: Query) -> bool:
    """Tell whether rows that DuckDB has ordered are in the order that the query shows."""
    values = [shown_by(key.expr, rows, query) for key in query.order]
    for row in range(len(rows) - 1):
        for key, column in zip(query.order, values, strict=True):
            first, second = column[row : row + 2]
            if first == second:
                continue
            if first is None or second is None:
                if (first is None) != key.nulls_first:
                    return False
            elif (first > second) != key.descending:  # type: ignore[operator]
                return False
            break
    return True


# ------------------------------------------------------------------ written queries


@pytest.mark.parametrize("text", QUERIES)
def test_a_plan_answers_as_the_text(text: str) -> None:
    check(text, plain_sql(text), WORLD, written())


@pytest.mark.parametrize("text", PORTABLE)
def test_a_plan_answers_as_the_text_that_duckdb_reads_itself(text: str) -> None:
    check(text, without_windows(text), WORLD, written())


# ------------------------------------------------------------------ random queries


def settled(world: World) -> World:
    """The world, with a non-retroactive relation that has never changed."""
    streams = {**world.streams, "m": StreamHistory(), "at_midnight": StreamHistory()}
    first = [change for change in world.relations["n"].changes if change[0] == BEGINNING]
    return World(
        streams, {**world.relations, "n": RelationHistory(first), "Odd": RelationHistory()}
    )


PLAIN = (
    *("filter", "join", "theta", "relation", "nrr", "exists", "in", "not exists", "not in"),
    *("union all", "union", "intersect all", "intersect", "except all", "except", "distinct"),
    *("group", "having", "order", "subquery", "with"),
)
"""What has a meaning without time. LIMIT chooses by columns that are not shown: see `texts`."""


@examples(40)
@given(
    queries(
        windows=["unbounded", "none"],
        operators=PLAIN,
        outputs=["view", "rstream"],
        aggregates=tuple(name for name in EXACT_AGGREGATES if name not in OWN_TEXT),
        depth=2,
    ),
    worlds(max_rows=6).map(settled),
)
def test_a_generated_plan_answers_as_its_text(text: str, world: World) -> None:
    drawn().load(world)
    check(text, plain_sql(text), world, drawn())


@examples(60)
@given(texts(), worlds(max_rows=6, names=("a", "b", "c")).map(settled))
def test_negations_brackets_scopes_and_limits_mean_what_they_say(text: str, world: World) -> None:
    drawn().load(world)
    check(text, plain_sql(text), world, drawn())


# ------------------------------------------------------------------ nothing is ignored

Argument = tuple[type[exp.Expr], str]

MEANINGLESS: dict[Argument, str] = {
    (exp.Div, "safe"): "how sqlglot's dialects differ; here by zero is NULL",
    (exp.DPipe, "safe"): "how sqlglot's dialects differ; here NULL makes NULL",
    (exp.TryCast, "safe"): "a CAST that fails is NULL, as TRY_CAST's",
    (exp.Identifier, "quoted"): "names do not depend on case, in backticks or not",
}
"""Arguments that the binder may ignore, and why."""


def arguments() -> list[Argument]:
    return [(node, name) for node, names in ALLOWED.items() for name in sorted(names)]


@cache
def trees() -> tuple[exp.Expr, ...]:
    return tuple(map(parse_query, (*QUERIES, *PORTABLE, *WINDOWED, *REFUSED)))


@cache
def places() -> dict[Argument, list[tuple[exp.Expr, int]]]:
    """Where each argument is written: trees, and the number of the node in them."""
    found: dict[Argument, list[tuple[exp.Expr, int]]] = {}
    for tree in trees():
        for number, node in enumerate(tree.walk()):
            for name, value in node.args.items():
                if value not in (None, False, []):
                    found.setdefault((type(node), name), []).append((tree, number))
    return found


NEVER_READ: dict[Argument, str] = {
    (exp.Cast, "safe"): "only TRY_CAST has it",
    (exp.Div, "typed"): "/ divides doubles, whatever it is given",
    (exp.Is, "negate"): "IS NOT is read as NOT around IS",
    (StreamItems, "distinct"): "lifted around the SELECT",
    (StreamItems, "expressions"): "lifted around the SELECT",
}
"""Arguments that no parsed tree has."""


def outcome(tree: exp.Expr) -> object:
    """What binding gives: a plan with its order, or the words of a refusal."""
    try:
        query = session().bind(tree)
    except WindrowError as error:
        return error.message
    return query.root, query.order


def changes_the_outcome(argument: Argument, tree: exp.Expr, number: int, value: object) -> bool:
    """Tell whether it matters that the node has another value there."""
    changed = tree.copy()
    node = next(n for i, n in enumerate(changed.walk()) if i == number)
    node.args[argument[1]] = value
    try:
        return outcome(changed) != outcome(tree.copy())
    except (AssertionError, AttributeError, LookupError, TypeError, ValueError):
        return True  # somebody asked for it, and fell


@pytest.mark.parametrize("argument", arguments(), ids=lambda a: f"{a[0].__name__}.{a[1]}")
def test_no_argument_of_the_grammar_is_ignored(argument: Argument) -> None:
    if argument in NEVER_READ:
        assert argument not in places()
        return
    found = places().get(argument, [])
    assert found, "no query of the corpus has it"
    matters = any(changes_the_outcome(argument, tree, number, None) for tree, number in found)
    never_binds = all(isinstance(outcome(tree.copy()), str) for tree, _ in found)
    assert (matters or never_binds) is (argument not in MEANINGLESS)


def test_a_not_kept_inside_is_bound() -> None:
    tree = parse_query("SELECT k FROM a WHERE k IS NULL")
    number = next(i for i, n in enumerate(tree.walk()) if isinstance(n, exp.Is))
    assert changes_the_outcome((exp.Is, "negate"), tree, number, value=True)


def test_every_node_of_the_grammar_is_written() -> None:
    found = {type(node) for tree in trees() for node in tree.walk()}
    assert set(ALLOWED) - found <= {StreamItems}


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_plan_is_refused_with_a_reason_and_a_place(text: str) -> None:
    with pytest.raises(WindrowError) as caught:
        bound(text)
    assert caught.value.span is not None
    assert caught.value.detail or caught.value.hint


@pytest.mark.parametrize("window", ["ROWS 2", "ROWS 4 SLIDE 2", "PARTITION BY k ROWS 2"])
@pytest.mark.parametrize("source", ["b", "(SELECT k FROM b [NOW]) AS b"])
def test_only_time_windows_stand_beside_internal_ones(source: str, window: str) -> None:
    with pytest.raises(SemanticError, match='"b" beside an INTERNAL window') as caught:
        bound(f"SELECT a.k FROM a [RANGE 5 INTERNAL], {source} [{window}] WHERE a.k = b.k")
    assert "know when" in caught.value.detail
    assert "INTERNAL" in caught.value.hint
    assert caught.value.span is not None


@pytest.mark.parametrize("window", ["RANGE 5", "NOW", "TUMBLE 5", "SINCE 3", "UNBOUNDED"])
@pytest.mark.parametrize("internal", ["RANGE 5", "ROWS 2", "PARTITION BY k ROWS 2"])
def test_time_windows_stand_beside_any_internal_one(internal: str, window: str) -> None:
    text = f"SELECT a.k FROM a [{internal} INTERNAL], b [{window}] WHERE a.k = b.k"
    assert Oracle(bound(text), WORLD).changes()
