"""The physical plans of a program: made once by the driver, and sent to shards as data.

`forms_of` sums them up for the error about a checkpoint of another program.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from windrow.core.errors import StateError
from windrow.optimize.lower import lower
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
from windrow.runtime.shards.merging import choose_merging
from windrow.runtime.shards.program import Program


@dataclass(frozen=True, slots=True)
class ProgramPlans:
    """The plan of each query, and of those that could have their rows merged, why or why not."""

    plans: tuple[PhysicalPlan, ...]
    merging: dict[int, str]

    def to_json(self) -> str:
        """Return the plans as text."""
        return to_json((self.plans, self.merging))

    @classmethod
    def from_json(cls, text: str) -> ProgramPlans:
        """Return the plans that `to_json` wrote."""
        match from_json(text):
            case (tuple() as plans, dict() as merging):
                return cls(plans, merging)
            case _:
                raise StateError("this text has no physical plans of a program")


_sent: dict[Program, ProgramPlans] = {}
"""What a driver has sent to this process."""


def use_plans(program: Program, text: str) -> None:
    """Take the plans of a program from its driver, instead of making them again."""
    _sent.clear()
    _sent[program] = ProgramPlans.from_json(text)


def forget_plans() -> None:
    """Make plans here from now on."""
    _sent.clear()


def plans_of(program: Program) -> ProgramPlans:
    """Return the plans of a program: those that its driver has sent, or what is best here."""
    program = program.placed()
    return _sent[program] if program in _sent else _optimized(program)


@lru_cache(maxsize=16)
def _optimized(program: Program) -> ProgramPlans:
    """Make the plans. Each query is optimised once, and again only if what could merge does not."""
    queries = program.bound()
    plans = [sharded_plan(program, query, partials=True) for query in queries]
    choice = choose_merging(program, plans)
    for n, plan in enumerate(plans):
        if plan.partials and n not in choice.queries:
            plans[n] = sharded_plan(program, queries[n], partials=False)
    return ProgramPlans(tuple(plans), choice.reasons)


def sharded_plan(
    program: Program, query: Query, *, partials: bool, followed: dict[str, str] | None = None
) -> PhysicalPlan:
    """Return the physical plan of a query of a program, as all its shards have it to begin with.

    `followed`: placements that one of them has changed to.
    """
    return lower(
        query,
        program.strategy,
        sharded=True,
        partials=partials,
        folding=program.folding(),
        placements=program.placements_of(query.name),
        followed=followed,
        constants=None if program.begun is None else program.begun.constants,
    )


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
