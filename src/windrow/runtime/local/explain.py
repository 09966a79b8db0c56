"""What the physical plan looks like: each stage's form, structure and state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.operators.dataflow import Stage

if TYPE_CHECKING:
    from windrow.runtime.local.query import RunningQuery


def edge_of(stage: Stage) -> str:
    """Return how departures travel on the edge that leaves a stage."""
    if stage.task is None:
        return "input"
    if stage.mixed:
        return "mixed"
    return "signed" if stage.signed else "predicted"


def explain_physical(running: RunningQuery) -> str:
    """Return the stages as a tree, root first, with what each keeps now."""
    lines = [f"strategy {running.strategy}"]
    stages = running.flow.stages

    def show(i: int, prefix: str, *, last: bool) -> None:
        stage = stages[i]
        edge = edge_of(stage)
        kept = f", {stage.structure}" if stage.structure else ""
        rows = stage.task.state_rows() if stage.task is not None else 0
        size = f", {rows:,} rows kept" if rows else ""
        lines.append(f"{prefix}{'└─' if last else '├─'} {stage.label} ({edge}{kept}{size})")
        below = prefix + ("   " if last else "│  ")
        guide = below + ("│  " if stage.inputs else "   ")
        if stage.watch is not None:
            lines.extend(guide + note for note in stage.watch.notes())
        for k, j in enumerate(stage.inputs):
            show(j, below, last=k == len(stage.inputs) - 1)

    show(len(stages) - 1, "", last=True)
    return "\n".join(lines)
