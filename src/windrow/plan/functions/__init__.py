"""The catalogue of functions: what each is called, what it takes, what type it gives.

One file a family. The binder asks `resolve_call` and `resolve_aggregate`; operators and other
engines' SQL give each `Call` its meaning by the names listed here.

What all functions share:

- A standing query never fails on one row: what is undefined for a value (division by zero,
  text that is no number, a whole number or decimal too large for its type, the logarithm of
  0, a moment outside the years 0001 to 9999) is NULL.
- Nothing turns text into a number or back unasked. Numbers widen; DATE becomes TIMESTAMP; a
  text constant beside a moment is read as one; NULL takes the type that is needed.
- ``/`` is DOUBLE division for all numbers, decimals too; ``DIV`` is whole-number division.
- AND, OR and IN follow the logic of three values.
- NaN equals NaN and is greater than all other numbers.
- All times are UTC.
"""

from __future__ import annotations

import pyarrow as pa

from windrow.core.errors import BindError
from windrow.core.naming import close_names
from windrow.core.types import common_type, sql_name
from windrow.plan.expressions import Expr
from windrow.plan.functions import aggregates as _aggregates
from windrow.plan.functions import arithmetic, comparison, datetime, derived, logic, text
from windrow.plan.functions.aggregates import (
    AGGREGATES,
    AggregateFunction,
    Fold,
    Typed,
    canonical_aggregate,
)
from windrow.plan.functions.casts import can_cast, resolve_cast
from windrow.plan.functions.derived import derived_aggregate, is_grouping
from windrow.plan.functions.signature import Args, Function, coerce, partial, unify

__all__ = [
    "AGGREGATES",
    "ALIASES",
    "FUNCTIONS",
    "AggregateFunction",
    "Fold",
    "Function",
    "can_cast",
    "canonical_aggregate",
    "coerce",
    "declare_aggregate",
    "declare_function",
    "derived_aggregate",
    "is_aggregate",
    "resolve_aggregate",
    "resolve_call",
    "resolve_cast",
    "unify",
]

_FAMILIES = (arithmetic, comparison, logic, text, datetime)

FUNCTIONS: dict[str, Function] = {f.name: f for family in _FAMILIES for f in family.FUNCTIONS}
"""Every scalar function and operator by its canonical name."""

ALIASES: dict[str, str] = {
    alias: name for family in _FAMILIES for alias, name in family.ALIASES.items()
}
"""Other names of scalar functions."""


def resolve_call(name: str, args: tuple[Expr, ...]) -> Expr:
    """Type a call of a scalar function or operator, its arguments converted.

    >>> from windrow.plan.expressions import Column
    >>> resolve_call("UPPER", (Column("sku", pa.string()),)).type
    DataType(string)
    """
    lower = name.lower()
    function = FUNCTIONS.get(ALIASES.get(lower, lower))
    if function is None:
        raise _unknown(name)
    function.check_count(len(args))
    return function.resolve(args)


def declare_function(
    name: str, arguments: tuple[pa.DataType, ...], result: pa.DataType, *, again: bool
) -> None:
    """Let queries call a function of the user's own; the evaluator looks its code up."""
    known = not again and (ALIASES.get(name, name) in FUNCTIONS or is_aggregate(name))
    if known:
        raise BindError(f"there is already a function {name}", hint="Give it a name of its own.")
    usage = f"{name}({', '.join(map(sql_name, arguments))})"

    def resolve(args: tuple[Expr, ...]) -> Expr:
        fitted = []
        for arg, type_ in zip(args, arguments, strict=True):
            if common_type(arg.type, type_) != type_:
                raise BindError(
                    f"{name} takes {usage}, not {sql_name(arg.type)}",
                    hint=f"Write CAST(... AS {sql_name(type_)}) if that is meant.",
                )
            fitted.append(coerce(arg, type_))
        return partial(name, tuple(fitted), result)

    FUNCTIONS[name] = Function(name, usage, len(arguments), len(arguments), resolve, strict=False)


def is_aggregate(name: str) -> bool:
    """Return whether a name, in any case, is that of an aggregate function."""
    plain = canonical_aggregate(name) is not None
    return plain or derived_aggregate(name) is not None or is_grouping(name)


def resolve_aggregate(
    name: str,
    args: tuple[Expr, ...],
    distinct: bool,  # noqa: FBT001 - part of the call as SQL writes it
) -> tuple[tuple[Expr, ...], pa.DataType, bool]:
    """Type a call of an aggregate: converted arguments, type, and whether it may be NULL."""
    canonical = canonical_aggregate(name)
    if canonical is None:
        raise _unknown(name)
    function = AGGREGATES[canonical]
    function.check(len(args), distinct=distinct)
    converted, type_ = function.resolve(args)
    return converted, type_, function.nullable


def declare_aggregate(name: str, arguments: tuple[pa.DataType, ...], result: pa.DataType) -> None:
    """Let queries call an aggregate of the user's own; operators look its implementation up."""
    if is_aggregate(name):
        raise BindError(f"there is already an aggregate {name}", hint="Give it a name of its own.")

    def resolve(args: Args) -> Typed:
        wrong = [sql_name(t) for a, t in zip(args, arguments, strict=True) if a.type != t]
        if wrong:
            raise BindError(f"{name} takes {usage}", hint=f"Cast the argument to {wrong[0]}.")
        return args, result

    usage = f"{name}({', '.join(map(sql_name, arguments))})"
    count = len(arguments)
    AGGREGATES[name] = AggregateFunction(name, usage, count, count, resolve, Fold.HOLISTIC)


def _unknown(name: str) -> BindError:
    if is_aggregate(name):
        return BindError(
            f'aggregate function "{name}" cannot be used here',
            hint="Aggregates stand in SELECT and HAVING, not inside one another or in WHERE.",
        )
    known = [*FUNCTIONS, *ALIASES, *AGGREGATES, *_aggregates.ALIASES, *derived.DERIVED]
    near = close_names(name.lower(), known)
    return BindError(
        f'unknown function "{name}"',
        detail=ELSEWHERE.get(name.lower(), ""),
        hint=f'Did you mean "{near[0]}"?'
        if near and name.lower() not in ELSEWHERE
        else "docs/reference/language.md lists all functions.",
    )


_NO_NOW = (
    "A query has no time of its own: an answer is of the instant that its streams have reached."
)
_BY_ROWS = "Tuples are not numbered: [ROWS n] keeps the newest, ORDER BY ... LIMIT n the first."
ELSEWHERE = {
    **dict.fromkeys(("now", "current_timestamp", "current_date", "getdate", "sysdate"), _NO_NOW),
    **dict.fromkeys(("lag", "lead", "row_number", "rank", "dense_rank", "ntile"), _BY_ROWS),
    "nth_value": _BY_ROWS,
}
"""Functions of other systems that have no meaning here, and why."""
