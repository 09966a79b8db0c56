"""EXPLAIN: a bound query as a tree of steps, one line each, with the pattern of every edge.

An edge's update pattern and its reason stand beside the node that the edge leaves:

    quiet                                STR
    └─ Distinct                          STR  rule 3: the input is already strict
       └─ AntiJoin on l.src = link2.src  STR  rule 4: a later arrival on the right ...

For other programs the same steps become JSON, Graphviz or Mermaid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from windrow.core.schema import Schema
from windrow.core.time import Clock, format_duration
from windrow.core.types import sql_name
from windrow.plan.labels import clock_of, label_of, label_of_order
from windrow.plan.nodes import Plan, Query, inputs_of
from windrow.plan.patterns import Pattern, PatternKind, pattern_of

WIDEST_TREE = 76
"""Column beyond which the patterns no longer move right for the sake of a long label."""


@dataclass(frozen=True, slots=True)
class ExplainStep:
    """One node, explained: what it does, how its answer leaves it, what it reads."""

    node: str
    label: str
    pattern: Pattern
    clock: Clock
    schema: Schema
    inputs: tuple[ExplainStep, ...]

    @property
    def reason(self) -> str:
        """Why the edge has its pattern, with the lifetime where all tuples share one."""
        if self.pattern.lifetime is None:
            return self.pattern.reason
        lifetime = format_duration(self.pattern.lifetime, self.clock)
        return f"{self.pattern.reason} ({lifetime})"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the text tree. The query's own line has no reason."""

    guide: str
    label: str
    kind: str
    reason: str


def step_of(plan: Plan, clock: Clock | None = None) -> ExplainStep:
    """Explain a node and all below it; all streams of a query share one clock."""
    clock = clock_of(plan) if clock is None else clock
    return ExplainStep(
        node=type(plan).__name__,
        label=label_of(plan, clock),
        pattern=pattern_of(plan),
        clock=clock,
        schema=plan.schema,
        inputs=tuple(step_of(below, clock) for below in inputs_of(plan)),
    )


def title_of(query: Query) -> str:
    """Return the query's name, and the order its answer is shown in if it has one."""
    name = query.name or "query"
    return f"{name} (shown by {label_of_order(query.order)})" if query.order else name


def explain_lines(query: Query) -> list[Line]:
    """Return the tree line by line, the query's own line first."""
    root = step_of(query.root)
    return [Line("", title_of(query), root.pattern.kind.value, ""), *_lines(root, "", "└─ ")]


def _lines(step: ExplainStep, margin: str, elbow: str) -> Iterator[Line]:
    yield Line(margin + elbow, step.label, step.pattern.kind.value, step.reason)
    deeper = margin + ("│  " if elbow == "├─ " else "   ")
    for below in step.inputs[:-1]:
        yield from _lines(below, deeper, "├─ ")
    for below in step.inputs[-1:]:
        yield from _lines(below, deeper, "└─ ")


def explain_text(query: Query, *, patterns: bool = True) -> str:
    """Return the plan as a tree of plain text, patterns and reasons in columns of their own."""
    lines = explain_lines(query)
    if not patterns:
        return "\n".join(line.guide + line.label for line in lines)
    trees = [line.guide + line.label for line in lines]
    width = max((len(tree) for tree in trees if len(tree) <= WIDEST_TREE), default=0)
    return "\n".join(
        f"{tree:{width}}  {line.kind:3}  {line.reason}".rstrip()
        for tree, line in zip(trees, lines, strict=True)
    )


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
        nodes.append(f"  j{number} [label={_dot(_note_lines(note))}, shape=note];")
        edges.append(f"  j{number} -> n0 [style=dashed, arrowhead=none];")
    head = [f"digraph {_dot(query.name or 'query')} {{", "  rankdir=BT;", "  node [shape=box];"]
    return "\n".join([*head, *nodes, *edges, "}"])


def _note_lines(note: JoinNote) -> str:
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
        lines += [f"  j{number}>{_mermaid(_note_lines(note))}]", f"  j{number} -.- n0"]
    return "\n".join(lines)


def _mermaid(text: str) -> str:
    """Quote for Mermaid, which reads ``#name;`` as a character and ``<`` as HTML."""
    for plain, entity in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(plain, entity)
    return f'"{text}"'
