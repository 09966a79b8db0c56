"""Windows: from a stream to a relation."""

from __future__ import annotations

from windrow.core.schema import Schema
from windrow.operators.lowering.builder import Builder, Edge, Requirements
from windrow.operators.lowering.streams import lower_stream
from windrow.operators.rowwise import OwnTimeTask
from windrow.operators.task import Task
from windrow.operators.window import (
    PartitionRowsWindow,
    RangeWindow,
    RowsWindow,
    SinceWindow,
    UnboundedWindow,
    UntilWindow,
)
from windrow.plan.nodes import Window
from windrow.plan.patterns import PatternKind, pattern_of
from windrow.plan.windows import PartitionRows, Range, Rows, Since, Unbounded, Until, WindowSpec


def lower_window(builder: Builder, plan: Window, wanted: Requirements) -> Edge:
    """Lower a window; under `negative` its tuples leave by negative tuples at once."""
    spec = plan.spec
    reads = wanted.columns | _reads(spec)
    stream = lower_stream(
        builder, plan.source, Requirements(reads - {plan.expiry_column, plan.ts_column})
    )
    if plan.ts_column is not None:
        schema = stream.schema + Schema((plan.schema[plan.ts_column],))
        task_of_ts = OwnTimeTask(plan.ts_column)
        stream = builder.add(task_of_ts, (stream,), schema, stream.kind, label="Own time")
    task, kind, structure = _task(plan, stream.schema, wanted.slide)
    schema = stream.schema
    if plan.expiry_column is not None:
        schema = schema + Schema((plan.schema[plan.expiry_column],))
    edge = builder.add(
        task, (stream,), schema, kind, label=f"Window {type(spec).__name__}", structure=structure
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


def _task(plan: Window, schema: Schema, slide: int | None) -> tuple[Task, PatternKind, str]:
    match plan.spec:
        case Range(width=width):
            kind = PatternKind.WKS
            if slide is not None and width % slide:
                kind = PatternKind.WK
            return RangeWindow(schema, width, slide, plan.expiry_column), kind, ""
        case Unbounded():
            return UnboundedWindow(schema, slide), PatternKind.MON, ""
        case Since(start=start):
            return SinceWindow(schema, start, slide), PatternKind.MON, ""
        case Until(columns=columns):
            return UntilWindow(schema, columns, slide), pattern_of(plan).kind, ""
        case Rows(count=count, step=step):
            return RowsWindow(schema, count, step, slide), PatternKind.STR, "ring"
        case PartitionRows(keys=keys, count=count):
            return PartitionRowsWindow(schema, keys, count, slide), PatternKind.STR, "ring a key"
