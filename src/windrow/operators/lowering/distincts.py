"""DISTINCT: the form that fits its input's edge."""

from __future__ import annotations

from windrow.operators.lowering.builder import Builder
from windrow.physical.node import PhysicalNode
from windrow.physical.operators import DistinctKind, DistinctOp
from windrow.plan.patterns import PatternKind


def add_distinct(builder: Builder, edge: PhysicalNode) -> PhysicalNode:
    """Return δ over an edge all of whose columns distinguish rows."""
    if edge.partly_signed:
        edge = builder.signed(edge)
    kind: PatternKind = PatternKind.MON if edge.kind is PatternKind.MON else PatternKind.WK
    if edge.signed:
        algorithm, kind = DistinctKind.STRICT, PatternKind.STR
    else:
        algorithm = DistinctKind.STORED_INPUT if builder.direct else DistinctKind.DELTA_STAR
    made = builder.add(
        DistinctOp(algorithm),
        (edge,),
        edge.schema,
        kind,
        label="Distinct",
        structure=algorithm.value,
    )
    return made if builder.renews else builder.signed(made)
