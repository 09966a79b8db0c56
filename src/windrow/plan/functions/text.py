"""Functions of text. Positions count code points from 1; negative ones count from the end.

`trim` and its kin remove blanks (U+0020), or the characters given. Regular expressions are
RE2's and constant; in `regexp_replace` the replacement names groups as ``$1``.
"""

from __future__ import annotations

import re

import pyarrow as pa

from windrow.core.errors import BindError
from windrow.core.types import BIGINT, BOOLEAN, STRING
from windrow.plan.expressions import Call, Expr, Literal
from windrow.plan.functions.comparison import check_regex
from windrow.plan.functions.signature import (
    TEXT,
    WHOLE,
    Args,
    Function,
    any_nullable,
    call,
    coerce,
    constant,
    fit,
    partial,
    simple,
)

_PIECE = re.compile(
    r"\\Q.*?(?:\\E|$)"  # quoted text
    r"|\\."  # an escape
    r"|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]"  # a class of characters
    r"|\((?:\?P?<\w+>)?(?!\?)"  # the opening of a group that captures
    r"|.",
    re.DOTALL,
)


def name_groups(pattern: str) -> tuple[str, int]:
    """Return the pattern with its groups named g1, g2, ..., and how many there are.

    >>> name_groups(r"(a)[(](?:b)(?P<c>c)")
    ('(?P<g1>a)[(](?:b)(?P<g2>c)', 2)
    """
    count = 0

    def name(piece: re.Match[str]) -> str:
        nonlocal count
        if not piece.group().startswith("("):
            return piece.group()
        if piece.group() == "(" and pattern.startswith("?", piece.end()):
            return "("
        count += 1
        return f"(?P<g{count}>"

    return _PIECE.sub(name, pattern), count


def split_replacement(replacement: str) -> list[str | int]:
    r"""Split a replacement into text and the numbers of groups: ``$1``; ``\$`` is a dollar.

    >>> split_replacement(r"a$1\$2")
    ['a', 1, '$2']
    """
    pieces: list[str | int] = []
    for escaped, group, other in re.findall(r"\\(.)|\$(\d)|(.)", replacement, re.DOTALL):
        text = escaped or other
        if group:
            pieces.append(int(group))
        elif pieces and isinstance(pieces[-1], str):
            pieces[-1] += text
        else:
            pieces.append(text)
    return pieces


INT = pa.int32()

LONGEST = 100_000
"""Code points of the longest text that `repeat`, `lpad` and `rpad` make; longer is NULL."""


def _concat(args: Args) -> Expr:
    return call("concat", tuple(fit("concat", a, TEXT) for a in args), STRING)


def _concat_ws(args: Args) -> Expr:
    """Type ``concat_ws(separator, a, ...)``, which skips NULLs among its texts."""
    texts = tuple(fit("concat_ws", a, TEXT) for a in args)
    return Call("concat_ws", texts, STRING, texts[0].nullable)


def _left(args: Args) -> Expr:
    text, count = fit("left", args[0], TEXT), fit("left", args[1], WHOLE)
    return call("substring", (text, Literal(1, BIGINT), count), STRING)


def _position(args: Args) -> Expr:
    """Type ``position(part, text)``: `instr` with its arguments the other way round."""
    part, text = (fit("position", a, TEXT) for a in args)
    return call("instr", (text, part), INT)


def _locate(args: Args) -> Expr:
    part, text = (fit("locate", a, TEXT) for a in args[:2])
    if len(args) == 2:
        return call("instr", (text, part), INT)
    return call("locate", (part, text, fit("locate", args[2], WHOLE)), INT)


def _pad(name: str) -> Function:
    def resolve(args: Args) -> Expr:
        text, width = fit(name, args[0], TEXT), fit(name, args[1], WHOLE)
        filler = fit(name, args[2], TEXT) if len(args) > 2 else Literal(" ", STRING)
        return partial(name, (text, width, filler), STRING)

    return Function(name, f"{name}(text, width[, filler])", 2, 3, resolve)


def _trim(name: str) -> Function:
    def resolve(args: Args) -> Expr:
        text = fit(name, args[0], TEXT)
        characters = fit(name, args[1], TEXT) if len(args) > 1 else Literal(" ", STRING)
        return call(name, (text, characters), STRING)

    return Function(name, f"{name}(text[, characters])", 1, 2, resolve)


def _regex(name: str, pattern: Expr) -> Literal:
    known = constant(name, fit(name, pattern, TEXT), "the pattern")
    if known.value is not None:
        check_regex(str(known.value))
    return known


def _regexp_extract(args: Args) -> Expr:
    """Type ``regexp_extract(text, pattern[, group])``: '' where nothing matches; group 1."""
    name = "regexp_extract"
    text, pattern = fit(name, args[0], TEXT), _regex(name, args[1])
    group = constant(name, args[2], "the group") if len(args) > 2 else Literal(1, INT)
    if pattern.value is None or group.value is None:
        return Literal(None, STRING)
    _, count = name_groups(str(pattern.value))
    if not isinstance(group.value, int) or not 0 <= group.value <= count:
        raise BindError(
            f"the pattern '{pattern.value}' has no group {group.value}",
            detail=f"It has {count} groups; 0 is the whole match.",
            hint="Groups are written in brackets: (a)(b) has two.",
        )
    return Call(name, (text, pattern, Literal(group.value, INT)), STRING, any_nullable((text,)))


