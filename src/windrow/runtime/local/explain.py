"""EXPLAIN of a running query: its plan, with figures and choices as they are by now."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from windrow.operators.queued import Approach, queue_stats
from windrow.physical.explain import join_notes, operators_of, tree_of
from windrow.plan.explain import explain_dot, explain_json, explain_mermaid, explain_text
from windrow.plan.settings import LOCAL, unused

if TYPE_CHECKING:
    from windrow.runtime.local.query import RunningQuery


def explained(running: RunningQuery, style: str = "text") -> str:
    """Return what EXPLAIN shows of a query: its plan, then each operator and what it keeps.

    Other styles, for other programs, have the plan and what was chosen for its joins.
    """
    query, plan = running.query, running.physical.plan
    joins = join_notes(plan, running.choice)
    match style:
        case "json":
            facts = explain_json(query, joins=joins)
            facts["operators"] = operators_of(plan, running.choice)
            return json.dumps(facts, indent=2, ensure_ascii=False)
        case "dot":
            return explain_dot(query, joins=joins)
        case "mermaid":
            return explain_mermaid(query, joins=joins)
        case _:
            return f"{explain_text(query)}\n\n{explain_physical(running)}"


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


def _figures(running: RunningQuery, at: int) -> list[str]:
    """Return how many rows an operator keeps, and what it has read from its queues."""
    task = running.flow.stages[at].task
    rows = 0 if task is None else task.state_rows()
    kept = [f"{rows:,} rows kept"] if rows else []
    if running.pipeline is None:
        return kept
    stats = queue_stats(running.pipeline, at)
    counts = {what: stats.get(f"{what}_read") for what in ("rows", "messages")}
    read = [f"{count:,} {what}" for what, count in counts.items() if count]
    return kept + ([f"{' and '.join(read)} read"] if read else [])


def explain_physical(running: RunningQuery) -> str:
    """Return the operators of the plan, with what each keeps now."""
    lines = [f"strategy {running.strategy}"]
    if running.pipeline is not None:
        on = "" if running.processor is None else " on a processor"
        said = expiry_of(running.pipeline.approach)
        lines.append(f"expiry {running.query.expiry.kind}{on}: {said}")
    lines += map(str, unused(running.query, LOCAL))
    lines += tree_of(running.physical.plan, partial(_figures, running), running.choice)
    return "\n".join(lines)
