"""What is said of a program's plans where a checkpoint is another program's."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.physical.operators import (
    AggregationJoinOp,
    ContributeOp,
    ContributingJoinOp,
    MultiJoinOp,
    MultiZSetJoinOp,
    WJoinOp,
)
from windrow.runtime.shards.optimized import plans_of
from windrow.runtime.shards.program import Program

FORMED = MultiJoinOp | MultiZSetJoinOp | WJoinOp | AggregationJoinOp | ContributingJoinOp


@dataclass(frozen=True, slots=True)
class Forms:
    """The form of each join of many inputs; queries whose groups are folded before an exchange."""

    joins: tuple[str, ...]
    folded: tuple[str, ...]


def forms_of(program: Program) -> Forms:
    """Return the forms, query by query."""
    plans = plans_of(program).plans
    joins = (n for plan in plans for n in plan.nodes if isinstance(n.op, FORMED))
    folded = (
        name
        for name, plan in zip(program.queries, plans, strict=True)
        if any(isinstance(n.op, ContributeOp | ContributingJoinOp) for n in plan.nodes)
    )
    return Forms(tuple(node.structure for node in joins), tuple(folded))
