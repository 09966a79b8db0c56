"""EXPLAIN for other programs: JSON, Graphviz and Mermaid, from the same steps as the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from windrow.core.schema import Schema
from windrow.core.types import sql_name
from windrow.plan.explain import ExplainStep, step_of, title_of
from windrow.plan.labels import label_of_order
from windrow.plan.nodes import Query
from windrow.plan.patterns import PatternKind

DOT_COLOURS: dict[PatternKind, str] = {
    PatternKind.MON: "forestgreen",
    PatternKind.WKS: "darkcyan",
    PatternKind.WK: "darkgoldenrod",
    PatternKind.STR: "firebrick",
}


@dataclass(frozen=True, slots=True)
class JoinNote:
    """What was chosen for a join, or a GROUP BY over one: in lines, and as values for programs."""

    lines: tuple[str, ...]
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class NumberedStep:
    """A step with a number of its own and that of the step it feeds; 0 is the query."""

    number: int
    reader: int
    step: ExplainStep


def explain_json(
    query: Query, *, patterns: bool = True, joins: Sequence[JoinNote] = ()
) -> dict[str, object]:
    """Return the plan as values that `json.dumps` takes. Lifetimes are in clock units."""
    root = step_of(query.root)
    noted = {"joins": [dict(note.facts) for note in joins]} if joins else {}
    return {
        "query": query.name,
        "text": query.text,
        "clock": root.clock.value,
        "order": label_of_order(query.order),
        "plan": _json_step(root, patterns=patterns),
        **noted,
    }


def _json_step(step: ExplainStep, *, patterns: bool) -> dict[str, object]:
    found: dict[str, object] = {"node": step.node, "label": step.label}
    if patterns:
        found["pattern"] = {
            "kind": step.pattern.kind.value,
            "reason": step.pattern.reason,
            "lifetime": step.pattern.lifetime,
        }
    found["columns"] = _json_columns(step.schema)
    found["inputs"] = [_json_step(below, patterns=patterns) for below in step.inputs]
    return found


def _json_columns(schema: Schema) -> list[dict[str, object]]:
    return [{"name": f.name, "type": sql_name(f.type), "nullable": f.nullable} for f in schema]


def _numbered(query: Query) -> Iterator[NumberedStep]:
    """Yield all steps from the root down, each with the number of its reader."""
    waiting = [(step_of(query.root), 0)]
    number = 0
    while waiting:
        step, reader = waiting.pop()
        number += 1
        yield NumberedStep(number, reader, step)
        waiting += [(below, number) for below in reversed(step.inputs)]


def explain_dot(query: Query, *, patterns: bool = True, joins: Sequence[JoinNote] = ()) -> str:
    """Return the plan as a Graphviz digraph; data flows upwards, edges carry their pattern."""
    nodes = [f"  n0 [label={_dot(title_of(query))}, shape=ellipse];"]
    edges = []
    for item in _numbered(query):
        nodes.append(f"  n{item.number} [label={_dot(item.step.label)}];")
        edge = f"  n{item.number} -> n{item.reader}"
        if patterns:
            kind = item.step.pattern.kind
            colour = DOT_COLOURS[kind]
            label = _dot(f"{kind.value}\n{item.step.reason}")
            edge += f" [label={label}, color={colour}, fontcolor={colour}]"
        edges.append(f"{edge};")
    for number, note in enumerate(joins, 1):
        nodes.append(f"  j{number} [label={_dot(_lines(note))}, shape=note];")
        edges.append(f"  j{number} -> n0 [style=dashed, arrowhead=none];")
    head = [f"digraph {_dot(query.name or 'query')} {{", "  rankdir=BT;", "  node [shape=box];"]
    return "\n".join([*head, *nodes, *edges, "}"])


def _lines(note: JoinNote) -> str:
    return "\n".join(line.strip() for line in note.lines)


def _dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def explain_mermaid(query: Query, *, patterns: bool = True, joins: Sequence[JoinNote] = ()) -> str:
    """Return the plan as a Mermaid flowchart, for pages that draw it."""
    lines = ["flowchart BT", f"  n0([{_mermaid(title_of(query))}])"]
    for item in _numbered(query):
        lines.append(f"  n{item.number}[{_mermaid(item.step.label)}]")
        pattern = f"{item.step.pattern.kind.value}: {item.step.reason}"
        edge = f"-->|{_mermaid(pattern)}|" if patterns else "-->"
        lines.append(f"  n{item.number} {edge} n{item.reader}")
    for number, note in enumerate(joins, 1):
        lines += [f"  j{number}>{_mermaid(_lines(note))}]", f"  j{number} -.- n0"]
    return "\n".join(lines)


def _mermaid(text: str) -> str:
    """Quote for Mermaid, which reads ``#name;`` as a character and ``<`` as HTML."""
    for plain, entity in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(plain, entity)
    return f'"{text}"'
