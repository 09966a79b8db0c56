"""Windows: from a stream to a relation."""

from __future__ import annotations

from windrow.core.schema import Schema
from windrow.operators.lowering.builder import Builder, Requirements
from windrow.operators.lowering.streams import lower_stream
from windrow.physical.node import PhysicalNode
from windrow.physical.operators import OwnTimeOp, WindowOp
from windrow.plan.nodes import Window
from windrow.plan.patterns import PatternKind, pattern_of
from windrow.plan.windows import PartitionRows, Range, Rows, Since, Unbounded, Until, WindowSpec

STRUCTURES: dict[type[WindowSpec], str] = {Rows: "ring", PartitionRows: "ring a key"}
"""In what the windows store their rows that do not leave it to others."""


def lower_window(builder: Builder, plan: Window, wanted: Requirements) -> PhysicalNode:
    """Lower a window; under `negative` its tuples leave by negative tuples at once."""
    spec = plan.spec
    reads = wanted.columns | _reads(spec)
    stream = lower_stream(
        builder, plan.source, Requirements(reads - {plan.expiry_column, plan.ts_column})
    )
    if plan.ts_column is not None:
        schema = stream.schema + Schema((plan.schema[plan.ts_column],))
        own_time = OwnTimeOp(plan.ts_column)
        stream = builder.add(own_time, (stream,), schema, stream.kind, label="Own time")
    schema = stream.schema
    if plan.expiry_column is not None:
        schema = schema + Schema((plan.schema[plan.expiry_column],))
    edge = builder.add(
        WindowOp(spec, wanted.slide, plan.expiry_column),
        (stream,),
        schema,
        _kind(plan, wanted.slide),
        label=f"Window {type(spec).__name__}",
        structure=STRUCTURES.get(type(spec), ""),
    )
    return builder.signed(edge) if builder.strategy == "negative" else edge


def _reads(spec: WindowSpec) -> frozenset[str]:
    match spec:
        case PartitionRows(keys=keys):
            return frozenset(keys)
        case Until(columns=columns):
            return frozenset(columns)
        case _:
            return frozenset()


def _kind(plan: Window, slide: int | None) -> PatternKind:
    match plan.spec:
        case Range(width=width):
            uneven = slide is not None and width % slide
            return PatternKind.WK if uneven else PatternKind.WKS
        case Unbounded() | Since():
            return PatternKind.MON
        case Until():
            return pattern_of(plan).kind
        case Rows() | PartitionRows():
            return PatternKind.STR
