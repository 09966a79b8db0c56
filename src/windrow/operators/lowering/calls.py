"""Calls of a plan as calls of an operator: over columns that have been computed."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from windrow.core.schema import Field
from windrow.physical.calls import AccumulatorCall
from windrow.plan.expressions import Expr, Literal
from windrow.plan.nodes import AggregateCall

PARAMETERIZED = {"quantile", "topk", "approx_quantile", "approx_topk"}


def call_over(call: AggregateCall, column: Callable[[Expr], Field]) -> AccumulatorCall:
    """Return a call over the columns of its arguments and filter."""
    values = call.args[: _values(call)]
    return AccumulatorCall(
        call.name,
        tuple(column(a) for a in values),
        call.output,
        call.type,
        distinct=call.distinct,
        filter=None if call.filter is None else column(call.filter).name,
        parameters=tuple(_constant(a) for a in call.args[len(values) :]),
        nullable=call.nullable,
    )


def _values(call: AggregateCall) -> int:
    """Return how many arguments are values; a constant parameter may follow."""
    return 1 if call.name in PARAMETERIZED else len(call.args)


def _constant(expr: Expr) -> float | int:
    assert isinstance(expr, Literal), "the binder lets only constants be parameters"
    assert isinstance(expr.value, int | float | Decimal)
    return float(expr.value) if isinstance(expr.value, Decimal) else expr.value
