"""Parameters: ``:name`` in a text stands for a value, which is written into it as a constant."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from math import isfinite

from sqlglot.tokenizer_core import Token, TokenType

from windrow.core.errors import ParseError, Span
from windrow.core.naming import near, shown
from windrow.language.parse import located, tokens_of
from windrow.language.printing import string_sql

NAME = re.compile(r"[^\W\d]\w*\Z")
LENGTHS = ("RANGE", "SLIDE", "TUMBLE", "SLACK", "AHEAD", "WINDOW", "DWINDOW")
"""A length of time after these words is written without INTERVAL."""


def with_parameters(text: str, params: Mapping[str, object] | None) -> str:
    """Return the text with the values of its parameters in their places.

    >>> with_parameters("SELECT k FROM s [RANGE 10] WHERE name = :name", {"name": "its"})
    "SELECT k FROM s [RANGE 10] WHERE name = 'its'"
    """
    if not params and ":" not in text:
        return text
    params = params or {}
    with located(text):
        tokens = tokens_of(text)
        found = [(n, token) for n, token in enumerate(tokens) if _begins(tokens, n)]
        pieces, end = [], 0
        for n, colon in found:
            name = tokens[n + 1]
            span = Span(colon.start, name.end + 1)
            literal = _literal(_value(name.text, params, span), span, after=tokens[:n])
            pieces += [text[end : colon.start], literal]
            end = name.end + 1
        _require_used(params, {tokens[n + 1].text for n, _ in found}, text)
    return "".join([*pieces, text[end:]])


def _begins(tokens: list[Token], n: int) -> bool:
    """Return whether a colon begins a parameter: a name follows at once, and no value precedes."""
    if tokens[n].token_type != TokenType.COLON or n + 1 == len(tokens):
        return False
    name = tokens[n + 1]
    follows = name.start == tokens[n].end + 1 and NAME.match(name.text) is not None
    precedes = n > 0 and tokens[n - 1].end + 1 == tokens[n].start
    takes_field = precedes and (
        tokens[n - 1].token_type in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.IDENTIFIER)
        or NAME.match(tokens[n - 1].text) is not None
    )
    return follows and not takes_field


def _value(name: str, params: Mapping[str, object], span: Span) -> object:
    if name not in params:
        known = [str(key) for key in params]
        raise ParseError(
            f"parameter :{name} has no value",
            detail=f"Given are {', '.join(known)}." if known else "No values are given.",
            hint=near(name, known) or f'Give one: params={{"{name}": ...}}.',
            span=span,
        )
    return params[name]


def _require_used(params: Mapping[str, object], used: set[str], text: str) -> None:
    unused = [str(name) for name in params if name not in used]
    if unused:
        raise ParseError(
            f"the text has no parameter :{unused[0]}",
            detail=f"Its parameters are {', '.join(f':{name}' for name in sorted(used))}."
            if used
            else "It has none.",
            hint="Write :name where the value is to stand, or leave it out of params.",
            span=Span(0, len(text)),
        )


def _literal(value: object, span: Span, after: Sequence[Token] = ()) -> str:
    """Return a value as a constant of SQL."""
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:
        value = item()  # of NumPy
    if isinstance(value, list | tuple | set | frozenset) and value:
        return f"({', '.join(_literal(v, span) for v in value)})"
    if isinstance(value, timedelta):
        length = value // timedelta(microseconds=1)
        bare = bool(after) and _measures(after)
        return f"{length} MICROSECONDS" if bare else f"INTERVAL '{length}' MICROSECOND"
    for kind, write in WRITERS:
        if isinstance(value, kind):
            text = write(value)
            if text is not None:
                return text
    raise ParseError(
        f"{shown(value)} cannot be the value of a parameter",
        detail=f"It is of type {type(value).__name__}.",
        hint="Give a number, a text, a bool, None, a date, a datetime, a timedelta, or a list of "
        "such values for IN.",
        span=span,
    )


def _measures(before: Sequence[Token]) -> bool:
    """Return whether a length of a window, or of a declaration, comes after these tokens."""
    if before[-1].text.upper() in LENGTHS:
        return True
    if before[-1].token_type != TokenType.EQ:
        return False
    words = [token.text.upper() for token in before[-8:-1]]
    pair = any(word in LENGTHS and opened == "(" for word, opened in pairwise(words))
    return bool(words) and (words[-1] in LENGTHS or (words[-1] == ")" and pair))


def _moment(value: datetime) -> str:
    at = value if value.tzinfo is None else value.astimezone(UTC)
    return f"TIMESTAMP '{at.replace(tzinfo=None).isoformat(' ')}'"


def _decimal(value: Decimal) -> str | None:
    return f"{value:f}" if value.is_finite() else None


WRITERS: tuple[tuple[type, Callable[..., str | None]], ...] = (
    (type(None), lambda _: "NULL"),
    (bool, lambda value: "TRUE" if value else "FALSE"),
    (int, lambda value: str(value) if value >= 0 else f"({value})"),
    (float, lambda value: f"CAST('{value!r}' AS DOUBLE)" if not isfinite(value) else _real(value)),
    (Decimal, _decimal),
    (str, string_sql),
    (datetime, _moment),  # before date, of which it is one
    (date, lambda value: f"DATE '{value.isoformat()}'"),
)
"""How values of each type are written; None where a value of it has no constant."""


def _real(value: float) -> str:
    text = repr(value) if "e" in repr(value) else f"{value!r}e0"
    return text if value >= 0 else f"({text})"
