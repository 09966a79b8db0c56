"""GROUP BY over joins as one operator: entries meet, and what they contribute is folded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from functools import partial

from windrow.core.schema import Field, Schema
from windrow.optimize.early_costs import stored_graph
from windrow.optimize.early_grouping import argument_exprs
from windrow.optimize.grouped_joins import GroupedJoin
from windrow.optimize.join_graph import Order
from windrow.optimize.join_orders import best_orders
from windrow.optimize.physical.builder import Builder, Requirements
from windrow.optimize.physical.conditions import residual_of
from windrow.optimize.physical.early_choices import METHODS, Considered, notes_on
from windrow.optimize.preaggregate_joins import copies_of
from windrow.physical.calls import IN_ORDER, AccumulatorCall, GroupBy, PlacedCall
from windrow.physical.conditions import Compare, Equality, JoinInput, MultiCondition
from windrow.physical.identity import computed_name
from windrow.physical.node import PhysicalNode
from windrow.physical.operators import (
    STATELESS,
    AggregationJoinOp,
    ContributingJoinOp,
    ExpireOp,
    RowStoreOp,
)
from windrow.physical.parts import split_calls
from windrow.plan.expressions import Expr, Literal, columns_of
from windrow.plan.nodes import AggregateCall, Named, Plan, Versions, as_column
from windrow.plan.patterns import PatternKind

Lower = Callable[[Builder, Plan, Requirements], PhysicalNode]


def lower_grouped_join(
    builder: Builder, found: Considered, wanted: Requirements, lower: Lower
) -> PhysicalNode:
    """Lower γ over ⋈ as an aggregation join; its output is as that of a GROUP BY."""
    joined = found.joined
    inputs = inputs_for(builder, found, wanted, lower)
    op, names = _operator(builder, found, inputs)
    schema = GroupBy(op.keys, op.calls).schema
    edge = add_join(builder, found, inputs, op, schema)
    edge = replace(edge, netted=frozenset(f.name for f in op.keys))
    if names == tuple(k.name for k in joined.keys):
        return edge
    columns = [Named(k.name, as_column(schema[n])) for k, n in zip(joined.keys, names, strict=True)]
    columns += [Named(c.output, as_column(schema[c.output])) for c in joined.calls]
    return builder.project(edge, tuple(columns), label="Compute")


def orders_for(found: Considered) -> tuple[Order, ...]:
    """Return the best orders of loops over what the placement lets be stored."""
    return best_orders(stored_graph(found.choice.facts, found.choice.placement))


def add_join(
    builder: Builder,
    found: Considered,
    inputs: list[Prepared],
    op: AggregationJoinOp | ContributingJoinOp,
    schema: Schema,
) -> PhysicalNode:
    """Return an aggregation join, with what is known of its choice."""
    edge = builder.add(
        op,
        tuple(edge for edge, _ in inputs),
        schema,
        PatternKind.STR,
        label="AggregationJoin",
        structure=f"entries of {len(inputs)}, early {found.choice.early_aggregation}",
    )
    return replace(edge, notes=notes_on(builder, found))


def inputs_for(
    builder: Builder, found: Considered, wanted: Requirements, lower: Lower
) -> list[Prepared]:
    """Lower the inputs of an aggregation join."""
    everyone = range(len(found.joined.flat.inputs))
    return [_input(builder, found, i, wanted, lower) for i in everyone]


Prepared = tuple[PhysicalNode, dict[Expr, str]]
"""An input with all departures on it, and the column of each expression that is read of it."""


def _input(
    builder: Builder, found: Considered, which: int, wanted: Requirements, lower: Lower
) -> Prepared:
    joined, entries = found.joined, found.entries[which]
    plan = joined.flat.inputs[which]
    exprs = (*entries.all, *argument_exprs(joined.calls, found.early, which))
    reads = frozenset[str]().union(*map(columns_of, exprs))
    if (copies := copies_of(plan)) is not None:
        assert found.choice.placement[which], "merged rows are aggregated before the join"
        reads |= {copies}
    edge = lower(builder, plan, wanted.of(reads))
    edge = builder.signed(edge) if joined.versioned else _kept(builder, edge)
    edge, names = builder.with_columns(edge, exprs)
    return edge, dict(zip(exprs, names, strict=True))


def _kept(builder: Builder, edge: PhysicalNode) -> PhysicalNode:
    """Return the edge with all departures on it, its tuples kept below for another plan.

    Tuples that never expire are not: they may be too many, and are why one aggregates.
    """
    endless = edge.kind is PatternKind.MON
    edge = builder.signed(edge)
    below = edge
    while isinstance(below.op, STATELESS) and len(below.inputs) == 1:
        (below,) = below.inputs
    if endless or isinstance(below.op, ExpireOp | RowStoreOp):
        return edge
    return builder.add(
        RowStoreOp(),
        (edge,),
        edge.schema,
        PatternKind.STR,
        label="Store rows",
        structure="hash by row",
    )


def _operator(
    builder: Builder, found: Considered, inputs: list[Prepared]
) -> tuple[AggregationJoinOp, tuple[str, ...]]:
    """Return the operator, and by key of the plan the name of the column that has it."""
    joined = found.joined
    columns = ContributedExprs(joined, [names for _, names in inputs])
    keys = [columns.field(k.expr) for k in joined.keys]
    folds = tuple(
        PlacedCall(call_over(c, partial(columns.field, early=at)), at)
        for c, at in zip(joined.calls, found.early, strict=True)
    )
    op = AggregationJoinOp(
        condition_of(found, inputs),
        found.choice.placement,
        tuple({f.name: f for f in keys}.values()),
        folds,
        tuple(columns.made.values()),
        all_copies(joined),
        orders_for(found),
        METHODS[builder.algorithm],
    )
    return op, tuple(f.name for f in keys)


def all_copies(joined: GroupedJoin) -> tuple[str | None, ...]:
    """Return, of each input, the column that says how many tuples a row is; () if none has one."""
    found = tuple(map(copies_of, joined.flat.inputs))
    return found if any(found) else ()


class ContributedExprs:
    """The columns of contributions: of inputs' entries, or computed of several."""

    def __init__(self, joined: GroupedJoin, names: list[dict[Expr, str]]) -> None:
        self.joined = joined
        self.names = names
        self.made: dict[str, Named] = {}

    def field(self, expr: Expr, early: int | None = None) -> Field:
        """Return the column of an expression, which an early call reads of its input."""
        owners = self.joined.owners(expr) if early is None else (early,)
        if len(owners) == 1 and expr in (names := self.names[owners[0]]):
            return Field(names[expr], expr.type, expr.nullable)
        name = computed_name(expr)
        self.made[name] = Named(name, expr)
        return self.made[name].field


