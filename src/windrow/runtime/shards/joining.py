"""Joins of many inputs in a program: their forms, on which state depends."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.operators.interner import Interner
from windrow.operators.join.multi.task import MultiJoin
from windrow.operators.join.multi.zset import MultiZSetJoin
from windrow.operators.join.wjoin import WJoin
from windrow.operators.lower import lower
from windrow.plan.nodes import Query


def forms_of_joins(queries: Sequence[Query], strategy: str) -> tuple[str, ...]:
    """Return the form of each, query by query: the same wherever it is asked."""
    plans = (lower(query, strategy, Interner(), sharded=True) for query in queries)
    stages = (stage for plan in plans for stage in plan.stages)
    joins = (s for s in stages if isinstance(s.task, MultiJoin | MultiZSetJoin | WJoin))
    return tuple(stage.form for stage in joins)
