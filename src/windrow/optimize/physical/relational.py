"""Relation nodes: each becomes an operator whose form fits its inputs' edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from windrow.core.schema import Schema
from windrow.core.time import format_duration
from windrow.optimize.physical.aggregates import lower_aggregate
from windrow.optimize.physical.builder import Builder, Requirements, add_distinct
from windrow.optimize.physical.joins import (
    lower_half_join,
    lower_join,
    lower_nrr_join,
    lower_outer_join,
)
from windrow.optimize.physical.streams import lower_recent_answers, lower_window, ordered
from windrow.optimize.rewriting import refreshes_again
from windrow.physical.node import PhysicalNode
from windrow.physical.operators import (
    BagOp,
    FilterOp,
    HoldOp,
    RefreshOp,
    SourceOp,
    StampOp,
    TopNOp,
    UnionOp,
    VersionsOp,
)
from windrow.physical.sources import Crossing, SourceScan
from windrow.plan.expressions import Column, columns_of, substitute
from windrow.plan.labels import clock_of
from windrow.plan.nodes import (
    Aggregate,
    AntiJoin,
    Distinct,
    Except,
    Exchange,
    Filter,
    Hold,
    Intersect,
    Join,
    Named,
    NrrJoin,
    OuterJoin,
    Plan,
    Project,
    RecentAnswers,
    Refresh,
    SemiJoin,
    Stamped,
    Table,
    TopN,
    UnionAll,
    Versions,
    Window,
    as_column,
)
from windrow.plan.patterns import PatternKind


def lower_relation(builder: Builder, plan: Plan, wanted: Requirements) -> PhysicalNode:
    """Lower a relation node; its edge has at least the wanted columns."""
    return _lowered(builder.under(plan), plan, wanted)


def _lowered(builder: Builder, plan: Plan, wanted: Requirements) -> PhysicalNode:
    match plan:
        case Window():
            return lower_window(builder, plan, wanted)
        case Table():
            return _table(builder, plan, wanted)
        case Exchange():
            return _exchange(builder, plan, wanted)
        case Filter(source=below, predicate=predicate):
            edge = lower_relation(builder, below, wanted.plus(columns_of(predicate)))
            made = builder.rowwise(FilterOp(predicate), edge, edge.schema, label="Filter")
            return replace(made, netted=edge.netted)
        case Project(source=below, columns=columns):
            return _project(builder, below, columns, wanted)
        case Join():
            return lower_join(builder, plan, wanted, lower_relation)
        case NrrJoin():
            return _unrefreshed(builder, plan, wanted)
        case Versions():
            return lower_versions(builder, plan, table_source)
        case Stamped():
            edge = lower_stamped(builder, plan, wanted, lower_relation)
            return _held(builder, edge, wanted.slide)
        case OuterJoin():
            return lower_outer_join(builder, plan, wanted, lower_relation)
        case SemiJoin() | AntiJoin():
            return lower_half_join(builder, plan, wanted, lower_relation)
        case Aggregate():
            return lower_aggregate(builder, plan, wanted, lower_relation)
        case UnionAll(inputs=inputs):
            return _union(builder, plan, inputs, wanted)
        case Distinct(source=below):
            return add_distinct(builder, _whole(builder, below, wanted))
        case Except() | Intersect():
            return _bag(builder, plan, wanted)
        case Hold():
            return _hold(builder, plan, wanted)
        case TopN():
            return _top(builder, plan, wanted)
        case Refresh():
            return _refresh(builder, plan, wanted)
        case RecentAnswers():
            return _held(builder, lower_recent_answers(builder, plan), wanted.slide)
        case _:
            msg = f"{type(plan).__name__} is no relation"
            raise AssertionError(msg)


def _whole(builder: Builder, plan: Plan, wanted: Requirements) -> PhysicalNode:
    """Lower an input all of whose columns distinguish rows, in schema order."""
    edge = lower_relation(builder, plan, wanted.of(frozenset(plan.schema.names)))
    return ordered(builder, edge, plan.schema)


def _exchange(builder: Builder, plan: Exchange, wanted: Requirements) -> PhysicalNode:
    """Lower an exchange: of a relation, the runtime does it before rows enter."""
    if isinstance(plan.source, Table):
        declared = {f"{plan.source.alias}.{f.name}": f for f in plan.source.relation.schema}
        keys = tuple(substitute(k, lambda c: as_column(declared[c.name])) for k in plan.keys)
        crossing = Crossing(plan.route, keys)
        edge = table_source(builder, plan.source, wanted.columns, crossing)
        return _held(builder, edge, wanted.slide)
    reads = frozenset[str]().union(*map(columns_of, plan.keys))
    edge = lower_relation(builder, plan.source, wanted.plus(reads))
    return builder.exchange(edge, plan.route, plan.keys)


def _table(builder: Builder, plan: Table, wanted: Requirements) -> PhysicalNode:
    edge = table_source(builder, plan, wanted.columns)
    return _held(builder, edge, wanted.slide)


def table_source(
    builder: Builder, plan: Table, columns: frozenset[str], crossing: Crossing | None = None
) -> PhysicalNode:
    """Add a relation as an input: its changes arrive as a signed edge."""
    made = tuple(
        Named(f"{plan.alias}.{f.name}", Column(f.name, f.type, f.nullable))
        for f in plan.relation.schema
    )
    source = SourceScan(plan.relation, made).only(columns)
    return builder.source(SourceOp(source, crossing), PatternKind.STR, label="Relation")


def _held(
    builder: Builder, edge: PhysicalNode, slide: int | None, *, restore: bool = False
) -> PhysicalNode:
    """Return the edge refreshed at multiples of `slide` only."""
    if slide is None:
        return edge
    signed = builder.signed(edge)
    return builder.add(
        RefreshOp(slide, restore), (signed,), signed.schema, PatternKind.STR, label="Refresh"
    )


def _project(
    builder: Builder, below: Plan, columns: tuple[Named, ...], wanted: Requirements
) -> PhysicalNode:
    kept = tuple(c for c in columns if c.name in wanted.columns)
    reads = frozenset[str]().union(*(columns_of(c.expr) for c in kept))
    edge = lower_relation(builder, below, wanted.of(reads))
    return builder.project(edge, kept, label="Project")


def _unrefreshed(builder: Builder, plan: NrrJoin, wanted: Requirements) -> PhysicalNode:
    """An NRR is read as of the tuple's own time, so SLIDE stays above it."""
    edge = lower_nrr_join(builder, plan, Requirements(wanted.columns), lower_relation, table_source)
    return _held(builder, edge, wanted.slide)


