"""CQL: text to syntax trees with spans, and back to text."""

from windrow.language.parse import parse_query, parse_script, parse_statement
from windrow.language.printing import print_script, print_statement, to_sql
from windrow.language.spans import span_of

__all__ = [
    "parse_query",
    "parse_script",
    "parse_statement",
    "print_script",
    "print_statement",
    "span_of",
    "to_sql",
]
