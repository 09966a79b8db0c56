"""DISTINCT: the form that fits its input's edge."""

from __future__ import annotations

from windrow.operators.distinct import DeltaStarDistinct, StoredInputDistinct, StrictDistinct
from windrow.operators.lowering.builder import Builder, Edge
from windrow.operators.task import Task
from windrow.plan.patterns import PatternKind


def add_distinct(builder: Builder, edge: Edge) -> Edge:
    """Add δ over an edge all of whose columns distinguish rows."""
    if edge.partly_signed:
        edge = builder.signed(edge)
    task: Task
    kind: PatternKind = PatternKind.MON if edge.kind is PatternKind.MON else PatternKind.WK
    if edge.signed:
        task, kind, structure = StrictDistinct(edge.schema), PatternKind.STR, "counters"
    elif builder.direct:
        task, structure = StoredInputDistinct(edge.schema), "stored input"
    else:
        task, structure = DeltaStarDistinct(edge.schema), "δ*"
    made = builder.add(task, (edge,), edge.schema, kind, label="Distinct", structure=structure)
    return made if builder.renews else builder.signed(made)
