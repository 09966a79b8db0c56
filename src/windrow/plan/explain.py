"""EXPLAIN: a bound query as a tree of steps, one line each, with the pattern of every edge.

An edge's update pattern and its reason stand beside the node that the edge leaves:

    quiet                                STR
    └─ Distinct                          STR  rule 3: the input is already strict
       └─ AntiJoin on l.src = link2.src  STR  rule 4: a later arrival on the right ...
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from windrow.core.schema import Schema
from windrow.core.time import Clock, format_duration
from windrow.plan.labels import clock_of, label_of, label_of_order
from windrow.plan.nodes import Plan, Query, inputs_of
from windrow.plan.patterns import Pattern, pattern_of

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
