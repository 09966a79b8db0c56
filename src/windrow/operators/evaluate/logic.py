"""Kernels of three-valued logic and of choice."""

from __future__ import annotations

import pyarrow as pa

from windrow.operators.evaluate.arrays import (
    FALSE,
    Builder,
    Datum,
    Kernel,
    arrow,
    fill_false,
    if_else,
    invert,
    is_null,
    is_valid,
)
from windrow.operators.evaluate.comparison import comparison
from windrow.operators.few import scalar_of
from windrow.plan.expressions import Call, Expr, Literal

_coalesce = arrow("coalesce")
_or = arrow("or_kleene")


def _same(kernel: Kernel) -> Builder:
    return lambda _: kernel


def _certain(condition: Datum) -> Datum:
    """Return a condition with NULL as false."""
    if isinstance(condition, pa.Array) and not condition.null_count:
        return condition
    return fill_false(condition, FALSE)


def _case(call: Call) -> Kernel:
    """Choose from the last alternative to the first, so that the first true one wins."""
    has_else = len(call.args) % 2 == 1
    missing = scalar_of(None, call.type)

    def kernel(*args: Datum) -> pa.Array:
        result = args[-1] if has_else else missing
        for i in range(len(args) // 2 * 2 - 2, -1, -2):
            result = if_else(_certain(args[i]), args[i + 1], result)
        return result

    return kernel


def fold_case(args: tuple[Expr, ...], call: Call) -> Expr:
    """Leave out the alternatives of a CASE that can never, or must always, be taken."""
    kept: list[Expr] = []
    for condition, value in zip(args[: len(args) // 2 * 2 : 2], args[1::2], strict=False):
        if not isinstance(condition, Literal):
            kept += (condition, value)
        elif condition.value is True:
            kept.append(value)
            break
    else:
        kept.append(args[-1] if len(args) % 2 else Literal(None, call.type))
    return kept[0] if len(kept) == 1 else Call("case", tuple(kept), call.type, call.nullable)


def _extreme(name: str) -> Builder:
    """Keep the greater (or lesser) of two at a time; a NULL never wins against a value."""

    def builder(call: Call) -> Kernel:
        better = comparison(name, call.type)

        def pick(left: Datum, right: Datum) -> pa.Array:
            wins = _or(_certain(better(left, right)), is_null(right))
            return if_else(wins, left, right)

        def kernel(first: Datum, *others: Datum) -> pa.Array:
            for other in others:
                kept = pick(first, other)
                first = _coalesce(kept, other)
            return first

        return kernel

    return builder


BUILDERS: dict[str, Builder] = {
    "and": _same(arrow("and_kleene")),
    "or": _same(_or),
    "not": _same(invert),
    "is_null": _same(is_null),
    "is_not_null": _same(is_valid),
    "is_true": _same(_certain),
    "is_false": _same(lambda value: _certain(invert(value))),
    "case": _case,
    "coalesce": _same(_coalesce),
    "greatest": _extreme("gt"),
    "least": _extreme("lt"),
}
