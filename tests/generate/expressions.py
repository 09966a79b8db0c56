"""Random expressions as text, typed by construction.

A sort is one of ``int real text bool dec date time list``. `FORMS` says how an expression of a
sort is made of others; leaves are columns and constants. Real numbers stay multiples of small
powers of two, so that their sums are exact in any order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

Below = Callable[[int], int]
"""Chooses a number from 0 up to and without the given one. All randomness comes from it."""


def choose(below: Below, options: Sequence[T]) -> T:
    """Choose one of the options; the first is the simplest."""
    return options[below(len(options))]


def chance(below: Below, tenths: int) -> bool:
    """Choose True in `tenths` of ten cases; False is simpler."""
    return below(10) > 9 - tenths


@dataclass(frozen=True, slots=True)
class Col:
    """A column in sight: how it is written, its sort, and whether it may be NULL."""

    text: str
    sort: str
    nullable: bool = True


CONSTANTS = {
    "int": ("1", "0", "2", "-3"),
    "real": ("0.5e0", "0e0", "-2e0"),
    "text": ("'a'", "'b'", "''"),
    "bool": ("TRUE", "FALSE"),
    "dec": ("1.50", "0.25"),
    "date": ("DATE '2026-01-02'", "DATE '2025-12-31'"),
    "time": ("TIMESTAMP '1970-01-01 00:00:02'",),
}

FORMS = {
    "int": (
        "{int} + {int}",
        "{int} - {int}",
        "{int} * {int}",
        "{int} % 2",
        "{int} DIV {int}",
        "-({int})",
        "ABS({int})",
        "LENGTH({text})",
        "POSITION('b', {text})",
        "COALESCE({int}, {int})",
        "NULLIF({int}, {int})",
        "CASE WHEN {bool} THEN {int} ELSE {int} END",
        "CASE {int} WHEN 1 THEN {int} END",
        "IF({bool}, {int}, {int})",
        "CAST({real} AS BIGINT)",
        "GREATEST({int}, {int})",
        "DATEDIFF({date}, {date})",
        "YEAR({date})",
        "SECOND({time})",
        "{int} & 1",
    ),
    "real": (
        "{real} + {real}",
        "{real} - {real}",
        "{real} * {real}",
        "{int} / 2",
        "CAST({int} AS DOUBLE)",
        "FLOOR({real})",
        "COALESCE({real}, {real})",
        "CASE WHEN {bool} THEN {real} END",
    ),
    "text": (
        "UPPER({text})",
        "{text} || {text}",
        "CONCAT({text}, '-', {text})",
        "SUBSTRING({text}, 1, 1)",
        "REPLACE({text}, 'a', 'c')",
        "CAST({int} AS STRING)",
        "COALESCE({text}, {text})",
        "CASE WHEN {bool} THEN {text} ELSE {text} END",
        "TRIM({text})",
    ),
    "bool": (
        "{int} = {int}",
        "{int} > {int}",
        "{int} <> {int}",
        "{real} >= {real}",
        "{text} = {text}",
        "{text} LIKE 'a%'",
        "{int} IS NULL",
        "{text} IS NOT NULL",
        "{int} <=> {int}",
        "{int} IS NOT DISTINCT FROM {int}",
        "{int} IN (1, 2)",
        "{int} BETWEEN 0 AND 2",
        "{date} < {date}",
        "{time} <= {time}",
        "{dec} < {dec}",
        "{bool} AND {bool}",
        "{bool} OR {bool}",
        "NOT {bool}",
        "{bool} IS TRUE",
    ),
    "dec": ("CAST({int} AS DECIMAL(6, 2))", "{dec} + {dec}", "{dec} * {dec}", "ABS({dec})"),
    "date": ("DATE_ADD({date}, {int})", "LAST_DAY({date})", "CAST({time} AS DATE)"),
    "time": ("TIMESTAMP_SECONDS({int})", "DATE_TRUNC('minute', {time})"),
}

DERIVED = {
    "real": "CAST({int} AS DOUBLE)",
    "text": "CAST({int} AS STRING)",
    "dec": "CAST({int} AS DECIMAL(6, 2))",
    "date": "DATE_ADD(DATE '2026-01-01', {int})",
    "time": "TIMESTAMP_SECONDS({int})",
}
"""How a sort is made of whole numbers where no column has it."""

PLACE = re.compile(r"\{(\w+)\}")
CONNECTIVE = re.compile(r"^\w+\(.*\)$|^CASE ")


def expression(below: Below, columns: Sequence[Col], sort: str, depth: int = 1) -> str:
    """Draw an expression of a sort; columns first, then constants, then what is made of them."""
    if sort == "bool" or (depth > 0 and chance(below, 4)):
        return filled(below, columns, choose(below, FORMS[sort]), depth)
    leaves = [c.text for c in columns if c.sort == sort]
    if below(20) == 19:
        leaves += CONSTANTS[sort]
    if leaves:
        return choose(below, (*leaves[:1], *leaves[:1], *leaves))
    if sort in DERIVED and any(c.sort == "int" for c in columns):
        return filled(below, columns, DERIVED[sort], 0)
    return choose(below, CONSTANTS[sort])


def filled(below: Below, columns: Sequence[Col], form: str, depth: int) -> str:
    """Draw what stands in a form's places, in brackets where it is made of parts itself."""

    def part(found: re.Match[str]) -> str:
        sort = found[1]
        if sort == "bool" and depth <= 0:
            text = filled(below, columns, "{int} = {int}", 0)
        else:
            text = expression(below, columns, sort, depth - 1)
        alone = form.count("{") == 1 and form.endswith(")")
        return text if alone or " " not in text or CONNECTIVE.match(text) else f"({text})"

    return PLACE.sub(part, form)


