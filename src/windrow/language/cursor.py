"""The parser's hands: look at tokens, take them, fail with a place, note where nodes stand.

The parser is four small classes, each on top of the one before: `Cursor`, `WindowParser`
(`windows.py`), `ExpressionParser` (`expressions.py`), `QueryParser` (`queries.py`). All the rest
of SQL is sqlglot's Spark parser, which `Cursor` extends.
"""

from __future__ import annotations

from typing import NoReturn, TypeVar

from sqlglot import exp
from sqlglot.errors import ParseError as SqlglotParseError
from sqlglot.parser import SENTINEL_NONE
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from windrow.core.errors import ParseError, Span
from windrow.language.spans import CLAUSE_WORDS, did_you_mean, mark

Node = TypeVar("Node", bound=exp.Expr)


class SqlglotSyntaxError(SqlglotParseError):
    """An error of sqlglot's own rules, with the token where it was noticed.

    sqlglot backtracks on its `ParseError`, so this is one; `parse.py` turns it into ours.
    """

    def __init__(self, message: str, token: Token) -> None:
        super().__init__(message)
        self.token = token


class Cursor(SparkParser):
    """A place in the tokens of one statement."""

    def feed(self, tokens: list[Token], text: str) -> None:
        """Begin at the first of `tokens`, which were cut from `text`."""
        self.reset()
        self.sql = text
        self._tokens = tokens
        self._tokens_size = len(tokens)
        self._index = -1
        self._advance()

    def raise_error(self, message: str, token: Token = SENTINEL_NONE) -> NoReturn:
        """Fail by one of sqlglot's rules."""
        raise SqlglotSyntaxError(message, token or self._curr or self._prev)

    # -- looking and taking --------------------------------------------------------------------

    def word(self, ahead: int = 0) -> str:
        """Return the word `ahead` tokens from here in upper case, or "" if none stands there."""
        index = self._index + ahead
        if not 0 <= index < self._tokens_size:
            return ""
        token = self._tokens[index]
        if token.token_type in self.TEXT_MATCH_EXCLUDED_TOKENS:
            return ""
        return " ".join(token.text.upper().split())

    def at(self, *words: str) -> bool:
        """Return whether these words come next."""
        return all(self.word(ahead) == word for ahead, word in enumerate(words))

    def take(self, *words: str) -> bool:
        """Step over these words if they come next."""
        if not self.at(*words):
            return False
        self._advance(len(words))
        return True

    def need(self, word: str, why: str) -> None:
        """Step over `word`, or fail because `why` needs it."""
        if not self.take(word):
            self.fail(
                f"expected {word}, found {self.found()}",
                detail=why,
                hint=did_you_mean(self.word(), [word]) or f"Write {word} here.",
            )

    def need_close(self, kind: TokenType, opened: Token) -> None:
        """Step over the bracket that closes `opened`, or fail: there, if the statement ends."""
        if not self._match(kind):
            close = ")" if kind == TokenType.R_PAREN else "]"
            self.fail(
                f'expected "{close}", found {self.found()}',
                detail=f'It closes the "{opened.text}" opened before.',
                hint=self.near_miss() or f'Add "{close}" where the "{opened.text}" is to end.',
                span=None if self._curr else Span(opened.start, opened.end + 1),
            )

    def name(self, what: str) -> exp.Identifier:
        """Take a name, quoted or not, or fail because `what` needs one."""
        named = self._parse_id_var(any_token=False)
        if not isinstance(named, exp.Identifier) or not named.name:
            keyword = self.word().isidentifier()
            self.fail(
                f"expected {what}, found {self.found()}",
                detail=f"{self._curr.text} is a keyword." if keyword else "",
                hint=f"Write {what} before it, or put the name into backticks."
                if keyword
                else f"Write {what} there.",
            )
        return named

    # -- failing -------------------------------------------------------------------------------

    def found(self) -> str:
        """Describe what stands here, for a message."""
        return f'"{self._curr.text}"' if self._curr else "the end of the statement"

    def here(self) -> Span:
        """Return the place of the token here, or of the last one at the end."""
        token = self._curr or self._prev
        return Span(token.start, token.end + 1) if token else Span(0, len(self.sql))

    def near_miss(self) -> str:
        """Return a hint if the word here, or the one before it, is a mistyped keyword."""
        return did_you_mean(self.word(), CLAUSE_WORDS) or did_you_mean(self.word(-1), CLAUSE_WORDS)

    def missing_expression(self) -> ParseError:
        """Return the error for a place where an expression has to stand."""
        return ParseError(
            f"expected an expression, found {self.found()}",
            detail=f'Something is missing after "{self._prev.text}".' if self._prev else "",
            hint=self.near_miss() or "Write a column, a constant or a call there.",
            span=self.here(),
        )

    def fail(
        self, message: str, *, detail: str = "", hint: str = "", span: Span | None = None
    ) -> NoReturn:
        """Fail with one of our own errors, at `span` or here."""
        raise ParseError(message, detail=detail, hint=hint, span=span or self.here())

    # -- noting places -------------------------------------------------------------------------

    def placed(self, node: Node, start: Token) -> Node:
        """Note that `node` was written from `start` up to here."""
        mark(node, start.start, self._prev.end + 1)
        return node
