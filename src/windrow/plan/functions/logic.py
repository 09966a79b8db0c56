"""Logic of three values, and the functions that choose among their arguments.

NULL is "unknown": ``NULL AND FALSE`` is FALSE, ``NULL OR TRUE`` is TRUE. `nullif`, `nvl2` and
`if` are written with `case`, so that the engine knows one form of choice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import pyarrow as pa

from windrow.core.errors import BindError
from windrow.core.types import BIGINT, BOOLEAN, NULL, is_float, sql_name
from windrow.plan.expressions import Call, Expr, Literal
from windrow.plan.functions import signature
from windrow.plan.functions.comparison import comparable


def _connective(name: str) -> Callable[[signature.Args], Expr]:
    def resolve(args: signature.Args) -> Expr:
        truths = tuple(signature.fit(name.upper(), a, signature.TRUTH) for a in args)
        return reduce(lambda left, right: signature.call(name, (left, right), BOOLEAN), truths)

    return resolve


def _not(args: signature.Args) -> Expr:
    return signature.call("not", (signature.fit("NOT", args[0], signature.TRUTH),), BOOLEAN)


def _test(name: str) -> Callable[[signature.Args], Expr]:
    return lambda args: Call(name, args, BOOLEAN, nullable=False)


def _truth_test(name: str) -> Callable[[signature.Args], Expr]:
    return lambda args: Call(
        name, (signature.fit(name, args[0], signature.TRUTH),), BOOLEAN, nullable=False
    )


def _no_common_value(left: pa.DataType, right: pa.DataType) -> BindError:
    return BindError(
        f"one value cannot be both {sql_name(left)} and {sql_name(right)}",
        hint="Write CAST(... AS ...) so that all alternatives have one type.",
    )


def _case(args: signature.Args) -> Expr:
    """Type ``case(cond1, value1, ..., [else])``: NULL if no condition is true and no else."""
    conditions = tuple(
        signature.fit("CASE WHEN", c, signature.TRUTH) for c in args[: len(args) // 2 * 2 : 2]
    )
    values = args[1::2] if len(args) % 2 == 0 else (*args[1::2], args[-1])
    values = signature.unify(values, _no_common_value)
    interleaved = [e for pair in zip(conditions, values, strict=False) for e in pair]
    rest = values[len(conditions) :]
    nullable = not rest or signature.any_nullable(values)
    return Call("case", (*interleaved, *rest), values[0].type, nullable)


def _coalesce(args: signature.Args) -> Expr:
    values = tuple(v for v in signature.unify(args, _no_common_value) if not _is_null(v))
    if len(values) < 2:
        return values[0] if values else args[0]
    return Call("coalesce", values, values[0].type, all(v.nullable for v in values))


def _is_null(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value is None


def _nullif(args: signature.Args) -> Expr:
    value, other = args
    same = signature.call("eq", comparable((value, other)), BOOLEAN)
    return Call("case", (same, Literal(None, value.type), value), value.type, nullable=True)


def _null_if_zero(args: signature.Args) -> Expr:
    return _nullif((args[0], Literal(0, BIGINT)))


def _zero_if_null(args: signature.Args) -> Expr:
    return _coalesce((args[0], Literal(0, BIGINT)))


def _decode(args: signature.Args) -> Expr:
    """Type ``decode(x, a, if_a, b, if_b, ..., [else])``; NULL equals NULL."""
    value, *rest = args
    parts: list[Expr] = []
    for what, found in zip(rest[::2], rest[1::2], strict=False):
        same = Call("eq_null_safe", comparable((value, what)), BOOLEAN, nullable=False)
        parts += (same, found)
    return _case((*parts, *rest[len(parts) :]))


def _elt(args: signature.Args) -> Expr:
    """Type ``elt(n, a, b, ...)``: the n-th of the texts, NULL if there is none."""
    place, *texts = args
    found = signature.fit("elt", place, signature.WHOLE)
    parts: list[Expr] = []
    for n, text in enumerate(texts, 1):
        same = signature.call("eq", (found, Literal(n, BIGINT)), BOOLEAN)
        parts += (same, signature.fit("elt", text, signature.TEXT))
    return _case(tuple(parts))


def _nvl2(args: signature.Args) -> Expr:
    return _case((Call("is_not_null", args[:1], BOOLEAN, nullable=False), *args[1:]))


def _nanvl(args: signature.Args) -> Expr:
    """Type ``nanvl(x, y)``: y where x is NaN."""
    value, instead = (signature.fit("nanvl", a, signature.FLOATING) for a in args)
    not_a_number = Literal(float("nan"), value.type)
    return _case((signature.call("eq", (value, not_a_number), BOOLEAN), instead, value))


def _extreme(name: str) -> Callable[[signature.Args], Expr]:
    def resolve(args: signature.Args) -> Expr:
        values = comparable(args)
        if values[0].type == NULL:
            return values[0]
        return Call(name, values, values[0].type, all(v.nullable for v in values))

    return resolve


def _isnan(args: signature.Args) -> Expr:
    value = signature.fit("isnan", args[0], signature.FLOATING)
    kept = args[0] if is_float(args[0].type) else value
    return Call(
        "eq_null_safe",
        (kept, signature.coerce(Literal(float("nan"), kept.type), kept.type)),
        BOOLEAN,
        nullable=False,
    )


FUNCTIONS = (
    signature.Function("and", "a AND b", 2, None, _connective("and"), strict=False),
    signature.Function("or", "a OR b", 2, None, _connective("or"), strict=False),
    signature.Function("not", "NOT a", 1, 1, _not),
    signature.Function("is_null", "a IS NULL", 1, 1, _test("is_null"), strict=False),
    signature.Function("is_not_null", "a IS NOT NULL", 1, 1, _test("is_not_null"), strict=False),
    signature.Function("is_true", "a IS TRUE", 1, 1, _truth_test("is_true"), strict=False),
    signature.Function("is_false", "a IS FALSE", 1, 1, _truth_test("is_false"), strict=False),
    signature.Function("case", "CASE WHEN a THEN b ELSE c END", 2, None, _case, strict=False),
    signature.Function("coalesce", "coalesce(a, ...)", 1, None, _coalesce, strict=False),
    signature.Function("nullif", "nullif(a, b)", 2, 2, _nullif, strict=False),
    signature.Function("ifnull", "ifnull(a, b)", 2, 2, _coalesce, strict=False),
    signature.Function("nvl2", "nvl2(a, if_not_null, if_null)", 3, 3, _nvl2, strict=False),
    signature.Function("nullifzero", "nullifzero(x)", 1, 1, _null_if_zero, strict=False),
    signature.Function("zeroifnull", "zeroifnull(x)", 1, 1, _zero_if_null, strict=False),
    signature.Function(
        "decode", "decode(x, a, if_a, ...[, otherwise])", 3, None, _decode, strict=False
    ),
    signature.Function("elt", "elt(n, a, b, ...)", 2, None, _elt, strict=False),
    signature.Function("if", "if(condition, a, b)", 3, 3, _case, strict=False),
    signature.Function("nanvl", "nanvl(x, y)", 2, 2, _nanvl, strict=False),
    signature.Function("isnan", "isnan(x)", 1, 1, _isnan, strict=False),
    signature.Function(
        "greatest", "greatest(a, b, ...)", 2, None, _extreme("greatest"), strict=False
    ),
    signature.Function("least", "least(a, b, ...)", 2, None, _extreme("least"), strict=False),
)

ALIASES = {"nvl": "ifnull", "iff": "if", "isnull": "is_null", "isnotnull": "is_not_null"}
