"""Random queries as text, about what the other generator does not write.

Every operator with its negation, both forms of CASE, brackets left out where precedence allows,
set operations in each other, sub-queries whose aliases repeat those around them, bare and
qualified names, ORDER BY with LIMIT. All streams are ``[UNBOUNDED]``; all columns are whole
numbers called c1, c2, ..., so that queries stand in one another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

INTEGERS = (
    "{i} + {i}",
    "{i} - {i} * 2",
    "-({i})",
    "{i} DIV {i}",
    "{i} % {i}",
    "CASE WHEN {b} THEN {i} END",
    "CASE {i} WHEN {i} THEN {i} ELSE {i} END",
    "COALESCE({i}, {i})",
    "NULLIF({i}, {i})",
    "CAST({i} AS INT)",
    "TRY_CAST(CAST({i} AS STRING) AS BIGINT)",
    "LENGTH(CAST({i} AS STRING))",
)

CONDITIONS = (
    "{i} = {i}",
    "{i} <> {i}",
    "{i} <= {i}",
    "{i} <=> {i}",
    "{i} IS DISTINCT FROM {i}",
    "{i} IS NOT DISTINCT FROM {i}",
    "{i} IS NULL",
    "{i} IS NOT NULL",
    "({b}) IS TRUE",
    "({b}) IS NOT TRUE",
    "({b}) IS NOT FALSE",
    "{i} IN ({i}, 1)",
    "{i} NOT IN ({i}, 2)",
    "{i} BETWEEN {i} AND 2",
    "{i} NOT BETWEEN 1 AND {i}",
    "CAST({i} AS STRING) LIKE '1%'",
    "CAST({i} AS STRING) NOT LIKE '_'",
    "CAST({i} AS STRING) ILIKE '%3'",
    "CAST({i} AS STRING) NOT ILIKE '%3'",
    "CAST({i} AS STRING) RLIKE '[13]'",
    "CAST({i} AS STRING) NOT RLIKE '^-'",
    "NOT {b}",
    "{b} AND {b}",
    "{b} OR {b}",
    "({b} OR {b})",
)

AGGREGATES = (
    "COUNT(*)",
    "COUNT({i})",
    "COUNT(DISTINCT {i})",
    "SUM({i})",
    "MIN({i})",
    "MAX({i})",
    "COUNT(*) FILTER (WHERE {b})",
    "SUM(DISTINCT {i}) FILTER (WHERE {b})",
)

CONSTANTS = ("1", "0", "2", "CAST(NULL AS BIGINT)")
SET_WORDS = ("UNION ALL", "UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL")
STREAMS = ("a", "b", "c")
ALIASES = ("a", "b", "q")
ENDINGS = ("", " DESC", " NULLS LAST", " DESC NULLS FIRST")
PLACE = re.compile(r"\{(\w)\}")

Columns = tuple[str, ...]
Source = tuple[str, str, Columns]
"""An item of FROM: its text, its alias and the names of its columns."""


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Draw a query's text; the first choice of each is the simplest."""
    writer = Writer(lambda n: draw(st.integers(0, n - 1)))
    return writer.query(1 + writer.below(2), depth=2)


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes queries by choices below a number."""

    below: Callable[[int], int]

    def pick(self, options: Sequence[str]) -> str:
        return options[self.below(len(options))]

    def chance(self, tenths: int) -> bool:
        return self.below(10) >= 10 - tenths

    # -------------------------------------------------------------- expressions

    def filled(self, form: str, columns: Columns, depth: int) -> str:
        """Write what stands in a form's places."""
        write = {"i": self.integer, "b": self.condition}
        return PLACE.sub(lambda place: write[place[1]](columns, depth - 1), form)

    def integer(self, columns: Columns, depth: int = 1) -> str:
        if depth <= 0 or self.chance(6):
            return self.pick(columns) if self.chance(8) else self.pick(CONSTANTS)
        return f"({self.filled(self.pick(INTEGERS), columns, depth)})"

    def condition(self, columns: Columns, depth: int = 1) -> str:
        forms = CONDITIONS if depth > 0 else [c for c in CONDITIONS if "{b}" not in c]
        return self.filled(self.pick(forms), columns, depth)

    # -------------------------------------------------------------- queries

    def query(self, width: int, depth: int) -> str:
        """Write a query of `width` columns."""
        kind = self.below(10)
        if depth > 0 and kind >= 7:
            return self.set_operation(width, depth)
        if depth > 0 and kind == 6:
            named = self.query(2, depth - 1)
            rest = self.block(width, depth - 1, [("w", "w", ("c1", "c2"))])
            return f"WITH w AS ({named}) {rest}"
        return self.block(width, depth)

    def set_operation(self, width: int, depth: int) -> str:
        """Write two or three arms, some in brackets, cut as a whole or not."""
        arms = [self.arm(width, depth - 1) for _ in range(2 + self.below(2))]
        text = arms[0]
        for arm in arms[1:]:
            text += f" {self.pick(SET_WORDS)} {arm}"
        return text + self.cut(width)

    def arm(self, width: int, depth: int) -> str:
        if self.chance(4):
            return f"({self.query(width, depth)})"
        return self.block(width, depth, cuttable=False)

    def block(
        self, width: int, depth: int, named: Sequence[Source] = (), *, cuttable: bool = True
    ) -> str:
        """Write a SELECT; `named` are sources that it has to read."""
        sources, columns = self.sources(depth, named)
        terms = [self.condition(columns)] if self.chance(5) else []
        if depth > 0 and self.chance(4):
            terms.append(self.predicate(columns, depth - 1))
        where = f" WHERE {' AND '.join(f'({term})' for term in terms)}" if terms else ""
        items, tail = (self.grouped if self.chance(3) else self.plain)(width, columns)
        distinct = "DISTINCT " if self.chance(2) else ""
        cut = self.cut(width) if cuttable else ""
        return f"SELECT {distinct}{items} FROM {sources}{where}{tail}{cut}"

    def sources(self, depth: int, named: Sequence[Source]) -> tuple[str, Columns]:
        """Write FROM; the columns of a single source may be written bare."""
        sources = list(named)
        if not sources:
            aliases = (ALIASES[0], ALIASES[1 + self.below(2)])[-1 - self.chance(4) :]
            sources = [self.source(alias, depth) for alias in aliases]
        bare = len(sources) == 1 and self.chance(5)
        columns = (n if bare else f"{alias}.{n}" for _, alias, names in sources for n in names)
        return ", ".join(text for text, _, _ in sources), tuple(columns)

    def source(self, alias: str, depth: int) -> Source:
        if depth > 0 and self.chance(2):
            return f"({self.query(2, depth - 1)}) AS {alias}", alias, ("c1", "c2")
        stream = self.pick(STREAMS)
        return f"{stream} AS {alias} [UNBOUNDED]", alias, ("k", "v", "id")

    def plain(self, width: int, columns: Columns) -> tuple[str, str]:
        items = (f"{self.integer(columns)} AS c{n}" for n in range(1, width + 1))
        return ", ".join(items), ""

    def grouped(self, width: int, columns: Columns) -> tuple[str, str]:
        """Write a key, by name or position, then aggregates; or aggregates alone."""
        calls = [self.filled(self.pick(AGGREGATES), columns, 1) for _ in range(width)]
        if self.chance(7):
            key = self.pick(columns)
            calls[0] = key if self.chance(5) else f"{key} + 1"
            tail = f" GROUP BY {self.pick((key, '1')) if calls[0] == key else key}"
        else:
            tail = ""
        if self.chance(4):
            call = self.filled(self.pick(AGGREGATES), columns, 1)
            tail += f" HAVING {self.pick(('', 'NOT '))}{call} > {self.pick(('1', '0'))}"
        return ", ".join(f"{call} AS c{n}" for n, call in enumerate(calls, 1)), tail

    def cut(self, width: int) -> str:
        """Write ORDER BY of outputs, LIMIT and OFFSET, or nothing."""
        if not self.chance(3):
            return ""
        keys = [f"{self.pick((f'c{n}', str(n)))}{self.pick(ENDINGS)}" for n in range(1, width + 1)]
        order = f" ORDER BY {', '.join(keys[::-1])}" if self.chance(7) else ""
        limit = f" LIMIT {self.pick(('3', '1', '0'))}" if self.chance(7) else ""
        offset = f" OFFSET {self.pick(('1', '2'))}" if self.chance(3) else ""
        return f"{order}{limit}{offset}"

    def predicate(self, columns: Columns, depth: int) -> str:
        """Write [NOT] EXISTS or [NOT] IN; a correlated one reads the columns around it."""
        kind = self.pick(("EXISTS", "NOT EXISTS", "IN", "NOT IN"))
        if kind == "NOT IN" or self.chance(3):
            inner = self.query(1, depth)
        else:
            inner = self.correlated(columns)
        if inner.startswith("("):  # which the language takes for a value after IN
            inner = f"SELECT c1 FROM ({inner}) AS q"
        if kind.endswith("EXISTS"):
            return f"{kind} ({inner})"
        return f"{self.integer(columns)} {kind} ({inner})"

    def correlated(self, columns: Columns) -> str:
        """Write a SELECT under an alias that may hide one around it, and a term of both."""
        alias = self.pick((*ALIASES, "i"))
        text, _, names = self.source(alias, 0)
        own = names if self.chance(5) else tuple(f"{alias}.{name}" for name in names)
        around = tuple(c for c in columns if c not in names and not c.startswith(f"{alias}."))
        return f"SELECT {own[0]} FROM {text} WHERE {self.condition((*own, *around))}"
