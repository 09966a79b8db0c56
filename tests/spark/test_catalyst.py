"""What is translated to Spark SQL gives on Spark what our evaluator gives, whatever the session."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.properties.function_cases import CASES, POOLS, argument, edge_table
from windrow.core.types import DATE, SQL_NAMES, STRING, TIMESTAMP, is_float
from windrow.operators.evaluate import evaluate
from windrow.optimize.catalyst import spark_sql, translatable
from windrow.plan.expressions import Column, Expr, Literal, walk
from windrow.plan.functions import can_cast, resolve_call, resolve_cast

pytestmark = pytest.mark.spark

ROWS = 300
S = Column("s", STRING)

TARGETS = (
    *(t for t in SQL_NAMES.values() if t not in (pa.null(), pa.duration("us"))),
    *(pa.decimal128(9, 2), pa.decimal128(38, 10)),
)


def expressions() -> list[Expr]:
    """Return every case of the catalogue, and every cast of every column."""
    calls = [
        resolve_call(n, tuple(map(argument, case))) for n, cases in CASES.items() for case in cases
    ]
    casts = [
        resolve_cast(Column(name, type_), target)
        for name, (type_, _) in POOLS.items()
        for target in TARGETS
        if can_cast(type_, target) and type_ != target
    ]
    return [*calls, *casts]


def plain(array: pa.Array) -> list[object]:
    """Return values that compare bit by bit: moments as µs, days as days, floats as bytes."""
    counted = {TIMESTAMP: pa.int64(), DATE: pa.int32()}.get(array.type, array.type)
    values = array.cast(counted).to_pylist()
    return [_bits(v) for v in values] if is_float(array.type) else values


def _bits(value: float | None) -> object:
    if value is None or math.isnan(value):
        return None if value is None else "NaN"
    return struct.pack("d", value)


@pytest.fixture(params=[("true", "UTC", "false"), ("false", "America/St_Johns", "true")])
def session(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    ansi, zone, escaped = request.param
    names = ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")
    kept = {name: spark.conf.get(name) for name in names}
    spark.conf.set("spark.sql.parser.escapedStringLiterals", escaped)
    for name, value in zip(names, (ansi, zone), strict=True):
        spark.conf.set(name, value)
    yield spark
    spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    for name, value in kept.items():
        spark.conf.set(name, value)


def test_spark_gives_what_we_give(session: SparkSession) -> None:
    chosen = [e for e in expressions() if translatable(e)]
    names = {e.name for expr in chosen for e in walk(expr) if isinstance(e, Column)}
    columns = {n: a for n, a in edge_table(7, ROWS).items() if n in names}
    frame = session.createDataFrame(pa.table(columns)).coalesce(1)
    for start in range(0, len(chosen), 100):
        some = chosen[start : start + 100]
        given = frame.selectExpr(*(f"{spark_sql(e)} AS c{i}" for i, e in enumerate(some))).toArrow()
        for expr, got in zip(some, given.columns, strict=True):
            check(expr, columns, got.combine_chunks())


def check(expr: Expr, columns: dict[str, pa.Array], given: pa.Array) -> None:
    got = given.view(TIMESTAMP) if expr.type == TIMESTAMP else given
    ours = evaluate(expr, columns, ROWS)
    assert got.type == expr.type, f"{spark_sql(expr)} is {got.type}, not {expr.type}"
    for row, (a, b) in enumerate(zip(plain(ours), plain(got), strict=True)):
        assert a == b, f"{spark_sql(expr)}\nin row {row} is {ours[row]}, Spark: {given[row]}"


def test_odd_texts_are_matched_alike(session: SparkSession) -> None:
    texts = ["", "a\nb", "a\r\nb", "a😀b", "a b", "O'Neil", "${x}", "\x00", "a\\b", "é"]
    exprs = [
        *(resolve_call("like", (S, Literal(p, STRING))) for p in ("a_b", "a%b", "_", "%é", "${x}")),
        *(resolve_call("eq", (S, Literal(t, STRING))) for t in texts),
        resolve_call("length", (S,)),
    ]
    columns = {"s": pa.array(texts)}
    frame = session.createDataFrame(pa.table(columns)).coalesce(1)
    given = frame.selectExpr(*(f"{spark_sql(e)} AS c{i}" for i, e in enumerate(exprs))).toArrow()
    for expr, got in zip(exprs, given.columns, strict=True):
        ours = evaluate(expr, columns, len(texts)).to_pylist()
        assert ours == got.to_pylist(), spark_sql(expr)


def test_most_of_what_predicates_use_is_translated() -> None:
    by_name: dict[str, list[bool]] = {}
    for name, cases in CASES.items():
        by_name[name] = [translatable(resolve_call(name, tuple(map(argument, c)))) for c in cases]
    always = {n for n, done in by_name.items() if all(done)}
    assert always >= {"and", "or", "not", "is_null", "in", "case", "coalesce", "unix_micros"}
    assert sum(by_name["eq"]) >= len(by_name["eq"]) - 1  # all but intervals
    never = {n for n, done in by_name.items() if not any(done)}
    assert never >= {"rlike", "upper", "ln", "regexp_extract", "date_format"}
