"""Queries: SELECT with windows in FROM, pair windows, and stream functions around it all."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from windrow.language.expressions import ExpressionParser
from windrow.language.spans import STATEMENT_WORDS, STREAM_WORDS, did_you_mean, span_of
from windrow.language.syntax import PairWindow, StreamFunction, StreamItems, Windowed
from windrow.language.windows import BARE_WINDOW, WINDOW_WORDS

PAIR_WINDOWS = "pair_windows"
"""Where WJOIN's WINDOW clause waits on a SELECT until it is moved into WHERE."""

CLAUSE_TOKENS = frozenset({TokenType.LIMIT, TokenType.OFFSET})
"""Words that also start a clause here, so that an unquoted table may not be aliased by them."""


class QueryParser(ExpressionParser):
    """Reads a whole query."""

    QUERY_MODIFIER_PARSERS: ClassVar = {
        TokenType.WHERE: lambda self: ("where", self._parse_where()),
        TokenType.GROUP_BY: lambda self: ("group", self._parse_group()),
        TokenType.HAVING: lambda self: ("having", self._parse_having()),
        TokenType.WINDOW: lambda self: (PAIR_WINDOWS, self._pair_windows()),
        TokenType.ORDER_BY: lambda self: ("order", self._parse_order()),
        TokenType.LIMIT: lambda self: ("limit", self._parse_limit()),
        TokenType.OFFSET: lambda self: ("offset", self._parse_offset()),
    }
    QUERY_MODIFIER_TOKENS: ClassVar = set(QUERY_MODIFIER_PARSERS) - {TokenType.WINDOW}

    def at_query(self, *, brackets: bool = True) -> bool:
        """Return whether a query begins here: SELECT, WITH or a stream function.

        With `brackets`, also one in brackets; where an expression could stand as well, those
        may belong to it: ``((SELECT 1) + 2)``.
        """
        index = self._index
        while brackets and self._match(TokenType.L_PAREN):
            pass
        found = self._curr.token_type in (TokenType.SELECT, TokenType.WITH)
        if not found and self.at_stream_function():
            found = self._stream_function_holds_query()
        self._retreat(index)
        return found

    def _stream_function_holds_query(self) -> bool:
        """Return whether the stream function here stands around a query."""
        self._advance()
        self.take("-", "RESTORE")
        return self.at_query()

    def query(self) -> exp.Expr:
        """Take a whole query."""
        start = self._curr
        if self.at_stream_function():
            return self.stream_function()
        if self._curr.token_type == TokenType.WITH:
            return self._with_query()
        query = self._parse_select(nested=True, parse_subquery_alias=False)
        query = self._parse_query_modifiers(self._parse_set_operations(query))
        if query is None:
            self.fail(
                f"expected a query, found {self.found()}",
                hint=did_you_mean(self.word(), (*STATEMENT_WORDS, *STREAM_WORDS))
                or "Write SELECT ... FROM ..., or ISTREAM(SELECT ... FROM ...).",
            )
        return self._lifted(self.placed(query, start))

    def _with_query(self) -> exp.Expr:
        """Take WITH and the query that it stands before; its names go to that query."""
        start = self._curr
        ctes = self._parse_with()
        query = self.query()
        owner = query.this if isinstance(query, StreamFunction) else query
        if owner.args.get("with_") is not None:
            self.fail("WITH is written twice", hint="Separate its queries by commas.")
        owner.set("with_", ctes)
        return self.placed(query, start)

    def _parse_statement(self) -> exp.Expr:
        """Take the query of a WITH, or the one after it."""
        return self.query()

    def _parse_wrapped_select(self, table: bool = False) -> exp.Expr:  # noqa: FBT001, FBT002
        return self.query()

    def _lifted(self, query: exp.Expr) -> exp.Expr:
        """``SELECT Rstream(a) FROM s`` becomes ``RSTREAM(SELECT a FROM s)``."""
        if not isinstance(query, exp.Select) or len(query.expressions) != 1:
            return query
        function = query.expressions[0]
        if not isinstance(function, StreamFunction) or not isinstance(function.this, StreamItems):
            return query
        items = function.this
        query.set("expressions", items.expressions)
        if items.args.get("distinct"):
            if query.args.get("distinct"):
                self.fail(
                    "DISTINCT is written twice", hint="Leave one of them out.", span=span_of(items)
                )
            query.set("distinct", exp.Distinct())
        return self._around(function, query)

    def _around(self, function: StreamFunction, query: exp.Select) -> StreamFunction:
        lifted = StreamFunction(
            kind=function.args["kind"],
            this=query,
            window=function.args.get("window"),
            restore=function.args.get("restore"),
        )
        lifted.meta.update(query.meta)
        return lifted

    def _parse_hint(self) -> None:
        if self._match(TokenType.HINT):
            self.fail(
                "hints are not part of the language",
                detail="The plan is chosen from the query's meaning alone.",
                hint="Take the hint out.",
                span=self._before(),
            )

    def _parse_lateral(self) -> None:
        """Take nothing; refuse LATERAL by name."""
        if self._curr.token_type == TokenType.LATERAL:
            self.fail(
                "LATERAL is not part of the language",
                detail="The items of FROM do not see one another.",
                hint="Put the condition that ties them together into WHERE or ON.",
            )

    # -- FROM ----------------------------------------------------------------------------------

    def _parse_table(self, *_: object, **__: object) -> exp.Expr:
        """Take a source with its window and alias, in either order; sqlglot's options are moot."""
        start = self._curr
        source = self.placed(self._source(), start)
        window = self.window()
        alias = self._parse_table_alias()
        if alias is not None:
            source.set("alias", alias)
        if self._curr.token_type == TokenType.L_BRACKET and window is not None:
            self.fail(
                "a stream has one window",
                detail="A second one follows here.",
                hint="Window a sub-query: FROM (SELECT ... FROM s [RANGE ...]) AS q [ROWS 10].",
            )
        window = window or self.window()
        if window is None:
            return source
        return self.placed(Windowed(this=source, window=window), start)

    def _source(self) -> exp.Expr:
        """Take a name or a query in brackets."""
        self._parse_lateral()
        opened = self._curr
        if self._match(TokenType.L_PAREN):
            if not self.at_query():
                self.fail(
                    f"expected a query in brackets, found {self.found()}",
                    hint="Joins are written without brackets: FROM a JOIN b ON ... JOIN c ON ...",
                )
            query = self.query()
            self.need_close(TokenType.R_PAREN, opened)
            return exp.Subquery(this=query)
        parts = [self.name("the name of a stream or relation")]
        while self._match(TokenType.DOT):
            parts.append(self.name("a name after the dot"))
        if self._curr.token_type == TokenType.L_PAREN:
            self.fail(
                "table functions are not part of the language",
                detail="FROM reads streams, relations and sub-queries.",
                hint=BARE_WINDOW if self.word(1) in WINDOW_WORDS else "Name a stream or relation.",
                span=self._before(),
            )
        if len(parts) > 3:
            self.fail(
                "a name has at most three parts",
                hint=f"Write {parts[-1].name}.",
                span=self._before(),
            )
        return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))

    def _parse_table_alias(
        self, alias_tokens: Collection[TokenType] | None = None
    ) -> exp.TableAlias | None:
        """Take ``[AS] name [(column, ...)]``."""
        start = self._curr
        if self._match(TokenType.ALIAS):
            alias: exp.Expr | None = self.name("an alias after AS")
        else:
            tokens = alias_tokens or (self.TABLE_ALIAS_TOKENS - CLAUSE_TOKENS)
            alias = self._parse_id_var(any_token=False, tokens=tokens)
        if alias is None:
            return None
        columns = None
        opened = self._curr
        if self._match(TokenType.L_PAREN):
            columns = [self.name("the name of a column")]
            while self._match(TokenType.COMMA):
                columns.append(self.name("the name of a column"))
            self.need_close(TokenType.R_PAREN, opened)
        return self.placed(exp.TableAlias(this=alias, columns=columns), start)

    def _parse_join(
        self,
        skip_join_token: bool = False,  # noqa: FBT001, FBT002
        parse_bracket: bool = False,  # noqa: FBT001, FBT002
        alias_tokens: Collection[TokenType] | None = None,
    ) -> exp.Join | None:
        start, index = self._curr, self._index
        if self._match(TokenType.COMMA):
            return self.placed(exp.Join(this=self._parse_table()), start)
        method, side, kind = (part and part.text.upper() for part in self._parse_join_parts())
        if not self._match(TokenType.JOIN):
            self._retreat(index)
            return None
        join = exp.Join(this=self._parse_table(), method=method, side=side, kind=kind)
        self._join_condition(join)
        return self.placed(join, start)

    def _join_condition(self, join: exp.Join) -> None:
        if self._match(TokenType.ON):
            join.set("on", self._need_expression())
        elif self._match(TokenType.USING):
            opened = self._curr
            self.need("(", "USING lists the columns that both sides share.")
            join.set("using", self._parse_csv(lambda: self.name("a column of USING")))
            self.need_close(TokenType.R_PAREN, opened)
        elif not join.args.get("method") and join.args.get("kind") != "CROSS":
            self.fail(
                f"JOIN without a condition: expected ON, found {self.found()}",
                hint="Write JOIN ... ON a.k = b.k, or CROSS JOIN if every pair is meant.",
            )

    # -- WJOIN's window clause -----------------------------------------------------------------

    def _pair_windows(self) -> exp.Tuple:
        """``WINDOW (A, B) = 5 AND WINDOW (B, C) = 7`` between FROM and WHERE [WJOIN 1]."""
        pairs: list[PairWindow] = []
        while True:
            pair = self.pair_window() if self._curr.token_type == TokenType.WINDOW else None
            if pair is None:
                self.fail(
                    f"expected WINDOW = ... or WINDOW(A, B) = ..., found {self.found()}",
                    detail="Named windows (WINDOW w AS ...) are not part of the language.",
                    hint="Write the window after its stream, in FROM.",
                )
            pairs.append(pair)
            if not self._match(TokenType.AND):
                return exp.Tuple(expressions=pairs)

    def _parse_group(self, skip_group_by_token: bool = False) -> exp.Group | None:  # noqa: FBT001, FBT002
        """Take GROUP BY; ``GROUP BY a, b WITH ROLLUP`` is ``GROUP BY ROLLUP (a, b)``."""
        group = super()._parse_group(skip_group_by_token)
        if group is None:
            return None
        for key in ("rollup", "cube"):
            for around in group.args.pop(key, None) or ():
                around.set("expressions", group.expressions)
                group.set("expressions", [around])
        return group

    def _parse_grouping_set(self) -> exp.Expr | None:
        """Take one of the sets: columns in brackets, also none of them."""
        if self.word() == "(" and self.word(1) == ")":
            self._advance(2)
            return exp.Tuple(expressions=[])
        return (
            self._parse_grouping_sets() or self._parse_cube_or_rollup() or self._parse_disjunction()
        )

    def _parse_cube_or_rollup(self, with_prefix: bool = False) -> exp.Cube | exp.Rollup | None:  # noqa: FBT001, FBT002
        """Take ``ROLLUP (a, b)``, whose items are any expressions, or what follows WITH."""
        word = self.word()
        if word not in ("CUBE", "ROLLUP") or not (with_prefix or self.word(1) == "("):
            return None
        self._advance()
        items = [] if with_prefix else self._parse_wrapped_csv(self._parse_disjunction)
        return exp.Cube(expressions=items) if word == "CUBE" else exp.Rollup(expressions=items)

    def _parse_query_modifiers(self, this: exp.Expr | None) -> exp.Expr | None:  # type: ignore[override]
        query = super()._parse_query_modifiers(this)
        if isinstance(query, exp.Select) and query.args.get(PAIR_WINDOWS) is not None:
            pairs = query.args.pop(PAIR_WINDOWS).expressions
            where = query.args.get("where")
            conjuncts = [*pairs, *(conjuncts_of(where.this) if where is not None else [])]
            query.set("where", exp.Where(this=reduce(conjoin, conjuncts)))
        return query


def conjuncts_of(condition: exp.Expr) -> list[exp.Expr]:
    """Return the operands of a chain of ANDs, in the order written."""
    conjuncts: list[exp.Expr] = []
    while isinstance(condition, exp.And):
        conjuncts.append(condition.expression)
        condition = condition.this
    conjuncts.append(condition)
    return conjuncts[::-1]


def conjoin(left: exp.Expr, right: exp.Expr) -> exp.And:
    """Return ``left AND right``, with brackets around an OR."""
    return exp.And(
        this=exp.Paren(this=left) if isinstance(left, exp.Or) else left,
        expression=exp.Paren(this=right) if isinstance(right, exp.Or) else right,
    )
