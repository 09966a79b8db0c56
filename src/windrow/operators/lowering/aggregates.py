"""GROUP BY: keys and arguments are computed first, then folded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from windrow.core.schema import Field, Schema
from windrow.operators.aggregate import Call, GroupBy, GroupByTask
from windrow.operators.lowering.builder import Builder, Edge, Wanted
from windrow.operators.rowwise import ProjectTask
from windrow.plan.expressions import Expr, Literal, columns_of
from windrow.plan.nodes import Aggregate, AggregateCall, Named, Plan
from windrow.plan.patterns import PatternKind

Lower = Callable[[Builder, Plan, Wanted], Edge]

PREDICTING = {"min", "max"}
"""Calls that do better if they know ends: what ends later and is better outlives the others.

That holds only if nothing is taken back, as it may be on a mixed edge."""


def lower_aggregate(builder: Builder, plan: Aggregate, wanted: Wanted, lower: Lower) -> Edge:
    """Lower γ. Calls that nobody reads are not computed."""
    calls = tuple(c for c in plan.calls if c.output in wanted.columns)
    columns, folded = _inputs(plan.keys, calls)
    reads = frozenset[str]().union(*(columns_of(c.expr) for c in columns))
    edge = lower(builder, plan.source, wanted.of(reads))
    schema = Schema(tuple(c.field for c in columns))
    task = ProjectTask(columns, builder.interner)
    edge = builder.rowwise(task, edge, schema, label="Compute")
    if edge.mixed or (
        builder.can_tell(edge) and not PREDICTING.intersection(c.name for c in calls)
    ):
        edge = builder.signed(edge)
    keys = tuple(Field(k.name, k.expr.type, k.expr.nullable) for k in plan.keys)
    expirer, structure = (None, "") if edge.signed else builder.expirer(edge)
    op = GroupBy(keys, folded)
    made = builder.add(
        GroupByTask(op, builder.interner, expirer),
        (edge,),
        op.schema,
        PatternKind.STR,
        label="Aggregate",
        structure=f"groups{', ' + structure if structure else ''}",
    )
    return replace(made, netted=frozenset(k.name for k in keys))


def _inputs(
    keys: tuple[Named, ...], calls: tuple[AggregateCall, ...]
) -> tuple[tuple[Named, ...], tuple[Call, ...]]:
    """Return the columns to compute and the calls over those columns."""
    columns = list(keys)

    def column(expr: Expr) -> Field:
        known = next((c for c in columns if c.expr == expr), None)
        if known is None:
            known = Named(f"#{len(columns)}", expr)
            columns.append(known)
        return known.field

    folded = tuple(
        Call(
            c.name,
            tuple(column(a) for a in c.args[: _values(c)]),
            c.output,
            c.type,
            distinct=c.distinct,
            filter=None if c.filter is None else column(c.filter).name,
            parameters=tuple(_constant(a) for a in c.args[_values(c) :]),
            nullable=c.nullable,
        )
        for c in calls
    )
    return tuple(columns), folded


PARAMETERIZED = {"quantile", "topk", "approx_quantile", "approx_topk"}


def _values(call: AggregateCall) -> int:
    """Return how many arguments are values; a constant parameter may follow."""
    return 1 if call.name in PARAMETERIZED else len(call.args)


def _constant(expr: Expr) -> float | int:
    assert isinstance(expr, Literal), "the binder lets only constants be parameters"
    assert isinstance(expr.value, int | float | Decimal)
    return float(expr.value) if isinstance(expr.value, Decimal) else expr.value
