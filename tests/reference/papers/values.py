"""Values: SQL's NULL, comparisons, order."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

from tests.reference.papers.description import Col, Compare, Expr, Plus

Value = int | float | None
Row = tuple[Value, ...]
Env = Mapping[Col, Value]

OPERATORS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def value_of(expr: Expr | int, env: Env) -> Value:
    """An expression over one row; NULL in, NULL out."""
    if isinstance(expr, int):
        return expr
    if isinstance(expr, Col):
        return env[expr]
    inner = env[expr.col]
    if inner is None:
        return None
    return inner + expr.number if isinstance(expr, Plus) else inner * expr.number


def compares(left: Value, op: str, right: Value) -> bool:
    """Whether a comparison is true: with NULL it is unknown, and so not true."""
    return left is not None and right is not None and bool(OPERATORS[op](left, right))


def holds(terms: Sequence[Compare], env: Env) -> bool:
    """Whether all terms of a condition are true of a row."""
    return all(
        compares(value_of(t.left, env), t.op, value_of(t.right, env))  # type: ignore[arg-type]
        for t in terms
    )


def sort_key(row: Row) -> tuple[tuple[bool, Value], ...]:
    """All columns ascending, NULLs first."""
    return tuple((v is not None, 0 if v is None else v) for v in row)


def descending_key(row: Row) -> tuple[tuple[bool, Value], ...]:
    """All columns descending, NULLs last."""
    return tuple((v is None, 0 if v is None else -v) for v in row)
