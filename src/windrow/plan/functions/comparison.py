"""Comparison: ``= <> < <= > >= <=>``, IN, LIKE and regular expressions.

NaN is equal to itself and greater than every other number, as in Spark. Texts are ordered by
code point. Arrays and structs are not compared.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.errors import BindError
from windrow.core.types import BOOLEAN, STRING, sql_name
from windrow.plan.expressions import Call, Expr, Literal
from windrow.plan.functions import signature


def cannot_compare(left: pa.DataType, right: pa.DataType) -> BindError:
    """Return the refusal to compare two types."""
    return BindError(
        f"cannot compare {sql_name(left)} with {sql_name(right)}",
        hint=f"Write CAST(... AS {sql_name(right)}) or CAST(... AS {sql_name(left)}).",
    )


def comparable(args: signature.Args) -> signature.Args:
    """Bring arguments to one type that has an order."""
    both = signature.unify(args, cannot_compare)
    if pa.types.is_nested(both[0].type):
        raise BindError(
            f"values of type {sql_name(both[0].type)} cannot be compared",
            hint="Compare single elements: a[0] = b[0].",
        )
    return both


def _compare(name: str) -> Callable[[signature.Args], Expr]:
    return lambda args: signature.call(name, comparable(args), BOOLEAN)


def _eq_null_safe(args: signature.Args) -> Expr:
    return Call("eq_null_safe", comparable(args), BOOLEAN, nullable=False)


def _in(args: signature.Args) -> Expr:
    return signature.call("in", comparable(args), BOOLEAN)


def _pattern_match(name: str, check: Callable[[str], None]) -> Callable[[signature.Args], Expr]:
    def resolve(args: signature.Args) -> Expr:
        text, pattern = (signature.fit(name, a, signature.TEXT) for a in args)
        known = signature.constant(name, pattern, "the pattern")
        if known.value is None:
            return Literal(None, BOOLEAN)
        check(str(known.value))
        return Call(name, (text, known), BOOLEAN, signature.any_nullable((text,)))

    return resolve


def check_like(pattern: str) -> None:
    r"""Refuse a LIKE pattern that ends inside an escape."""
    backslashes = len(pattern) - len(pattern.rstrip("\\"))
    if backslashes % 2:
        raise BindError(
            f"the LIKE pattern '{pattern}' ends with its escape character",
            hint=r"Write \\ for one backslash.",
        )


def check_regex(pattern: str) -> None:
    """Refuse what is not a regular expression of RE2."""
    try:
        pc.match_substring_regex(pa.array([""], STRING), pattern)
    except pa.ArrowInvalid as failure:
        raise BindError(
            f"'{pattern}' is not a regular expression",
            detail=str(failure).removeprefix("Invalid regular expression: "),
            hint="The syntax is RE2's: no look-around, no back-references.",
        ) from failure


FUNCTIONS = (
    signature.Function("eq", "a = b", 2, 2, _compare("eq")),
    signature.Function("ne", "a <> b", 2, 2, _compare("ne")),
    signature.Function("lt", "a < b", 2, 2, _compare("lt")),
    signature.Function("le", "a <= b", 2, 2, _compare("le")),
    signature.Function("gt", "a > b", 2, 2, _compare("gt")),
    signature.Function("ge", "a >= b", 2, 2, _compare("ge")),
    signature.Function("eq_null_safe", "a <=> b", 2, 2, _eq_null_safe, strict=False),
    signature.Function("in", "a IN (b, ...)", 2, None, _in, strict=False),
    signature.Function("like", "text LIKE 'pattern'", 2, 2, _pattern_match("like", check_like)),
    signature.Function("ilike", "text ILIKE 'pattern'", 2, 2, _pattern_match("ilike", check_like)),
    signature.Function("rlike", "text RLIKE 'pattern'", 2, 2, _pattern_match("rlike", check_regex)),
)

ALIASES = {"regexp_like": "rlike", "regexp": "rlike", "equal_null": "eq_null_safe"}
