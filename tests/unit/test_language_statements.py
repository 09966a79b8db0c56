"""Statements: what each clause becomes, and that printing loses nothing."""

import re

import pytest
from sqlglot import exp

from windrow.language import parse_script, parse_statement, print_script, print_statement, to_sql
from windrow.language.statements import (
    CreateQuery,
    CreateRelation,
    CreateStream,
    Drop,
    Explain,
    OptionValue,
    Select,
    SetOption,
    Show,
)

SCRIPT = """
CREATE STREAM link1 (ts TIMESTAMP, src STRING, dst STRING, proto STRING, bytes BIGINT)
  USING parquet OPTIONS (path 'data/link1') TIMESTAMP BY ts SLACK 2 SECONDS;
CREATE RELATION hosts (src STRING, owner STRING) USING csv OPTIONS (path 'hosts.csv');
CREATE NON RETROACTIVE RELATION symbols (sym STRING PRIMARY KEY, name STRING NOT NULL);
/* sources on link 1 that
   link 2 does not see */
CREATE QUERY quiet AS
  SELECT DISTINCT l.src FROM link1 AS l [RANGE 5 MINUTES]
  WHERE NOT EXISTS (SELECT * FROM link2 [RANGE 5 MINUTES] WHERE link2.src = l.src);
CREATE OR REPLACE QUERY IF NOT EXISTS `odd name` AS ISTREAM(SELECT 1) RESTORE;
DROP QUERY IF EXISTS quiet; SHOW STREAMS; -- end of line
EXPLAIN FORMAT json quiet; EXPLAIN DOT SELECT a FROM s;
SET early_aggregation = {A,B}; SET a.b = 'it''s; fine'; SET n = -3.5; SELECT 1;
"""


def test_a_stream_has_columns_format_options_time_and_slack() -> None:
    stream = parse_script(SCRIPT)[0]
    assert isinstance(stream, CreateStream)
    assert stream.name == "link1"
    assert [column.name for column in stream.columns] == ["ts", "src", "dst", "proto", "bytes"]
    assert stream.columns[4].type == exp.DType.BIGINT.into_expr()
    assert (stream.format, stream.options) == ("parquet", (("path", "data/link1"),))
    assert stream.time_column == "ts"
    assert stream.slack is not None
    assert to_sql(stream.slack) == "2 SECONDS"


def test_clauses_stand_in_any_order() -> None:
    first = parse_statement(
        "CREATE STREAM s (a INT) USING csv OPTIONS (p 1) TIMESTAMP BY a SLACK 2"
    )
    second = parse_statement(
        "CREATE STREAM s (a INT) SLACK 2 TIMESTAMP BY a OPTIONS (p 1) USING csv"
    )
    assert first == second


@pytest.mark.parametrize(
    ("text", "retroactive", "key"),
    [
        ("CREATE RELATION r (a INT, b INT)", True, ()),
        ("CREATE RELATION r (a INT, b INT, PRIMARY KEY (a, b))", True, ("a", "b")),
        ("CREATE NRR r (a INT PRIMARY KEY)", False, ("a",)),
        ("CREATE NON RETROACTIVE RELATION IF NOT EXISTS r (a INT)", False, ()),
    ],
)
def test_relations_are_retroactive_or_not(
    text: str, retroactive: bool, key: tuple[str, ...]
) -> None:
    relation = parse_statement(text)
    assert isinstance(relation, CreateRelation)
    assert relation.retroactive is retroactive
    assert relation.key == key


def test_columns_may_be_null_unless_said_otherwise() -> None:
    relation = parse_script(SCRIPT)[2]
    assert isinstance(relation, CreateRelation)
    assert [column.nullable for column in relation.columns] == [False, False]
    stream = parse_statement("CREATE STREAM s (a INT NULL, b INT)")
    assert isinstance(stream, CreateStream)
    assert [column.nullable for column in stream.columns] == [True, True]


@pytest.mark.parametrize(
    "written",
    [
        "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)",
        "STRING", "VARCHAR(3)", "CHAR(3)", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ",
        "ARRAY<INT>", "MAP<STRING, ARRAY<DOUBLE>>", "STRUCT<a: INT, b: STRING>",
    ],
)  # fmt: skip
def test_types_print_as_written(written: str) -> None:
    text = f"CREATE STREAM s (a {written})"
    assert print_statement(parse_statement(text)) == text


@pytest.mark.parametrize("written", ["CHAR", "VARCHAR", "ARRAY<CHAR>", "MAP<VARCHAR, CHAR>"])
def test_text_without_a_length_is_string(written: str) -> None:
    text = f"CREATE STREAM s (a {re.sub('VARCHAR|CHAR', 'STRING', written)})"
    assert parse_statement(f"CREATE STREAM s (a {written})") == parse_statement(text)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1", 1), ("-2", -2), ("0.5", 0.5), ("1e3", 1000.0), ("TRUE", True), ("false", False),
        ("upa", "upa"), ("'two words'", "two words"), ("{A, B}", "{A, B}"), ("{}", "{}"),
    ],
)  # fmt: skip
def test_settings_have_values_of_five_kinds(written: str, value: OptionValue) -> None:
    statement = parse_statement(f"SET x.y = {written}")
    assert isinstance(statement, SetOption)
    assert statement.name == "x.y"
    assert statement.value == value
    assert type(statement.value) is type(value)


@pytest.mark.parametrize(
    ("text", "style", "name"),
    [
        ("EXPLAIN q", "text", "q"),
        ("EXPLAIN QUERY q", "text", "q"),
        ("EXPLAIN QUERY `a b`", "text", "a b"),
        ("EXPLAIN json", "text", "json"),
        ("EXPLAIN json q", "json", "q"),
        ("EXPLAIN FORMAT = dot q", "dot", "q"),
        ("EXPLAIN (FORMAT mermaid) q", "mermaid", "q"),
        ("EXPLAIN FORMAT text SELECT 1", "text", None),
        ("EXPLAIN (SELECT 1) UNION (SELECT 2)", "text", None),
    ],
)
def test_explain_takes_a_format_and_a_query_or_its_name(
    text: str, style: str, name: str | None
) -> None:
    statement = parse_statement(text)
    assert isinstance(statement, Explain)
    assert (statement.format, statement.name) == (style, name)
    assert (statement.query is None) == (name is not None)


def test_the_others() -> None:
    statements = parse_script(SCRIPT)
    assert isinstance(statements[4], CreateQuery)
    assert statements[4].or_replace
    assert isinstance(statements[5], Drop)
    assert (statements[5].kind, statements[5].name, statements[5].if_exists) == (
        "QUERY",
        "quiet",
        True,
    )
    assert isinstance(statements[6], Show)
    assert statements[6].what == "STREAMS"
    assert isinstance(statements[-1], Select)


@pytest.mark.parametrize("pretty", [False, True])
def test_a_printed_script_parses_to_the_same_statements(pretty: bool) -> None:
    statements = parse_script(SCRIPT)
    printed = print_script(statements, pretty=pretty)
    assert parse_script(printed) == statements
    assert print_script(parse_script(printed), pretty=pretty) == printed
