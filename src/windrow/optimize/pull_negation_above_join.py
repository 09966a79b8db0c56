"""Negations move above joins: update-pattern simplification [THESIS 3.5.3]."""

from __future__ import annotations

from dataclasses import replace

from windrow.optimize.rewriting import names_of
from windrow.plan.nodes import AntiJoin, Join, Plan


def pull_negation_above_join(plan: Plan) -> Plan:
    """(L ▷ X) ⋈ R  ⇒  (L ⋈ R) ▷ X;  likewise L ⋈ (R ▷ X).

    The equation of `push_negation_below_join`, read from right to left: the negation reads only
    L, so asking later asks the same. The join then has no strict input, so no negative tuples.

    >>> from windrow.optimize.push_negation_below_join import push_negation_below_join
    >>> from windrow.optimize.showing import bound
    >>> plan = bound('''SELECT b.sku FROM bids AS b [NOW], asks AS a [NOW] WHERE a.sku = b.sku
    ...   AND NOT EXISTS (SELECT * FROM bans [NOW] WHERE bans.sku = b.sku)''').root
    >>> below = push_negation_below_join(plan.source)
    >>> type(below).__name__, type(below.left).__name__
    ('Join', 'AntiJoin')
    >>> pull_negation_above_join(below) == plan.source
    True
    """
    match plan:
        case Join(AntiJoin(left, other) as negation, right) if _apart(right, other):
            return replace(negation, left=replace(plan, left=left))
        case Join(left, AntiJoin(right, other) as negation) if _apart(left, other):
            return replace(negation, left=replace(plan, right=right))
        case _:
            return plan


def _apart(side: Plan, other: Plan) -> bool:
    """Return whether columns are still distinguished when the negation sees both sides."""
    return not names_of(side) & names_of(other)