def _union(
    builder: Builder, plan: UnionAll, inputs: tuple[Plan, ...], wanted: Requirements
) -> PhysicalNode:
    names = plan.schema.names
    chosen = [i for i, name in enumerate(names) if name in wanted.columns]
    edges = []
    for below in inputs:
        fields = tuple(below.schema.fields[i] for i in chosen)
        edge = lower_relation(builder, below, wanted.of(frozenset(f.name for f in fields)))
        edges.append(ordered(builder, edge, Schema(fields)))
    if any(e.signed for e in edges):
        edges = [builder.signed(e) for e in edges]
    schema = Schema(tuple(plan.schema.fields[i] for i in chosen))
    kinds = {e.kind for e in edges}
    partly_signed = any(e.partly_signed for e in edges)
    kind = kinds.pop() if len(kinds) == 1 else PatternKind.STR if partly_signed else PatternKind.WK
    if kind is PatternKind.WKS and not _equal_lifetimes(plan):
        kind = PatternKind.WK
    return builder.add(
        UnionOp(), tuple(edges), schema, kind, label="Union all", partly_signed=partly_signed
    )


def _equal_lifetimes(plan: UnionAll) -> bool:
    from windrow.plan.patterns import pattern_of  # noqa: PLC0415

    return pattern_of(plan).kind is PatternKind.WKS


