"""Aggregate functions: how each is typed, and what a window may do with it.

The classes are the thesis's (§2.2.1, §2.3.4). *Distributive*: folded from the folds of parts.
*Algebraic*: computed from a few distributive ones. *Holistic*: needs the values, or counts of
them. *Subtractable*: a fold less the fold of a part is the fold of the rest (for an algebraic
aggregate: so are its parts), so that expired tuples can be taken out of it.
*Duplicate-insensitive*: the answer is the same over the set as over the bag.

NULLs are not folded. Over no values all are NULL, but `count` and its kin, which are 0.
AVG, MEDIAN and the variances are DOUBLE for all numbers, decimals included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import pyarrow as pa

from windrow.core import types
from windrow.core.errors import BindError
from windrow.plan.expressions import Expr, Literal
from windrow.plan.functions.signature import FLOATING, TRUTH, WHOLE, Args, constant, fit


class Fold(Enum):
    """How the fold of a whole depends on folds of its parts."""

    DISTRIBUTIVE = "distributive"
    ALGEBRAIC = "algebraic"
    HOLISTIC = "holistic"


Typed: TypeAlias = tuple[Args, pa.DataType]


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """One aggregate: `least` to `most` arguments, typed by `resolve`."""

    name: str
    usage: str
    least: int
    most: int | None
    resolve: Callable[[Args], Typed]
    fold: Fold
    duplicate_sensitive: bool = True
    subtractable: bool = False
    nullable: bool = True  # over no values
    distinct: bool = True  # DISTINCT may be written

    def check(self, count: int, *, distinct: bool) -> None:
        """Refuse a wrong number of arguments and a DISTINCT that means nothing."""
        if count < self.least or (self.most is not None and count > self.most):
            raise BindError(
                f"{self.name} does not take {count} argument{'' if count == 1 else 's'}",
                hint=f"Write {self.usage}.",
            )
        if distinct and (not self.distinct or count == 0):
            raise BindError(
                f"{self.name} cannot be used with DISTINCT here", hint=f"Write {self.usage}."
            )


def _count(args: Args) -> Typed:
    return args, types.BIGINT


def _sum(args: Args) -> Typed:
    (value,) = args
    if types.is_decimal(value.type):
        return args, pa.decimal128(types.MAX_PRECISION, value.type.scale)
    if types.is_numeric(value.type):
        return args, types.DOUBLE if types.is_float(value.type) else types.BIGINT
    return (fit("sum", value, FLOATING),), types.DOUBLE


def _real(name: str) -> Callable[[Args], Typed]:
    return lambda args: ((fit(name, args[0], FLOATING),), types.DOUBLE)


def _extreme(name: str) -> Callable[[Args], Typed]:
    def resolve(args: Args) -> Typed:
        type_ = args[0].type
        if pa.types.is_nested(type_) or type_ == types.NULL:
            raise BindError(
                f"{name} needs values that have an order, not {types.sql_name(type_)}",
                hint="Fold a number, a text, a time or a truth value instead.",
            )
        return args, type_

    return resolve


def _truth(name: str) -> Callable[[Args], Typed]:
    return lambda args: ((fit(name, args[0], TRUTH),), types.BOOLEAN)


def _bits(name: str) -> AggregateFunction:
    def resolve(args: Args) -> Typed:
        value = args[0] if types.is_integer(args[0].type) else fit(name, args[0], WHOLE)
        return (value,), value.type

    return AggregateFunction(
        name, f"{name}(x)", 1, 1, resolve, Fold.DISTRIBUTIVE, subtractable=True
    )


def _pairs(name: str) -> AggregateFunction:
    """Declare a covariance: from COUNT, both sums, and the sum of products."""

    def resolve(args: Args) -> Typed:
        return tuple(fit(name, a, FLOATING) for a in args), types.DOUBLE

    return AggregateFunction(
        *(name, f"{name}(x, y)", 2, 2, resolve, Fold.ALGEBRAIC), subtractable=True, distinct=False
    )


def _in_order(name: str, typed: Callable[[pa.DataType], pa.DataType]) -> Callable[[Args], Typed]:
    """Take values and keys that have an order, then its letters (see `derived.py`)."""

    def resolve(args: Args) -> Typed:
        for arg in args:
            _extreme(name)((arg,))
        return args, typed(args[0].type)

    return resolve


def _fraction(name: str, arg: Expr, what: str) -> Literal:
    known = constant(name, arg, what)
    if isinstance(known.value, bool) or not types.is_numeric(known.type) or known.value is None:
        raise BindError(f"{what} of {name} must be a number", hint="For example 0.5.")
    value = float(str(known.value))
    if not 0 <= value <= 1:
        raise BindError(
            f"{what} of {name} must be between 0 and 1, not {known.value}",
            hint="For example 0.95 for the value that 95 percent do not exceed.",
        )
    return Literal(value, types.DOUBLE)


def _quantile(name: str) -> Callable[[Args], Typed]:
    def resolve(args: Args) -> Typed:
        return (
            fit(name, args[0], FLOATING),
            _fraction(name, args[1], "the quantile"),
        ), types.DOUBLE

    return resolve


def _element(name: str) -> Callable[[Args], Typed]:
    """Take any values that have an order; give one of them."""

    def resolve(args: Args) -> Typed:
        (value,), type_ = _extreme(name)(args[:1])
        rest = (_positive(name, a, "the accuracy") for a in args[2:])
        return (value, _fraction(name, args[1], "the quantile"), *rest), type_

    return resolve


def _positive(name: str, arg: Expr, what: str) -> Literal:
    known = constant(name, arg, what)
    if isinstance(known.value, bool) or not isinstance(known.value, int) or known.value < 1:
        raise BindError(f"{what} of {name} must be a positive whole number", hint="For example 10.")
    return Literal(known.value, types.BIGINT)


def _topk(name: str) -> Callable[[Args], Typed]:
    def resolve(args: Args) -> Typed:
        (value,), type_ = _extreme(name)(args[:1])
        return (value, _positive(name, args[1], "the count")), pa.list_(type_)

    return resolve


def _approx_count_distinct(args: Args) -> Typed:
    rest = (_fraction("approx_count_distinct", a, "the relative error") for a in args[1:])
    return (args[0], *rest), types.BIGINT


def _spread(name: str) -> AggregateFunction:
    """Declare what is read from COUNT and the sums of powers."""
    return AggregateFunction(
        name, f"{name}(x)", 1, 1, _real(name), Fold.ALGEBRAIC, subtractable=True
    )


SHIPPED = (
    AggregateFunction(
        *("count", "count(*) or count([DISTINCT] x, ...)", 0, None, _count, Fold.DISTRIBUTIVE),
        subtractable=True,
        nullable=False,
    ),
    AggregateFunction("sum", "sum(x)", 1, 1, _sum, Fold.DISTRIBUTIVE, subtractable=True),
    AggregateFunction("avg", "avg(x)", 1, 1, _real("avg"), Fold.ALGEBRAIC, subtractable=True),
    AggregateFunction(
        *("min", "min(x)", 1, 1, _extreme("min"), Fold.DISTRIBUTIVE), duplicate_sensitive=False
    ),
    AggregateFunction(
        *("max", "max(x)", 1, 1, _extreme("max"), Fold.DISTRIBUTIVE), duplicate_sensitive=False
    ),
    AggregateFunction(
        *("bool_and", "bool_and(x)", 1, 1, _truth("bool_and"), Fold.DISTRIBUTIVE),
        duplicate_sensitive=False,
    ),
    AggregateFunction(
        *("bool_or", "bool_or(x)", 1, 1, _truth("bool_or"), Fold.DISTRIBUTIVE),
        duplicate_sensitive=False,
    ),
    _spread("var_samp"),
    _spread("var_pop"),
    _spread("stddev_samp"),
    _spread("stddev_pop"),
    _spread("skewness"),
    _spread("kurtosis"),
    _pairs("covar_samp"),
    _pairs("covar_pop"),
    _bits("bit_and"),
    _bits("bit_or"),
    _bits("bit_xor"),
    AggregateFunction("median", "median(x)", 1, 1, _real("median"), Fold.HOLISTIC),
    AggregateFunction(
        "quantile", "quantile(x, fraction)", 2, 2, _quantile("quantile"), Fold.HOLISTIC
    ),
    AggregateFunction(
        *("topk", "topk(x, count)", 2, 2, _topk("topk"), Fold.HOLISTIC), distinct=False
    ),
    AggregateFunction(*("mode", "mode(x)", 1, 1, _extreme("mode"), Fold.HOLISTIC), distinct=False),
    AggregateFunction(
        *("first", "first(x)", 2, None, _in_order("first", lambda t: t), Fold.HOLISTIC),
        distinct=False,
    ),
    AggregateFunction(
        *("collect_list", "collect_list(x)", 2, None),
        *(_in_order("collect_list", pa.list_), Fold.HOLISTIC),
        nullable=False,
    ),
    AggregateFunction(
        *("string_agg", "string_agg(x, separator)", 3, None),
        *(_in_order("string_agg", lambda t: t), Fold.HOLISTIC),
    ),
    AggregateFunction(
        *("approx_count_distinct", "approx_count_distinct(x[, error])", 1, 2),
        *(_approx_count_distinct, Fold.HOLISTIC),
        duplicate_sensitive=False,
        nullable=False,
        distinct=False,
    ),
    AggregateFunction(
        *("approx_quantile", "approx_quantile(x, fraction[, accuracy])", 2, 3),
        *(_element("approx_quantile"), Fold.HOLISTIC),
        distinct=False,
    ),
    AggregateFunction(
        *("approx_topk", "approx_topk(x, count)", 2, 2, _topk("approx_topk"), Fold.HOLISTIC),
        distinct=False,
    ),
)

AGGREGATES: dict[str, AggregateFunction] = {f.name: f for f in SHIPPED}
"""Every aggregate by its canonical name."""

ALIASES = {
    "mean": "avg",
    "variance": "var_samp",
    "stddev": "stddev_samp",
    "std": "stddev_samp",
    "percentile": "quantile",
    "quantile_cont": "quantile",
    "approx_percentile": "approx_quantile",
    "percentile_approx": "approx_quantile",
    "approx_top_k": "approx_topk",
    "any_value": "min",
    "try_sum": "sum",
    "try_avg": "avg",
    "covar": "covar_samp",
    "every": "bool_and",
    "any": "bool_or",
    "some": "bool_or",
}


def canonical_aggregate(name: str) -> str | None:
    """Return the name an aggregate goes by in plans; None if it is no aggregate.

    >>> canonical_aggregate("VARIANCE"), canonical_aggregate("upper") is None
    ('var_samp', True)
    """
    lower = name.lower()
    lower = ALIASES.get(lower, lower)
    return lower if lower in AGGREGATES else None
