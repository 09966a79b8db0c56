"""Functions of text in DuckDB's SQL."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.reference.duckdb_types import quote
from windrow.plan.expressions import Call, Literal

Renderer = Callable[..., str]

LONGEST = 100_000
FAR = 2**31 - 1
ENDLESS = str(2**64)


def _plain(function: str) -> Renderer:
    return lambda _, *args: f"{function}({', '.join(args)})"


def _near(number: str) -> str:
    """Bring a position within the range where sums cannot overflow."""
    return f"greatest(least({number}, {FAR}), {-FAR})"


def _substring(_: Call, text: str, start: str, length: str = ENDLESS) -> str:
    known = f"{text} IS NOT NULL AND {start} IS NOT NULL AND {length} IS NOT NULL"
    start, length = f"CAST({start} AS HUGEINT)", f"CAST({length} AS HUGEINT)"
    first = (
        f"CASE WHEN {start} > 0 THEN {start} - 1 "
        f"WHEN {start} < 0 THEN length({text}) + {start} ELSE 0 END"
    )
    begin = f"greatest({first}, 0)"
    count = f"greatest(0, {first} + {length} - {begin})"
    kept = f"least({count}, length({text}))"
    first = f"CAST(least({begin}, {FAR - 1}) + 1 AS BIGINT)"
    return f"CASE WHEN {known} THEN substring({text}, {first}, CAST({kept} AS BIGINT)) END"


def _right(call: Call, text: str, count: str) -> str:
    tail = _substring(call, text, f"(-CAST({count} AS HUGEINT))")
    return _strict((text, count), f"CASE WHEN {count} <= 0 THEN '' ELSE {tail} END")


def _strict(args: tuple[str, ...], sql: str) -> str:
    known = " AND ".join(f"{a} IS NOT NULL" for a in args)
    return f"CASE WHEN {known} THEN {sql} END"


def _pad(function: str) -> Renderer:
    def render(call: Call, text: str, width: str, filler: str) -> str:
        cut = _substring(call, text, "1", width)
        padded = f"{function}({text}, CAST({width} AS INTEGER), {filler})"
        chosen = (
            f"CASE WHEN {width} > {LONGEST} THEN NULL WHEN {width} <= 0 THEN '' "
            f"WHEN {filler} = '' THEN {cut} ELSE {padded} END"
        )
        return _strict((text, width, filler), chosen)

    return render


def _trim(function: str) -> Renderer:
    def render(_: Call, text: str, characters: str) -> str:
        return _strict(
            (text, characters),
            f"CASE WHEN {characters} = '' THEN {text} ELSE {function}({text}, {characters}) END",
        )

    return render


def _repeat(_: Call, text: str, times: str) -> str:
    count = f"greatest({times}, 0)"
    too_long = f"CAST({count} AS HUGEINT) * length({text}) > {LONGEST}"
    chosen = (
        f"CASE WHEN {text} = '' THEN '' WHEN {too_long} THEN NULL ELSE repeat({text}, {count}) END"
    )
    return _strict((text, times), chosen)


def _replace(_: Call, text: str, part: str, instead: str = "''") -> str:
    replaced = f"replace({text}, {part}, {instead})"
    return _strict((text, part, instead), f"CASE WHEN {part} = '' THEN {text} ELSE {replaced} END")


def _initcap(_: Call, text: str) -> str:
    words = f"string_split({text}, ' ')"
    capital = "lambda w: upper(substring(w, 1, 1)) || lower(substring(w, 2))"
    return _strict((text,), f"array_to_string(list_transform({words}, {capital}), ' ')")


def _instr(_: Call, text: str, part: str) -> str:
    return _strict((text, part), f"CASE WHEN {part} = '' THEN 1 ELSE instr({text}, {part}) END")


def _locate(call: Call, part: str, text: str, start: str) -> str:
    found = f"instr({_substring(call, text, start)}, {part})"
    chosen = (
        f"CASE WHEN {start} < 1 THEN 0 WHEN {part} = '' THEN 1 WHEN {found} = 0 THEN 0 "
        f"ELSE {found} + {start} - 1 END"
    )
    return _strict((part, text, start), chosen)


def _split_part(_: Call, text: str, separator: str, number: str) -> str:
    chosen = (
        f"CASE WHEN {number} = 0 THEN NULL "
        f"WHEN {separator} = '' THEN CASE WHEN {number} IN (1, -1) THEN {text} ELSE '' END "
        f"ELSE split_part({text}, {separator}, {_near(number)}) END"
    )
    return _strict((text, separator, number), chosen)


def _regexp_replace(call: Call, text: str, pattern: str, _: str) -> str:
    replacement = call.args[2]
    assert isinstance(replacement, Literal), "replacements are constant"
    rewrite = re.sub(
        r"\\(.)|\$(\d)|(\\)",
        lambda m: rf"\{m[2]}" if m[2] else {"\\": r"\\"}.get(m[1] or "\\", m[1] or r"\\"),
        str(replacement.value),
    )
    return f"regexp_replace({text}, {pattern}, {quote(rewrite)}, 'g')"


def _concat_ws(_: Call, separator: str, *texts: str) -> str:
    joined = f"concat_ws({separator}, {', '.join(texts)})" if texts else "''"
    return _strict((separator,), joined)


def _substring_index(_: Call, text: str, separator: str, count: str) -> str:
    parts = f"string_split({text}, {separator})"
    some = f"CASE WHEN {count} > 0 THEN {parts}[1:{count}] ELSE {parts}[{count}:] END"
    empty = f"{separator} = '' OR {count} = 0"
    return f"CASE WHEN {empty} THEN left({text}, 0) ELSE array_to_string({some}, {separator}) END"


TEXT: dict[str, Renderer] = {
    "octet_length": lambda _, a: f"octet_length(encode({a}))",
    "bit_length": lambda _, a: f"8 * octet_length(encode({a}))",
    "levenshtein": lambda _, a, b: f"levenshtein({a}, {b})",
    "regexp_count": lambda _, a, p: f"len(regexp_extract_all({a}, {p}))",
    "substring_index": _substring_index,
    "upper": _plain("upper"),
    "lower": _plain("lower"),
    "initcap": _initcap,
    "reverse": _plain("reverse"),
    "length": _plain("length"),
    "ascii": lambda _, a: f"CASE WHEN {a} = '' THEN 0 ELSE ascii({a}) END",
    "chr": lambda _, n: f"CASE WHEN {n} < 0 THEN '' ELSE chr(CAST({n} & 255 AS INTEGER)) END",
    "trim": _trim("trim"),
    "ltrim": _trim("ltrim"),
    "rtrim": _trim("rtrim"),
    "substring": _substring,
    "right": _right,
    "lpad": _pad("lpad"),
    "rpad": _pad("rpad"),
    "repeat": _repeat,
    "replace": _replace,
    "translate": _plain("translate"),
    "concat": lambda _, *args: f"({' || '.join(args)})",
    "concat_ws": _concat_ws,
    "instr": _instr,
    "locate": _locate,
    "startswith": _plain("starts_with"),
    "endswith": _plain("ends_with"),
    "contains": _plain("contains"),
    "split_part": _split_part,
    "regexp_extract": _plain("regexp_extract"),
    "regexp_replace": _regexp_replace,
}
