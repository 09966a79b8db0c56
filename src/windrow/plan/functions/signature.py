"""What the catalogue says about one function, and how its arguments are brought to type.

A `Function` knows its name, how many arguments it takes and how a call of it is typed. The
helpers here convert arguments without being asked only where nothing can be lost: numbers
widen, NULL takes any type, DATE becomes TIMESTAMP, a text *literal* is read as a moment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from windrow.core import types
from windrow.core.errors import BindError
from windrow.plan.expressions import Call, Cast, Expr, Literal
from windrow.plan.functions.casts import is_total, widen_literal
from windrow.plan.functions.moments import parse_date, parse_timestamp

Args: TypeAlias = tuple[Expr, ...]
Resolver: TypeAlias = Callable[[Args], Expr]


@dataclass(frozen=True, slots=True)
class Function:
    """One scalar function: ``usage`` as a user writes it, `least` to `most` arguments.

    A `strict` function is NULL as soon as one argument is.
    """

    name: str
    usage: str
    least: int
    most: int | None
    resolve: Resolver
    strict: bool = True

    def check_count(self, count: int) -> None:
        """Refuse a call with too few or too many arguments."""
        if count < self.least or (self.most is not None and count > self.most):
            raise BindError(
                f"{self.name} does not take {count} argument{'' if count == 1 else 's'}",
                hint=f"Write {self.usage}.",
            )


@dataclass(frozen=True, slots=True)
class TypeSet:
    """A set of types that a parameter accepts, and the type that they become."""

    words: str
    accepts: Callable[[pa.DataType], bool]
    becomes: pa.DataType | None  # None: stays as it is


TEXT = TypeSet("text", lambda t: bool(t == types.STRING), types.STRING)
WHOLE = TypeSet("a whole number", types.is_integer, types.BIGINT)
FLOATING = TypeSet("a number", types.is_numeric, types.DOUBLE)
NUMBER = TypeSet("a number", types.is_numeric, None)
TRUTH = TypeSet("a truth value", lambda t: bool(t == types.BOOLEAN), types.BOOLEAN)
DAY = TypeSet("a date", types.is_temporal, types.DATE)
INSTANT = TypeSet("a timestamp", types.is_temporal, types.TIMESTAMP)
LENGTH = TypeSet("an interval", lambda t: bool(t == types.INTERVAL), types.INTERVAL)


def simple(
    usage: str, kinds: tuple[TypeSet, ...], result: pa.DataType, *, total: bool = True
) -> Function:
    """Declare a strict function of fixed kinds; arguments after ``[`` in `usage` may be left out.

    It may be NULL although no argument is, unless it is `total`.
    """
    name = usage.partition("(")[0]
    least = usage.partition("[")[0].count(",") + 1 if "[" in usage else len(kinds)

    def resolve(args: Args) -> Expr:
        fitted = tuple(fit(name, a, kind) for a, kind in zip(args, kinds, strict=False))
        return Call(name, fitted, result, not total or any_nullable(fitted))

    return Function(name, usage, least, len(kinds), resolve)


def any_nullable(args: Args) -> bool:
    """Return whether one of the arguments may be NULL."""
    return any(a.nullable for a in args)


def fit(name: str, arg: Expr, kind: TypeSet) -> Expr:
    """Bring an argument to a parameter's type, or refuse it."""
    if (
        isinstance(arg, Literal)
        and arg.type == types.STRING
        and kind.becomes in (types.DATE, types.TIMESTAMP)
    ):
        return read_moment(arg, kind.becomes)
    if arg.type == types.NULL:
        return coerce(arg, types.DOUBLE if kind.becomes is None else kind.becomes)
    if not kind.accepts(arg.type):
        raise BindError(
            f"{name} needs {kind.words}, not {types.sql_name(arg.type)}",
            hint=f"Write CAST(... AS {types.sql_name(kind.becomes or types.DOUBLE)}) "
            "if that is meant.",
        )
    return arg if kind.becomes is None else coerce(arg, kind.becomes)


def coerce(expr: Expr, type_: pa.DataType) -> Expr:
    """Return the expression with another type: a constant is converted here and now."""
    if expr.type == type_:
        return expr
    if isinstance(expr, Literal):
        widened = widen_literal(expr, type_)
        if widened is not None:
            return widened
    return Cast(expr, type_, expr.nullable or not is_total(expr.type, type_))


def read_moment(text: Literal, type_: pa.DataType) -> Literal:
    """Read a text constant as DATE or TIMESTAMP."""
    value = str(text.value) if text.value is not None else None
    if value is None:
        return Literal(None, type_)
    parsed = parse_date(value) if type_ == types.DATE else parse_timestamp(value)
    if parsed is None:
        raise BindError(
            f"'{value}' is not a {types.sql_name(type_)}",
            hint="Write it as '2024-02-29' or '2024-02-29 12:30:00' (UTC, or with an offset).",
        )
    return Literal(parsed, type_)


def unify(args: Args, failure: Callable[[pa.DataType, pa.DataType], BindError]) -> Args:
    """Bring all arguments to their common type; raise ``failure(left, right)`` if none is.

    Text constants beside moments are read as moments: as a TIMESTAMP if they have a time of
    day, or if another argument is one.
    """
    args = _read_text_beside_moments(args)
    common = args[0].type
    for arg in args[1:]:
        both = types.common_type(common, arg.type)
        if both is None:
            raise failure(common, arg.type)
        common = both
    return tuple(coerce(arg, common) for arg in args)


def _read_text_beside_moments(args: Args) -> Args:
    moments = {a.type for a in args if types.is_temporal(a.type)}
    if not moments:
        return args
    return tuple(
        _read_as_needed(a) if isinstance(a, Literal) and a.type == types.STRING else a for a in args
    )


def _read_as_needed(text: Literal) -> Literal:
    moment = read_moment(text, types.TIMESTAMP)
    if isinstance(moment.value, int) and moment.value % 86_400_000_000 == 0:
        return read_moment(text, types.DATE)
    return moment


def constant(name: str, arg: Expr, what: str) -> Literal:
    """Return an argument that has to be a constant."""
    if isinstance(arg, Literal):
        return arg
    raise BindError(
        f"{what} of {name} must be a constant",
        detail="It is prepared once, when the query starts.",
        hint="Write a number or a text there, not a column.",
    )


def call(name: str, args: Args, type_: pa.DataType) -> Call:
    """Return a call that is NULL only if an argument is."""
    return Call(name, args, type_, any_nullable(args))


def partial(name: str, args: Args, type_: pa.DataType) -> Call:
    """Return a call that may be NULL although no argument is."""
    return Call(name, args, type_, nullable=True)
