"""What the plans of a program hold beside the queries' text, on which state depends too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.operators.aggregate.contributions import ContributeTask
from windrow.operators.interner import Interner
from windrow.operators.join.aggregation.contributing import ContributingJoinTask
from windrow.operators.join.aggregation.task import AggregationJoinTask
from windrow.operators.join.multi.task import MultiJoin
from windrow.operators.join.multi.zset import MultiZSetJoin
from windrow.operators.join.wjoin import WJoin
from windrow.operators.lower import lower
from windrow.optimize.fold_before_exchange import Folding
from windrow.plan.nodes import Query

FORMED = MultiJoin | MultiZSetJoin | WJoin | AggregationJoinTask


@dataclass(frozen=True, slots=True)
class Forms:
    """The form of each join of many inputs; queries whose groups are folded before an exchange."""

    joins: tuple[str, ...]
    folded: tuple[str, ...]


def forms_of(queries: Sequence[Query], strategy: str, folding: Folding) -> Forms:
    """Return the forms, query by query: the same wherever it is asked."""
    plans = [lower(query, strategy, Interner(), sharded=True, folding=folding) for query in queries]
    stages = (stage for plan in plans for stage in plan.stages)
    joins = (s for s in stages if isinstance(s.task, FORMED))
    folded = (
        query.name
        for query, plan in zip(queries, plans, strict=True)
        if any(isinstance(s.task, ContributeTask | ContributingJoinTask) for s in plan.stages)
    )
    return Forms(tuple(stage.form for stage in joins), tuple(folded))
