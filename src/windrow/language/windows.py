"""Windows and durations: ``[RANGE 5 MINUTES SLIDE 10 SECONDS]``, ``WINDOW(A, B) = 30 SECONDS``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from windrow.core.errors import Span
from windrow.language.cursor import Cursor
from windrow.language.spans import did_you_mean, mark
from windrow.language.syntax import UNIT_OF, UNITS, Duration, PairWindow, StreamWindow

WINDOW_WORDS = ("RANGE", "ROWS", "PARTITION BY", "NOW", "UNBOUNDED", "SINCE", "TUMBLE", "WINDOW")
WINDOW_FORMS = (
    "Windows are [RANGE 5 MINUTES], [ROWS 100], [PARTITION BY k ROWS 10], [NOW], [UNBOUNDED], "
    "[SINCE '2026-01-01'] and [TUMBLE 1 HOUR]."
)
BARE_WINDOW = "A window stands in square brackets: FROM s [RANGE 5 MINUTES]."
UNITS_HINT = "Units are " + ", ".join(f"{unit}S" for unit in UNITS) + ", and min, sec, ms, us, hr."
AFTER_DURATION = ("SLIDE", "INTERNAL", "SLACK", "MAX", "OPTIONS")
"""Words that follow a duration and are no units."""
CALENDAR_UNITS = ("MONTH", "MONTHS", "QUARTER", "QUARTERS", "YEAR", "YEARS")
"""Units without a fixed length: refused by name."""
NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)\Z")
INTERVAL_TEXT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)\s*\Z")


class WindowParser(Cursor):
    """Reads what CQL puts in brackets, and pair windows."""

    def window(self) -> StreamWindow | None:
        """Take ``[...]``, if a bracket opens here."""
        if not self._match(TokenType.L_BRACKET):
            return None
        opened = self._prev
        window = self._window_body()
        if self._curr and self._curr.token_type != TokenType.R_BRACKET:
            self._refuse_option(window.args["kind"])
        self.need_close(TokenType.R_BRACKET, opened)
        return self.placed(window, opened)

    def _refuse_option(self, kind: str) -> NoReturn:
        """Fail because what follows a window's size is no option of it."""
        sized = kind in ("range", "rows", "partition")
        options = ("SLIDE", "INTERNAL") if sized else ("INTERNAL",)
        if sized:
            detail = "SLIDE and INTERNAL can follow, without commas."
        else:
            detail = f"Only INTERNAL can follow in a window of the kind {kind.upper()}."
        self.fail(
            f'expected "]", found {self.found()}',
            detail=detail,
            hint=did_you_mean(self.word(), options)
            or "For example [RANGE 5 MINUTES SLIDE 1 MINUTE].",
        )

    def misplaced_window(self) -> NoReturn:
        """Fail because a window stands where none can."""
        self.fail(
            "a window cannot stand here",
            detail="A window follows a stream or a sub-query in FROM, or WSTREAM(...).",
            hint="Write FROM s [RANGE 5 MINUTES] AS x or FROM s AS x [RANGE 5 MINUTES].",
        )

    def _window_body(self) -> StreamWindow:
        word = self.word()
        read = WINDOW_READERS.get(word)
        if read is None:
            self.fail(
                f"{self.found()} is not a window",
                detail=WINDOW_FORMS,
                hint=did_you_mean(word, WINDOW_WORDS) or "Write [RANGE ...] for a length of time.",
            )
        self._advance()
        return read(self)

    def _range(self) -> StreamWindow:
        if self.take("UNBOUNDED"):
            return self._maybe_internal(StreamWindow(kind="unbounded"))
        return self._with_options("range", self.duration("a window"), self.duration)

    def _paper_window(self) -> StreamWindow:
        """``[WINDOW 1 HOUR]`` is RANGE, ``[WINDOW UNTIL NOW]`` is UNBOUNDED [AGGJOIN 1]."""
        if self.take("UNTIL", "NOW"):
            return self._maybe_internal(StreamWindow(kind="unbounded"))
        return self._range()

    def _maybe_internal(self, window: StreamWindow) -> StreamWindow:
        """Read INTERNAL behind a window that has no SLIDE."""
        if self.take("INTERNAL"):
            window.args["internal"] = True
        return window

    def _rows(self) -> StreamWindow:
        return self._with_options("rows", self.count("ROWS"), self.count)

    def _partition(self) -> StreamWindow:
        keys = [self._key()]
        while self._match(TokenType.COMMA):
            keys.append(self._key())
        self.need("ROWS", "A partitioned window keeps the last n rows of each key.")
        window = self._with_options("partition", self.count("ROWS"), self.count)
        window.set("keys", keys)
        return window

    def _key(self) -> exp.Column:
        start = self._curr
        parts = [self.name("a column of PARTITION BY")]
        while self._match(TokenType.DOT):
            parts.append(self.name("a column name after the dot"))
        if len(parts) > 2:
            self.fail(
                "a key of PARTITION BY is a column, or a stream's name, a dot and a column",
                hint=f"Write {parts[-1].name}.",
                span=Span(start.start, self._prev.end + 1),
            )
        column = exp.Column(this=parts[-1], table=parts[0] if len(parts) == 2 else None)
        return self.placed(column, start)

    def _since(self) -> StreamWindow:
        start = self._curr
        forms = "Write [SINCE '2026-01-01 00:00:00'], or an integer on an integer clock."
        sign = "-" if not self.take("TIMESTAMP") and self._match(TokenType.DASH) else ""
        is_string = not sign and bool(self._match(TokenType.STRING))
        if not is_string and not self._match(TokenType.NUMBER):
            self.fail(f"expected an instant, found {self.found()}", hint=forms)
        text = self._prev.text
        if not is_string and not text.isdecimal():
            self.fail(
                f'an instant is a timestamp or an integer, not "{text}"',
                hint=forms,
                span=self._before(),
            )
        instant = self.placed(exp.Literal(this=f"{sign}{text}", is_string=is_string), start)
        return self._maybe_internal(StreamWindow(kind="since", size=instant))

    def _tumble(self) -> StreamWindow:
        return self._maybe_internal(StreamWindow(kind="tumble", size=self.duration("TUMBLE")))

    def _with_options(
        self, kind: str, size: exp.Expr, slide_reader: Callable[[str], exp.Expr]
    ) -> StreamWindow:
        """Read SLIDE and INTERNAL, in any order, each at most once."""
        window = StreamWindow(kind=kind, size=size)
        while True:
            if self.at("SLIDE") and window.args.get("slide") is None:
                self._advance()
                window.set("slide", slide_reader("SLIDE"))
            elif self.at("INTERNAL") and not window.args.get("internal"):
                self._advance()
                window.args["internal"] = True
            else:
                return window

    # -- numbers and units ---------------------------------------------------------------------

    def count(self, what: str) -> exp.Literal:
        """Take a whole number of rows."""
        if not self._match(TokenType.NUMBER):
            self.fail(
                f"expected a number of rows after {what}, found {self.found()}",
                hint=f"For example {what} 100.",
            )
        token = self._prev
        if not token.text.isdecimal():
            self.fail(
                f'{what} counts rows: "{token.text}" is not a whole number',
                hint=f"For example {what} 100.",
                span=self._before(),
            )
        unit = self.word()
        if unit in UNIT_OF:
            self.fail(
                f"{what} counts rows, it has no time unit",
                hint=f"Write [RANGE {token.text} {UNIT_OF[unit]}S] for a window of time.",
            )
        return self.placed(exp.Literal(this=token.text, is_string=False), token)

    def duration(self, what: str) -> Duration:
        """Take a number with its unit, a bare number, or an INTERVAL."""
        start = self._curr
        if self.take("INTERVAL") and self._match(TokenType.STRING):
            return self._interval_text(start)
        number = self._number(what)
        return self.placed(Duration(this=number, unit=self._unit()), start)

    def _number(self, what: str) -> exp.Literal:
        start = self._curr
        leading_dot = self._match(TokenType.DOT)
        if not self._match(TokenType.NUMBER):
            self.fail(
                f"expected a length of time for {what}, found {self.found()}",
                hint="Write a number and a unit, for example 5 MINUTES.",
            )
        text = f"0.{self._prev.text}" if leading_dot else self._prev.text
        if not NUMBER.match(text):
            self.fail(
                f'"{text}" is not a plain number',
                hint="Write digits, with a decimal point if need be: 0.5 SECONDS.",
                span=self._before(),
            )
        return self.placed(exp.Literal(this=text, is_string=False), start)

    def _unit(self) -> str | None:
        """Take a unit of time, if a word that can be one stands here."""
        glued = self._match(TokenType.DCOLON)  # the tokenizer splits 10s, a SMALLINT in Spark
        word = self.word()
        may_be_unit = self._curr.token_type == TokenType.VAR and word not in AFTER_DURATION
        if not (glued or may_be_unit or word in UNIT_OF or word in CALENDAR_UNITS):
            return None
        self._advance()
        return self._unit_named(word, self._before())

    def _unit_named(self, word: str, span: Span) -> str:
        unit = UNIT_OF.get(word.upper())
        if unit is None:
            written = self.sql[span.start : span.end]
            near = did_you_mean(word, (*UNIT_OF, *AFTER_DURATION))
            varies = word.upper() in CALENDAR_UNITS
            self.fail(
                f'"{written}" has no fixed length' if varies else f'unknown time unit "{written}"',
                detail="A window is as long at one time as at another." if varies else "",
                hint=f"{near} {UNITS_HINT}".strip(),
                span=span,
            )
        return unit

    def _interval_text(self, start: Token) -> Duration:
        """``INTERVAL '5' MINUTE`` or ``INTERVAL '5 minutes'``."""
        string = self._prev
        match = INTERVAL_TEXT.match(string.text)
        if match is None:
            self.fail(
                f'"{string.text}" is not a length of time',
                hint="Write one number and one unit, for example INTERVAL '5' MINUTE.",
                span=self._before(),
            )
        number, inner = match[1], match[2]
        unit = self._unit_named(inner, self._before()) if inner else self._unit()
        literal = exp.Literal.number(f"0{number}" if number.startswith(".") else number)
        mark(literal, string.start, string.end + 1)
        return self.placed(Duration(this=literal, unit=unit), start)

    def _before(self) -> Span:
        return Span(self._prev.start, self._prev.end + 1)

    # -- pair windows --------------------------------------------------------------------------

    def pair_window(self) -> PairWindow | None:
        """Take ``WINDOW(A, B) = t`` or ``WINDOW = t``, or nothing if that is not what it is."""
        start, index = self._curr, self._index
        kind = start.text.lower()
        self._advance()
        streams = self._pair_streams()
        if streams is None or not self._match(TokenType.EQ):
            self._retreat(index)
            return None
        size = self.duration(kind.upper())
        return self.placed(PairWindow(kind=kind, streams=streams, size=size), start)

    def _pair_streams(self) -> list[exp.Identifier] | None:
        """Take ``(A, B)``; an empty list if no bracket opens here, None if it is something else."""
        if not self._match(TokenType.L_PAREN):
            return []
        streams: list[exp.Identifier] = []
        while True:
            stream = self._parse_id_var(any_token=False)
            if not isinstance(stream, exp.Identifier):
                return None
            streams.append(stream)
            if not self._match(TokenType.COMMA):
                break
        return streams if self._match(TokenType.R_PAREN) else None


WINDOW_READERS: dict[str, Callable[[WindowParser], StreamWindow]] = {
    "RANGE": WindowParser._range,
    "ROWS": WindowParser._rows,
    "PARTITION BY": WindowParser._partition,
    "NOW": lambda parser: parser._maybe_internal(StreamWindow(kind="now")),
    "UNBOUNDED": lambda parser: parser._maybe_internal(StreamWindow(kind="unbounded")),
    "SINCE": WindowParser._since,
    "TUMBLE": WindowParser._tumble,
    "WINDOW": WindowParser._paper_window,
}
