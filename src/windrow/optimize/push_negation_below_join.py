"""Negations and semi-joins move below joins, to the side that they read."""

from __future__ import annotations

from dataclasses import replace

from windrow.optimize.rewriting import columns_of_on, names_of, reads_relation
from windrow.plan.nodes import AntiJoin, Join, Plan, SemiJoin


def push_negation_below_join(plan: Plan) -> Plan:
    """(L ⋈ R) ▷ X  ⇒  (L ▷ X) ⋈ R,  if the negation reads only L; likewise R; likewise ⋉.

    Whether a result l∘r has a match in X depends on l alone, NOT IN's NULLs included; so it may
    be asked before l meets r. A negation does not move below a join with a relation: a negative
    tuple cannot undo a join with a row that has changed since [THESIS 3.5.3].

    >>> from windrow.optimize.showing import rewritten
    >>> text = '''SELECT b.sku FROM bids AS b [NOW], asks AS a [NOW] WHERE a.sku = b.sku
    ...   AND NOT EXISTS (SELECT * FROM bans [NOW] WHERE bans.sku = b.sku)'''
    >>> print(rewritten(text, push_negation_below_join))
    query
    └─ Project b.sku
       └─ Join on b.sku = a.sku
          ├─ AntiJoin on b.sku = bans.sku
          │  ├─ Window NOW
          │  │  └─ Stream bids AS b
          │  └─ Window NOW
          │     └─ Stream bans
          └─ Window NOW
             └─ Stream asks AS a
    """
    match plan:
        case AntiJoin(Join(left, right), _) if reads_relation(left) or reads_relation(right):
            return plan
        case AntiJoin(Join(left, right) as join, _) | SemiJoin(Join(left, right) as join, _):
            read = columns_of_on(plan.on) - names_of(plan.right)
            if read <= names_of(left):
                return replace(join, left=replace(plan, left=left))
            if read <= names_of(right):
                return replace(join, right=replace(plan, left=right))
            return plan
        case _:
            return plan
