"""Expressions as Spark SQL text, only where Spark surely computes what our evaluator does.

    price / 2 > 10     ─►   (try_divide(CAST(`price` AS DOUBLE), 2.0D) > 10.0D)

None otherwise: then the expression is computed on the shard. The text gives the same whatever
the session says of ANSI, of its time zone and of escapes in literals: what may be undefined is
written in `try_` forms or behind a CASE, moments are computed as µs, odd texts are in hex.
Left out: what is spelt or read (numbers as text), regular expressions, upper and lower case,
logarithms and powers, whose last digits differ between libraries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa

from windrow.core.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTERVAL,
    STRING,
    TIMESTAMP,
    is_decimal,
    is_float,
    is_integer,
    sql_name,
)
from windrow.optimize.catalyst_casts import cast_sql
from windrow.plan.expressions import Call, Cast, Column, Expr, Literal
from windrow.plan.functions.moments import (
    FIRST_MOMENT,
    LAST_MOMENT,
)

IN_CALENDAR = (
    f"(CASE WHEN {{micros}} BETWEEN {FIRST_MOMENT}L AND {LAST_MOMENT}L "
    "THEN timestamp_micros({micros}) END)"
)
"""The moment of some µs; NULL outside the years 0001 to 9999."""


def _of_day(unit: int, whole: int) -> str:
    return f"CAST(pmod(unix_micros({{0}}), {whole}L) div {unit}L AS INT)"


def _from_unix(name: str, unit: int) -> str:
    first, last = -(-FIRST_MOMENT // unit), LAST_MOMENT // unit
    return f"(CASE WHEN {{0}} BETWEEN {first}L AND {last}L THEN {name}({{0}}) END)"


MOMENT_CALLS = {
    **{
        name: f"{name}({{0}})"
        for name in (
            *("year", "quarter", "month", "day", "dayofweek", "weekday", "dayofyear"),
            *("weekofyear", "last_day", "unix_seconds", "unix_millis", "unix_micros"),
        )
    },
    "datediff": "datediff({0}, {1})",
    "hour": _of_day(3_600_000_000, 86_400_000_000),
    "minute": _of_day(60_000_000, 3_600_000_000),
    "second": _of_day(1_000_000, 60_000_000),
    "timestamp_seconds": _from_unix("timestamp_seconds", 1_000_000),
    "timestamp_millis": _from_unix("timestamp_millis", 1_000),
    "timestamp_micros": _from_unix("timestamp_micros", 1),
}
"""Functions whose arguments the binder has brought to DATE, TIMESTAMP or BIGINT."""


def add_interval(operation: str, args: list[str]) -> str | None:
    """Return a moment moved by a constant number of µs."""
    moment, by = args
    if not by.removeprefix("-").isdigit():
        return None
    return IN_CALENDAR.format(micros=f"{operation}(unix_micros({moment}), {by}L)")


Name = Callable[[str], str]
"""How a column of the input is written."""

_PLAIN_TEXT = re.compile(r"[ -&(-\[\]-~]*")
_TYPES = (BOOLEAN, DATE, TIMESTAMP, STRING, BINARY)


def quoted(name: str) -> str:
    """Return a column's name as Spark takes any name.

    >>> quoted("src"), quoted("odd`name")
    ('`src`', '`odd``name`')
    """
    return f"`{name.replace('`', '``')}`"


def spark_sql(expr: Expr, name: Name = quoted) -> str | None:
    """Return the Spark SQL of an expression, or None if the shard has to compute it.

    >>> spark_sql(Call("gt", (Column("price", DOUBLE), Literal(9.5, DOUBLE)), BOOLEAN))
    '(`price` > 9.5D)'
    """
    match expr:
        case Column():
            return name(expr.name) if _known(expr.type) else None
        case Literal():
            return literal_sql(expr)
        case Cast(value, type_):
            inner = spark_sql(value, name)
            return None if inner is None else cast_sql(inner, value.type, type_)
        case Call(_, args):
            known = [text for a in args if (text := spark_sql(a, name)) is not None]
            return _call_sql(expr, known) if len(known) == len(args) else None


def translatable(expr: Expr) -> bool:
    """Return whether Catalyst can compute an expression as we do."""
    return spark_sql(expr) is not None


def _known(type_: pa.DataType) -> bool:
    return type_ in _TYPES or is_integer(type_) or is_float(type_) or is_decimal(type_)


def literal_sql(literal: Literal) -> str | None:
    """Return a constant as Spark SQL."""
    value, type_ = literal.value, literal.type
    if value is None:
        return f"CAST(NULL AS {sql_name(type_)})" if _known(type_) else None
    match value:
        case bool():
            return "true" if value else "false"
        case int() if type_ == TIMESTAMP:
            return f"timestamp_micros({value}L)"
        case int() if type_ == DATE:
            return f"date_from_unix_date({value})"
        case int() if type_ == BIGINT:
            return f"{value}L"
        case int() if type_ == INTERVAL:
            return str(value)  # only ever added to a moment
        case int() if is_integer(type_):
            return f"CAST({value}L AS {sql_name(type_)})"
        case float() if type_ == DOUBLE:
            return _double(value)
        case Decimal() if is_decimal(type_):
            return f"CAST('{value:f}' AS {sql_name(type_)})"
        case str():
            return _text(value)
        case bytes():
            return f"X'{value.hex()}'"
        case _:
            return None


def _double(value: float) -> str:
    if math.isfinite(value):
        return f"{value!r}D"
    name = "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return f"CAST('{name}' AS DOUBLE)"


def _text(value: str) -> str:
    """Return a text constant; what escapes or variables could change is written in hex."""
    if _PLAIN_TEXT.fullmatch(value) and "${" not in value:
        return f"'{value}'"
    return f"CAST(X'{value.encode().hex()}' AS STRING)"


def _call_sql(call: Call, args: list[str]) -> str | None:
    if (infix := _INFIX.get(call.name)) is not None:
        return f"({f' {infix} '.join(args)})" if _comparable(call) else None
    if (template := _TEMPLATES.get(call.name)) is not None:
        return template.format(*args)
    if (template := MOMENT_CALLS.get(call.name)) is not None:
        return template.format(*args)
    make = _MAKERS.get(call.name)
    return None if make is None else make(call, args)


_INFIX = {
    "eq": "=",
    "ne": "<>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq_null_safe": "<=>",
    "and": "AND",
    "or": "OR",
    "bitand": "&",
    "bitor": "|",
    "bitxor": "^",
}

_TEMPLATES = {
    "not": "(NOT {0})",
    "is_null": "({0} IS NULL)",
    "is_not_null": "({0} IS NOT NULL)",
    "is_true": "({0} IS TRUE)",
    "is_false": "({0} IS FALSE)",
    "bitnot": "(~ {0})",
    "length": "length({0})",
}


def _comparable(call: Call) -> bool:
    left, right = (a.type for a in call.args)
    return bool(left == right)


def _in(call: Call, args: list[str]) -> str:
    """Compare floats one by one: Spark's set of many constants distinguishes 0.0 from -0.0."""
    value, *items = args
    if is_float(call.args[0].type):
        return "(" + " OR ".join(f"{value} = {item}" for item in items) + ")"
    return f"({value} IN ({', '.join(items)}))"


