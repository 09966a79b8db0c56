"""An OR over several sources implies a condition on each: sources are filtered before they join."""

from __future__ import annotations

from collections.abc import Iterable

from windrow.plan.binding.factor_disjunctions import canonical
from windrow.plan.expressions import (
    Call,
    Expr,
    columns_of,
    conjunction,
    conjuncts,
    disjunction,
    disjuncts,
)


def imply_conditions(terms: Iterable[Expr], sources: Iterable[frozenset[str]]) -> list[Expr]:
    """(p(a) AND q(b)) OR (r(a) AND s(b))  implies  p(a) OR r(a),  and  q(b) OR s(b).

    If the OR is true, one of its branches is, and then all terms of that branch. So a tuple for
    which an implied condition is false or NULL has no part in any result. The OR itself is
    tested all the same: terms of different branches do not make a result.

    Needs a term in every branch that reads the source alone. `sources` are the columns of each
    source that can be filtered before it is joined. Returns the implied conditions only, without
    those that are among the terms already.

    >>> from windrow.optimize.showing import rewritten
    >>> print(rewritten('''SELECT b.price FROM bids AS b [NOW], asks AS a [NOW]
    ...   WHERE b.sku = a.sku
    ...   AND ((b.price = 1 AND a.price = 2) OR (b.price = 3 AND a.price = 4))'''))
    query
    └─ Project b.price
       └─ Join on b.sku = a.sku AND (b.price = 1 AND a.price = 2 OR b.price = 3 AND a.price = 4)
          ├─ Filter b.price = 1 OR b.price = 3
          │  └─ Window NOW
          │     └─ Stream bids AS b
          └─ Filter a.price = 2 OR a.price = 4
             └─ Window NOW
                └─ Stream asks AS a
    """
    known = list(terms)
    columns = list(sources)
    seen = {canonical(t) for t in known} if any(_is_or(t) for t in known) else set()
    found: list[Expr] = []
    for term in filter(_is_or, known):
        branches = [conjuncts(b) for b in disjuncts(term)]
        for names in columns:
            made = None if columns_of(term) <= names else _implied(branches, names)
            if made is not None and canonical(made) not in seen:
                seen.add(canonical(made))
                found.append(made)
    return found


def _is_or(term: Expr) -> bool:
    return isinstance(term, Call) and term.name == "or"


def _implied(branches: list[tuple[Expr, ...]], names: frozenset[str]) -> Expr | None:
    """Return the OR of what each branch says about one source; None if one says nothing."""
    said: list[Expr] = []
    for branch in branches:
        own = conjunction(tuple(t for t in branch if columns_of(t) and columns_of(t) <= names))
        if own is None:
            return None
        said.append(own)
    different = {canonical(part): part for part in said}
    return disjunction(tuple(different.values()))