def _regexp_replace(args: Args) -> Expr:
    name = "regexp_replace"
    text, pattern = fit(name, args[0], TEXT), _regex(name, args[1])
    replacement = constant(name, fit(name, args[2], TEXT), "the replacement")
    if pattern.value is None or replacement.value is None:
        return Literal(None, STRING)
    _, count = name_groups(str(pattern.value))
    for group in split_replacement(str(replacement.value)):
        if isinstance(group, int) and group > count:
            raise BindError(
                f"the replacement names group ${group}, the pattern has {count}",
                hint="Groups are written in brackets: (a)(b) has two. A dollar sign itself is \\$.",
            )
    return call(name, (text, pattern, replacement), STRING)


def _chr(args: Args) -> Expr:
    return call("chr", (fit("chr", args[0], WHOLE),), STRING)


def _space(args: Args) -> Expr:
    return partial("repeat", (Literal(" ", STRING), fit("space", args[0], WHOLE)), STRING)


def _overlay(args: Args) -> Expr:
    """Write ``overlay(text, part, start[, length])``: `part` in place of so many characters."""
    text, part = (fit("overlay", a, TEXT) for a in args[:2])
    start = fit("overlay", args[2], WHOLE)
    length = (
        fit("overlay", args[3], WHOLE) if len(args) > 3 else _bigint(call("length", (part,), INT))
    )
    one = Literal(1, BIGINT)
    before = _substring_of(text, one, partial("sub", (start, one), BIGINT))
    return call(
        "concat",
        (before, part, _substring_of(text, partial("add", (start, length), BIGINT))),
        STRING,
    )


def _bigint(expr: Expr) -> Expr:
    return coerce(expr, BIGINT)


def _substring_of(*args: Expr) -> Expr:
    return call("substring", args, STRING)


def _octets(name: str) -> Function:
    return simple(f"{name}(text)", (TEXT,), INT)


def _regexp_count(args: Args) -> Expr:
    pattern = constant("regexp_count", args[1], "the pattern")
    check_regex(str(pattern.value))
    return call("regexp_count", (fit("regexp_count", args[0], TEXT), pattern), INT)


FUNCTIONS = (
    Function("space", "space(count)", 1, 1, _space),
    Function("overlay", "overlay(text, part, start[, length])", 3, 4, _overlay),
    _octets("octet_length"),
    _octets("bit_length"),
    simple("substring_index(text, separator, count)", (TEXT, TEXT, WHOLE), STRING),
    Function("regexp_count", "regexp_count(text, pattern)", 2, 2, _regexp_count),
    simple("levenshtein(a, b)", (TEXT, TEXT), INT),
    simple("upper(text)", (TEXT,), STRING),
    simple("lower(text)", (TEXT,), STRING),
    simple("initcap(text)", (TEXT,), STRING),
    simple("reverse(text)", (TEXT,), STRING),
    simple("length(text)", (TEXT,), INT),
    simple("ascii(text)", (TEXT,), INT),
    Function("chr", "chr(number)", 1, 1, _chr),
    _trim("trim"),
    _trim("ltrim"),
    _trim("rtrim"),
    simple("substring(text, start[, length])", (TEXT, WHOLE, WHOLE), STRING),
    Function("left", "left(text, count)", 2, 2, _left),
    simple("right(text, count)", (TEXT, WHOLE), STRING),
    _pad("lpad"),
    _pad("rpad"),
    simple("repeat(text, times)", (TEXT, WHOLE), STRING, total=False),
    simple("replace(text, part[, instead])", (TEXT, TEXT, TEXT), STRING),
    simple("translate(text, from, to)", (TEXT, TEXT, TEXT), STRING),
    Function("concat", "concat(a, ...)", 1, None, _concat),
    Function("concat_ws", "concat_ws(separator, a, ...)", 1, None, _concat_ws, strict=False),
    simple("instr(text, part)", (TEXT, TEXT), INT),
    Function("position", "position(part, text)", 2, 2, _position),
    Function("locate", "locate(part, text[, start])", 2, 3, _locate),
    simple("startswith(text, part)", (TEXT, TEXT), BOOLEAN),
    simple("endswith(text, part)", (TEXT, TEXT), BOOLEAN),
    simple("contains(text, part)", (TEXT, TEXT), BOOLEAN),
    simple("split_part(text, separator, number)", (TEXT, TEXT, WHOLE), STRING, total=False),
    Function("regexp_extract", "regexp_extract(text, pattern[, group])", 2, 3, _regexp_extract),
    Function("regexp_replace", "regexp_replace(text, pattern, replacement)", 3, 3, _regexp_replace),
)

ALIASES = {
    "ucase": "upper",
    "lcase": "lower",
    "char_length": "length",
    "character_length": "length",
    "len": "length",
    "char": "chr",
    "substr": "substring",
    "btrim": "trim",
    "charindex": "locate",
}
