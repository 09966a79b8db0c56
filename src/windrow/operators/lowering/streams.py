"""Stream nodes: sources, what is done to a stream before its window, and output streams."""

from __future__ import annotations

from dataclasses import replace

from windrow.core.schema import Schema
from windrow.operators.lowering.builder import Builder, Crossing, Edge, Requirements
from windrow.operators.rowwise import FilterTask, ProjectTask
from windrow.operators.source import SourceScan
from windrow.operators.streams import (
    DelayTask,
    DstreamTask,
    IstreamTask,
    NumberTask,
    ProducedTask,
    RecentAnswersTask,
    RstreamTask,
    SlideInstantsTask,
)
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
from windrow.plan.patterns import PatternKind
from windrow.plan.windows import Range, Since, Unbounded


def lower_stream(builder: Builder, plan: Plan, wanted: Requirements) -> Edge:
    """Lower a stream node. Only the wanted columns leave it."""
    first = len(builder.stages)
    edge = _lowered(builder, plan, wanted)
    builder.owned(plan, first)
    return edge


def _lowered(builder: Builder, plan: Plan, wanted: Requirements) -> Edge:
    source = source_of(plan)
    if source is not None:
        return builder.source(source.only(wanted.columns), _name(source))
    match plan:
        case Exchange():
            return _exchange(builder, plan, wanted)
        case Filter(source=below, predicate=predicate):
            edge = lower_stream(builder, below, wanted.plus(columns_of(predicate)))
            task = FilterTask(predicate, builder.interner)
            return builder.add(task, (edge,), edge.schema, None, label="Filter")
        case Project(source=below, columns=columns):
            return _project(builder, below, columns, wanted)
        case Numbered():
            return _numbered(builder, plan, wanted)
        case SlideInstants(source=below, step=step, column=column):
            edge = lower_stream(builder, below, wanted.of(frozenset()))
            instants = SlideInstantsTask(column, step)
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
            delay = DelayTask(edge.schema, slide, builder.interner)
            return builder.add(delay, (edge,), edge.schema, None, label="Delay")
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


def _exchange(builder: Builder, plan: Exchange, wanted: Requirements) -> Edge:
    """Lower an exchange: of a source, the runtime does it before rows enter."""
    source = source_of(plan.source)
    if source is None:
        reads = frozenset[str]().union(*map(columns_of, plan.keys))
        edge = lower_stream(builder, plan.source, wanted.plus(reads))
        return builder.exchange(edge, plan.route, plan.keys)
    edge = builder.source(source.only(wanted.columns), _name(source))
    keys = tuple(source.at_entry(k) for k in plan.keys)
    builder.entries[edge.stage] = Crossing(plan.route, keys)
    for partials in builder.merging:
        if partials.is_of(plan.source):
            builder.partials[edge.stage] = partials
    return edge


def _name(source: SourceScan) -> str:
    return f"Stream {source.entry.name}"


def _project(
    builder: Builder, below: Plan, columns: tuple[Named, ...], wanted: Requirements
) -> Edge:
    kept = tuple(c for c in columns if c.name in wanted.columns)
    reads = frozenset[str]().union(*(columns_of(c.expr) for c in kept))
    edge = lower_stream(builder, below, wanted.of(reads))
    schema = Schema(tuple(c.field for c in kept))
    task = ProjectTask(kept, builder.interner)
    return builder.add(task, (edge,), schema, None, label="Project")


def _relation(builder: Builder, below: Plan, slide: int | None = None) -> Edge:
    """Lower the relation under an output stream: all its columns distinguish rows."""
    from windrow.operators.lowering.relational import lower_relation  # noqa: PLC0415 - mutual

    edge = lower_relation(builder, below, Requirements(frozenset(below.schema.names), slide))
    return ordered(builder, edge, below.schema)


def ordered(builder: Builder, edge: Edge, schema: Schema) -> Edge:
    """Return the edge with exactly these columns in this order."""
    if edge.schema.names == schema.names:
        return replace(edge, schema=schema)
    columns = tuple(Named(f.name, Column(f.name, f.type, f.nullable)) for f in schema)
    task = ProjectTask(columns, builder.interner)
    return builder.rowwise(task, edge, schema, label="Order columns")


def _numbered(builder: Builder, plan: Numbered, wanted: Requirements) -> Edge:
    edge = lower_stream(builder, plan.source, wanted.of(wanted.columns - {plan.column}))
    schema = edge.schema + Schema((plan.schema[plan.column],))
    return builder.add(NumberTask(plan.column), (edge,), schema, None, label="Number")


def _produced(builder: Builder, plan: Produced, below: Plan) -> Edge:
    """Lower the stream of results that travel once: their arrivals, without any expiration.

    At the root nobody asks for an order inside an instant, so nothing waits for its end.
    """
    with builder.unsigned_edges():
        edge = _relation(builder, below)
    assert edge.unsigned, "results that travel once travel on an unsigned edge"
    if plan is builder.root:
        return builder.insertions(edge, None)
    task = ProducedTask(edge.schema, builder.interner)
    return builder.add(task, (edge,), edge.schema, None, label="Produced")


def _output(builder: Builder, plan: Plan, below: Plan, label: str) -> Edge:
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
    make = IstreamTask if label == "Istream" else DstreamTask
    task = make(edge.schema, builder.interner, ordered=plan is not builder.root)
    return builder.add(task, (edge,), edge.schema, None, label=label)


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


def _rstream(builder: Builder, plan: Rstream) -> Edge:
    refresh = plan.source
    edge = builder.signed(_relation(builder, refresh.source, refresh.slide))
    task = RstreamTask(edge.schema, refresh.slide, builder.interner, plan.seen, plan.by)
    return builder.add(task, (edge,), edge.schema, None, label="Rstream")


def lower_recent_answers(builder: Builder, plan: RecentAnswers) -> Edge:
    """Lower a RANGE over whole answers: what they differ by from those that leave."""
    refresh = plan.source
    edge = builder.signed(_relation(builder, refresh.source, refresh.slide))
    return builder.add(
        RecentAnswersTask(edge.schema, refresh.slide, plan.width),
        (edge,),
        edge.schema,
        PatternKind.STR,
        label="RecentAnswers",
        structure="differences",
    )
