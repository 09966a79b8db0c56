"""How a program runs on Spark, as text: what Catalyst does, what crosses, what each level runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windrow.core.time import Clock, format_duration
from windrow.operators.levels import levels_of
from windrow.optimize.catalyst import translatable
from windrow.optimize.notes import EarlyNotes
from windrow.physical.node import PlanNotes
from windrow.physical.operators import (
    ExchangeOp,
    ExpiringJoinOp,
    FifoJoinOp,
    HashJoinOp,
    MultiJoinOp,
    MultiZSetJoinOp,
    SourceOp,
    WJoinOp,
    ZSetJoinOp,
)
from windrow.physical.plan import PhysicalPlan
from windrow.plan.catalog import Relation, Stream
from windrow.plan.expressions import Expr, conjuncts, substitute
from windrow.plan.format import format_expr
from windrow.plan.nodes import Query, Route
from windrow.plan.settings import SPARK, unused
from windrow.runtime.shards.layout import Output
from windrow.runtime.shards.ports import Port
from windrow.runtime.shards.program import Program
from windrow.runtime.spark.declared import fit_column
from windrow.runtime.spark.entry_sql import Reading, pushed, shard_sql
from windrow.runtime.spark.plan import SparkPlan, plan_of
from windrow.runtime.spark.ticks import Ticks, ticks_of

Made = tuple[Query, PhysicalPlan]
"""A query and its plan."""

JOINS = (
    FifoJoinOp,
    ExpiringJoinOp,
    HashJoinOp,
    ZSetJoinOp,
    MultiJoinOp,
    MultiZSetJoinOp,
    WJoinOp,
)
"""Operators whose results are rows of all their inputs."""

NOTHING: Mapping[str, Expr] = {}
"""No computed columns: those of inputs are declared."""

MANY = 2
"""Pairs of inputs from which on EXPLAIN shows how they meet."""


def explain_spark(program: Program) -> str:
    """Return the whole way of the rows: inputs, ports, levels, answers.

    Sources are taken to have the declared types: a run shows conversions only where they differ.
    """
    plan = plan_of(program)
    made = list(zip(program.bound(), program.physical(), strict=True))
    queries = _count(len(made), "query", "queries")
    exchanges = _count(plan.layout.levels, "exchange", "exchanges")
    shards = _count(plan.shards, "shard", "shards")
    lines = [f"{queries} on {shards}; {exchanges} of rows a batch, and a tiny one of times"]
    lines += [f"  {said}" for said in _passing(program, plan)]
    for query, p in made:
        lines += _chosen(query, [p.merging] if p.merging is not None else [])
    lines += [f"  {query.name}: {said}" for query, p in made if (said := _joining(p))]
    for query, p in made:
        lines += _chosen(query, p.folded)
    lines += [f"  {query.name}: {said}" for query, _ in made for said in unused(query, SPARK)]
    for number in range(len(plan.entries)):
        lines += ["", *_input(plan, number)]
    for level in range(plan.layout.levels):
        lines += ["", *_level(plan, level, made)]
    return "\n".join(lines)


def _chosen(query: Query, choices: Sequence[PlanNotes]) -> list[str]:
    """Say what becomes of the rows of a query on their way, and what either way costs."""
    found = (notes.notes() for notes in choices)
    return [
        line
        for first, *more in found
        for line in (f"  {query.name}: {first}", *(f"  {m}" for m in more))
    ]


def _passing(program: Program, plan: SparkPlan) -> list[str]:
    """Say how time passes while nothing arrives, and how much of it in one batch."""
    often = {
        Ticks.NEVER: [],
        Ticks.EVERY_SECOND: ["a batch happens every second, also without a row"],
        Ticks.EVERY_TRIGGER: ["a batch happens at every trigger, also without a row"],
    }
    ticks = ticks_of(program)
    lines = list(often[ticks])
    if plan.walled and ticks.always:
        lines.append(
            "the batch's own time comes with a tick; in a run that ends by itself, with the tiny"
            " exchange: shards do not meet instead there"
        )
    elif plan.walled:
        lines.append(
            "the batch's own time crosses with the tiny exchange: shards do not meet instead"
        )
    if (pace := program.pace()) is not None:
        lines.append(f"time waits for the next batch where {pace:,} tuples have expired on a shard")
    return lines


def _count(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def _joining(plan: PhysicalPlan) -> str:
    """Say how the rows of several joins meet; "" for one join or none."""
    levels = levels_of(plan)
    ops = enumerate(node.op for node in plan.nodes)
    joins = [n for n, op in ops if isinstance(op, JOINS) and not getattr(op, "renews", False)]
    inputs = sum(len(plan.nodes[n].inputs) - 1 for n in joins)
    if inputs < MANY:
        return ""
    found = sorted({levels[n] for n in joins})
    if len(found) == 1:
        return "all inputs are joined on one level: rows that match lie together"
    return f"inputs are joined in a chain of exchanges, at levels {', '.join(map(str, found))}"


def _input(plan: SparkPlan, number: int) -> list[str]:
    """Describe what Catalyst does with the rows of one input."""
    entry = plan.entries[number]
    reading = Reading(entry, number, plan.ports_of(entry))
    kind = "stream" if isinstance(entry, Stream) else "relation"
    unread = [name for name in entry.schema.names if name not in reading.needed]
    lines = [
        f"{kind} {entry.name}, {f'USING {entry.format}' if entry.format else 'a DataFrame'}",
        f"  reads {', '.join(reading.needed) or 'no column'}"
        + (f"; leaves {', '.join(unread)}" if unread else ""),
    ]
    lines += _silent(entry)
    fields = [entry.schema[name] for name in reading.needed]
    faults = [fault for f in fields for fault in fit_column(f, f.type, f.name, entry).faults]
    lines += [f"  dead letter if {reason}" for _, reason in faults]
    for port in reading.ports:
        lines += [f"  {line}" for line in _entry_port(port, plan)]
    merging = (p for p in plan.layout.ports if p.merges is not None and p.entry == entry)
    for port in merging:
        lines += [f"  {line}" for line in _merging_port(port, entry)]
    return lines


def _silent(entry: Stream | Relation) -> list[str]:
    """Say what happens when nothing comes of an input."""
    lines = []
    if isinstance(entry, Stream) and entry.heartbeat is not None:
        before = format_duration(entry.heartbeat, Clock.TIMESTAMP)
        lines.append(
            f"  a batch without its tuples takes it to {before} before the batch's own time"
        )
    if isinstance(entry, Stream) and entry.idle is not None:
        silent = format_duration(entry.idle, Clock.TIMESTAMP)
        lines.append(f"  after {silent} of silence it goes with the others")
    return lines


def _merging_port(port: Port, entry: Stream | Relation) -> list[str]:
    """Describe how Catalyst merges tuples before they cross."""
    assert port.merges is not None, "a port of merged tuples"
    assert isinstance(entry, Stream), "only tuples of streams are merged"
    partials = port.merges.partials
    keys = ", ".join(partials.keys) or "no key"
    exprs = {c.name: format_expr(c.expr) for c in port.merges.source.columns}
    parts = [
        f"{part.merge.value.upper()}({exprs[part.name]})"
        + (f" of values below {part.limit:,}" if part.limit else "")
        for part in partials.parts
        if part.name in port.schema
    ]
    slide = format_duration(partials.pane.slide, entry.clock)
    return [
        f"port {port.number}: tuples of port {port.merges.of} merged by Catalyst, a row a group and"
        f" pane of {slide}",
        f"  by {keys}: {', '.join(parts)}",
        "  late tuples and larger values cross as they are",
    ]


def _entry_port(port: Port, plan: SparkPlan) -> list[str]:
    lines = _port(port, plan, shard_sql(port, plan.shards))
    if port.predicate is None:
        return lines
    sql = pushed(port.predicate)
    if sql is not None:
        lines += [f"  filtered by Catalyst: {sql}", "  of what fails it only the time is read"]
    rest = [part for part in conjuncts(port.predicate) if not translatable(part)]
    lines += [f"  filtered by the shards: {format_expr(part)}" for part in rest]
    return lines


def _port(
    port: Port, plan: SparkPlan, shard: str, computed: Mapping[str, Expr] = NOTHING
) -> list[str]:
    """Describe a port; `computed` columns are shown as their expressions."""
    names = (format_expr(computed[n]) if n in computed else n for n in port.schema.names)
    carried = [*names, *port.carries]
    order = ["numbered as they come, for count windows"] if port.ordered and not port.level else []
    return [
        f"port {port.number}: {', '.join(carried) or 'times only'}",
        f"  {_route(port, plan, shard, computed)}",
        *(f"  {line}" for line in order),
    ]


def _route(port: Port, plan: SparkPlan, shard: str, computed: Mapping[str, Expr]) -> str:
    if plan.shards == 1:
        return "to the only shard"
    match port.route:
        case Route.ALL:
            return "a copy to every shard"
        case Route.ONE:
            return "all rows to the first shard"
        case Route.KEY:
            keys = ", ".join(
                format_expr(substitute(k, lambda c: computed.get(c.name, c))) for k in port.keys
            )
            return f"by {keys}: {shard}"


def _level(plan: SparkPlan, level: int, made: list[Made]) -> list[str]:
    came = "the inputs" if level == 0 else f"level {level - 1}"
    lines = [f"level {level}, fed by {came}"]
    computed = {name: expr for _, physical in made for name, expr in physical.computed.items()}
    for port in plan.layout.ports:
        if level and port.level == level:
            names = zip(port.schema.names, plan.forwarded[level].places[port.number], strict=True)
            places = {name: place or "NULL" for name, place in names}
            shown = shard_sql(port, plan.shards, places)
            lines += [f"  {line}" for line in _port(port, plan, shown, computed)]
    for (query, physical), output in zip(made, plan.layout.outputs, strict=True):
        lines += _operators(query, physical, level)
        if output.level == level:
            lines.append(f"    answers{_alone(output)}")
    return lines


def _operators(query: Query, plan: PhysicalPlan, level: int) -> list[str]:
    """Return the operators of a query on a level, the topmost first, and why they were chosen."""
    found = [
        node
        for node, at in zip(plan.nodes, levels_of(plan), strict=True)
        if at == level and not isinstance(node.op, SourceOp | ExchangeOp)
    ]
    if not found:
        return []
    notes = [node.notes for node in found if node.notes is not None]
    return [
        f"  {query.name}: {' ◄ '.join(node.label for node in reversed(found))}",
        *(f"    {line}" for n in notes for line in (*n.notes(), *_following(n))),
    ]


def _following(notes: PlanNotes) -> list[str]:
    """Say whether a shard may come to another placement than the one to begin with."""
    follows = isinstance(notes, EarlyNotes) and notes.replans
    return [
        "  each shard measures its own tuples, and changes it when another is cheaper"
    ] * follows


def _alone(output: Output) -> str:
    """Say if one shard does it all, and why."""
    if not output.alone:
        return ""
    return " from the first shard alone: the last step needs all rows in one place"
