"""Expressions: sqlglot's, with function names kept as written, and nothing left out in silence."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from windrow.language.spans import mark, span_of
from windrow.language.syntax import STREAM_FUNCTIONS, StreamFunction, StreamItems
from windrow.language.windows import WINDOW_WORDS, WindowParser

T = TypeVar("T")

INTERVAL_UNITS = (
    "YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND",
)  # fmt: skip
INTERVAL_TEXT = re.compile(r"\s*(?P<number>[+-]?\d+(\.\d+)?)\s*(?P<unit>[A-Za-z]*)\s*\Z")
PAIR_WORDS = ("WINDOW", "DWINDOW")

AROUND_CALLS = (exp.Filter, exp.Window, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
"""What may follow the brackets of a call: FILTER, OVER, WITHIN GROUP, IGNORE and RESPECT NULLS."""


class ExpressionParser(WindowParser):
    """Reads one expression. Queries inside of it are left to `query`, which comes later."""

    STRICT_CAST = True  # 5L and a::INT are CAST, not TRY_CAST
    NO_PAREN_FUNCTIONS: ClassVar = {
        TokenType.CURRENT_DATE: partial(exp.Anonymous, this="CURRENT_DATE"),
        TokenType.CURRENT_TIMESTAMP: partial(exp.Anonymous, this="CURRENT_TIMESTAMP"),
    }
    FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar = {"CASE": lambda self: self._parse_case()}
    FUNCTION_PARSERS: ClassVar = {
        "CAST": lambda self: self._parse_cast(strict=True),
        "TRY_CAST": lambda self: self._parse_cast(strict=False, safe=True),
        "EXTRACT": lambda self: self._extract(),
        "TRIM": lambda self: self._trim(),
        "SUBSTRING": lambda self: self._substring("SUBSTRING"),
        "SUBSTR": lambda self: self._substring("SUBSTR"),
        "POSITION": lambda self: self._position(),
    }

    COLUMN_OPERATORS: ClassVar = {
        kind: WindowParser.COLUMN_OPERATORS[kind] for kind in (TokenType.DOT, TokenType.DCOLON)
    }
    RANGE_PARSERS: ClassVar = {
        kind: WindowParser.RANGE_PARSERS[kind]
        for kind in (
            TokenType.BETWEEN,
            TokenType.ILIKE,
            TokenType.IN,
            TokenType.IS,
            TokenType.LIKE,
            TokenType.RLIKE,
        )
    }
    STRING_PARSERS: ClassVar = {TokenType.STRING: WindowParser.STRING_PARSERS[TokenType.STRING]}
    PRIMARY_PARSERS: ClassVar = {
        kind: WindowParser.PRIMARY_PARSERS[kind]
        for kind in (
            TokenType.STRING,
            TokenType.NUMBER,
            TokenType.NULL,
            TokenType.TRUE,
            TokenType.FALSE,
            TokenType.STAR,
        )
    }
    PLACEHOLDER_PARSERS: ClassVar[dict[TokenType, Callable[..., exp.Expr]]] = {}

    @abstractmethod
    def query(self) -> exp.Expr:
        """Take a whole query: `QueryParser` does."""

    @abstractmethod
    def at_query(self, *, brackets: bool = True) -> bool:
        """Return whether a query begins here."""

    # -- places --------------------------------------------------------------------------------

    def _parse_unary(self) -> exp.Expr | None:
        start = self._curr
        if start.token_type == TokenType.WINDOW and self.word() in PAIR_WORDS:
            pair = self.pair_window()
            if pair is not None:
                return pair
        if self.at_stream_function():
            return self.stream_function()
        return self._with_place(super()._parse_unary(), start)

    def _parse_range(self, this: exp.Expr | None = None, parse_is: bool = False) -> exp.Expr | None:  # noqa: FBT001, FBT002
        start = self._curr
        node = super()._parse_range(this, parse_is)
        if this is None:
            return self._with_place(node, start)
        if node is not this:
            self._place_predicate(node, this)
        return node

    def _place_predicate(self, node: exp.Expr | None, operand: exp.Expr) -> None:
        """Note where ``operand IS NOT NULL`` stands: the NOT and the IS both cover it all."""
        before = span_of(operand)
        while isinstance(node, exp.Not | exp.Is) and before is not None:
            mark(node, before.start, self._prev.end + 1)
            node = node.this if isinstance(node, exp.Not) else None

    def _parse_type(
        self,
        parse_interval: bool = True,  # noqa: FBT001, FBT002
        fallback_to_identifier: bool = False,  # noqa: FBT001, FBT002
    ) -> exp.Expr | None:
        """Take an operand. A type stands here only before a string: ``DATE '2026-01-01'``.

        sqlglot reads ``DECIMAL(DECIMAL(...`` first as types, then as calls, at every level anew:
        time that doubles with each bracket.
        """
        is_typed_string = self._next.token_type == TokenType.STRING
        if fallback_to_identifier or is_typed_string:
            return super()._parse_type(parse_interval, fallback_to_identifier)
        return self._parse_atom() or self._parse_interval() or self._parse_column()

    def _parse_null(self) -> exp.Expr | None:
        start = self._curr
        return self._with_place(super()._parse_null(), start)

    def _parse_types(self, *args: bool, **options: bool) -> exp.Expr | None:
        start = self._curr
        return self._with_place(super()._parse_types(*args, **options), start)

    def _parse_expression(self) -> exp.Expr | None:
        start = self._curr
        return self._with_place(super()._parse_expression(), start)

    def _with_place(self, node: exp.Expr | None, start: Token) -> exp.Expr | None:
        return None if node is None else self.placed(node, start)

    # -- strictness: what sqlglot lets pass ----------------------------------------------------

    def _parse_csv(
        self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA
    ) -> list[T]:
        """Take items between separators; sqlglot drops missing ones, we do not."""
        first = parse_method()
        if first is None:
            return []
        items = [first]
        while self._match(sep):
            item = parse_method()
            if item is None:
                self.fail(
                    f"expected something after the comma, found {self.found()}",
                    hint=self.near_miss() or "Write another item there, or take the comma out.",
                )
            items.append(item)
        return items

    def _build_predicate(
        self,
        klass: type[exp.Binary],
        this: exp.Expr | None,
        expression: exp.Expr | None,
        comments: list[str] | None = None,
        negate: bool = False,  # noqa: FBT001, FBT002
    ) -> exp.Expr:
        """Keep ``a NOT IN (1) = b`` apart from ``NOT (a IN (1) = b)`` when it is printed.

        ``<=>`` is printed as IS NOT DISTINCT FROM, which binds closer: a predicate before it, or
        before any IS, stands in brackets.
        """
        loose = (
            (exp.Predicate, exp.Escape, exp.Connector, exp.Not)
            if klass in (exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ)
            else (exp.Not,)
        )
        this = exp.Paren(this=this) if isinstance(this, loose) else this
        expression = exp.Paren(this=expression) if isinstance(expression, exp.Not) else expression
        return super()._build_predicate(klass, this, expression, comments, negate)

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        low = self._parse_bitwise()
        self.need("AND", "BETWEEN has a lower and an upper bound.")
        return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise()))

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:  # noqa: FBT001, FBT002
        opened = self._curr
        if not self._match(TokenType.L_PAREN):
            self.fail(
                f'expected "(" after IN, found {self.found()}',
                hint="Write IN (1, 2, 3) or IN (SELECT ... FROM ...).",
            )
        if self.at_query(brackets=False):
            start = self._curr
            query = self.placed(exp.Subquery(this=self.query()), start)
            within = exp.In(this=this, query=query)
        else:
            within = exp.In(this=this, expressions=self._parse_csv(self._parse_disjunction))
            if not within.expressions:
                self.fail("IN needs at least one value", hint="Write IN (1, 2, 3), for example.")
        self.need_close(TokenType.R_PAREN, opened)
        return self.expression(within)

    def _parse_paren(self) -> exp.Expr | None:
        opened = self._curr
        if not self._match(TokenType.L_PAREN):
            return None
        if self.at_query(brackets=False):
            node: exp.Expr = exp.Subquery(this=self.query())
        else:
            items = self._parse_csv(self._parse_disjunction)
            if not items:
                raise self.missing_expression()
            node = exp.Paren(this=items[0]) if len(items) == 1 else exp.Tuple(expressions=items)
        self.need_close(TokenType.R_PAREN, opened)
        return self.placed(node, opened)

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        """Take an index ``a[0]``; a window in its place is named as such."""
        if self._curr.token_type == TokenType.L_BRACKET and self._at_misplaced_window():
            self.misplaced_window()
        return super()._parse_bracket(this)

    def _at_misplaced_window(self) -> bool:
        word = self.word(1)
        return word in ("NOW", "UNBOUNDED") or (word in WINDOW_WORDS and self.word(2) != "]")

    def _parse_case(self) -> exp.Expr:
        """Take what follows CASE, with every THEN and at least one WHEN."""
        start = self._prev
        subject = None if self.at("WHEN") else self._parse_disjunction()
        branches = []
        while self.take("WHEN"):
            condition = self._parse_disjunction()
            self.need("THEN", "Each WHEN of a CASE has its THEN.")
            branches.append(self.expression(exp.If(this=condition, true=self._parse_disjunction())))
        if not branches:
            self.need("WHEN", "A CASE has at least one WHEN.")
        default = self._need_expression() if self.take("ELSE") else None
        self.need("END", "A CASE ends with END.")
        return self.placed(exp.Case(this=subject, ifs=branches, default=default), start)

    def _need_expression(self) -> exp.Expr:
        return self._needed(self._parse_disjunction())

    def _needed(self, node: exp.Expr | None) -> exp.Expr:
        if node is None:
            raise self.missing_expression()
        return node

    def _parse_interval(self, *_: object, **__: object) -> exp.Interval | None:
        """``INTERVAL '5' MINUTE``, ``INTERVAL 5 MINUTES``, ``INTERVAL '5 minutes'``; one unit each.

        INTERVAL before anything else is a name.
        """
        start, index = self._curr, self._index
        if not self._match(TokenType.INTERVAL):
            return None
        sign = "-" if self._match(TokenType.DASH) else ""
        if not self._match_set((TokenType.STRING, TokenType.NUMBER)):
            self._retreat(index)
            return None
        match = INTERVAL_TEXT.match(self._prev.text)
        if match is None:
            self.fail(
                f'"{self._prev.text}" is not an interval',
                hint="Write one number and one unit, for example INTERVAL '5' MINUTE.",
                span=self._before(),
            )
        unit = match["unit"].upper() or self._interval_word()
        if unit.removesuffix("S") not in INTERVAL_UNITS:
            self.fail(
                f'unknown unit of an interval "{unit}"' if unit else "an interval needs a unit",
                hint=f"Units are {', '.join(INTERVAL_UNITS)}.",
                span=self._before(),
            )
        size = exp.Literal.string(f"{sign}{match['number']}")
        interval = exp.Interval(this=size, unit=exp.Var(this=unit.removesuffix("S")))
        return self.placed(interval, start)

    def _interval_word(self) -> str:
        """Take the unit after an interval's number."""
        self._match(TokenType.DCOLON)  # the tokenizer splits 5S, a SMALLINT in Spark
        word = self.word()
        if not word.isalpha():
            return ""
        self._advance()
        return word

    # -- function calls ------------------------------------------------------------------------

    def _parse_function_call(
        self,
        functions: dict[str, Callable[..., exp.Expr]] | None = None,
        anonymous: bool = False,  # noqa: FBT001, FBT002
        optional_parens: bool = True,  # noqa: FBT001, FBT002
        any_token: bool = False,  # noqa: FBT001, FBT002
    ) -> exp.Expr | None:
        start = self._curr
        if start.token_type == TokenType.EXISTS and self._next.token_type == TokenType.L_PAREN:
            return self._exists()
        call = super()._parse_function_call(functions, anonymous, optional_parens, any_token)
        inner = call
        while isinstance(inner, AROUND_CALLS):
            frame = inner.args.get("spec")
            if frame is not None and not frame.args.get("end"):
                frame.set("end", "CURRENT ROW")  # what ROWS n PRECEDING means
            inner = inner.this
        if isinstance(inner, exp.Anonymous) and isinstance(inner.this, str):
            inner.set("this", inner.this.upper())
        return self._with_place(call, start)

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:  # noqa: FBT001, FBT002
        """Take an argument of a function: also ``DISTINCT a, b``, ``a IGNORE NULLS ORDER BY b``."""
        start = self._curr
        if self._match(TokenType.DISTINCT):
            items = self._parse_csv(self._parse_disjunction)
            node: exp.Expr | None = self.expression(exp.Distinct(expressions=items))
        else:
            node = self._parse_disjunction()
        node = self._parse_order(self._parse_respect_or_ignore_nulls(node))
        return None if node is None else self.placed(node, start)

    def _exists(self) -> exp.Exists:
        start, opened = self._curr, self._next
        self._advance(2)
        if not self.at_query():
            self.fail(
                f"expected a query in EXISTS, found {self.found()}",
                hint="Write EXISTS (SELECT ... FROM ... WHERE ...).",
            )
        exists = exp.Exists(this=self.query())
        self.need_close(TokenType.R_PAREN, opened)
        return self.placed(exists, start)

    def _extract(self) -> exp.Extract:
        """``EXTRACT(YEAR FROM ts)``."""
        field = exp.Var(this=self.word())
        if not field.name.isidentifier():
            self.fail(
                f"expected a part of a time, found {self.found()}",
                hint="For example EXTRACT(HOUR FROM ts).",
            )
        self._advance()
        self.need("FROM", "EXTRACT takes a part of a time: EXTRACT(HOUR FROM ts).")
        return self.expression(exp.Extract(this=field, expression=self._parse_disjunction()))

    def _trim(self) -> exp.Expr:
        """``TRIM(x)`` is a call; ``TRIM(BOTH 'a' FROM x)`` an `exp.Trim`."""
        side = self._prev.text.upper() if self._match_texts(self.TRIM_TYPES) else None
        first = None if self.at("FROM") else self._need_expression()
        if self.take("FROM"):
            text = self._need_expression()
            return self.expression(exp.Trim(this=text, expression=first, position=side))
        if side is not None:
            return self.expression(exp.Trim(this=first, position=side))
        rest = self._parse_csv(self._parse_disjunction) if self._match(TokenType.COMMA) else []
        return exp.Anonymous(this="TRIM", expressions=[first, *rest])

    def _substring(self, name: str) -> exp.Expr:
        """``SUBSTRING(x FROM i FOR n)`` is the call ``SUBSTRING(x, i, n)``."""
        arguments = [self._need_expression()]
        arguments += [
            self._need_expression()
            for keyword in ("FROM", "FOR")
            if self._match(TokenType.COMMA) or self.take(keyword)
        ]
        return exp.Anonymous(this=name, expressions=arguments)

    def _position(self) -> exp.Expr:
        """``POSITION(a IN b)`` is the call ``POSITION(a, b)``."""
        arguments = [self._needed(self._parse_bitwise())]
        if self.take("IN"):
            arguments.append(self._needed(self._parse_bitwise()))
        while self._match(TokenType.COMMA):
            arguments.append(self._need_expression())
        return exp.Anonymous(this="POSITION", expressions=arguments)

    # -- stream functions ----------------------------------------------------------------------

    def at_stream_function(self) -> bool:
        """Return whether ``ISTREAM(`` or ``Istream-restore(`` comes next."""
        if self.word().lower() not in STREAM_FUNCTIONS:
            return False
        after = 3 if self.word(1) == "-" and self.word(2) == "RESTORE" else 1
        return self.word(after) == "("

    def stream_function(self) -> StreamFunction:
        """Take a stream function, around a query or around items of a select list."""
        start = self._curr
        kind = start.text.lower()
        self._advance()
        restore = self.take("-", "RESTORE")
        opened = self._curr
        self._advance()
        this = self.query() if self.at_query() else self._stream_items()
        self.need_close(TokenType.R_PAREN, opened)
        window = self.window()
        restore = self.take("RESTORE") or restore
        node = StreamFunction(kind=kind, this=this, window=window, restore=restore or None)
        self._check_stream_function(self.placed(node, start))
        return node

    def _stream_items(self) -> StreamItems:
        start = self._curr
        distinct = self._match(TokenType.DISTINCT) or None
        items = self._parse_expressions()
        if not items:
            self.fail(
                f"expected a query or columns, found {self.found()}",
                hint="Write ISTREAM(SELECT ...) or SELECT ISTREAM(*) FROM ...",
            )
        return self.placed(StreamItems(expressions=items, distinct=distinct), start)

    def _check_stream_function(self, node: StreamFunction) -> None:
        kind = node.args["kind"].upper()
        if kind == "WSTREAM" and node.args.get("restore"):
            self.fail(
                "WSTREAM has no RESTORE form",
                detail="A window over the output does not say which restored results it keeps.",
                hint="Use ISTREAM(...) RESTORE or RSTREAM(...) RESTORE.",
                span=self._before(),
            )
        window = node.args.get("window")
        if kind != "WSTREAM" and window is not None:
            self.fail(
                f"{kind} takes no window",
                hint="WSTREAM(...)[ROWS 10] is the stream function with a window.",
                span=span_of(window),
            )
