"""What the physical plan looks like: each stage's form, structure and state."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from windrow.operators.dataflow import Stage
from windrow.operators.queued import Approach, queue_stats
from windrow.plan.explain import JoinNote, explain_dot, explain_json, explain_mermaid, explain_text
from windrow.plan.settings import LOCAL, unused

if TYPE_CHECKING:
    from windrow.runtime.local.query import RunningQuery


def explained(running: RunningQuery, style: str = "text") -> str:
    """Return what EXPLAIN shows of a query: its plan, then each operator and what it keeps.

    Other styles, for other programs, have the plan and what was chosen for its joins.
    """
    query = running.query
    watches = [stage.watch for stage in running.flow.stages if stage.watch is not None]
    joins = [JoinNote(tuple(watch.notes()), watch.facts()) for watch in watches]
    match style:
        case "json":
            return json.dumps(explain_json(query, joins=joins), indent=2, ensure_ascii=False)
        case "dot":
            return explain_dot(query, joins=joins)
        case "mermaid":
            return explain_mermaid(query, joins=joins)
        case _:
            return f"{explain_text(query)}\n\n{explain_physical(running)}"


def edge_of(stage: Stage) -> str:
    """Return in words how expirations are emitted on the edge above a stage."""
    if stage.task is None:
        return "input"
    if stage.partly_signed:
        return "partly signed"
    return "signed" if stage.signed else "unsigned"


def expiry_of(approach: Approach) -> str:
    """Return in a sentence how operators learn that tuples have expired."""
    match approach:
        case Approach(name="input_triggered", punctuation=None):
            return "expiries show with the next tuple that reaches the operator that stores them"
        case Approach(name="input_triggered"):
            return "expiries show with the next tuple or punctuation"
        case Approach(name="negative", signed=True):
            return "a negative tuple follows every tuple"
        case Approach(name="negative"):
            return "one message stands for all results that end together"
        case _:
            return "tuples bring the news of expiries, messages where no tuple follows"


def _read(running: RunningQuery, stage: int) -> str:
    """Return what an operator has read from its queues, if anything."""
    if running.pipeline is None:
        return ""
    stats = queue_stats(running.pipeline, stage)
    counts = {what: stats.get(f"{what}_read") for what in ("rows", "messages")}
    read = [f"{count:,} {what}" for what, count in counts.items() if count]
    return f", {' and '.join(read)} read" if read else ""


def explain_physical(running: RunningQuery) -> str:
    """Return the stages as a tree, root first, with what each keeps now."""
    lines = [f"strategy {running.strategy}"]
    if running.pipeline is not None:
        on = "" if running.processor is None else " on a processor"
        said = expiry_of(running.pipeline.approach)
        lines.append(f"expiry {running.query.expiry.kind}{on}: {said}")
    lines += map(str, unused(running.query, LOCAL))
    stages = running.flow.stages

    def show(i: int, prefix: str, *, last: bool) -> None:
        stage = stages[i]
        edge = edge_of(stage)
        kept = f", {stage.structure}" if stage.structure else ""
        rows = stage.task.state_rows() if stage.task is not None else 0
        size = f", {rows:,} rows kept" if rows else ""
        read = _read(running, i)
        lines.append(f"{prefix}{'└─' if last else '├─'} {stage.label} ({edge}{kept}{size}{read})")
        below = prefix + ("   " if last else "│  ")
        guide = below + ("│  " if stage.inputs else "   ")
        if stage.watch is not None:
            lines.extend(guide + note for note in stage.watch.notes())
        for k, j in enumerate(stage.inputs):
            show(j, below, last=k == len(stage.inputs) - 1)

    show(len(stages) - 1, "", last=True)
    return "\n".join(lines)