def _bag(builder: Builder, plan: Except | Intersect, wanted: Requirements) -> PhysicalNode:
    left = builder.signed(_whole(builder, plan.left, wanted))
    right = builder.signed(_whole(builder, plan.right, wanted))
    kind = ("except" if isinstance(plan, Except) else "intersect") + ("_all" if plan.all else "")
    return builder.add(
        BagOp(kind),
        (left, right),
        plan.schema,
        PatternKind.STR,
        label=kind,
        structure="counters by row",
    )


def _hold(builder: Builder, plan: Hold, wanted: Requirements) -> PhysicalNode:
    """Count the copies of a row at every change: all departures travel, and SLIDE stays above."""
    edge = builder.signed(_whole(builder, plan.source, Requirements(wanted.columns)))
    length = format_duration(plan.length, clock_of(builder.root or plan))
    made = builder.add(
        HoldOp(plan.length),
        (edge,),
        edge.schema,
        PatternKind.STR,
        label="Hold",
        structure=f"rows that came in the last {length}; answers come that much later at most",
    )
    return _held(builder, made, wanted.slide)


def _top(builder: Builder, plan: TopN, wanted: Requirements) -> PhysicalNode:
    edge = builder.signed(_whole(builder, plan.source, wanted))
    with_keys, names = builder.with_columns(edge, tuple(k.expr for k in plan.keys))
    keys = tuple(
        (name, k.descending, k.nulls_first) for name, k in zip(names, plan.keys, strict=True)
    )
    return builder.add(
        TopNOp(keys, plan.limit, plan.offset),
        (with_keys,),
        with_keys.schema,
        PatternKind.STR,
        label="TopN",
        structure="ordered rows",
    )


def _refresh(builder: Builder, plan: Refresh, wanted: Requirements) -> PhysicalNode:
    if not plan.restore and not refreshes_again(plan.source):
        return lower_relation(builder, plan.source, Requirements(wanted.columns, plan.slide))
    columns = frozenset(plan.schema.names) if plan.restore else wanted.columns
    edge = lower_relation(builder, plan.source, Requirements(columns))
    return _held(builder, edge, plan.slide, restore=plan.restore)


Lower = Callable[[Builder, Plan, Requirements], PhysicalNode]
LowerTable = Callable[[Builder, Table, frozenset[str]], PhysicalNode]


def lower_versions(builder: Builder, plan: Versions, table: LowerTable) -> PhysicalNode:
    """Lower the versions of a relation: once, for all that meet them.

    All of its columns are read, whoever asks first, so that all agree on what a change is.
    """
    if id(plan) not in builder.shared:
        below = table(builder, plan.source, frozenset(plan.source.schema.names))
        schema = below.schema + Schema((plan.first, plan.end))
        builder.shared[id(plan)] = builder.add(
            VersionsOp(plan.life),
            (below,),
            schema,
            PatternKind.STR,
            label="Versions",
            structure="rows by version",
        )
    return builder.shared[id(plan)]


def lower_stamped(
    builder: Builder, plan: Stamped, wanted: Requirements, lower: Lower
) -> PhysicalNode:
    """Lower tuples with the version that each meets, at its own time: before SLIDE holds them.

    They are unsigned under every strategy, and emitted once (see `lower_nrr_join`).
    """
    once = builder.unsigned.unrenewed
    left = lower(once, plan.source, Requirements(wanted.columns - {plan.met.name}))
    assert left.unsigned, "tuples that meet versions carry `exp`"
    versions = lower(builder, plan.versions, Requirements(frozenset()))
    op = StampOp(plan.met.name, (plan.versions.first.name, plan.versions.end.name))
    schema = left.schema + Schema((plan.met,))
    return builder.add(
        op, (left, versions), schema, left.kind, label="Stamp", structure="version met"
    )
