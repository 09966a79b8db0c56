"""CQL as a dialect of sqlglot: Spark's SQL with our tokens, our parser and our generator.

The generator writes trees back to text, canonically: one spelling for each tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generator import Generator
from sqlglot.generators.spark import SparkGenerator
from sqlglot.tokenizer_core import TokenType

from windrow.language.queries import QueryParser
from windrow.language.syntax import Duration, PairWindow, StreamFunction, StreamWindow, Windowed


class CqlGenerator(SparkGenerator):
    """Spark's types and quotes, standard operators, CQL's own nodes.

    Spark's rewritings (``a || b`` as CONCAT, and so on) are left out: what is printed must parse
    to the same tree.
    """

    TRANSFORMS: ClassVar[dict[type[exp.Expr], Callable[..., str]]] = {
        **Generator.TRANSFORMS,
        Duration: lambda self, node: self.duration_sql(node),
        StreamWindow: lambda self, node: self.streamwindow_sql(node),
        Windowed: lambda self, node: f"{self.sql(node, 'this')} {self.sql(node, 'window')}",
        StreamFunction: lambda self, node: self.streamfunction_sql(node),
        PairWindow: lambda self, node: self.pairwindow_sql(node),
        exp.Trim: lambda self, node: self.trim_sql(node),
        exp.IntDiv: lambda self, node: self.binary(node, "DIV"),
        exp.RegexpLike: lambda self, node: self.binary(node, "RLIKE"),
    }

    EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar[set[type[exp.Expr]]] = set()
    """A WITH inside a sub-query stays there: hoisting it would change what it can read."""

    def literal_sql(self, expression: exp.Literal) -> str:
        r"""Print NUL as ``\u0000``: Spark's ``\0`` would swallow digits that follow it."""
        if not expression.is_string:
            return str(expression.this)
        return "'" + "\\u0000".join(map(self.escape_str, expression.this.split("\0"))) + "'"

    def duration_sql(self, node: Duration) -> str:
        """``5 MINUTES``, ``1 MINUTE`` or ``5``."""
        number, unit = self.sql(node, "this"), node.args.get("unit")
        if unit is None:
            return number
        return f"{number} {unit}" if number == "1" else f"{number} {unit}S"

    def streamwindow_sql(self, node: StreamWindow) -> str:
        """``[RANGE 5 MINUTES SLIDE 10 SECONDS INTERNAL]``."""
        kind = node.args["kind"]
        words = [kind.upper()]
        if kind == "partition":
            keys = ", ".join(self.sql(key) for key in node.args["keys"])
            words = [f"PARTITION BY {keys} ROWS"]
        for name, keyword in (("size", ""), ("slide", "SLIDE ")):
            if node.args.get(name) is not None:
                words.append(f"{keyword}{self.sql(node, name)}")
        if node.args.get("internal"):
            words.append("INTERNAL")
        return f"[{' '.join(words)}]"

    def streamfunction_sql(self, node: StreamFunction) -> str:
        """``WSTREAM(SELECT ...)[ROWS 10]``, ``ISTREAM(SELECT ...) RESTORE``."""
        inside = self.sql(node, "this")
        if self.pretty and isinstance(node.this, exp.Query):
            inside = f"\n{self.indent(inside)}\n"
        restore = " RESTORE" if node.args.get("restore") else ""
        return f"{node.args['kind'].upper()}({inside}){self.sql(node, 'window')}{restore}"

    def trim_sql(self, node: exp.Trim) -> str:
        """``TRIM(BOTH 'a' FROM x)``; a bare ``TRIM(x)`` is a call, not this node."""
        words = [node.args.get("position"), self.sql(node, "expression"), "FROM"]
        return f"TRIM({' '.join(word for word in words if word)} {self.sql(node, 'this')})"

    def pairwindow_sql(self, node: PairWindow) -> str:
        """``WINDOW(A, B) = 30 SECONDS``."""
        streams = ", ".join(self.sql(stream) for stream in node.args.get("streams") or [])
        between = f"({streams})" if streams else ""
        return f"{node.args['kind'].upper()}{between} = {self.sql(node, 'size')}"


class Cql(Spark):
    """The dialect; ``tree.sql("spark")`` of a tree without CQL's own nodes is Spark SQL."""

    IDENTIFIERS_CAN_START_WITH_DIGIT = False  # so that 5min is a number and a unit

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens, the papers' quotes, and DWINDOW beside WINDOW.

        Double quotes stand around names, as in standard SQL: a misspelt name is not a text.
        """

        QUOTES: ClassVar = ["'", ("“", "”"), ("‘", "’")]
        IDENTIFIERS: ClassVar = ["`", '"']
        SINGLE_TOKENS: ClassVar = {
            **Spark.Tokenizer.SINGLE_TOKENS,
            **dict.fromkeys("“”‘’", Spark.Tokenizer.SINGLE_TOKENS["'"]),
        }
        COMMANDS: ClassVar[set[TokenType]] = set()
        STRING_ESCAPES: ClassVar = ["\\", "'"]
        KEYWORDS: ClassVar = {
            **{word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if word != "|>"},
            "DWINDOW": TokenType.WINDOW,
        }

    Parser = QueryParser
    Generator = CqlGenerator


CQL = Cql()
"""The one instance that parsing and printing share; it holds no state of a text."""
