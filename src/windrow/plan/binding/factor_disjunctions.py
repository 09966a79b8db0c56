"""Conditions that all branches of an OR share are pulled out of it."""

from __future__ import annotations

from windrow.core.types import BOOLEAN
from windrow.plan import expressions

MIRRORED = {"eq": "eq", "ne": "ne", "eq_null_safe": "eq_null_safe", "gt": "lt", "ge": "le"}
"""Comparisons that are compared with their sides exchanged: ``b > a`` as ``a < b``."""


def factor_disjunctions(predicate: expressions.Expr) -> expressions.Expr:
    """(a AND x) OR (a AND y)  ⇒  a AND (x OR y),   and   a OR (a AND y)  ⇒  a.

    AND is the minimum and OR the maximum of FALSE < NULL < TRUE, and minimum and maximum
    distribute over and absorb each other. So both sides have the same one of the three values,
    whatever a, x and y are, and the rule holds below NOT, too. Evaluation raises no errors, so
    nothing is lost where x is no longer evaluated. ``NOT (x OR y)`` is split as
    ``NOT x AND NOT y`` first. A predicate without a shared condition is returned as it is.

    What is pulled out can be a key of a join: an OR of equalities never can.

    >>> from windrow.optimize.showing import rewritten
    >>> print(rewritten('''SELECT b.price FROM bids AS b [NOW], asks AS a [NOW]
    ...   WHERE (b.sku = a.sku AND b.price < a.price)
    ...   OR (a.sku = b.sku AND a.price + b.price = 9)'''))
    query
    └─ Project b.price
       └─ Join on b.sku = a.sku AND (b.price < a.price OR a.price + b.price = 9)
          ├─ Window NOW
          │  └─ Stream bids AS b
          └─ Window NOW
             └─ Stream asks AS a
    """
    match predicate:
        case expressions.Call("and", (left, right)):
            return _rejoined(predicate, (*_terms(left), *_terms(right)))
        case expressions.Call("or"):
            return _factored(predicate)
        case expressions.Call("not", (inner,)):
            return _negated(predicate, inner)
        case _:
            return predicate


def _terms(predicate: expressions.Expr) -> tuple[expressions.Expr, ...]:
    return expressions.conjuncts(factor_disjunctions(predicate))


def _rejoined(before: expressions.Expr, terms: tuple[expressions.Expr, ...]) -> expressions.Expr:
    """Return the conjunction of some terms; the predicate itself if it is that already."""
    made = expressions.conjunction(terms)
    assert made is not None, "a conjunction has terms"
    return before if terms == expressions.conjuncts(before) else made


def _factored(predicate: expressions.Expr) -> expressions.Expr:
    """Return an OR as the terms that all its branches share, and an OR of what remains."""
    branches = [{canonical(t): t for t in _terms(b)} for b in expressions.disjuncts(predicate)]
    shared = {key: t for key, t in branches[0].items() if all(key in b for b in branches[1:])}
    if not shared:
        return predicate
    rests = [tuple(t for key, t in b.items() if key not in shared) for b in branches]
    if not all(rests):  # a branch is the shared terms alone: it holds wherever another does
        return _rejoined(predicate, tuple(shared.values()))
    parts = tuple(made for rest in rests if (made := expressions.conjunction(rest)) is not None)
    return _rejoined(predicate, (*shared.values(), *_terms(expressions.disjunction(parts))))


def _negated(predicate: expressions.Expr, inner: expressions.Expr) -> expressions.Expr:
    """Return NOT of an OR as a conjunction, NOT of NOT or of <> as what it means."""
    match inner:
        case expressions.Call("or", sides):
            return _rejoined(predicate, tuple(t for s in sides for t in _terms(_not(s))))
        case expressions.Call("not", (twice,)):
            return factor_disjunctions(twice)
        case expressions.Call("ne", sides):
            return expressions.Call("eq", sides, BOOLEAN, inner.nullable)
        case _:
            return predicate


def _not(expr: expressions.Expr) -> expressions.Expr:
    return expressions.Call("not", (expr,), BOOLEAN, expr.nullable)


def canonical(expr: expressions.Expr) -> expressions.Expr:
    """Return what equal spellings of a condition have in common: sides and lists in one order.

    >>> from windrow.optimize.showing import bound
    >>> plan = bound("SELECT * FROM bids [NOW] WHERE price > 1 AND 1 < price").root.source
    >>> len({canonical(t) for t in expressions.conjuncts(plan.predicate)})
    1
    """
    match expressions.plain(expr):
        case expressions.Call(name, (left, right)) if name in MIRRORED:
            a, b = canonical(left), canonical(right)
            if name == MIRRORED[name]:
                a, b = sorted((a, b), key=repr)
            else:
                a, b = b, a
            return expressions.Call(MIRRORED[name], (a, b), expr.type)
        case expressions.Call("in", (value, *items)):
            alike = sorted(map(canonical, items), key=repr)
            return expressions.Call("in", (canonical(value), *alike), expr.type)
        case expressions.Call(name, args, type_):
            return expressions.Call(name, tuple(map(canonical, args)), type_)
        case other:
            return other
