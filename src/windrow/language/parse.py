"""Text to statements. Every failure is a `ParseError` with a place in the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlglot import exp
from sqlglot.errors import SqlglotError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from windrow.core.errors import ParseError, Span
from windrow.language.cursor import SqlglotSyntaxError
from windrow.language.ddl import need_end, read_query, read_statement
from windrow.language.depth import check_size, deep_recursion, too_deep
from windrow.language.generator import CQL
from windrow.language.queries import QueryParser
from windrow.language.spans import TYPE_WORDS, TYPES_HINT, did_you_mean
from windrow.language.statements import Statement

MAX_LENGTH = 1_000_000  # characters of a script

TOKEN_PLACE = re.compile(r" from \d+:(\d+)")
"""Where sqlglot's tokenizer says the token began that it could not finish."""

SURROGATE = re.compile("[\ud800-\udfff]")
"""One half of a character that UTF-16 writes in two."""

T = TypeVar("T")


def parse_script(text: str) -> list[Statement]:
    """Return the statements of a script, which are separated by semicolons."""
    with located(text):
        parser = new_parser()
        return [guarded(parser, tokens, text, read_statement) for tokens in split(tokens_of(text))]


def parse_statement(text: str) -> Statement:
    """Return the one statement of a text."""
    with located(text):
        return guarded(new_parser(), only_one(text, "statement"), text, read_statement)


def parse_query(text: str) -> exp.Expr:
    """Return the tree of the one query of a text."""

    def read_only_query(parser: QueryParser) -> exp.Expr:
        query = read_query(parser)
        need_end(parser)
        return query

    with located(text):
        return guarded(new_parser(), only_one(text, "query"), text, read_only_query)


def new_parser() -> QueryParser:
    """Return a parser; they are cheap, and one must not be shared between threads."""
    return QueryParser(dialect=CQL)


@contextmanager
def located(text: str) -> Iterator[None]:
    """Give every `ParseError` from inside a place in `text`."""
    try:
        yield
    except ParseError as error:
        if error.span is None:
            error.span = Span(0, len(text))
        raise error.locate(text) from error.__cause__


def guarded(
    parser: QueryParser, tokens: list[Token], text: str, read: Callable[[QueryParser], T]
) -> T:
    """Run `read` over one statement's tokens and turn sqlglot's errors into ours."""
    check_size(tokens)
    parser.feed(tokens, text)
    try:
        with deep_recursion():
            return read(parser)
    except SqlglotSyntaxError as fault:
        raise explained(parser, fault) from fault
    except SqlglotError as error:
        raise ParseError(
            str(error).split("\n")[0], hint="Write this part in another way.", span=parser.here()
        ) from error
    except RecursionError as error:
        raise too_deep(parser.here()) from error


# -- tokens ------------------------------------------------------------------------------------


def tokens_of(text: str) -> list[Token]:
    """Cut the text into tokens."""
    if len(text) > MAX_LENGTH:
        raise ParseError(
            f"the text is longer than {MAX_LENGTH} characters",
            hint="Split the script.",
            span=Span(MAX_LENGTH, len(text)),
        )
    broken = SURROGATE.search(text)
    if broken is not None:
        raise ParseError(
            f"the text has half a character: {broken[0]!a}",
            detail="A lone surrogate stands for no character, and has no form in UTF-8.",
            hint="Decode the text with the encoding that it was written in.",
            span=Span(*broken.span()),
        )
    try:
        return CQL.tokenize(text)
    except TokenError as error:
        raise untokenized(text, error) from error


def untokenized(text: str, error: TokenError) -> ParseError:
    """Explain why a text cannot be cut into tokens: nearly always a quote that never closes."""
    reason = str(error.__cause__)
    place = TOKEN_PLACE.search(reason)
    if place is None:
        start = max(0, text.rfind("/*"))
        return ParseError(
            "a comment is opened and never closed",
            hint="Add */ where it ends.",
            span=Span(start, len(text)),
        )
    span = Span(min(int(place[1]), len(text)), len(text))
    if reason.startswith("Missing"):
        return ParseError(
            "a quotation is opened and never closed", hint="Add the closing quote.", span=span
        )
    return ParseError(
        "the text cannot be read",
        detail=f"{reason[: place.start()]}.",
        hint="Check the quotes and signs from here on.",
        span=span,
    )


def split(tokens: list[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each statement; empty ones are skipped."""
    statement: list[Token] = []
    for token in tokens:
        if token.token_type != TokenType.SEMICOLON:
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement


def only_one(text: str, what: str) -> list[Token]:
    """Return the tokens of a text's only statement."""
    statements = list(split(tokens_of(text)))
    if not statements:
        raise ParseError(
            f"expected a {what}, found nothing",
            hint="For example SELECT * FROM s [RANGE 1 MINUTE].",
            span=Span(0, len(text)),
        )
    if len(statements) > 1:
        second = statements[1]
        raise ParseError(
            f"expected one {what}, found {len(statements)}",
            hint="Take the others out.",
            span=Span(second[0].start, second[-1].end + 1),
        )
    return statements[0]


# -- sqlglot's errors --------------------------------------------------------------------------


def explained(parser: QueryParser, fault: SqlglotSyntaxError) -> ParseError:
    """Turn one of sqlglot's errors into ours."""
    reason = str(fault)
    token = fault.token
    span = Span(token.start, token.end + 1) if token else parser.here()
    if reason.startswith("Required"):
        return parser.missing_expression()
    if reason.startswith("Expected TYPE"):
        return ParseError(
            f"expected a type, found {parser.found()}",
            hint=did_you_mean(parser.word(), TYPE_WORDS) or TYPES_HINT,
            span=parser.here(),
        )
    if reason == "Expecting )":
        return ParseError(
            f'expected ")", found {parser.found()}',
            hint=parser.near_miss() or 'Add ")" where the bracket is to end.',
            span=span,
        )
    return ParseError(
        f"unexpected {parser.found()}" if parser._curr else "the statement ends too early",
        detail=f"{reason}.",
        hint=parser.near_miss() or "Take it out, or complete what stands before it.",
        span=span,
    )
