"""GROUP BY: keys and arguments are computed first, then folded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from windrow.core.schema import Field
from windrow.optimize.physical.aggregation_joins import (
    all_copies,
    call_over,
    lower_contributions,
    lower_grouped_join,
)
from windrow.optimize.physical.builder import Builder, Requirements
from windrow.optimize.physical.early_choices import considered, folded_source, notes_on, unplaced
from windrow.physical.calls import AccumulatorCall, GroupBy
from windrow.physical.node import PhysicalNode
from windrow.physical.operators import ContributeOp, GroupByOp
from windrow.physical.parts import Contribute
from windrow.plan.expressions import Expr, columns_of
from windrow.plan.nodes import Aggregate, AggregateCall, Named, Plan, Route, as_column
from windrow.plan.patterns import PatternKind

Lower = Callable[[Builder, Plan, Requirements], PhysicalNode]

MIN_MAX = {"min", "max"}
"""Calls that do better if they know ends: what ends later and is better outlives the others.

That holds only if nothing is retracted, as it may be on a partly signed edge."""


def lower_aggregate(
    builder: Builder, plan: Aggregate, wanted: Requirements, lower: Lower
) -> PhysicalNode:
    """Lower γ: with the joins below it as one operator where that is better, else by itself.

    Calls that nobody reads are not computed.
    """
    calls = tuple(c for c in plan.calls if c.output in wanted.columns)
    source, folds = folded_source(plan.source)
    joined = considered(builder, replace(plan, source=source, calls=calls), wanted.slide)
    keys = tuple(k.field for k in plan.keys)
    if joined is not None and any(joined.choice.placement):
        if not folds:
            return lower_grouped_join(builder, joined, wanted, lower)
        edge, folded = lower_contributions(builder, joined, wanted, lower)
        edge, joined = _exchanged(builder, edge, keys), None  # it watches itself
    else:
        assert joined is None or not any(all_copies(joined.joined)), "merged rows are not joined"
        columns, folded = _inputs(plan.keys, calls)
        reads = frozenset[str]().union(*(columns_of(c.expr) for c in columns))
        edge = lower(builder, source, wanted.of(reads))
        edge = builder.project(edge, columns, label="Compute")
        if folds:
            op = Contribute(keys, folded)
            edge, folded = _contributed(builder, edge, op), op.merging
            if joined is not None:
                edge = replace(edge, notes=notes_on(builder, joined))
            edge, joined = _exchanged(builder, edge, keys), None
        elif edge.partly_signed or (
            builder.can_emit_expirations(edge) and not MIN_MAX.intersection(c.name for c in calls)
        ):
            edge = builder.signed(edge)
    made = _grouped(builder, edge, GroupBy(keys, folded))
    notes = unplaced(builder, plan, wanted.slide) if joined is None else notes_on(builder, joined)
    return replace(made, notes=notes)


def _grouped(builder: Builder, edge: PhysicalNode, op: GroupBy) -> PhysicalNode:
    """Add the groups themselves."""
    expirer = None if edge.signed else builder.expirer(edge)
    made = builder.add(
        GroupByOp(op, expirer),
        (edge,),
        op.schema,
        PatternKind.STR,
        label="Aggregate",
        structure="groups" if expirer is None else f"groups, {expirer.value}",
    )
    return replace(made, netted=frozenset(k.name for k in op.keys))


def _contributed(builder: Builder, edge: PhysicalNode, op: Contribute) -> PhysicalNode:
    """Fold each instant's rows."""
    signed = builder.signed(edge)
    return builder.add(ContributeOp(op), (signed,), op.schema, PatternKind.STR, label="Fold")


def _exchanged(builder: Builder, edge: PhysicalNode, keys: tuple[Field, ...]) -> PhysicalNode:
    """Let rows of a group meet."""
    by = tuple(as_column(key) for key in keys)
    return builder.exchange(edge, Route.KEY if by else Route.ONE, by)


def _inputs(
    keys: tuple[Named, ...], calls: tuple[AggregateCall, ...]
) -> tuple[tuple[Named, ...], tuple[AccumulatorCall, ...]]:
    """Return the columns to compute and the calls over those columns."""
    columns = list(keys)

    def column(expr: Expr) -> Field:
        known = next((c for c in columns if c.expr == expr), None)
        if known is None:
            known = Named(f"#{len(columns)}", expr)
            columns.append(known)
        return known.field

    folded = tuple(call_over(c, column) for c in calls)
    return tuple(columns), folded
