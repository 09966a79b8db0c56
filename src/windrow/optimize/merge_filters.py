"""Two filters become one, and two projections."""

from __future__ import annotations

from collections import Counter

from windrow.optimize.rewriting import renamed
from windrow.plan.expressions import Column, conjunction, conjuncts, walk
from windrow.plan.nodes import Filter, Named, Plan, Project


def merge_filters(plan: Plan) -> Plan:
    """σ_q(σ_p(S))  ⇒  σ_{p AND q}(S).

    AND is true exactly where both are, and a tuple passes only where its predicate is true; so
    NULLs, which pass neither, make no difference.

    >>> from windrow.optimize.showing import rewritten
    >>> text = "SELECT sku FROM (SELECT sku FROM bids [NOW] WHERE price > 1) AS b WHERE sku > 'a'"
    >>> from windrow.optimize.push_filter_below_project import push_filter_below_project
    >>> print(rewritten(text, push_filter_below_project, merge_filters))
    query
    └─ Project b.sku
       └─ Project sku AS b.sku
          └─ Project bids.sku
             └─ Filter bids.price > 1 AND bids.sku > 'a'
                └─ Window NOW
                   └─ Stream bids
    """
    match plan:
        case Filter(Filter(source, first), second):
            both = conjunction(conjuncts(first) + conjuncts(second))
            assert both is not None, "two predicates are at least one"
            return Filter(source, both)
        case _:
            return plan


def merge_projections(plan: Plan) -> Plan:
    """π_f(π_g(S))  ⇒  π_{f∘g}(S),  if no computed column of g is read twice.

    Both make one tuple of each, and functions give the same value wherever they are called; the
    condition is not about truth: a value read twice would be computed twice.

    >>> from windrow.optimize.showing import rewritten
    >>> text = "SELECT p + 1 FROM (SELECT price * 2 AS p FROM bids [NOW]) AS b"
    >>> print(rewritten(text, merge_projections))
    query
    └─ Project bids.price * 2 + 1 AS p + 1
       └─ Window NOW
          └─ Stream bids
    """
    match plan:
        case Project(Project(source, inner), outer):
            made = {column.name: column.expr for column in inner}
            read = Counter(e.name for c in outer for e in walk(c.expr) if isinstance(e, Column))
            if any(n > 1 and not isinstance(made[name], Column) for name, n in read.items()):
                return plan
            return Project(source, tuple(Named(c.name, renamed(c.expr, made)) for c in outer))
        case _:
            return plan
