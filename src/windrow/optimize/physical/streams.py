"""Stream nodes: sources, what is done before a window, windows, and output streams."""

from __future__ import annotations

from dataclasses import replace

from windrow.core.schema import Schema
from windrow.optimize.physical.builder import Builder, Requirements
from windrow.physical.node import PhysicalNode
from windrow.physical.operators import (
    DelayOp,
    DstreamOp,
    FilterOp,
    IstreamOp,
    NumberOp,
    OwnTimeOp,
    ProducedOp,
    RecentAnswersOp,
    RstreamOp,
    SlideInstantsOp,
    SourceOp,
    WindowOp,
)
from windrow.physical.sources import Crossing, SourceScan
from windrow.plan.expressions import Column, columns_of
from windrow.plan.nodes import (
    Delay,
    Dstream,
    Exchange,
    Filter,
    Istream,
    Join,
    Named,
    Numbered,
    Plan,
    Produced,
    Project,
    RecentAnswers,
    Rstream,
    Scan,
    SlideInstants,
    Window,
)
from windrow.plan.patterns import PatternKind, pattern_of
from windrow.plan.windows import PartitionRows, Range, Rows, Since, Unbounded, Until, WindowSpec


def lower_stream(builder: Builder, plan: Plan, wanted: Requirements) -> PhysicalNode:
    """Lower a stream node. Only the wanted columns leave it."""
    return _lowered(builder.under(plan), plan, wanted)


def _lowered(builder: Builder, plan: Plan, wanted: Requirements) -> PhysicalNode:
    source = source_of(plan)
    if source is not None:
        return builder.source(SourceOp(source.only(wanted.columns)), None, label="Stream")
    match plan:
        case Exchange():
            return _exchange(builder, plan, wanted)
        case Filter(source=below, predicate=predicate):
            edge = lower_stream(builder, below, wanted.plus(columns_of(predicate)))
            return builder.add(FilterOp(predicate), (edge,), edge.schema, None, label="Filter")
        case Project(source=below, columns=columns):
            return _project(builder, below, columns, wanted)
        case Numbered():
            return _numbered(builder, plan, wanted)
        case SlideInstants(source=below, step=step, column=column):
            edge = lower_stream(builder, below, wanted.of(frozenset()))
            instants = SlideInstantsOp(column, step)
            return builder.add(instants, (edge,), plan.schema, None, label="SlideInstants")
        case Produced(source=below):
            return _produced(builder, plan, below)
        case Istream(source=below):
            return _output(builder, plan, below, "Istream")
        case Dstream(source=below):
            return _output(builder, plan, below, "Dstream")
        case Rstream():
            return _rstream(builder, plan)
        case Delay(source=below, slide=slide):
            edge = lower_stream(builder, below, Requirements(frozenset(below.schema.names)))
            return builder.add(DelayOp(slide), (edge,), edge.schema, None, label="Delay")
        case _:
            msg = f"{type(plan).__name__} is no stream"
            raise AssertionError(msg)


def source_of(plan: Plan) -> SourceScan | None:
    """Return what enters the plan if the node is a declared stream, filtered and projected."""
    match plan:
        case Scan(stream=stream, alias=alias):
            columns = tuple(
                Named(f"{alias}.{f.name}", Column(f.name, f.type, f.nullable))
                for f in stream.schema
            )
            return SourceScan(stream, columns)
        case Filter(source=below, predicate=predicate):
            inner = source_of(below)
            return None if inner is None else inner.filtered(predicate)
        case Project(source=below, columns=columns):
            inner = source_of(below)
            return None if inner is None else inner.projected(columns)
        case _:
            return None


def _exchange(builder: Builder, plan: Exchange, wanted: Requirements) -> PhysicalNode:
    """Lower an exchange: of a source, the runtime does it before rows enter."""
    source = source_of(plan.source)
    if source is None:
        reads = frozenset[str]().union(*map(columns_of, plan.keys))
        edge = lower_stream(builder, plan.source, wanted.plus(reads))
        return builder.exchange(edge, plan.route, plan.keys)
    keys = tuple(source.at_entry(k) for k in plan.keys)
    merging = (partials for partials in builder.merging if partials.is_of(plan.source))
    op = SourceOp(source.only(wanted.columns), Crossing(plan.route, keys), next(merging, None))
    return builder.source(op, None, label="Stream")


