"""Kernels of comparison, IN and LIKE. Floats take extra care: NaN is equal to NaN and greatest.

Arrow follows IEEE, where every comparison with NaN but ``<>`` is false. With n(x) for "x is
NaN":  a > b  ⇔  ¬(a <= b) ∧ ¬n(b),  and  a = b  ⇔  a == b ∨ (n(a) ∧ n(b)).
"""

from __future__ import annotations

import math
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.types import BOOLEAN, is_float
from windrow.operators.evaluate.arrays import (
    Builder,
    Datum,
    Kernel,
    arrow,
    if_else,
    invert,
    is_null,
    is_valid,
)
from windrow.operators.few import scalar_of
from windrow.plan.expressions import Call, Literal

_equal = arrow("equal")
_less_equal = arrow("less_equal")
_is_nan = arrow("is_nan")
_and = arrow("and")
_or = arrow("or")
_or_unknown = arrow("or_kleene")
_fill = arrow("coalesce")

_PLAIN = {
    "eq": arrow("equal"),
    "ne": arrow("not_equal"),
    "lt": arrow("less"),
    "le": arrow("less_equal"),
    "gt": arrow("greater"),
    "ge": arrow("greater_equal"),
}


def _same_float(left: Datum, right: Datum) -> pa.Array:
    return _or(_equal(left, right), _and(_is_nan(left), _is_nan(right)))


def _greater_float(left: Datum, right: Datum) -> pa.Array:
    return _and(invert(_less_equal(left, right)), invert(_is_nan(right)))


_FLOAT = {
    "eq": _same_float,
    "ne": lambda left, right: invert(_same_float(left, right)),
    "gt": _greater_float,
    "lt": lambda left, right: _greater_float(right, left),
    "ge": lambda left, right: invert(_greater_float(right, left)),
    "le": lambda left, right: invert(_greater_float(left, right)),
}

_FLOAT_AND_NUMBER = {
    "eq": _PLAIN["eq"],
    "ne": _PLAIN["ne"],
    "lt": _PLAIN["lt"],
    "le": _PLAIN["le"],
    "gt": lambda left, right: invert(_less_equal(left, right)),
    "ge": lambda left, right: invert(_PLAIN["lt"](left, right)),
}
"""A float compared with a constant that is not NaN: only ``>`` and ``>=`` see NaN differently."""


def comparison(name: str, left: pa.DataType, right: object = None) -> Kernel:
    """Return the kernel that compares values of a type; `right` is its right side if known."""
    if not is_float(left):
        return _PLAIN[name]
    if isinstance(right, float) and not math.isnan(right):
        return _FLOAT_AND_NUMBER[name]
    return _FLOAT[name]


def _compare(name: str) -> Builder:
    def builder(call: Call) -> Kernel:
        left, right = call.args
        known = right.value if isinstance(right, Literal) else None
        return comparison(name, left.type, known)

    return builder


def _eq_null_safe(call: Call) -> Kernel:
    equal = comparison("eq", call.args[0].type)
    false = scalar_of(False, BOOLEAN)  # noqa: FBT003 - a constant, not a flag

    def kernel(left: Datum, right: Datum) -> pa.Array:
        same = _fill(equal(left, right), false)
        return _or(same, _and(is_null(left), is_null(right)))

    return kernel


def _in(call: Call) -> Kernel:
    value, *items = call.args
    literals = [item for item in items if isinstance(item, Literal)]
    if len(literals) == len(items) and not is_float(value.type):
        return _in_set(literals)
    equal = comparison("eq", value.type)
    return lambda left, *rights: reduce(_or_unknown, (equal(left, right) for right in rights))


def _in_set(items: list[Literal]) -> Kernel:
    """Look values up in a set of constants; a NULL among these makes "no" unknown."""
    known = [item.value for item in items if item.value is not None]
    among = arrow("is_in", pc.SetLookupOptions(pa.array(known, items[0].type), skip_nulls=True))
    unknown = len(known) < len(items)
    null = scalar_of(None, pa.bool_())

    def kernel(value: pa.Array, *_: Datum) -> pa.Array:
        found = among(value)
        if unknown:
            return if_else(found, found, null)
        return if_else(is_valid(value), found, null) if value.null_count else found

    return kernel


def _like(*, ignore_case: bool) -> Builder:
    def builder(call: Call) -> Kernel:
        options = pc.MatchSubstringOptions(_pattern(call), ignore_case=ignore_case)
        match = arrow("match_like", options)
        return lambda value, _: match(value)

    return builder


def _rlike(call: Call) -> Kernel:
    match = arrow("match_substring_regex", pc.MatchSubstringOptions(_pattern(call)))
    return lambda value, _: match(value)


def _pattern(call: Call) -> str:
    pattern = call.args[1]
    assert isinstance(pattern, Literal), "the catalogue asks for constant patterns"
    return str(pattern.value)


BUILDERS: dict[str, Builder] = {
    **{name: _compare(name) for name in _PLAIN},
    "eq_null_safe": _eq_null_safe,
    "in": _in,
    "like": _like(ignore_case=False),
    "ilike": _like(ignore_case=True),
    "rlike": _rlike,
}
