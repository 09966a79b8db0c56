"""The physical plans of a program: made once by the driver, and sent to shards as data.

`forms_of` sums them up for the error about a checkpoint of another program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from windrow.core.errors import StateError
from windrow.optimize.context import PlanContext
from windrow.optimize.passes import optimize
from windrow.physical.codec import from_json, to_json
from windrow.physical.operators import (
    AggregationJoinOp,
    ContributeOp,
    ContributingJoinOp,
    MultiJoinOp,
    MultiZSetJoinOp,
    WJoinOp,
)
from windrow.physical.plan import PhysicalPlan
from windrow.plan.nodes import Query
from windrow.runtime.shards.program import Begun, Program

Plans = tuple[PhysicalPlan, ...]
"""The plan of each query of a program, in order."""

KEPT = 16
"""Programs whose plans a process has at hand."""

_made: dict[Program, Plans] = {}
"""What this process has optimized, the newest last."""

_sent: dict[Program, Plans] = {}
"""What a driver has sent to this process."""


def use_plans(program: Program, text: str) -> None:
    """Take the plans of a program from its driver, instead of making them again."""
    _sent.clear()
    match from_json(text):
        case tuple() as plans if all(isinstance(plan, PhysicalPlan) for plan in plans):
            _sent[program] = plans
        case _:
            raise StateError("this text has no physical plans of a program")


def forget_plans() -> None:
    """Make plans here from now on."""
    _sent.clear()


def plans_text(program: Program) -> str:
    """Return the plans of a program as text."""
    return to_json(plans_of(program))


def plans_of(program: Program) -> Plans:
    """Return the plans of a program: those that its driver has sent, or what is best here."""
    program = program.placed()
    if program in _sent:
        return _sent[program]
    if program not in _made:
        placed = {query: program.placements_of(query) for query in program.queries}
        _keep(program, optimize(program.bound(), replace(_context(program), placements=placed)))
    return _made[program]


def begun(program: Program, begins: Begun) -> Begun:
    """Return how a program begins, with the placements that are best; keep its plans at hand."""
    first = replace(program, begun=begins)
    plans = optimize(first.bound(), _context(first))
    placements = tuple(
        (query, joined, early)
        for query, plan in zip(program.queries, plans, strict=True)
        for joined, early in plan.placements
    )
    chosen = replace(begins, placements=placements)
    _keep(replace(program, begun=chosen), plans)
    return chosen


def _keep(program: Program, plans: Plans) -> None:
    while len(_made) >= KEPT:
        del _made[next(iter(_made))]
    _made[program] = plans


def _context(program: Program) -> PlanContext:
    constants = None if program.begun is None else program.begun.constants
    return PlanContext(program.strategy, constants=constants, shards=program.folding())


def followed_plan(
    program: Program, query: Query, followed: Mapping[str, str], *, merges: bool
) -> PhysicalPlan:
    """Return the plan of a query under the placements that one shard has changed to.

    `merges`: whether its tuples are merged before they reach a shard.
    """
    context = replace(
        _context(program),
        placements={query.name: program.placements_of(query.name)},
        followed=followed,
        merged=frozenset({query.name} if merges else ()),
    )
    (plan,) = optimize([query], context)
    return plan


FORMED = MultiJoinOp | MultiZSetJoinOp | WJoinOp | AggregationJoinOp | ContributingJoinOp


@dataclass(frozen=True, slots=True)
class Forms:
    """The form of each join of many inputs; queries whose groups are folded before an exchange."""

    joins: tuple[str, ...]
    folded: tuple[str, ...]


def forms_of(program: Program) -> Forms:
    """Return the forms, query by query."""
    plans = plans_of(program)
    joins = (n for plan in plans for n in plan.nodes if isinstance(n.op, FORMED))
    folded = (
        name
        for name, plan in zip(program.queries, plans, strict=True)
        if any(isinstance(n.op, ContributeOp | ContributingJoinOp) for n in plan.nodes)
    )
    return Forms(tuple(node.structure for node in joins), tuple(folded))
