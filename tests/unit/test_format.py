"""Expressions are written back with the parentheses they need, and no others."""

from decimal import Decimal

import pyarrow as pa
import pytest

from windrow.core.types import BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, INTERVAL, STRING, TIMESTAMP
from windrow.plan.expressions import Call, Cast, Column, Expr, Literal
from windrow.plan.format import format_expr

A, B, C = (Column(f"l.{name}", BIGINT) for name in "abc")
S = Column("l.s", STRING)
ONE, MINUS_ONE = Literal(1, BIGINT), Literal(-1, BIGINT)
NOTHING = Literal(None, pa.null())
TCP = Literal("tcp", STRING)


def call(name: str, *args: Expr) -> Expr:
    return Call(name, args, BIGINT)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (call("and", call("gt", A, ONE), call("eq", S, TCP)), "l.a > 1 AND l.s = 'tcp'"),
        (call("and", call("or", A, B), C), "(l.a OR l.b) AND l.c"),
        (call("or", call("and", A, B), C), "l.a AND l.b OR l.c"),
        (call("and", A, call("and", B, C)), "l.a AND l.b AND l.c"),
        (call("not", call("and", A, B)), "NOT (l.a AND l.b)"),
        (call("not", call("eq", A, B)), "NOT l.a = l.b"),
        (call("eq", call("eq", A, B), C), "(l.a = l.b) = l.c"),
        (call("sub", A, call("sub", B, C)), "l.a - (l.b - l.c)"),
        (call("sub", call("sub", A, B), C), "l.a - l.b - l.c"),
        (call("mul", call("add", A, B), C), "(l.a + l.b) * l.c"),
        (call("div", A, call("mul", B, C)), "l.a / (l.b * l.c)"),
        (call("neg", MINUS_ONE), "-(-1)"),
        (call("neg", call("neg", A)), "-(-l.a)"),
        (call("sub", A, MINUS_ONE), "l.a - -1"),
        (call("is_null", call("add", A, B)), "l.a + l.b IS NULL"),
        (call("not", call("is_null", A)), "l.a IS NOT NULL"),
        (call("is_true", call("eq", A, B)), "(l.a = l.b) IS TRUE"),
        (call("in", A, ONE, MINUS_ONE), "l.a IN (1, -1)"),
        (call("not", call("in", A, ONE)), "l.a NOT IN (1)"),
        (call("not", call("like", S, TCP)), "l.s NOT LIKE 'tcp'"),
        (call("concat", S, S, S), "CONCAT(l.s, l.s, l.s)"),
        (call("bitand", call("bitor", A, B), C), "(l.a | l.b) & l.c"),
        (call("case", call("gt", A, ONE), B, C), "CASE WHEN l.a > 1 THEN l.b ELSE l.c END"),
        (call("case", call("gt", A, ONE), B), "CASE WHEN l.a > 1 THEN l.b END"),
        (call("substring", S, ONE), "SUBSTRING(l.s, 1)"),
        (Cast(call("add", A, B), DOUBLE), "CAST(l.a + l.b AS DOUBLE)"),
    ],
)
def test_an_expression_is_written_as_sql(expr: Expr, text: str) -> None:
    assert format_expr(expr) == text


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (None, STRING, "NULL"),
        (True, BOOLEAN, "TRUE"),
        ("it's", STRING, "'it''s'"),
        (b"\x00\xff", BINARY, "X'00FF'"),
        (86_400_000_000, TIMESTAMP, "TIMESTAMP '1970-01-02 00:00:00'"),
        (1, DATE, "DATE '1970-01-02'"),
        (300_000_000, INTERVAL, "INTERVAL 5 MINUTES"),
        (Decimal("1.50"), pa.decimal128(3, 2), "1.50"),
        (2.5, DOUBLE, "2.5"),
    ],
)
def test_a_constant_is_written_as_sql(value: object, type_: pa.DataType, text: str) -> None:
    assert format_expr(Literal(value, type_)) == text
