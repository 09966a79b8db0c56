"""Bound expressions and aggregates as DuckDB SQL, with exactly windrow's meaning.

This is the independent truth that the evaluator is held against: it shares no code with it.
Where DuckDB would fail on a row, the rendering gives NULL.

Two limits: a product or sum of decimals is exact while DuckDB's 38 digits hold the whole
intermediate result; the text of a float may use another form of the same shortest digits.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.reference.duckdb_casts import duckdb_cast
from tests.reference.duckdb_datetime import DATETIME
from tests.reference.duckdb_numbers import NUMBERS
from tests.reference.duckdb_text import TEXT
from tests.reference.duckdb_types import duckdb_literal, duckdb_type
from windrow.plan.expressions import Call, Cast, Column, Expr, Literal
from windrow.plan.nodes import AggregateCall

__all__ = ["RENDERERS", "duckdb_aggregate", "duckdb_sql", "duckdb_type"]

Renderer = Callable[..., str]  # the call, then its rendered arguments


def _infix(symbol: str) -> Renderer:
    return lambda _, a, b: f"({a} {symbol} {b})"


def _case(_: Call, *args: str) -> str:
    pairs = zip(args[: len(args) // 2 * 2 : 2], args[1::2], strict=False)
    whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    last = f" ELSE {args[-1]}" if len(args) % 2 else ""
    return f"CASE {whens}{last} END"


LOGIC: dict[str, Renderer] = {
    "eq": _infix("="),
    "ne": _infix("<>"),
    "lt": _infix("<"),
    "le": _infix("<="),
    "gt": _infix(">"),
    "ge": _infix(">="),
    "and": _infix("AND"),
    "or": _infix("OR"),
    "eq_null_safe": _infix("IS NOT DISTINCT FROM"),
    "in": lambda _, value, *items: f"({value} IN ({', '.join(items)}))",
    "like": lambda _, text, pattern: f"({text} LIKE {pattern} ESCAPE '\\')",
    "ilike": lambda _, text, pattern: f"({text} ILIKE {pattern} ESCAPE '\\')",
    "rlike": lambda _, text, pattern: f"regexp_matches({text}, {pattern})",
    "not": lambda _, a: f"(NOT {a})",
    "is_null": lambda _, a: f"({a} IS NULL)",
    "is_not_null": lambda _, a: f"({a} IS NOT NULL)",
    "is_true": lambda _, a: f"({a} IS TRUE)",
    "is_false": lambda _, a: f"({a} IS FALSE)",
    "case": _case,
    "coalesce": lambda _, *args: f"coalesce({', '.join(args)})",
    "greatest": lambda _, *args: f"greatest({', '.join(args)})",
    "least": lambda _, *args: f"least({', '.join(args)})",
}

RENDERERS: dict[str, Renderer] = {**LOGIC, **NUMBERS, **TEXT, **DATETIME}


def duckdb_sql(expr: Expr, column: Callable[[str], str]) -> str:
    """Return the SQL of an expression; `column` says how each column is referred to."""
    match expr:
        case Column(name):
            return column(name)
        case Literal(value, type_):
            return duckdb_literal(value, type_)
        case Cast(value, type_):
            return duckdb_cast(duckdb_sql(value, column), value.type, type_)
        case Call(name, args, type_):
            rendered = RENDERERS[name](expr, *(duckdb_sql(a, column) for a in args))
            return f"CAST({rendered} AS {duckdb_type(type_)})"


def _count(call: AggregateCall, *args: str) -> str:
    if not args:
        return "count(*)"
    if len(args) == 1:
        return f"count({'DISTINCT ' if call.distinct else ''}{args[0]})"
    missing = " OR ".join(f"{a} IS NULL" for a in args)
    row = f"CASE WHEN {missing} THEN NULL ELSE row({', '.join(args)}) END"
    return f"count({'DISTINCT ' if call.distinct else ''}{row})"


def _topk(call: AggregateCall, value: str, _: str) -> str:
    """Sort (-frequency, value) pairs of a histogram and keep the values of the first k."""
    count = _constant(call, 1) if len(call.args) > 1 else 1
    pair = "{'n': -CAST(e.value AS BIGINT), 'x': e.key}"
    pairs = f"list_transform(map_entries(histogram({value})), lambda e: {pair})"
    first = f"list_sort({pairs})[1:{count}]"
    return f"list_transform({first}, lambda pair: pair.x)"


def _plain(function: str) -> Renderer:
    def render(call: AggregateCall, value: str) -> str:
        return f"{function}({'DISTINCT ' if call.distinct else ''}{value})"

    return render


def _quantile(call: AggregateCall, value: str, *_: str) -> str:
    fraction = call.args[1]
    assert isinstance(fraction, Literal), "the fraction is a constant"
    distinct = "DISTINCT " if call.distinct else ""
    return f"quantile_cont({distinct}{value}, {fraction.value!r})"


def _in_order(call: AggregateCall, args: tuple[str, ...], keys: int) -> str:
    """Return the ORDER BY of a call: its keys, then the value; the letters are in `derived.py`."""
    letters = str(_constant(call, 1 + keys))
    words = {"a": "ASC NULLS FIRST", "A": "ASC NULLS LAST", "d": "DESC NULLS LAST"}
    words["D"] = "DESC NULLS FIRST"
    parts = (*args[1 : 1 + keys], args[0])
    terms = (f"{part} {words[letter]}" for part, letter in zip(parts, letters, strict=True))
    return f"ORDER BY {', '.join(terms)}"


def _constant(call: AggregateCall, place: int) -> object:
    literal = call.args[place]
    assert isinstance(literal, Literal), "parameters are constants"
    return literal.value


def _first(call: AggregateCall, *args: str) -> str:
    return f"first({args[0]} {_in_order(call, args, len(args) - 2)})"


def _collected(call: AggregateCall, *args: str) -> str:
    distinct = "DISTINCT " if call.distinct else ""
    return f"list({distinct}{args[0]} {_in_order(call, args, len(args) - 2)})"


def _joined(call: AggregateCall, *args: str) -> str:
    distinct = "DISTINCT " if call.distinct else ""
    return f"string_agg({distinct}{args[0]}, {args[-1]} {_in_order(call, args, len(args) - 3)})"


def _moment(call: AggregateCall, *args: str) -> str:
    """Compute from exact sums over a list: sums of few small numbers are exact as doubles."""
    values = f"list_filter(list({'DISTINCT ' if call.distinct else ''}{_row(args)}), {_WHOLE})"
    return f"list_transform([{values}], lambda l: {_MOMENTS[call.name]})[1]"


def _row(args: tuple[str, ...]) -> str:
    return f"{{'x': {args[0]}, 'y': {args[-1]}}}"


_WHOLE = "lambda r: r.x IS NOT NULL AND r.y IS NOT NULL"


def _total(product: str) -> str:
    return f"list_sum(list_transform(l, lambda r: {product}))"


_X, _XX, _Y, _XY = _total("r.x"), _total("r.x * r.x"), _total("r.y"), _total("r.x * r.y")
_XXX, _XXXX = _total("r.x * r.x * r.x"), _total("r.x * r.x * r.x * r.x")
_SPREAD = f"(len(l) * {_XX} - {_X} * {_X})"
_COMMON = f"(len(l) * {_XY} - {_X} * {_Y})"
_THIRD = f"(len(l) * len(l) * {_XXX} - 3 * len(l) * {_X} * {_XX} + 2 * {_X} * {_X} * {_X})"
_FOURTH = (
    f"(len(l) * len(l) * len(l) * {_XXXX} - 4 * len(l) * len(l) * {_X} * {_XXX}"
    f" + 6 * len(l) * {_X} * {_X} * {_XX} - 3 * {_X} * {_X} * {_X} * {_X})"
)
_MOMENTS = {
    "covar_pop": f"CASE WHEN len(l) > 0 THEN {_COMMON} / (len(l) * len(l)) END",
    "covar_samp": f"CASE WHEN len(l) > 1 THEN {_COMMON} / (len(l) * (len(l) - 1)) END",
    "skewness": f"CASE WHEN {_SPREAD} > 0 THEN {_THIRD} / ({_SPREAD} * sqrt({_SPREAD})) END",
    "kurtosis": f"CASE WHEN {_SPREAD} > 0 THEN {_FOURTH} / ({_SPREAD} * {_SPREAD}) - 3 END",
}


AGGREGATE_RENDERERS: dict[str, Renderer] = {
    "count": _count,
    **{name: _plain(name) for name in ("sum", "avg", "min", "max", "bool_and", "bool_or")},
    **{name: _plain(name) for name in ("var_samp", "var_pop", "stddev_samp", "stddev_pop")},
    "median": _plain("median"),
    "quantile": _quantile,
    "topk": _topk,
    "mode": lambda call, value: f"({_topk(call, value, '')})[1]",
    **{name: _plain(name) for name in ("bit_and", "bit_or", "bit_xor")},
    **dict.fromkeys(_MOMENTS, _moment),
    "first": _first,
    "collect_list": _collected,
    "string_agg": _joined,
    "approx_count_distinct": lambda _, value, *__: f"count(DISTINCT {value})",
    "approx_quantile": lambda call, value, *_: _quantile(call, value).replace("_cont", "_disc"),
    "approx_topk": _topk,
}
"""Approximate aggregates are rendered exactly: tests hold their error bounds against that."""


def duckdb_aggregate(call: AggregateCall, column: Callable[[str], str]) -> str:
    """Return the SQL of an aggregate call, its FILTER included."""
    args = tuple(duckdb_sql(a, column) for a in call.args)
    folded = AGGREGATE_RENDERERS[call.name](call, *args)
    conditions = [] if call.filter is None else [duckdb_sql(call.filter, column)]
    if call.name in ("topk", "approx_topk", "mode"):
        conditions.append(f"{args[0]} IS NOT NULL")
        return _filtered_inside(call, folded, f"histogram({args[0]})", conditions)
    if call.name in _MOMENTS:
        distinct = "DISTINCT " if call.distinct else ""
        return _filtered_inside(call, folded, f"list({distinct}{_row(args)})", conditions)
    if conditions:
        folded += f" FILTER (WHERE {conditions[0]})"
    if call.name == "collect_list":
        folded = f"coalesce({folded}, [])"
    return f"TRY_CAST({folded} AS {duckdb_type(call.type)})"


def _filtered_inside(call: AggregateCall, folded: str, inner: str, conditions: list[str]) -> str:
    """Put the filter behind the one aggregate inside an expression."""
    filtered = f"{inner} FILTER (WHERE {' AND '.join(conditions or ['TRUE'])})"
    return f"CAST({folded.replace(inner, filtered)} AS {duckdb_type(call.type)})"
