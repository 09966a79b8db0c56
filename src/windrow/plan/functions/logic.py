"""Logic of three values, and the functions that choose among their arguments.

NULL is "unknown": ``NULL AND FALSE`` is FALSE, ``NULL OR TRUE`` is TRUE. `nullif`, `nvl2` and
`if` are written with `case`, so that the engine knows one form of choice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import pyarrow as pa

from windrow.core.errors import BindError
from windrow.core.types import BOOLEAN, NULL, is_float, sql_name
from windrow.plan.expressions import Call, Expr, Literal
from windrow.plan.functions.comparison import comparable
from windrow.plan.functions.signature import (
    FLOATING,
    TRUTH,
    Args,
    Function,
    any_nullable,
    call,
    coerce,
    fit,
    unify,
)


def _connective(name: str) -> Callable[[Args], Expr]:
    def resolve(args: Args) -> Expr:
        truths = tuple(fit(name.upper(), a, TRUTH) for a in args)
        return reduce(lambda left, right: call(name, (left, right), BOOLEAN), truths)

    return resolve


def _not(args: Args) -> Expr:
    return call("not", (fit("NOT", args[0], TRUTH),), BOOLEAN)


def _test(name: str) -> Callable[[Args], Expr]:
    return lambda args: Call(name, args, BOOLEAN, nullable=False)


def _truth_test(name: str) -> Callable[[Args], Expr]:
    return lambda args: Call(name, (fit(name, args[0], TRUTH),), BOOLEAN, nullable=False)


def _no_common_value(left: pa.DataType, right: pa.DataType) -> BindError:
    return BindError(
        f"one value cannot be both {sql_name(left)} and {sql_name(right)}",
        hint="Write CAST(... AS ...) so that all alternatives have one type.",
    )


def _case(args: Args) -> Expr:
    """Type ``case(cond1, value1, ..., [else])``: NULL if no condition is true and no else."""
    conditions = tuple(fit("CASE WHEN", c, TRUTH) for c in args[: len(args) // 2 * 2 : 2])
    values = args[1::2] if len(args) % 2 == 0 else (*args[1::2], args[-1])
    values = unify(values, _no_common_value)
    interleaved = [e for pair in zip(conditions, values, strict=False) for e in pair]
    rest = values[len(conditions) :]
    nullable = not rest or any_nullable(values)
    return Call("case", (*interleaved, *rest), values[0].type, nullable)


def _coalesce(args: Args) -> Expr:
    values = tuple(v for v in unify(args, _no_common_value) if not _is_null(v))
    if len(values) < 2:
        return values[0] if values else args[0]
    return Call("coalesce", values, values[0].type, all(v.nullable for v in values))


def _is_null(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value is None


def _nullif(args: Args) -> Expr:
    value, other = args
    same = call("eq", comparable((value, other)), BOOLEAN)
    return Call("case", (same, Literal(None, value.type), value), value.type, nullable=True)


def _nvl2(args: Args) -> Expr:
    return _case((Call("is_not_null", args[:1], BOOLEAN, nullable=False), *args[1:]))


def _nanvl(args: Args) -> Expr:
    """Type ``nanvl(x, y)``: y where x is NaN."""
    value, instead = (fit("nanvl", a, FLOATING) for a in args)
    not_a_number = Literal(float("nan"), value.type)
    return _case((call("eq", (value, not_a_number), BOOLEAN), instead, value))


def _extreme(name: str) -> Callable[[Args], Expr]:
    def resolve(args: Args) -> Expr:
        values = comparable(args)
        if values[0].type == NULL:
            return values[0]
        return Call(name, values, values[0].type, all(v.nullable for v in values))

    return resolve


def _isnan(args: Args) -> Expr:
    value = fit("isnan", args[0], FLOATING)
    kept = args[0] if is_float(args[0].type) else value
    return Call(
        "eq_null_safe",
        (kept, coerce(Literal(float("nan"), kept.type), kept.type)),
        BOOLEAN,
        nullable=False,
    )


FUNCTIONS = (
    Function("and", "a AND b", 2, None, _connective("and"), strict=False),
    Function("or", "a OR b", 2, None, _connective("or"), strict=False),
    Function("not", "NOT a", 1, 1, _not),
    Function("is_null", "a IS NULL", 1, 1, _test("is_null"), strict=False),
    Function("is_not_null", "a IS NOT NULL", 1, 1, _test("is_not_null"), strict=False),
    Function("is_true", "a IS TRUE", 1, 1, _truth_test("is_true"), strict=False),
    Function("is_false", "a IS FALSE", 1, 1, _truth_test("is_false"), strict=False),
    Function("case", "CASE WHEN a THEN b ELSE c END", 2, None, _case, strict=False),
    Function("coalesce", "coalesce(a, ...)", 1, None, _coalesce, strict=False),
    Function("nullif", "nullif(a, b)", 2, 2, _nullif, strict=False),
    Function("ifnull", "ifnull(a, b)", 2, 2, _coalesce, strict=False),
    Function("nvl2", "nvl2(a, if_not_null, if_null)", 3, 3, _nvl2, strict=False),
    Function("if", "if(condition, a, b)", 3, 3, _case, strict=False),
    Function("nanvl", "nanvl(x, y)", 2, 2, _nanvl, strict=False),
    Function("isnan", "isnan(x)", 1, 1, _isnan, strict=False),
    Function("greatest", "greatest(a, b, ...)", 2, None, _extreme("greatest"), strict=False),
    Function("least", "least(a, b, ...)", 2, None, _extreme("least"), strict=False),
)

ALIASES = {"nvl": "ifnull", "iff": "if", "isnull": "is_null", "isnotnull": "is_not_null"}
