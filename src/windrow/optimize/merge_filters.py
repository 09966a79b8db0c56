"""Two filters become one."""

from __future__ import annotations

from windrow.plan.expressions import conjunction, conjuncts
from windrow.plan.nodes import Filter, Plan


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
