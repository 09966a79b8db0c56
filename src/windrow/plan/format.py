"""Bound expressions back to SQL text that a person can read: parentheses only where needed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa

from windrow.core.time import Clock, format_duration
from windrow.core.types import DATE, INTERVAL, TIMESTAMP, sql_name
from windrow.plan.expressions import Call, Cast, Column, Expr, Literal

OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, ADD, MULTIPLY, SIGN, ATOM = range(1, 12)
"""How tightly an operator binds, loosest first."""

LOOSEST = 0
ATOMIC_NAME = re.compile(r"[\w.#]+(\(.*\))?")
"""Names that need no parentheses: a group's column may be called ``a + 1``."""

INFIX: dict[str, tuple[str, int]] = {
    "or": ("OR", OR),
    "and": ("AND", AND),
    "eq": ("=", COMPARE),
    "ne": ("<>", COMPARE),
    "lt": ("<", COMPARE),
    "le": ("<=", COMPARE),
    "gt": (">", COMPARE),
    "ge": (">=", COMPARE),
    "eq_null_safe": ("<=>", COMPARE),
    "like": ("LIKE", COMPARE),
    "ilike": ("ILIKE", COMPARE),
    "rlike": ("RLIKE", COMPARE),
    "bitor": ("|", BIT_OR),
    "bitxor": ("^", BIT_XOR),
    "bitand": ("&", BIT_AND),
    "add": ("+", ADD),
    "sub": ("-", ADD),
    "concat": ("||", ADD),
    "mul": ("*", MULTIPLY),
    "div": ("/", MULTIPLY),
    "intdiv": ("DIV", MULTIPLY),
    "mod": ("%", MULTIPLY),
}

PREFIX: dict[str, tuple[str, int]] = {
    "not": ("NOT ", NOT),
    "neg": ("-", SIGN),
    "bitnot": ("~", SIGN),
}

POSTFIX: dict[str, str] = {"is_null": "NULL", "is_true": "TRUE", "is_false": "FALSE"}

NEGATABLE = frozenset({"like", "ilike", "rlike", "in", *POSTFIX})
"""Predicates that take NOT inside: ``a NOT LIKE b``, ``a IS NOT NULL``."""

ASSOCIATIVE = frozenset({"or", "and", "add", "mul", "concat", "bitor", "bitxor", "bitand"})
"""Operators whose right operand needs no parentheses when it is the same operator."""


def format_expr(expr: Expr) -> str:
    """Return the expression as SQL.

    >>> a, b = Column("l.a", pa.int64()), Column("l.b", pa.int64())
    >>> total = Call("add", (a, b), pa.int64())
    >>> format_expr(Call("mul", (total, Literal(2, pa.int64())), pa.int64()))
    '(l.a + l.b) * 2'
    """
    return _format(expr)[0]


def format_at(expr: Expr, binding: int) -> str:
    """Return the expression as SQL, in parentheses if it binds looser than `binding`."""
    text, own = _format(expr)
    return text if own >= binding else f"({text})"


def _format(expr: Expr) -> tuple[str, int]:
    match expr:
        case Column(name=name):
            return name, ATOM if ATOMIC_NAME.fullmatch(name) else LOOSEST
        case Literal(value=value, type=type_):
            text = format_literal(value, type_)
            return text, SIGN if text.startswith("-") else ATOM
        case Cast(value=value, type=type_):
            return f"CAST({format_expr(value)} AS {sql_name(type_)})", ATOM
        case Call():
            return _format_call(expr)


def _format_call(call: Call) -> tuple[str, int]:
    match call:
        case Call("not", (Call() as inner,)) if inner.name in NEGATABLE:
            return _predicate(inner, "NOT "), COMPARE
        case Call(name=name) if name in NEGATABLE:
            return _predicate(call, ""), COMPARE
        case Call(name, (left, right)) if name in INFIX:
            word, binding = INFIX[name]
            left_text = format_at(left, binding + (binding == COMPARE))
            right_text = format_at(right, binding + (name not in ASSOCIATIVE))
            return f"{left_text} {word} {right_text}", binding
        case Call(name, (only,)) if name in PREFIX:
            word, binding = PREFIX[name]
            return word + format_at(only, binding + (binding == SIGN)), binding
        case Call("case", args):
            return _format_case(args), ATOM
        case Call(name, args):
            return f"{name.upper()}({_commas(args)})", ATOM


def _predicate(call: Call, negation: str) -> str:
    """Write a predicate of `NEGATABLE` with NOT where the language wants it."""
    first, *rest = call.args
    value = format_at(first, COMPARE + 1)
    if call.name in POSTFIX:
        return f"{value} IS {negation}{POSTFIX[call.name]}"
    if call.name == "in":
        return f"{value} {negation}IN ({_commas(rest)})"
    return f"{value} {negation}{INFIX[call.name][0]} {format_at(rest[0], COMPARE + 1)}"


def _format_case(args: tuple[Expr, ...]) -> str:
    """Write ``when, then, when, then, ..., else``; the last only if the number is odd."""
    pairs = zip(args[0::2], args[1::2], strict=False)
    arms = [f"WHEN {format_expr(when)} THEN {format_expr(then)}" for when, then in pairs]
    otherwise = [f"ELSE {format_expr(args[-1])}"] if len(args) % 2 else []
    return " ".join(["CASE", *arms, *otherwise, "END"])


def _commas(exprs: Iterable[Expr]) -> str:
    return ", ".join(format_expr(e) for e in exprs)


def format_literal(value: object, type_: pa.DataType) -> str:
    """Return a constant as SQL.

    >>> format_literal("it's", pa.string()), format_literal(90_000_000, INTERVAL)
    ("'it''s'", 'INTERVAL 90 SECONDS')
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes():
            return f"X'{value.hex().upper()}'"
        case int() if type_ == TIMESTAMP:
            return f"TIMESTAMP '{format_instant(value, Clock.TIMESTAMP)}'"
        case int() if type_ == DATE:
            return f"DATE '{date(1970, 1, 1) + timedelta(days=value)}'"
        case int() if type_ == INTERVAL:
            return f"INTERVAL {format_duration(value, Clock.TIMESTAMP)}"
        case _:
            return str(value)


def format_instant(instant: int, clock: Clock) -> str:
    """Return an instant as the user would write it: ticks, or a UTC time.

    >>> format_instant(1_500_000, Clock.TIMESTAMP), format_instant(7, Clock.TICKS)
    ('1970-01-01 00:00:01.500000', '7')
    """
    if clock is Clock.TICKS:
        return str(instant)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)
    return str(moment.replace(tzinfo=None))
