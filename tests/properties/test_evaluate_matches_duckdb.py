"""The evaluator and DuckDB give the same values, for every function of the catalogue."""

from __future__ import annotations

import math
import random

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.properties.function_cases import CASES, POOLS, argument, edge_table
from tests.reference.duckdb_sql import duckdb_aggregate, duckdb_sql

from windrow.core.types import DATE, INTERVAL, SQL_NAMES, STRING, TIMESTAMP, is_float, sql_name
from windrow.operators.evaluate import evaluate
from windrow.plan.expressions import Call, Cast, Column, Expr, Literal, walk
from windrow.plan.functions import (
    AGGREGATES,
    FUNCTIONS,
    can_cast,
    resolve_aggregate,
    resolve_call,
    resolve_cast,
)
from windrow.plan.nodes import AggregateCall

pytestmark = pytest.mark.long

ROWS = 200
SEEDS = st.integers(0, 2**32 - 1)
ONCE = settings(deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))

COUNTED = {TIMESTAMP: pa.int64(), INTERVAL: pa.int64(), DATE: pa.int32()}
"""Types that are compared as µs and days: Python knows only the years 1 to 9999."""

INEXACT = {
    *("exp", "ln", "log", "log10", "log2", "power", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "expm1", "log1p", "degrees"),
    *("radians", "atan2", "hypot"),
}
"""Functions whose last digit differs between libraries: never inside another function."""


def in_duckdb(columns: dict[str, pa.Array]) -> pa.Table:
    """Return the table as DuckDB is given it: wall times, and intervals as µs."""
    stored = {TIMESTAMP: pa.timestamp("us"), INTERVAL: pa.int64()}
    return pa.table({n: a.cast(stored.get(a.type, a.type)) for n, a in columns.items()})


def in_windrow(column: pa.ChunkedArray, type_: pa.DataType) -> list[object]:
    """Return DuckDB's values in windrow's type."""
    return list(column.cast(COUNTED.get(type_, type_)).to_pylist())


def plain(array: pa.Array) -> list[object]:
    """Return windrow's values, moments and intervals as µs."""
    return list(array.cast(COUNTED.get(array.type, array.type)).to_pylist())


def same(left: object, right: object) -> bool:
    """Tell whether two values are equal, floats to 1e-9."""
    if isinstance(left, float) and isinstance(right, float):
        both_nan = math.isnan(left) and math.isnan(right)
        return both_nan or left == right or math.isclose(left, right, rel_tol=1e-9)
    return type(left) is type(right) and left == right


def ask_duckdb(sql: list[str], columns: dict[str, pa.Array]) -> pa.Table:
    """Return the values of some SQL expressions over the table."""
    query = ", ".join(f"{s} AS c{i}" for i, s in enumerate(sql))
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        # It would make x > -NaN of -x < NaN, and call that false: NaN has no sign there.
        connection.execute("SET disabled_optimizers = 'expression_rewriter'")
        connection.register("edges", in_duckdb(columns))
        return connection.sql(f"SELECT {query} FROM edges").to_arrow_table()


def check(exprs: list[Expr], seed: int) -> None:
    """Compare all expressions over one table in one query."""
    columns = edge_table(seed, ROWS)
    sql = [duckdb_sql(e, lambda name: f'"{name}"') for e in exprs]
    expected = ask_duckdb(sql, columns)
    for i, expr in enumerate(exprs):
        got = evaluate(expr, columns, ROWS)
        assert got.type == expr.type, f"{expr} gave {got.type}"
        assert len(got) == ROWS, f"{expr} gave {len(got)} rows"
        got.validate(full=True)
        assert expr.nullable or not got.null_count, f"{expr} is said never to be NULL"
        wanted = in_windrow(expected.column(i), expr.type)
        for row, (ours, theirs) in enumerate(zip(plain(got), wanted, strict=True)):
            assert same(ours, theirs), (
                f"{expr}\nof {arguments(expr, columns, row)}\n"
                f"is {ours!r}, DuckDB: {theirs!r}\n{sql[i]}"
            )


def arguments(expr: Expr, columns: dict[str, pa.Array], row: int) -> dict[str, str]:
    """Return what the expression read in one row."""
    names = {e.name for e in walk(expr) if isinstance(e, Column)}
    return {name: str(columns[name][row : row + 1]) for name in names}


def cases_of(name: str) -> list[Expr]:
    return [resolve_call(name, tuple(argument(a) for a in case)) for case in CASES[name]]


def test_every_function_has_cases() -> None:
    assert set(CASES) == set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(ONCE, max_examples=2)
@given(seed=SEEDS)
def test_a_function_gives_what_duckdb_gives(name: str, seed: int) -> None:
    check(cases_of(name), seed)


