"""Outer joins of which a condition above drops the results with NULLs, or keeps those alone."""

from __future__ import annotations

from dataclasses import replace

from windrow.optimize.rewriting import names_of
from windrow.plan.expressions import (
    Call,
    Cast,
    Column,
    Expr,
    Literal,
    conjunction,
    conjuncts,
)
from windrow.plan.functions import FUNCTIONS
from windrow.plan.nodes import (
    AntiJoin,
    Filter,
    Join,
    JoinOn,
    Named,
    OuterJoin,
    Plan,
    Project,
    as_column,
)


def narrow_outer_join(plan: Plan) -> Plan:
    """σ_p(L ⟕ R)  ⇒  σ_p(L ⋈ R)  if p is not true of a row whose columns of R are all NULL.

    σ_{r IS NULL}(L ⟕ R)  ⇒  (L ▷ R) × {NULL}  if r is not NULL in any pair, as a key is not.

    L ⟕ R is (L ⋈ R) ⊎ (L ▷ R) × {NULL}: the first p keeps nothing of the second part, the other
    one nothing of the first part, and all of the second. ⟗ has lone tuples of R as well, whose
    keys may be NULL: there r is a column that R has no NULLs in. Where p is not true of NULLs on
    the left, ⟗ is ⟕.

    >>> from windrow.optimize.showing import rewritten
    >>> print(rewritten('''SELECT b.price FROM bids AS b [NOW] LEFT JOIN asks AS a [NOW]
    ...   ON a.sku = b.sku WHERE a.price > 9''', narrow_outer_join))
    query
    └─ Project b.price
       └─ Filter a.price > 9
          └─ Join on b.sku = a.sku
             ├─ Window NOW
             │  └─ Stream bids AS b
             └─ Window NOW
                └─ Stream asks AS a
    """
    match plan:
        case Filter(OuterJoin(left, right, on, full) as join, predicate):
            ways = ((left, right, on), (right, left, _swapped(on)))
            for kept, other, its_on in ways if full else ways[:1]:
                lone = _without_partner(conjuncts(predicate), other, None if full else its_on)
                if lone:
                    rest = conjunction(tuple(t for t in conjuncts(predicate) if t not in lone))
                    made = _columns_of(AntiJoin(kept, other, its_on), join)
                    return made if rest is None else Filter(made, rest)
            has_right = _rejects_any(predicate, names_of(right))
            has_left = not full or _rejects_any(predicate, names_of(left))
            return Filter(_narrowed(join, has_left, has_right), predicate)
        case _:
            return plan


def _narrowed(join: OuterJoin, has_left: bool, has_right: bool) -> Plan:  # noqa: FBT001
    """Return the join, each of whose results above has a tuple of these sides."""
    left, right, on = join.left, join.right, join.on
    if has_left and has_right:
        return Join(left, right, on)
    if has_right:
        return _columns_of(OuterJoin(right, left, _swapped(on)), join)
    return OuterJoin(left, right, on) if has_left and join.full else join


def _swapped(on: JoinOn) -> JoinOn:
    return replace(on, left_keys=on.right_keys, right_keys=on.left_keys)


def _columns_of(plan: Plan, join: OuterJoin) -> Project:
    """Return a plan with the columns of the join: NULL where it has none."""
    named = {f.name: as_column(f) for f in plan.schema}
    columns = (Named(f.name, named.get(f.name, Literal(None, f.type))) for f in join.schema)
    return Project(plan, tuple(columns))


def _without_partner(terms: tuple[Expr, ...], other: Plan, on: JoinOn | None) -> tuple[Expr, ...]:
    """Return the terms that say that a row has no tuple of the other side.

    With `on`, a row that has one is a pair; without it, the tuple may be alone.
    """
    return tuple(
        term
        for term in terms
        if isinstance(term, Call) and term.name == "is_null"
        for value in term.args
        if isinstance(value, Column) and value.name in other.schema
        if not other.schema[value.name].nullable or (on is not None and _never_null(value.name, on))
    )


def _never_null(column: str, on: JoinOn) -> bool:
    """Return whether tuples with a NULL in a column of the right side are nobody's partners."""
    names = frozenset({column})
    if any(_is_null_of(key, names) for key in on.right_keys):
        return True
    return any(rejects_nulls(term, names) for term in conjuncts(on.residual))


def _rejects_any(predicate: Expr, names: frozenset[str]) -> bool:
    return any(rejects_nulls(term, names) for term in conjuncts(predicate))


def rejects_nulls(condition: Expr, names: frozenset[str]) -> bool:
    """Return whether a condition is surely not true where all these columns are NULL."""
    match condition:
        case Call("and", args):
            return any(rejects_nulls(arg, names) for arg in args)
        case Call("or", args):
            return all(rejects_nulls(arg, names) for arg in args)
        case Call("is_not_null" | "is_false", (value,)):
            return _is_null_of(value, names)
        case Call("not", (Call("is_null", (value,)),)):
            return _is_null_of(value, names)
        case Call("is_true", (value,)):
            return rejects_nulls(value, names)
        case Call("in", (value, *_)):
            return _is_null_of(value, names)
        case _:
            return _is_null_of(condition, names)


def _is_null_of(expr: Expr, names: frozenset[str]) -> bool:
    """Return whether a value is surely NULL where all these columns are."""
    match expr:
        case Column(name=name):
            return name in names
        case Cast(value=value):
            return _is_null_of(value, names)
        case Call(name=name, args=args) if FUNCTIONS[name].strict:
            return any(_is_null_of(arg, names) for arg in args)
        case _:
            return False
