"""What parses prints, and parses again to the same tree."""

import pytest
from tests.fuzz.corpus import CORPUS

from windrow.language import parse_query, parse_script, print_script, to_sql


@pytest.mark.parametrize("pretty", [False, True])
@pytest.mark.parametrize("text", CORPUS)
def test_printing_loses_nothing(text: str, pretty: bool) -> None:
    statements = parse_script(text)
    printed = print_script(statements, pretty=pretty)
    assert parse_script(printed) == statements
    assert print_script(parse_script(printed), pretty=pretty) == printed


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("select a from s where not a in (1)", "SELECT a FROM s WHERE NOT a IN (1)"),
        ("SELECT a NOT IN (1) = b", "SELECT (NOT a IN (1)) = b"),
        ("SELECT a DIV 2, 5L, a::INT", "SELECT a DIV 2, CAST(5 AS BIGINT), CAST(a AS INT)"),
        ("SELECT interval '5 minutes'", "SELECT INTERVAL '5' MINUTE"),
        ("SELECT substring(a from 1 for 2)", "SELECT SUBSTRING(a, 1, 2)"),
        ("SELECT trim(both 'x' from a)", "SELECT TRIM(BOTH 'x' FROM a)"),
        ("SELECT position('x' in a)", "SELECT POSITION('x', a)"),
        ("SELECT current_timestamp", "SELECT CURRENT_TIMESTAMP()"),
        ("SELECT '\\0' || '1', '\\\\0'", "SELECT '\\u0000' || '1', '\\\\0'"),
        ("SELECT a /* why */ FROM s -- because", "SELECT a FROM s"),
        ("SELECT a FROM s, t JOIN u USING (a)", "SELECT a FROM s, t JOIN u USING (a)"),
        ("SELECT a FROM s MINUS SELECT b FROM t", "SELECT a FROM s EXCEPT SELECT b FROM t"),
    ],
)
def test_canonical_spellings(written: str, printed: str) -> None:
    assert to_sql(parse_query(written)) == printed
