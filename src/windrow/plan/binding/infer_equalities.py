"""Equalities that follow from others: they tie sources that no written one ties directly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from windrow.core.types import BOOLEAN
from windrow.plan.expressions import Call, Expr, Literal, columns_of, plain

Pair = tuple[Expr, Expr]
"""Expressions with one value: of what was joined so far, and of what joins it."""


@dataclass(slots=True)
class Partition:
    """Expressions in disjoint sets, united pair by pair; compared by what they read."""

    leaders: dict[Expr, Expr] = field(default_factory=dict)

    def leader(self, expr: Expr) -> Expr:
        """Return the expression that stands for the set of `expr`."""
        at = plain(expr)
        while (above := self.leaders.setdefault(at, at)) != at:
            at = above
        return at

    def unite(self, left: Expr, right: Expr) -> bool:
        """Make one set of two; return False if they are one already."""
        one, other = self.leader(left), self.leader(right)
        if one == other:
            return False
        self.leaders[other] = one
        return True


@dataclass(slots=True)
class Equalities:
    """What is equal in every result of a block:  a = b AND b = c  ⇒  a = c.

    ``a = b`` is true only if neither is NULL, and equality of non-NULL values is transitive: NaN
    equals itself, and -0.0 equals 0.0. All members of a set have one type, that in which they
    are compared: a column and a CAST of it are different members, so nothing is inferred through
    a conversion. Equal constants put nothing into one set: ``a = 5 AND b = 5`` gives no key.

        written     p.k = l.k AND p.k = a.k          classes    {p.k, l.k, a.k}
        l ⋈ a       nothing is written: l.k = a.k    enforced   {l.k, a.k}
        ⋈ p         p.k = l.k                        enforced   {p.k, l.k, a.k}
                    p.k = a.k says nothing new and is not tested

    Invariant: an equality is left out only if those that are enforced imply it.

    >>> from windrow.optimize.showing import rewritten
    >>> print(rewritten('''SELECT b.sku FROM bids AS b [NOW], items AS i,
    ...   (SELECT sku, COUNT(*) AS n FROM asks [NOW] GROUP BY sku) AS a
    ...   WHERE i.sku = b.sku AND i.sku = a.sku AND b.price < a.n'''))
    query
    └─ Project b.sku
       └─ Join on b.sku = i.sku
          ├─ Join on b.sku = a.sku AND b.price < a.n
          │  ├─ Window NOW
          │  │  └─ Stream bids AS b
          │  └─ Project sku AS a.sku, n AS a.n
          │     └─ Project asks.sku, COUNT(*) AS n
          │        └─ Aggregate by asks.sku: COUNT(*)
          │           └─ Window NOW
          │              └─ Stream asks
          └─ Relation items AS i
    """

    classes: Partition = field(default_factory=Partition)
    members: list[Expr] = field(default_factory=list)
    enforced: Partition = field(default_factory=Partition)

    @classmethod
    def of(cls, terms: Iterable[Expr]) -> Equalities:
        """Return what follows from the terms of a block, each of which is true in its results."""
        made = cls()
        for left, right in _equalities(terms):
            if columns_of(left) and columns_of(right) and left.type == right.type:
                made.classes.unite(left, right)
                made.members += (left, right)
        return made

    def enforce(self, terms: Iterable[Expr]) -> None:
        """Note that terms are tested before what is joined next.

        Not those with constants: a key stays a key where both of its sides are filtered.
        """
        for left, right in _equalities(terms):
            if columns_of(left) and columns_of(right):
                self.enforced.unite(left, right)

    def inferred(self, tree: frozenset[str], source: frozenset[str]) -> list[Pair]:
        """Return an equality of each class that has members on both sides."""
        ours = self._firsts(tree)
        theirs = self._firsts(source) if ours else {}
        return [(ours[c], theirs[c]) for c in ours if c in theirs]

    def _firsts(self, names: frozenset[str]) -> dict[Expr, Expr]:
        """Return the first member of each class that reads some columns only."""
        found: dict[Expr, Expr] = {}
        for member in self.members:
            if columns_of(member) <= names:
                found.setdefault(self.classes.leader(member), member)
        return found

    def needed(self, written: list[Pair], inferred: list[Pair]) -> list[Pair]:
        """Return which equalities a join has to test, and note that it does.

        The written ones that say something new come first; an inferred one is taken only for a
        class of which none is written, so that a plan looks as its query does.
        """
        said = {self.classes.leader(left) for left, _ in written}
        missing = [pair for pair in inferred if self.classes.leader(pair[0]) not in said]
        return [pair for pair in (*written, *missing) if self.enforced.unite(*pair)]


def _equalities(terms: Iterable[Expr]) -> list[Pair]:
    return [t.args for t in terms if isinstance(t, Call) and t.name == "eq"]  # type: ignore[misc]


def infer_constants(terms: list[Expr]) -> list[Expr]:
    """For  a = b AND a = 5,  return  b = 5.

    Types and NULLs are as in `Equalities`: the constant is compared with b in the type in which
    it was compared with a. Only what is new is returned. A source is then filtered before it
    is joined; the key stays, for rows meet and are distributed by it.

    >>> from windrow.optimize.showing import rewritten
    >>> print(rewritten('''SELECT b.price FROM bids AS b [NOW], asks AS a [NOW]
    ...   WHERE b.sku = a.sku AND b.sku = 'x' '''))
    query
    └─ Project b.price
       └─ Join on b.sku = a.sku
          ├─ Filter b.sku = 'x'
          │  └─ Window NOW
          │     └─ Stream bids AS b
          └─ Filter a.sku = 'x'
             └─ Window NOW
                └─ Stream asks AS a
    """
    equalities = Equalities.of(terms)
    constants: dict[Expr, Literal] = {}
    fixed: set[Expr] = set()
    for member, constant in _constants(terms):
        constants.setdefault(equalities.classes.leader(member), constant)
        fixed.add(plain(member))
    found: list[Expr] = []
    for member in equalities.members:
        value = constants.get(equalities.classes.leader(member))
        if value is not None and plain(member) not in fixed:
            fixed.add(plain(member))
            found.append(Call("eq", (member, value), BOOLEAN, member.nullable))
    return found


def _constants(terms: list[Expr]) -> list[tuple[Expr, Literal]]:
    """Return the expressions that have to have a constant value, and that value."""
    found: list[tuple[Expr, Literal]] = []
    for left, right in _equalities(terms):
        for member, value in ((left, right), (right, left)):
            if columns_of(member) and isinstance(value, Literal) and value.value is not None:
                found.append((member, value))
    return [(m, v) for m, v in found if m.type == v.type]
