"""Equalities above a join become keys of it."""

from __future__ import annotations

from dataclasses import replace

from windrow.optimize.rewriting import names_of
from windrow.plan.expressions import Call, Expr, columns_of, conjunction, conjuncts
from windrow.plan.nodes import Filter, Join, NrrJoin, Plan

Pair = tuple[Expr, Expr]


def merge_filter_into_join(plan: Plan) -> Plan:
    """σ_{l = r}(L ⋈ R)  ⇒  L ⋈_{l = r} R  if l reads only L, and r only R; likewise ⋈NRR.

    A pair of tuples is in the result exactly if the join's own condition and l = r are true. A
    NULL key matches nothing, as l = r is not true of a NULL. Other comparisons stay above: they
    are no keys. The binder makes keys of what one SELECT says; this is for a SELECT above it.

    >>> from windrow.optimize.showing import rewritten
    >>> from windrow.optimize.push_filter_below_project import push_filter_below_project
    >>> text = '''SELECT p FROM (SELECT b.price AS p, a.price AS q
    ...   FROM bids AS b [NOW], asks AS a [NOW]) AS j WHERE p = q AND p + q > 9'''
    >>> print(rewritten(text, push_filter_below_project, merge_filter_into_join))
    query
    └─ Project j.p
       └─ Project p AS j.p, q AS j.q
          └─ Project b.price AS p, a.price AS q
             └─ Filter b.price + a.price > 9
                └─ Join on b.price = a.price
                   ├─ Window NOW
                   │  └─ Stream bids AS b
                   └─ Window NOW
                      └─ Stream asks AS a
    """
    match plan:
        case Filter(Join(left, right) as join, predicate):
            sides = names_of(left), names_of(right)
        case Filter(NrrJoin(left, table) as join, predicate):
            sides = names_of(left), names_of(table)
        case _:
            return plan
    pairs = {term: pair for term in conjuncts(predicate) if (pair := _pair(term, *sides))}
    if not pairs:
        return plan
    on = replace(
        join.on,
        left_keys=(*join.on.left_keys, *(left for left, _ in pairs.values())),
        right_keys=(*join.on.right_keys, *(right for _, right in pairs.values())),
    )
    rest = conjunction(tuple(t for t in conjuncts(predicate) if t not in pairs))
    keyed = replace(join, on=on)
    return keyed if rest is None else Filter(keyed, rest)


def _pair(term: Expr, left: frozenset[str], right: frozenset[str]) -> Pair | None:
    """Return the sides of an equality between both inputs, the left input's first."""
    if not isinstance(term, Call) or term.name != "eq":
        return None
    for one, other in (term.args, term.args[::-1]):
        ours, theirs = columns_of(one), columns_of(other)
        if ours and theirs and ours <= left and theirs <= right:
            return one, other
    return None
