"""Filters move below unions."""

from __future__ import annotations

from windrow.optimize.rewriting import renamed
from windrow.plan.expressions import Expr
from windrow.plan.nodes import Filter, Plan, UnionAll, as_column


def push_filter_below_union(plan: Plan) -> Plan:
    """σ_p(L ⊎ R)  ⇒  σ_p(L) ⊎ σ_p(R).

    A merge-union passes every copy on, so each may be tried before or after. The inputs name
    their columns differently: columns of p are found by position.

    >>> from windrow.optimize.showing import rewritten
    >>> from windrow.optimize.push_filter_below_project import push_filter_below_project
    >>> text = '''SELECT p FROM (SELECT price AS p FROM bids [NOW] UNION ALL
    ...   SELECT price FROM asks [NOW]) AS u WHERE p > 9'''
    >>> print(rewritten(text, push_filter_below_project, push_filter_below_union))
    query
    └─ Project u.p
       └─ Project p AS u.p
          └─ Union all
             ├─ Project bids.price AS p
             │  └─ Filter bids.price > 9
             │     └─ Window NOW
             │        └─ Stream bids
             └─ Project asks.price
                └─ Filter asks.price > 9
                   └─ Window NOW
                      └─ Stream asks
    """
    match plan:
        case Filter(UnionAll(inputs) as union, predicate):
            return UnionAll(tuple(Filter(p, _for_input(predicate, union, p)) for p in inputs))
        case _:
            return plan


def _for_input(predicate: Expr, union: UnionAll, below: Plan) -> Expr:
    pairs = zip(union.schema, below.schema, strict=True)
    return renamed(predicate, {ours.name: as_column(theirs) for ours, theirs in pairs})
