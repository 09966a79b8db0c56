"""Each failure of the parser tells the fact, the reason, the next step and the place."""

import re

import pytest
from tests.golden import FOLDER, check_golden

from windrow.core.errors import ParseError
from windrow.language import parse_query, parse_script, parse_statement
from windrow.language.depth import MAX_NESTING
from windrow.language.parse import MAX_LENGTH


def rendered(text: str) -> str:
    with pytest.raises(ParseError) as caught:
        parse_script(text)
    return caught.value.render()


def test_errors_read_as_written_down() -> None:
    check_golden(FOLDER / "language.error", rendered)


@pytest.mark.parametrize("name", ["language.error", "binding.error"])
def test_every_error_written_down_has_a_place_and_a_next_step(name: str) -> None:
    blocks = re.split(r"\n\n(?=\S)", (FOLDER / name).read_text().strip())
    answers = [block.partition("\n----\n")[2] for block in blocks]
    errors = [answer for answer in answers if answer.startswith("error: ")]
    assert len(errors) > 50
    assert [e for e in errors if "^" not in e or "\nhint: " not in e] == []


def test_an_unknown_unit_is_named_and_the_known_ones_listed() -> None:
    with pytest.raises(ParseError) as caught:
        parse_query("SELECT a FROM s [RANGE 5 fortnights]")
    assert caught.value.message == 'unknown time unit "fortnights"'
    assert "MINUTES" in caught.value.hint


def test_the_span_is_that_of_the_whole_script() -> None:
    text = "SHOW STREAMS;\n-- why\nSELECT a FROM s [RANGE 5 fortnights]"
    with pytest.raises(ParseError) as caught:
        parse_script(text)
    span = caught.value.span
    assert span is not None
    assert text[span.start : span.end] == "fortnights"


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000,
        "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
        "SELECT " + "NOT " * 5_000 + "a FROM s",
        "SELECT " + "- " * 5_000 + "1",
        "SELECT " + "CASE WHEN " * 5_000,
        "SELECT " + "f(" * 5_000,
        "SELECT a FROM s WHERE " + "EXISTS (SELECT a FROM s WHERE " * 1_000,
        "ISTREAM(" * 1_000,
        "SELECT " + "a[" * 1_000,
        "CREATE STREAM s (a " + "ARRAY<" * 5_000,
    ],
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parse_script(text)


@pytest.mark.parametrize("call", ["f", "DECIMAL", "DATE", "STRUCT", "ARRAY", "MAP", "IF"])
def test_nested_calls_are_read_once(call: str) -> None:
    depth = MAX_NESTING - 1
    parse_query("SELECT " + f"{call}(" * depth + "1" + ")" * depth)


def test_nesting_up_to_the_limit_parses() -> None:
    depth = MAX_NESTING - 1
    parse_query("SELECT " + "(" * depth + "1" + ")" * depth)
    with pytest.raises(ParseError, match="nested more than"):
        parse_query("SELECT " + "(" * (depth + 2) + "1" + ")" * (depth + 2))


def test_long_chains_of_operators_are_refused() -> None:
    parse_query("SELECT a FROM s WHERE " + " OR ".join(f"a = {i}" for i in range(200)))
    with pytest.raises(ParseError, match="levels deep"):
        parse_query("SELECT a FROM s WHERE " + " OR ".join(f"a = {i}" for i in range(1_000)))
    with pytest.raises(ParseError, match="words and signs"):
        parse_query("SELECT a FROM s WHERE " + " OR ".join(f"a = {i}" for i in range(20_000)))


def test_a_long_list_is_not_deep() -> None:
    parse_query("SELECT a FROM s WHERE a IN (" + ", ".join(map(str, range(5_000))) + ")")


def test_too_long_a_text_is_refused() -> None:
    with pytest.raises(ParseError, match="longer than"):
        parse_script(" " * (MAX_LENGTH + 1))


@pytest.mark.parametrize("text", ["", "  ", "-- nothing", ";;"])
def test_an_empty_script_has_no_statements(text: str) -> None:
    assert parse_script(text) == []
    with pytest.raises(ParseError, match="found nothing"):
        parse_statement(text)


def test_one_statement_is_one() -> None:
    with pytest.raises(ParseError, match="expected one statement, found 2"):
        parse_statement("SHOW STREAMS; SHOW QUERIES")