def condition_of(found: Considered, inputs: list[Prepared]) -> MultiCondition:
    """Return when entries match."""
    flat = found.joined.flat
    names = [names for _, names in inputs]
    return MultiCondition(
        tuple(
            JoinInput(edge.schema, _named(n, e.shown), _named(n, e.tested), isinstance(p, Versions))
            for (edge, n), e, p in zip(inputs, found.entries, flat.inputs, strict=True)
        ),
        tuple(
            Equality(tuple(_named(names[i], m) for i, m in enumerate(c.members)))
            for c in flat.classes
        ),
        (),
        tuple(
            Compare(c.first, names[c.first][c.left], c.op, c.second, names[c.second][c.right])
            for c in flat.compares
        ),
        residual_of(flat.residual),
    )


def _named(names: dict[Expr, str], exprs: Iterable[Expr]) -> tuple[str, ...]:
    return tuple(names[e] for e in exprs)


def lower_contributions(
    builder: Builder, found: Considered, wanted: Requirements, lower: Lower
) -> tuple[PhysicalNode, tuple[AccumulatorCall, ...]]:
    """Lower Δγ over ⋈ as one operator; return its edge, by the keys' names, and calls over it."""
    joined = found.joined
    inputs = inputs_for(builder, found, wanted, lower)
    columns = ContributedExprs(joined, [names for _, names in inputs])
    keys = [columns.field(k.expr) for k in joined.keys]
    placed = tuple(zip(joined.calls, found.early, strict=True))
    calls = tuple(call_over(c, partial(columns.field, early=at)) for c, at in placed)
    parts, merging = split_calls(calls)
    early = {(c.args, c.filter): at for c, at in zip(calls, found.early, strict=True)}
    op = AggregationJoinOp(
        condition_of(found, inputs),
        found.choice.placement,
        tuple({f.name: f for f in keys}.values()),
        tuple(PlacedCall(p.call, early[p.call.args, p.call.filter]) for p in parts),
        tuple(columns.made.values()),
        all_copies(joined),
        orders_for(found),
        METHODS[builder.algorithm],
    )
    made = Schema(op.keys + tuple(f for part in parts for f in part.fields))
    edge = add_join(builder, found, inputs, ContributingJoinOp(op, parts), made)
    named = [Named(k.name, as_column(f)) for k, f in zip(joined.keys, keys, strict=True)]
    named += [Named(f.name, as_column(f)) for part in parts for f in part.fields]
    return builder.project(edge, tuple(named), label="Compute"), merging


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
    """Return how many arguments are values; constant parameters may follow."""
    if call.name in PARAMETERIZED:
        return 1
    return len(call.args) - {"string_agg": 2}.get(call.name, 1) * (call.name in IN_ORDER)


def _constant(expr: Expr) -> float | int | str:
    assert isinstance(expr, Literal), "the binder lets only constants be parameters"
    assert isinstance(expr.value, int | float | Decimal | str)
    return float(expr.value) if isinstance(expr.value, Decimal) else expr.value