def _project(
    builder: Builder, below: Plan, columns: tuple[Named, ...], wanted: Requirements
) -> PhysicalNode:
    kept = tuple(c for c in columns if c.name in wanted.columns)
    reads = frozenset[str]().union(*(columns_of(c.expr) for c in kept))
    edge = lower_stream(builder, below, wanted.of(reads))
    return builder.project(edge, kept, label="Project")


def _relation(builder: Builder, below: Plan, slide: int | None = None) -> PhysicalNode:
    """Lower the relation under an output stream: all its columns distinguish rows."""
    from windrow.optimize.physical.relational import lower_relation  # noqa: PLC0415 - mutual

    edge = lower_relation(builder, below, Requirements(frozenset(below.schema.names), slide))
    return ordered(builder, edge, below.schema)


def ordered(builder: Builder, edge: PhysicalNode, schema: Schema) -> PhysicalNode:
    """Return the edge with exactly these columns in this order."""
    if edge.schema.names == schema.names:
        return replace(edge, schema=schema)
    columns = tuple(Named(f.name, Column(f.name, f.type, f.nullable)) for f in schema)
    return replace(builder.project(edge, columns, label="Order columns"), schema=schema)


def _numbered(builder: Builder, plan: Numbered, wanted: Requirements) -> PhysicalNode:
    edge = lower_stream(builder, plan.source, wanted.of(wanted.columns - {plan.column}))
    schema = edge.schema + Schema((plan.schema[plan.column],))
    return builder.add(NumberOp(plan.column), (edge,), schema, None, label="Number")


def _produced(builder: Builder, plan: Produced, below: Plan) -> PhysicalNode:
    """Lower the stream of results that travel once: their arrivals, without any expiration.

    At the root nobody asks for an order inside an instant, so nothing waits for its end.
    """
    edge = _relation(builder.unsigned, below)
    assert edge.unsigned, "results that travel once travel on an unsigned edge"
    if plan is builder.root:
        return builder.insertions(edge, None)
    return builder.add(ProducedOp(), (edge,), edge.schema, None, label="Produced")


def _output(builder: Builder, plan: Plan, below: Plan, label: str) -> PhysicalNode:
    """Lower ISTREAM or DSTREAM.

    At the root, the insertions of what never expires are emitted at once: nothing can cancel
    them, and nobody asks for an order inside an instant. So are those of rows that have the times
    when they appeared: what expires at an instant appeared earlier, and equals none that appears
    then.
    """
    edge = _relation(builder, below)
    at_once = edge.kind is PatternKind.MON or (
        edge.unsigned and arrival_time_columns(below) is not None
    )
    if at_once and label == "Istream" and plan is builder.root:
        return builder.insertions(edge, None)
    edge = builder.signed(edge)
    make = IstreamOp if label == "Istream" else DstreamOp
    op = make(ordered=plan is not builder.root)
    return builder.add(op, (edge,), edge.schema, None, label=label)


def arrival_time_columns(plan: Plan) -> frozenset[str] | None:
    """Return columns from which a row's own time follows: the times of all its tuples.

    None if some are not among its columns, or the row may appear at another time than the last of
    them.
    """
    match plan:
        case Scan():
            return frozenset({plan.time_column})
        case Window(source=below, spec=Range() | Unbounded() | Since()):
            return arrival_time_columns(below)
        case Filter(source=below) | Exchange(source=below):
            return arrival_time_columns(below)
        case Project(source=below, columns=columns):
            names = {c.expr.name: c.name for c in columns if isinstance(c.expr, Column)}
            times = arrival_time_columns(below)
            known = times is not None and times <= names.keys()
            return frozenset(names[t] for t in times) if times is not None and known else None
        case Join(left=left, right=right):
            first, second = arrival_time_columns(left), arrival_time_columns(right)
            return None if first is None or second is None else first | second
        case _:
            return None


def _rstream(builder: Builder, plan: Rstream) -> PhysicalNode:
    refresh = plan.source
    edge = builder.signed(_relation(builder, refresh.source, refresh.slide))
    op = RstreamOp(refresh.slide, plan.seen, plan.by)
    return builder.add(op, (edge,), edge.schema, None, label="Rstream")


def lower_recent_answers(builder: Builder, plan: RecentAnswers) -> PhysicalNode:
    """Lower a RANGE over whole answers: what they differ by from those that leave."""
    refresh = plan.source
    edge = builder.signed(_relation(builder, refresh.source, refresh.slide))
    return builder.add(
        RecentAnswersOp(refresh.slide, plan.width),
        (edge,),
        edge.schema,
        PatternKind.STR,
        label="RecentAnswers",
        structure="differences",
    )


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
