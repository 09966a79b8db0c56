"""Bound scalar expressions: columns, constants and calls, each with its type.

Four frozen kinds. All of SQL's operators are `Call`s named in `functions.py` (`add`, `eq`,
`and`, `case`, `like`, `substring`, ...), so that one table says how each is typed, evaluated
and written in another engine's SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from windrow.core.types import BOOLEAN


@dataclass(frozen=True, slots=True)
class Column:
    """The value of a column of the node's input, by its unique name there."""

    name: str
    type: pa.DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. Timestamps and intervals are ints of µs, dates ints of days."""

    value: object
    type: pa.DataType

    @property
    def nullable(self) -> bool:
        """A constant is nullable if it is NULL."""
        return self.value is None


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator of `functions.py` applied to its arguments."""

    name: str
    args: tuple[Expr, ...]
    type: pa.DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Cast:
    """CAST(value AS type): what cannot be represented becomes NULL."""

    value: Expr
    type: pa.DataType
    nullable: bool = True


Expr: TypeAlias = Column | Literal | Call | Cast

TRUE = Literal(value=True, type=BOOLEAN)


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the expressions directly below."""
    match expr:
        case Call(args=args):
            return args
        case Cast(value=value):
            return (value,)
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield the expression and all below it, parents first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def columns_of(expr: Expr) -> frozenset[str]:
    """Return the names of the columns that the expression reads."""
    return frozenset(e.name for e in walk(expr) if isinstance(e, Column))


def substitute(expr: Expr, replace: Callable[[Column], Expr]) -> Expr:
    """Return the expression with every column replaced."""
    match expr:
        case Column():
            return replace(expr)
        case Literal():
            return expr
        case Call(name, args, type_, nullable):
            return Call(name, tuple(substitute(a, replace) for a in args), type_, nullable)
        case Cast(value, type_, nullable):
            return Cast(substitute(value, replace), type_, nullable)


def plain(expr: Expr) -> Expr:
    """Return the expression without what is known about NULLs, to compare it by what it reads."""
    return substitute(expr, lambda c: Column(c.name, c.type))


def conjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """Split a predicate at its top-level ANDs; none for no predicate."""
    match expr:
        case None:
            return ()
        case Call("and", (left, right)):
            return conjuncts(left) + conjuncts(right)
        case _:
            return (expr,)


def conjunction(parts: tuple[Expr, ...]) -> Expr | None:
    """Join predicates by AND; None for none."""
    if not parts:
        return None
    result = parts[0]
    for part in parts[1:]:
        result = Call("and", (result, part), BOOLEAN, result.nullable or part.nullable)
    return result


def disjuncts(expr: Expr) -> tuple[Expr, ...]:
    """Split a predicate at its top-level ORs, left to right."""
    found: list[Expr] = []
    waiting = [expr]
    while waiting:
        match waiting.pop():
            case Call("or", (left, right)):
                waiting += (right, left)
            case other:
                found.append(other)
    return tuple(found)


def disjunction(parts: tuple[Expr, ...]) -> Expr:
    """Join predicates, at least one, by OR."""
    result = parts[0]
    for part in parts[1:]:
        result = Call("or", (result, part), BOOLEAN, result.nullable or part.nullable)
    return result
