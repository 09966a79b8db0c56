"""Filters move below projections."""

from __future__ import annotations

from windrow.optimize.rewriting import renamed
from windrow.plan.expressions import Column, columns_of
from windrow.plan.nodes import Filter, Plan, Project


def push_filter_below_project(plan: Plan) -> Plan:
    """σ_p(π_f(S))  ⇒  π_f(σ_{p∘f}(S)),  if p reads only columns that f passes on as they are.

    A projection makes one tuple of each, so p holds for the one exactly if p∘f holds for the
    other. A computed column stays above: below, it would be computed twice.

    >>> from windrow.optimize.showing import rewritten
    >>> text = "SELECT sku FROM (SELECT sku FROM bids [NOW]) AS b WHERE sku = 'x'"
    >>> print(rewritten(text, push_filter_below_project))
    query
    └─ Project b.sku
       └─ Project sku AS b.sku
          └─ Project bids.sku
             └─ Filter bids.sku = 'x'
                └─ Window NOW
                   └─ Stream bids
    """
    match plan:
        case Filter(Project(source, columns), predicate):
            made = {column.name: column.expr for column in columns}
            if any(not isinstance(made[name], Column) for name in columns_of(predicate)):
                return plan
            return Project(Filter(source, renamed(predicate, made)), columns)
        case _:
            return plan
