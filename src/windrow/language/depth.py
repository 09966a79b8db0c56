"""How deep and how long a statement may be, so that no text is slow or exhausts the stack."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot.tokenizer_core import Token, TokenType

from windrow.core.errors import ParseError, Span

MAX_TOKENS = 20_000  # words and signs of one statement: about a second's work
MAX_NESTING = 100  # brackets, CASEs and prefix operators inside one another
DEEP_LIMIT = 20_000  # frames of Python; one bracket takes about 30

OPENERS = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE)
CLOSERS = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END)
PREFIXES = (TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE)

_DEEP = threading.RLock()


def check_size(tokens: list[Token]) -> None:
    """Refuse a statement that is too long, or nested too deeply."""
    if len(tokens) > MAX_TOKENS:
        raise ParseError(
            f"the statement has more than {MAX_TOKENS} words and signs",
            hint="Split the statement; use IN (SELECT ...) for long lists.",
            span=Span(tokens[MAX_TOKENS].start, tokens[-1].end + 1),
        )
    depth = prefixes = 0
    for token in tokens:
        kind = token.token_type
        prefixes = prefixes + 1 if kind in PREFIXES else 0
        if kind in OPENERS:
            depth += 1
        elif kind in CLOSERS:
            depth = max(0, depth - 1)
        if depth + prefixes > MAX_NESTING:
            raise too_deep(Span(token.start, token.end + 1))


def too_deep(span: Span) -> ParseError:
    """Return the error for a text nested too deeply."""
    return ParseError(
        f"nested more than {MAX_NESTING} levels deep",
        hint="Name the inner queries in WITH, or leave out needless brackets.",
        span=span,
    )


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let sqlglot recurse deeper; one thread at a time, for the limit is the process's."""
    with _DEEP:
        usual = sys.getrecursionlimit()
        sys.setrecursionlimit(max(usual, DEEP_LIMIT))
        try:
            yield
        finally:
            sys.setrecursionlimit(usual)
