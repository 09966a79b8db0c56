"""GROUP BY over joins before an exchange: each shard emits its results as contributions."""

from __future__ import annotations

from functools import partial

from windrow.core.schema import Schema
from windrow.operators.aggregate import AccumulatorCall
from windrow.operators.aggregate.parts import split_calls
from windrow.operators.join.aggregation.contributing import ContributingJoinTask
from windrow.operators.join.aggregation.op import AggregationJoin, PlacedCall
from windrow.operators.lowering.aggregation import (
    METHODS,
    Considered,
    ContributedExprs,
    Lower,
    add_join,
    all_copies,
    inputs_for,
    match_of,
    orders_for,
)
from windrow.operators.lowering.builder import Builder, Edge, Requirements
from windrow.operators.lowering.calls import call_over
from windrow.operators.rowwise import ProjectTask
from windrow.plan.nodes import Named, as_column


def lower_contributions(
    builder: Builder, found: Considered, wanted: Requirements, lower: Lower
) -> tuple[Edge, tuple[AccumulatorCall, ...]]:
    """Lower Δγ over ⋈ as one operator; return its edge, by the keys' names, and calls over it."""
    joined = found.joined
    inputs = inputs_for(builder, found, wanted, lower)
    columns = ContributedExprs(joined, [names for _, names in inputs])
    keys = [columns.field(k.expr) for k in joined.keys]
    placed = tuple(zip(joined.calls, found.early, strict=True))
    calls = tuple(call_over(c, partial(columns.field, early=at)) for c, at in placed)
    parts, merging = split_calls(calls)
    early = {(c.args, c.filter): at for c, at in zip(calls, found.early, strict=True)}
    op = AggregationJoin(
        match_of(builder, found, inputs),
        found.choice.placement,
        tuple({f.name: f for f in keys}.values()),
        tuple(PlacedCall(p.call, early[p.call.args, p.call.filter]) for p in parts),
        columns.compute(builder.interner),
        all_copies(joined),
    )
    method = METHODS[builder.algorithm]
    task = ContributingJoinTask(op, parts, orders_for(found), builder.interner, method)
    edge = add_join(builder, found, inputs, task, task.schema)
    named = [Named(k.name, as_column(f)) for k, f in zip(joined.keys, keys, strict=True)]
    named += [Named(f.name, as_column(f)) for part in parts for f in part.fields]
    schema = Schema(tuple(c.field for c in named))
    project = ProjectTask(tuple(named), builder.interner)
    return builder.rowwise(project, edge, schema, label="Compute"), merging
