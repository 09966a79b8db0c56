"""Filters move below joins, to the side that they read."""

from __future__ import annotations

from dataclasses import replace

from windrow.optimize.rewriting import names_of
from windrow.plan.expressions import Expr, columns_of, conjunction, conjuncts
from windrow.plan.nodes import AntiJoin, Filter, Join, NrrJoin, OuterJoin, Plan, SemiJoin


def push_filter_below_join(plan: Plan) -> Plan:
    """σ_p(L ⋈ R)  ⇒  σ_p(L) ⋈ R  if p reads only L; likewise R; the left of ⋉, ▷, ⟕, ⋈NRR.

    A result holds its left tuple unchanged, so p says of it what it says of that tuple. The
    right side of ⋉ and ▷ is not in the result, that of ⟕ may be NULL there, and an NRR is looked
    up as it is.

    >>> from windrow.optimize.showing import rewritten
    >>> from windrow.optimize.push_filter_below_project import push_filter_below_project
    >>> text = '''SELECT p FROM (SELECT b.price AS p FROM bids AS b [NOW], asks AS a [NOW]
    ...   WHERE a.sku = b.sku) AS j WHERE p > 9'''
    >>> print(rewritten(text, push_filter_below_project, push_filter_below_join))
    query
    └─ Project j.p
       └─ Project p AS j.p
          └─ Project b.price AS p
             └─ Join on b.sku = a.sku
                ├─ Filter b.price > 9
                │  └─ Window NOW
                │     └─ Stream bids AS b
                └─ Window NOW
                   └─ Stream asks AS a
    """
    match plan:
        case Filter(Join(left, right) as join, predicate):
            of_left, others = _split(predicate, left)
            of_right, rest = _split(others, right)
            made = replace(join, left=_filtered(left, of_left), right=_filtered(right, of_right))
            return plan if made == join else _filtered(made, rest)
        case Filter(SemiJoin() | AntiJoin() | NrrJoin() | OuterJoin(full=False) as join, predicate):
            of_left, rest = _split(predicate, join.left)
            made_left = replace(join, left=_filtered(join.left, of_left))
            return plan if made_left == join else _filtered(made_left, rest)
        case _:
            return plan


def _split(predicate: Expr | None, side: Plan) -> tuple[Expr | None, Expr | None]:
    """Return the terms that read columns of one side only, and the others."""
    names = names_of(side)
    terms = conjuncts(predicate)
    mine = tuple(t for t in terms if columns_of(t) and columns_of(t) <= names)
    return conjunction(mine), conjunction(tuple(t for t in terms if t not in mine))


def _filtered(plan: Plan, predicate: Expr | None) -> Plan:
    return plan if predicate is None else Filter(plan, predicate)
