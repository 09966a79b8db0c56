"""What the plans of a program hold beside the queries' text, on which state depends too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow.operators.aggregate.contributions import ContributeTask
from windrow.operators.interner import Interner
from windrow.operators.join.aggregation.contributing import ContributingJoinTask
from windrow.operators.join.aggregation.task import AggregationJoinTask
from windrow.operators.join.multi.task import MultiJoin
from windrow.operators.join.multi.zset import MultiZSetJoin
from windrow.operators.join.wjoin import WJoin
from windrow.operators.lower import lower
from windrow.operators.open import OpenPlan, open_plan
from windrow.plan.nodes import Query
from windrow.runtime.shards.program import Program

FORMED = MultiJoin | MultiZSetJoin | WJoin | AggregationJoinTask


@dataclass(frozen=True, slots=True)
class Forms:
    """The form of each join of many inputs; queries whose groups are folded before an exchange."""

    joins: tuple[str, ...]
    folded: tuple[str, ...]


def lowered(
    program: Program,
    query: Query,
    interner: Interner,
    *,
    partials: bool = False,
    followed: Mapping[str, str] | None = None,
) -> OpenPlan:
    """Return the physical plan of a query of a program, as all its shards have it to begin with.

    `followed`: placements that one of them has changed to.
    """
    plan = lower(
        query,
        program.strategy,
        sharded=True,
        partials=partials,
        folding=program.folding(),
        placements=program.placements_of(query.name),
        followed=followed,
        constants=None if program.begun is None else program.begun.constants,
    )
    return open_plan(plan, interner)


def forms_of(program: Program) -> Forms:
    """Return the forms, query by query: the same wherever it is asked."""
    queries = program.bound()
    plans = [lowered(program, query, Interner()) for query in queries]
    stages = (stage for plan in plans for stage in plan.stages)
    joins = (s for s in stages if isinstance(s.task, FORMED))
    folded = (
        query.name
        for query, plan in zip(queries, plans, strict=True)
        if any(isinstance(s.task, ContributeTask | ContributingJoinTask) for s in plan.stages)
    )
    return Forms(tuple(stage.form for stage in joins), tuple(folded))