def _case(_: Call, args: list[str]) -> str:
    pairs = zip(args[: len(args) // 2 * 2 : 2], args[1::2], strict=False)
    whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    rest = f" ELSE {args[-1]}" if len(args) % 2 else ""
    return f"(CASE {whens}{rest} END)"


def _listed(name: str) -> Callable[[Call, list[str]], str]:
    return lambda _, args: f"{name}({', '.join(args)})"


def _extreme(name: str) -> Callable[[Call, list[str]], str | None]:
    """Write GREATEST or LEAST but of floats, where 0.0 and -0.0 are a tie."""

    def make(call: Call, args: list[str]) -> str | None:
        return None if is_float(call.type) else f"{name}({', '.join(args)})"

    return make


def _arithmetic(name: str) -> Callable[[Call, list[str]], str | None]:
    def make(call: Call, args: list[str]) -> str | None:
        if call.type == TIMESTAMP:
            return add_interval(f"try_{name}", args)
        same = all(a.type == call.type for a in call.args)
        plain = is_integer(call.type) or is_float(call.type)
        return f"try_{name}({args[0]}, {args[1]})" if same and plain else None

    return make


def _divide(_: Call, args: list[str]) -> str:
    return f"try_divide({args[0]}, {args[1]})"


def _by_constant(symbol: str) -> Callable[[Call, list[str]], str | None]:
    """Divide whole numbers by a constant other than 0 and -1: always defined."""

    def make(call: Call, args: list[str]) -> str | None:
        divisor = call.args[1]
        harmless = isinstance(divisor, Literal) and divisor.value not in (None, 0, -1)
        return f"({args[0]} {symbol} {args[1]})" if harmless and _whole(call) else None

    return make


def _pmod(call: Call, args: list[str]) -> str | None:
    divisor = call.args[1]
    positive = isinstance(divisor, Literal) and isinstance(divisor.value, int) and divisor.value > 0
    return f"pmod({args[0]}, {args[1]})" if positive and _whole(call) else None


def _whole(call: Call) -> bool:
    return is_integer(call.type) and all(a.type == call.type for a in call.args)


def _negate(call: Call, args: list[str]) -> str | None:
    if is_float(call.type):
        return f"(- {args[0]})"
    if not is_integer(call.type):
        return None
    return f"try_subtract(CAST(0 AS {sql_name(call.type)}), {args[0]})"


def _absolute(call: Call, args: list[str]) -> str | None:
    if is_float(call.type):
        return f"abs({args[0]})"
    negated = _negate(call, args)
    return (
        None if negated is None else f"(CASE WHEN {args[0]} < 0 THEN {negated} ELSE {args[0]} END)"
    )


def _toward(name: str) -> Callable[[Call, list[str]], str | None]:
    """Write FLOOR or CEIL of a double that has a BIGINT; NULL of others."""

    def make(call: Call, args: list[str]) -> str | None:
        if call.args[0].type != DOUBLE or call.type != BIGINT:
            return None
        x = args[0]
        fits = f"{x} >= -9.223372036854775808E18D AND {x} < 9.223372036854775808E18D"
        return f"(CASE WHEN {fits} THEN {name}({x}) END)"

    return make


def _substring(call: Call, args: list[str]) -> str | None:
    """Write SUBSTRING from a constant, positive place on."""
    limits = [a.value for a in call.args[1:] if isinstance(a, Literal)]
    if len(limits) < len(call.args) - 1 or not all(
        isinstance(v, int) and 0 < v < 2**31 for v in limits
    ):
        return None
    return f"substring({args[0]}, {', '.join(map(str, limits))})"


def _with_constant(name: str) -> Callable[[Call, list[str]], str | None]:
    def make(call: Call, args: list[str]) -> str | None:
        return f"{name}({', '.join(args)})" if isinstance(call.args[1], Literal) else None

    return make


def _like(call: Call, args: list[str]) -> str | None:
    """Write LIKE where the pattern has no escape: those are read differently."""
    pattern = call.args[1]
    plain = isinstance(pattern, Literal) and "\\" not in str(pattern.value)
    return f"({args[0]} LIKE {args[1]})" if plain else None


def _date_trunc(call: Call, args: list[str]) -> str | None:
    unit = call.args[0]
    width = _WIDTHS.get(str(unit.value)) if isinstance(unit, Literal) else None
    if width is None:
        return None
    micros = f"unix_micros({args[1]})"
    return f"timestamp_micros({micros} - pmod({micros}, {width}L))"


_WIDTHS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}

_MAKERS: dict[str, Callable[[Call, list[str]], str | None]] = {
    "in": _in,
    "case": _case,
    "coalesce": _listed("coalesce"),
    "concat": _listed("concat"),
    "greatest": _extreme("greatest"),
    "least": _extreme("least"),
    "add": _arithmetic("add"),
    "sub": _arithmetic("subtract"),
    "mul": _arithmetic("multiply"),
    "div": _divide,
    "intdiv": _by_constant("div"),
    "mod": _by_constant("%"),
    "pmod": _pmod,
    "neg": _negate,
    "abs": _absolute,
    "floor": _toward("floor"),
    "ceil": _toward("ceil"),
    "substring": _substring,
    "startswith": _with_constant("startswith"),
    "endswith": _with_constant("endswith"),
    "contains": _with_constant("contains"),
    "like": _like,
    "date_trunc": _date_trunc,
}
