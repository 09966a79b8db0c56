"""CQL as a dialect of sqlglot: Spark's SQL with our tokens, our parser and our generator."""

from __future__ import annotations

from typing import ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import TokenType

from windrow.language.generator import CqlGenerator
from windrow.language.queries import QueryParser


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