AGGREGATES: dict[str, tuple[tuple[str, str], ...]] = {
    "count": (("COUNT(*)", "int"), ("COUNT({int})", "int"), ("COUNT({text}, {int})", "int")),
    "sum": (("SUM({int})", "int"), ("SUM({real})", "real"), ("SUM({dec})", "dec")),
    "min": (("MIN({int})", "int"), ("MIN({text})", "text"), ("MIN({date})", "date")),
    "max": (("MAX({int})", "int"), ("MAX({real})", "real"), ("MAX({time})", "time")),
    "avg": (("AVG({int})", "real"), ("AVG({real})", "real")),
    "bool_and": (("BOOL_AND({bool})", "bool"),),
    "bool_or": (("BOOL_OR({bool})", "bool"),),
    "var_samp": (("VAR_SAMP({int})", "real"),),
    "var_pop": (("VAR_POP({real})", "real"),),
    "stddev_samp": (("STDDEV_SAMP({real})", "real"),),
    "stddev_pop": (("STDDEV_POP({int})", "real"),),
    "median": (("MEDIAN({int})", "real"),),
    "quantile": (("QUANTILE({int}, 0.25)", "real"), ("QUANTILE({real}, 0.9)", "real")),
    "topk": (("TOPK({int}, 2)", "list"), ("TOPK({text}, 1)", "list")),
    "mode": (("MODE({int})", "int"), ("MODE({text})", "text")),
    "count_if": (("COUNT_IF({bool})", "int"),),
    "bit_and": (("BIT_AND({int})", "int"),),
    "bit_or": (("BIT_OR({int})", "int"),),
    "bit_xor": (("BIT_XOR({int})", "int"),),
    "covar_pop": (("COVAR_POP({int} % 5, {real})", "real"),),
    "covar_samp": (("COVAR_SAMP({real}, {int} % 5)", "real"),),
    "skewness": (("SKEWNESS({int} % 5)", "real"),),
    "kurtosis": (("KURTOSIS({int} % 5)", "real"),),
    "first": (("FIRST({text} ORDER BY {int} DESC, {real})", "text"),),
    "last": (("LAST({int} IGNORE NULLS ORDER BY {text})", "int"),),
    "arg_min": (("ARG_MIN({real}, {int})", "real"), ("MIN_BY({dec}, {text})", "dec")),
    "arg_max": (("ARG_MAX({text}, {real})", "text"), ("MAX_BY({date}, {time})", "date")),
    "collect_list": (
        ("COLLECT_LIST({int} ORDER BY {int})", "list"),
        ("ARRAY_AGG({text} ORDER BY {real} DESC NULLS FIRST)", "list"),
    ),
    "collect_set": (("COLLECT_SET({int})", "list"),),
    "string_agg": (("STRING_AGG({text}, '-' ORDER BY {int})", "text"),),
    "percentile_cont": (("PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY {int} DESC)", "real"),),
    "percentile_disc": (("PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY {int})", "int"),),
    "approx_count_distinct": (("APPROX_COUNT_DISTINCT({int})", "int"),),
    "approx_quantile": (("APPROX_QUANTILE({int}, 0.5)", "int"),),
    "approx_topk": (("APPROX_TOPK({int}, 2)", "list"),),
}
"""Each aggregate by its canonical name: how it can be written, and the sort of its value."""

OWN_TEXT = {
    *("first", "last", "arg_min", "arg_max", "collect_list", "collect_set", "string_agg", "mode"),
    *("percentile_cont", "percentile_disc", "covar_pop", "covar_samp", "skewness", "kurtosis"),
    *("count_if", "bit_and", "bit_or", "bit_xor"),
}
"""Aggregates whose text DuckDB reads otherwise: `test_aggregates_match_sql.py` has both texts."""

EXACT_AGGREGATES = tuple(name for name in AGGREGATES if not name.startswith("approx"))
NO_DISTINCT = (
    *("COUNT(*)", "TOPK", "APPROX", "MODE", "COUNT_IF", "COVAR", "FIRST", "LAST", "ARG_", "MIN_BY"),
    *("MAX_BY", "COLLECT_LIST", "ARRAY_AGG", "STRING_AGG", "PERCENTILE"),
)


def aggregate(
    below: Below, columns: Sequence[Col], names: Sequence[str], sort: str | None = None
) -> Col:
    """Draw a call of one of the aggregates, of a sort if told; some with DISTINCT or FILTER."""
    forms = [f for name in names for f in AGGREGATES[name] if sort in (None, f[1])]
    form, made = choose(below, (forms or [(f"MIN({{{sort}}})", str(sort))]))
    text = filled(below, columns, form, depth=1)
    if not form.startswith(NO_DISTINCT) and chance(below, 2):
        text = text.replace("(", "(DISTINCT ", 1)
    if chance(below, 2):
        text += f" FILTER (WHERE {expression(below, columns, 'bool', 0)})"
    return Col(text, made)
