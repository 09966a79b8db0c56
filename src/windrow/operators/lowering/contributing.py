"""GROUP BY over joins before an exchange: each shard emits its results as contributions."""

from __future__ import annotations

from functools import partial

from windrow.core.schema import Schema
from windrow.operators.lowering.aggregation import (
    METHODS,
    Considered,
    ContributedExprs,
    Lower,
    add_join,
    all_copies,
    condition_of,
    inputs_for,
    orders_for,
)
from windrow.operators.lowering.builder import Builder, Requirements
from windrow.operators.lowering.calls import call_over
from windrow.physical.calls import AccumulatorCall, PlacedCall
from windrow.physical.node import PhysicalNode
from windrow.physical.operators import AggregationJoinOp, ContributingJoinOp
from windrow.physical.parts import split_calls
from windrow.plan.nodes import Named, as_column


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