TARGETS = (
    *(t for t in SQL_NAMES.values() if t != pa.null()),
    *(pa.decimal128(9, 2), pa.decimal128(38, 10)),
)


@pytest.mark.parametrize("target", TARGETS, ids=sql_name)
@settings(ONCE, max_examples=2)
@given(seed=SEEDS)
def test_a_cast_gives_what_duckdb_gives(target: pa.DataType, seed: int) -> None:
    casts = [
        resolve_cast(Column(name, type_), target)
        for name, (type_, _) in POOLS.items()
        if can_cast(type_, target)
        if not (is_float(type_) and target == STRING)  # its form is free: see test_evaluate.py
    ]
    check(casts, seed)


POOL = [
    expr
    for name in FUNCTIONS
    if name not in INEXACT
    for expr in cases_of(name)
    if isinstance(expr, Call | Cast)
]


def nest(expr: Expr, depth: int, rng: random.Random) -> Expr:
    """Replace columns of an expression by other expressions of their types, at random."""
    match expr:
        case Column(_, type_) if depth and rng.random() < 0.6:
            fitting = [e for e in POOL if e.type == type_]
            return nest(rng.choice(fitting), depth - 1, rng) if fitting else expr
        case Call(name, args, type_):
            return Call(name, tuple(nest(a, depth, rng) for a in args), type_)
        case Cast(value, type_):
            return Cast(nest(value, depth, rng), type_)
        case _:
            return expr


@settings(ONCE, max_examples=20)
@given(seed=SEEDS)
def test_nested_expressions_give_what_duckdb_gives(seed: int) -> None:
    rng = random.Random(seed)
    check([nest(rng.choice(POOL), 2, rng) for _ in range(12)], seed)


FOLDED: dict[str, tuple[object, ...]] = {
    "topk": ("n", 2),
    "approx_topk": ("n", 2),
    "quantile": ("n", 0.5),
    "approx_quantile": ("n", 0.5),
    "bool_and": ("b",),
    "bool_or": ("b",),
    "covar_samp": ("n", "n"),
    "covar_pop": ("n", "n"),
    "first": ("n", "n", Literal("da", STRING)),
    "collect_list": ("n", Literal("d", STRING)),
    "string_agg": ("s", Literal("d", STRING), Literal("-", STRING)),
}


@pytest.mark.parametrize("name", AGGREGATES)
def test_every_aggregate_is_rendered_with_its_type(name: str) -> None:
    args = tuple(argument(a) for a in FOLDED.get(name, ("n",)))
    converted, type_, _ = resolve_aggregate(name, args, distinct=False)
    keep = resolve_call("gt", (argument("n"), argument(0)))
    folds = [
        AggregateCall("out", name, converted, type_, filter=keep),
        AggregateCall("none", name, converted, type_, filter=Literal(False, pa.bool_())),
    ]
    sql = [duckdb_aggregate(fold, lambda column: f'"{column}"') for fold in folds]
    columns = {"n": pa.array([1, 3, 3, None, 2, -7], pa.int32()), "b": pa.array([True] * 6)}
    columns["s"] = pa.array(["a", "b", "c", None, "d", "e"])
    answer = ask_duckdb(sql, columns).cast(pa.schema({"c0": type_, "c1": type_})).to_pylist()[0]
    empty = [] if name == "collect_list" else None if AGGREGATES[name].nullable else 0
    assert answer == {"c0": EXPECTED[name], "c1": empty}


EXPECTED: dict[str, object] = {
    "count": 4,
    "sum": 9,
    "avg": 2.25,
    "min": 1,
    "max": 3,
    "bool_and": True,
    "bool_or": True,
    "var_samp": pytest.approx(11 / 12),
    "var_pop": pytest.approx(11 / 16),
    "stddev_samp": pytest.approx((11 / 12) ** 0.5),
    "stddev_pop": pytest.approx(11**0.5 / 4),
    "median": 2.5,
    "quantile": 2.5,
    "approx_quantile": 2,
    "approx_count_distinct": 3,
    "topk": [3, 1],
    "approx_topk": [3, 1],
    "skewness": pytest.approx(-0.28125 / 0.6875**1.5),
    "kurtosis": pytest.approx(0.76953125 / 0.6875**2 - 3),
    "covar_samp": pytest.approx(11 / 12),
    "covar_pop": pytest.approx(11 / 16),
    "bit_and": 0,
    "bit_or": 3,
    "bit_xor": 3,
    "mode": 3,
    "first": 3,
    "collect_list": [3, 3, 2, 1],
    "string_agg": "d-c-b-a",
}
"""Of the values 1, 3, 3 and 2: what the filter keeps."""
