"""EXPLAIN of physical plans: operators as a tree, or as values for other programs.

    └─ Aggregate (signed, groups)
       └─ Window Range (unsigned)
          └─ Stream s (input)

Whoever runs a plan adds figures to its operators, and choices as they are by now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windrow.physical.node import PhysicalNode, PlanNotes
from windrow.physical.operators import ExchangeOp, SourceOp
from windrow.physical.plan import PhysicalPlan
from windrow.plan.explain import JoinNote

Figures = Callable[[int], Sequence[str]]
"""Returns what is counted of an operator, by its position."""

Choices = Callable[[int], PlanNotes | None]
"""Returns what was chosen for an operator and why, by its position, if there was a choice."""


def edge_of(node: PhysicalNode) -> str:
    """Return in words how expirations are emitted on the edge above an operator."""
    if isinstance(node.op, SourceOp | ExchangeOp):
        return "input"
    if node.partly_signed:
        return "partly signed"
    return "unsigned" if node.unsigned else "signed"


def tree_of(
    plan: PhysicalPlan, figures: Figures | None = None, choices: Choices | None = None
) -> list[str]:
    """Return the operators as a tree, root first: edge, structure, figures; below it the choice."""
    lines: list[str] = []

    def show(i: int, prefix: str, *, last: bool) -> None:
        node, found = plan.nodes[i], plan.inputs_of(plan.nodes[i])
        counted = figures(i) if figures is not None else ()
        said = [edge_of(node), *([node.structure] if node.structure else []), *counted]
        lines.append(f"{prefix}{'└─' if last else '├─'} {node.label} ({', '.join(said)})")
        below = prefix + ("   " if last else "│  ")
        notes = choices(i) if choices is not None else node.notes
        if notes is not None:
            guide = below + ("│  " if found else "   ")
            lines.extend(guide + note for note in notes.notes())
        for k, j in enumerate(found):
            show(j, below, last=k == len(found) - 1)

    show(len(plan.nodes) - 1, "", last=True)
    return lines


def operators_of(plan: PhysicalPlan, choices: Choices | None = None) -> list[dict[str, object]]:
    """Return the operators, inputs first, as values that `json.dumps` takes."""
    made: list[dict[str, object]] = []
    for i, node in enumerate(plan.nodes):
        notes = choices(i) if choices is not None else node.notes
        made.append(
            {
                "operator": node.label,
                "edge": edge_of(node),
                "structure": node.structure,
                "columns": list(node.schema.names),
                "inputs": list(plan.inputs_of(node)),
                **({} if notes is None else {"choice": notes.facts()}),
            }
        )
    return made


def join_notes(plan: PhysicalPlan, choices: Choices | None = None) -> list[JoinNote]:
    """Return what was chosen for the operators of a plan, where there was a choice."""
    found = (node.notes if choices is None else choices(i) for i, node in enumerate(plan.nodes))
    return [JoinNote(tuple(n.notes()), n.facts()) for n in found if n is not None]
