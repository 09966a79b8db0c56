"""Predicates that the binder rewrites mean what is written: DuckDB reads the text itself.

ORs that share conditions are factored, conditions on single sources are implied, equalities are
inferred (`plan/binding/factor_disjunctions.py`, `imply_conditions.py`, `infer_equalities.py`).
Values are few and NULL among them, so that all three truth values occur in every condition.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.generate.catalog import DECLARATIONS, session
from tests.generate.effort import examples
from tests.generate.streams import cut_times, worlds
from tests.reference.duckdb_sql import duckdb_sql
from tests.reference.histories import RelationHistory, World
from tests.reference.oracle import Oracle, same_rows
from tests.reference.plain_sql import PlainTables, plain_sql

from windrow.core.time import BEGINNING
from windrow.core.types import BIGINT, BOOLEAN
from windrow.operators.evaluate import evaluate
from windrow.plan.binding.factor_disjunctions import factor_disjunctions
from windrow.plan.expressions import Call, Column, Expr, Literal
from windrow.plan.functions import resolve_call
from windrow.plan.nodes import Query

pytestmark = pytest.mark.long

# ------------------------------------------------------------------ expressions

VALUES = (None, 0, 1)
NAMES = ("x", "y", "z")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "eq_null_safe", "in")


@st.composite
def comparisons(draw: st.DrawFn) -> Expr:
    operands = [*(Column(name, BIGINT) for name in NAMES), Literal(1, BIGINT)]
    left, right = draw(st.sampled_from(operands)), draw(st.sampled_from(operands))
    return resolve_call(draw(st.sampled_from(COMPARISONS)), (left, right))


def connected(below: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    """Connectives, and ORs whose branches share a condition, often with its sides exchanged."""
    pair = st.tuples(below, below)
    plain = st.builds(resolve_call, st.sampled_from(("and", "or")), pair)
    negated = below.map(lambda e: resolve_call("not", (e,)))
    shared = st.builds(
        lambda s, p: resolve_call(
            "or", (resolve_call("and", (s, p[0])), resolve_call("and", (p[1], mirrored(s))))
        ),
        below,
        pair,
    )
    return st.one_of(plain, shared, negated)


def mirrored(expr: Expr) -> Expr:
    other = {"eq": "eq", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "ne": "ne"}
    if isinstance(expr, Call) and expr.name in other:
        return resolve_call(other[expr.name], expr.args[::-1])
    return expr


PREDICATES = st.recursive(comparisons(), connected, max_leaves=12)

GRID = list(product(VALUES, repeat=len(NAMES)))
COLUMNS = {name: pa.array([row[i] for row in GRID], pa.int64()) for i, name in enumerate(NAMES)}


@cache
def in_duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("grid", pa.table(COLUMNS))
    return connection


@examples(150)
@given(PREDICATES)
def test_a_factored_predicate_has_the_same_of_three_truth_values(predicate: Expr) -> None:
    factored = factor_disjunctions(predicate)
    assert factored.type == BOOLEAN
    assert factor_disjunctions(factored) == factored, "factoring again finds nothing"
    sql = ", ".join(
        f"{duckdb_sql(e, lambda name: name)} AS c{i}" for i, e in enumerate((predicate, factored))
    )
    before, after = in_duckdb().sql(f"SELECT {sql} FROM grid").to_arrow_table().columns
    assert before.to_pylist() == after.to_pylist()
    assert evaluate(factored, COLUMNS, len(GRID)).to_pylist() == before.to_pylist()


# ------------------------------------------------------------------ whole queries

SOURCES = {
    "a": "a [UNBOUNDED]",
    "b": "b [UNBOUNDED]",
    "c": "c [UNBOUNDED]",
    "r": "r",
    "n": "n",
    "g": "(SELECT k, MAX(v) AS v FROM c [UNBOUNDED] GROUP BY k) AS g",
    "d": "(SELECT k, v FROM b [UNBOUNDED] WHERE v > 0) AS d",
}
NUMBERS = {"r": ("k", "w"), "n": ("k", "w")}


@st.composite
def atoms(draw: st.DrawFn, names: tuple[str, ...], outer: tuple[str, ...] = ()) -> str:
    """A condition between two columns, mostly an equality, or with a constant."""

    def column() -> str:
        source = draw(st.sampled_from((*names, *names, *outer)))
        alias = source.partition(" ")[0]
        return f"{alias}.{draw(st.sampled_from(NUMBERS.get(alias.strip('o'), ('k', 'k', 'v'))))}"

    form = draw(st.integers(0, 9))
    if form < 6:
        return f"{column()} = {column()}"
    if form == 6:
        return f"{column()} = {draw(st.integers(0, 2))}"
    if form == 7:
        return f"CAST({column()} AS DOUBLE) = {column()}"
    return f"{column()} {'<' if form == 8 else 'IS NOT DISTINCT FROM'} {column()}"


@st.composite
def conditions(
    draw: st.DrawFn, names: tuple[str, ...], outer: tuple[str, ...] = (), depth: int = 2
) -> str:
    def below() -> str:
        return draw(
            atoms(names, outer) if depth == 0 else conditions(names, outer, depth=depth - 1)
        )

    match draw(st.integers(0, 5)):
        case 0:
            return f"({below()} AND {below()})"
        case 1:
            return f"({below()} OR {below()})"
        case 2 | 3:
            shared = draw(atoms(names, outer))
            other = " = ".join(reversed(shared.split(" = ")))
            return f"(({shared} AND {below()}) OR ({below()} AND {other}))"
        case 4 if depth:
            return f"NOT ({below()} OR {below()})"
        case _:
            return draw(atoms(names, outer))


@st.composite
def texts(draw: st.DrawFn) -> str:
    chosen = draw(st.lists(st.sampled_from(list(SOURCES)), min_size=1, max_size=3, unique=True))
    if not set(chosen) & {"a", "b", "c", "g", "d"}:
        chosen.insert(0, "a")
    names = tuple(chosen)
    terms = [draw(conditions(names)) for _ in range(draw(st.integers(1, 3)))]
    negatable = "n" not in names and "r" not in names
    if negatable and draw(st.booleans()):
        inner = ("a AS i", "b AS j") if draw(st.booleans()) else ("a AS i",)
        within = tuple(text.rpartition(" ")[2] for text in inner)
        word = draw(st.sampled_from(("EXISTS", "NOT EXISTS")))
        condition = draw(conditions(within, names[:1]))
        froms = ", ".join(f"{t.partition(' ')[0]} [UNBOUNDED] AS {t[-1]}" for t in inner)
        terms.append(f"{word} (SELECT * FROM {froms} WHERE {condition})")
    froms = ", ".join(SOURCES[name] for name in names)
    shown = ", ".join(f"{name}.k AS k{i}" for i, name in enumerate(names))
    return f"SELECT {shown} FROM {froms} WHERE {' AND '.join(terms)}"


@cache
def tables() -> PlainTables:
    return PlainTables(DECLARATIONS)


def settled(world: World) -> World:
    """The world, with a non-retroactive relation that has never changed."""
    first = [change for change in world.relations["n"].changes if change[0] == BEGINNING]
    return World(world.streams, {**world.relations, "n": RelationHistory(first)})


@examples(200)
@given(texts(), worlds(max_rows=6).map(settled))
def test_a_plan_with_inferred_conditions_answers_as_its_text(text: str, world: World) -> None:
    (query,) = session().execute(text)
    assert isinstance(query, Query)
    tables().load(world)
    (got,) = Oracle(query, world).answers([max(cut_times(world), default=0)]).values()
    wanted = tables().answer(plain_sql(text))
    assert same_rows(got, wanted), f"{text}\nplan: {sorted(got.elements(), key=repr)}"
