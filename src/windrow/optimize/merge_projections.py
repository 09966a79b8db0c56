"""Two projections become one."""

from __future__ import annotations

from collections import Counter

from windrow.optimize.rewriting import renamed
from windrow.plan.expressions import Column, walk
from windrow.plan.nodes import Named, Plan, Project


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
