"""A tree of binary joins as one join of many inputs: what must hold between which of them.

    ⋈ [b.x = c.x, a.k = c.k]                 inputs      a  b  c
      ⋈ [a.k = b.k, a.v < b.v]       ⇒       equalities  (k, k, k)  (-, x, x)
        a, b                                 compares    a.v < b.v
      c

Joins are associative, and a conjunction may be tested in any order, so the tree and the flat join
have one meaning. Equality is transitive: columns that are equal pair by pair are one class.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pyarrow as pa

from windrow.core.types import BOOLEAN, is_float, is_integer, is_temporal
from windrow.optimize.rewriting import names_of
from windrow.plan.expressions import (
    Call,
    Column,
    Expr,
    columns_of,
    conjunction,
    conjuncts,
    plain,
)
from windrow.plan.nodes import Band, Filter, Join, JoinOn, NrrJoin, Plan, Project

COMPARISONS = ("lt", "le", "gt", "ge", "ne")
"""Comparisons that can be decided inside the loops."""

Member = tuple[int, Expr]
"""An expression over the columns of one input, by the input's position."""


@dataclass(frozen=True, slots=True)
class KeyClass:
    """Expressions with one value in a result: of each input some, as many of each, or none."""

    members: tuple[tuple[Expr, ...], ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        """The inputs that it binds."""
        return tuple(i for i, exprs in enumerate(self.members) if exprs)


@dataclass(frozen=True, slots=True)
class Between:
    """A band on the times of two inputs."""

    first: int
    second: int
    band: Band


@dataclass(frozen=True, slots=True)
class Compared:
    """``left OP right`` for an expression of each of two inputs, both numbers or both moments."""

    first: int
    left: Expr
    op: str
    second: int
    right: Expr


@dataclass(frozen=True)
class FlatJoin:
    """All classes, bands, comparisons and the residual hold between one row of each input."""

    inputs: tuple[Plan, ...]
    classes: tuple[KeyClass, ...] = ()
    bands: tuple[Between, ...] = ()
    compares: tuple[Compared, ...] = ()
    residual: Expr | None = None

    def exprs_of(self, at: int) -> tuple[Expr, ...]:
        """Return what the loops read of an input: members of classes, sides of comparisons."""
        keys = [e for c in self.classes for e in c.members[at]]
        left = [c.left for c in self.compares if c.first == at]
        right = [c.right for c in self.compares if c.second == at]
        return (*keys, *left, *right)

    @property
    def reads(self) -> frozenset[str]:
        """The columns that deciding a match takes."""
        found = [columns_of(e) for i in range(len(self.inputs)) for e in self.exprs_of(i)]
        found += [frozenset({b.band.left, b.band.right}) for b in self.bands]
        residual = frozenset() if self.residual is None else columns_of(self.residual)
        return residual.union(*found)


def flatten(plan: Join, terms: tuple[Expr, ...] = ()) -> FlatJoin | None:
    """Return the largest tree of joins that begins at a node as one join.

    Filters between its joins are conjuncts of it, and so are `terms`, those above it. None if keys
    of two types are compared: there is no class that both are in.
    """
    found = _Terms()
    found.walk(plan)
    found.terms += terms
    return found.sorted_out()


def inputs_joined(plan: Plan) -> list[Plan]:
    """Return the inputs of the largest tree of joins that begins at a node; itself if it is none.

    >>> from windrow.optimize.showing import bound
    >>> len(inputs_joined(bound("SELECT * FROM bids [NOW], asks [NOW]").root.source))
    2
    """
    found = _Terms()
    found.walk(plan)
    return found.inputs


def joins(plan: Plan, kind: type[Join | NrrJoin] = Join) -> bool:
    """Return whether a node is a join, perhaps under filters and projections that leave names."""
    match plan:
        case Filter(source=source):
            return joins(source, kind)
        case Project(source=source, columns=columns):
            kept = all(isinstance(c.expr, Column) and c.expr.name == c.name for c in columns)
            return kept and joins(source, kind)
        case _:
            return isinstance(plan, kind)


@dataclass(slots=True)
class _Terms:
    """What was found on the way down, still to be sorted."""

    inputs: list[Plan] = field(default_factory=list)
    terms: list[Expr] = field(default_factory=list)
    bands: list[Band] = field(default_factory=list)
    mixed: bool = False  # keys of two types

    def walk(self, plan: Plan) -> None:
        """Note the inputs of a tree of joins, left to right, and what is asked between them."""
        match plan:
            case Join(left=left, right=right, on=on):
                self.walk(left)
                self.walk(right)
                self.add_on(on)
            case Filter(source=source, predicate=predicate) if joins(source):
                self.walk(source)
                self.terms += conjuncts(predicate)
            case Project(source=source) if joins(plan):
                self.walk(source)
            case _:
                self.inputs.append(plan)

    def add_on(self, on: JoinOn) -> None:
        """Collect the conditions of a binary join."""
        pairs = list(zip(on.left_keys, on.right_keys, strict=True))
        self.mixed |= any(a.type != b.type for a, b in pairs)
        self.terms += [Call("eq", (a, b), BOOLEAN, a.nullable or b.nullable) for a, b in pairs]
        self.terms += conjuncts(on.residual)
        self.bands += on.bands

    def sorted_out(self) -> FlatJoin | None:
        """Return the collected conditions as one join."""
        if self.mixed:
            return None
        classes = _Classes()
        compares, rest = [], []
        for term in self.terms:
            sides = self._sides(term)
            match term, sides:
                case Call("eq"), ((i, a), (j, b)) if i != j and a.type == b.type:
                    classes.unite((i, a), (j, b))
                case Call(op), ((i, a), (j, b)) if i != j and op in COMPARISONS and _ordered(a, b):
                    compares.append(Compared(i, a, op, j, b))
                case _:
                    rest.append(term)
        made, surplus = classes.found(len(self.inputs))
        return FlatJoin(
            tuple(self.inputs),
            made,
            tuple(Between(self._at(b.left), self._at(b.right), b) for b in self.bands),
            tuple(compares),
            conjunction((*rest, *surplus)),
        )

    def _sides(self, term: Expr) -> tuple[Member, Member] | None:
        """Return the sides of a term between two inputs; None if it is of another kind."""
        if not isinstance(term, Call) or len(term.args) != 2:
            return None
        a, b = term.args
        i, j = self._owner(a), self._owner(b)
        return None if i is None or j is None else ((i, a), (j, b))

    def _owner(self, expr: Expr) -> int | None:
        """Return the one input whose columns an expression reads; None if there is none."""
        reads = columns_of(expr)
        owners = [i for i, plan in enumerate(self.inputs) if reads & names_of(plan)]
        return owners[0] if len(owners) == 1 else None

    def _at(self, column: str) -> int:
        return next(i for i, plan in enumerate(self.inputs) if column in plan.schema)


def _ordered(left: Expr, right: Expr) -> bool:
    """Return whether values have words with their order: binary numbers and moments."""
    return bool(left.type == right.type) and _has_words(left.type)


def _has_words(type_: pa.DataType) -> bool:
    return is_integer(type_) or is_float(type_) or is_temporal(type_)


@dataclass(slots=True)
class _Classes:
    """Members that have one value, united pair by pair. Members are compared without NULLs."""

    sets: list[list[Member]] = field(default_factory=list)

    def unite(self, left: Member, right: Member) -> None:
        """Note that two members are equal."""
        one, other = self._set_of(left), self._set_of(right)
        if one is not other:
            one += other
            self.sets = [s for s in self.sets if s is not other]

    def _set_of(self, member: Member) -> list[Member]:
        at, expr = member[0], plain(member[1])
        for known in self.sets:
            if any(i == at and plain(e) == expr for i, e in known):
                return known
        self.sets.append([member])
        return self.sets[-1]

    def found(self, inputs: int) -> tuple[tuple[KeyClass, ...], list[Expr]]:
        """Return the classes, and equalities inside one input that they do not say.

        Classes between the same inputs are one, with several columns.
        """
        merged: dict[tuple[int, ...], KeyClass] = {}
        surplus: list[Expr] = []
        for members in self.sets:
            first: dict[int, Expr] = {}
            for i, expr in sorted(members, key=lambda m: not isinstance(m[1], Column)):
                if i in first:
                    surplus.append(Call("eq", (first[i], expr), BOOLEAN))
                first.setdefault(i, expr)
            key = tuple(sorted(first))
            empty = KeyClass(((),) * inputs)
            known = merged.get(key, empty).members
            more = tuple((*e, first[i]) if i in first else e for i, e in enumerate(known))
            merged[key] = replace(empty, members=more)
        return tuple(merged.values()), surplus
