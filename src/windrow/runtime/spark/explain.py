"""How a program runs on Spark, as text: what Catalyst does, what crosses, what each level runs."""

from __future__ import annotations

from windrow.operators.levels import levels_of
from windrow.optimize.catalyst import quoted, spark_sql
from windrow.plan.catalog import Stream
from windrow.plan.expressions import Expr
from windrow.plan.format import format_expr
from windrow.plan.nodes import Route
from windrow.runtime.shards.layout import Output, Port, Wiring, wired
from windrow.runtime.shards.program import Program
from windrow.runtime.spark.declared import fit_column
from windrow.runtime.spark.entry_sql import Reading, checked_sql, spread_sql
from windrow.runtime.spark.plan import SparkPlan, plan_of


def explain_spark(program: Program) -> str:
    """Return the whole way of the rows: inputs, exchanges, levels, answers."""
    plan = plan_of(program)
    _, wirings = wired(program)
    lines = [f"{len(wirings)} queries on {_count(plan.shards, 'shard')}, {_levels(plan)}"]
    for number in range(len(plan.entries)):
        lines += ["", *_input(plan, number)]
    for level in range(plan.layout.levels):
        lines += ["", *_level(plan, level, wirings)]
    return "\n".join(lines)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _levels(plan: SparkPlan) -> str:
    return f"{_count(plan.layout.levels + 1, 'exchange')} of rows a batch, one of them tiny"


def _input(plan: SparkPlan, number: int) -> list[str]:
    """Describe what Catalyst does with one input, as if its source had the declared types."""
    entry = plan.entries[number]
    kind = "stream" if isinstance(entry, Stream) else "relation"
    source = f"USING {entry.format}" if entry.format else "a DataFrame"
    reading = Reading(entry, number, plan.ports_of(entry))
    columns = {
        name: fit_column(entry.schema[name], entry.schema[name].type, name, entry)
        for name in reading.needed
    }
    spread, several = spread_sql(reading, plan.entered, plan.shards)
    unread = [quoted(n) for n in entry.schema.names if n not in reading.needed]
    lines = [f"{kind} {entry.name} ({source})"]
    lines += [f"  not read: {', '.join(unread)}"] if unread else []
    lines += ["  Catalyst checks:", *_listed(checked_sql(reading, columns))]
    what = "one row for each port" if several else "one row"
    lines += [f"  Catalyst makes {what} of each:", *_listed(spread)]
    return [*lines, *(f"  {line}" for port in reading.ports for line in _port(port, plan))]


def _listed(expressions: list[str]) -> list[str]:
    return [f"    {sql}" for sql in expressions]


def _port(port: Port, plan: SparkPlan) -> list[str]:
    columns = ", ".join(port.schema.names) or "no column but the time"
    lines = [f"port {port.number}, {_route(port, plan)}: {columns}"]
    if port.predicate is not None:
        where = "Catalyst" if spark_sql(port.predicate) is not None else "the shard"
        lines.append(f"  {where} filters: {format_expr(port.predicate)}")
    return lines


def _route(port: Port, plan: SparkPlan) -> str:
    match port.route:
        case Route.ALL:
            return "to all shards"
        case Route.ONE:
            return "to the first shard"
        case Route.KEY:
            return f"by {_keys(port.keys)}" if plan.shards > 1 else "to the only shard"


def _keys(keys: tuple[Expr, ...]) -> str:
    return ", ".join(format_expr(k) for k in keys) or "nothing"


def _level(plan: SparkPlan, level: int, wirings: list[Wiring]) -> list[str]:
    ports = [p for p in plan.layout.ports if p.level == level]
    came = "the inputs" if level == 0 else f"level {level - 1}"
    lines = [f"level {level}, fed by {came}"]
    if level:
        lines += [f"  {line}" for port in ports for line in _port(port, plan)]
    for wiring, output in zip(wirings, plan.layout.outputs, strict=True):
        lines += _stages(wiring, level)
        if output.level == level:
            lines.append(f"  answers of {output.query}{_alone(output)}")
    return lines


def _stages(wiring: Wiring, level: int) -> list[str]:
    physical = wiring.physical
    levels = levels_of(physical)
    labels = [
        stage.label
        for n, stage in enumerate(physical.stages)
        if levels[n] == level and stage.task is not None
    ]
    return [f"  {wiring.query.name}: {' ◄ '.join(reversed(labels))}"] if labels else []


def _alone(output: Output) -> str:
    """Say why one shard does it all."""
    if not output.alone:
        return ""
    return " from the first shard only: its last step needs all rows in one place"
