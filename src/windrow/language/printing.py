"""Trees and statements back to text.

``parse(print(x)) == x`` for everything that parses, and printing that again changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlglot import exp

from windrow.language import statements
from windrow.language.depth import deep_recursion
from windrow.language.generator import CQL, Cql

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")


def to_sql(node: exp.Expr, *, pretty: bool = False) -> str:
    """Return the canonical text of a tree, in one line or laid out.

    >>> from windrow.language.parse import parse_query
    >>> to_sql(parse_query("select Rstream(*) from S [range 1 min] as s"))
    'RSTREAM(SELECT * FROM S AS s [RANGE 1 MINUTE])'
    """
    with deep_recursion():
        return CQL.generate(node, copy=True, pretty=pretty, comments=False)


def print_script(script: Iterable[statements.Statement], *, pretty: bool = False) -> str:
    """Return the text of a script, one statement after the other."""
    return "".join(f"{print_statement(statement, pretty=pretty)};\n" for statement in script)


def print_statement(statement: statements.Statement, *, pretty: bool = False) -> str:
    """Return the text of a statement, without a semicolon."""
    match statement:
        case statements.CreateStream():
            return " ".join(["CREATE STREAM", *created(statement), *stream_clauses(statement)])
        case statements.CreateRelation():
            kind = "RELATION" if statement.retroactive else "NON RETROACTIVE RELATION"
            return " ".join([f"CREATE {kind}", *created(statement), *clauses(statement)])
        case statements.CreateQuery():
            head = "CREATE OR REPLACE QUERY" if statement.or_replace else "CREATE QUERY"
            guard = "IF NOT EXISTS " if statement.if_not_exists else ""
            query = to_sql(statement.query, pretty=pretty)
            return f"{head} {guard}{name_sql(statement.name)} AS{chr(10) if pretty else ' '}{query}"
        case statements.CreateView():
            head = "CREATE OR REPLACE VIEW" if statement.or_replace else "CREATE VIEW"
            guard = "IF NOT EXISTS " if statement.if_not_exists else ""
            columns = f" ({', '.join(map(name_sql, statement.columns))})" * bool(statement.columns)
            query = to_sql(statement.query, pretty=pretty)
            return f"{head} {guard}{name_sql(statement.name)}{columns} AS {query}"
        case statements.Select():
            return to_sql(statement.query, pretty=pretty)
        case statements.Insert():
            names = f" ({', '.join(map(name_sql, statement.columns))})" * bool(statement.columns)
            rows = (f"({', '.join(map(to_sql, row))})" for row in statement.rows)
            return f"INSERT INTO {name_sql(statement.name)}{names} VALUES {', '.join(rows)}"
        case statements.Drop():
            guard = "IF EXISTS " if statement.if_exists else ""
            return f"DROP {statement.kind} {guard}{name_sql(statement.name)}"
        case statements.Show():
            return f"SHOW {statement.what}"
        case statements.Describe():
            return f"DESCRIBE {name_sql(statement.name)}"
        case statements.Explain():
            return f"EXPLAIN FORMAT {statement.format.upper()} {explained(statement, pretty)}"
        case statements.SetOption():
            return f"SET {dotted_sql(statement.name)} = {value_sql(statement.value)}"


def explained(statement: statements.Explain, pretty: bool) -> str:  # noqa: FBT001
    """Return what an EXPLAIN explains."""
    if statement.query is not None:
        return to_sql(statement.query, pretty=pretty)
    return f"QUERY {name_sql(statement.name or '')}"


def created(statement: statements.CreateStream | statements.CreateRelation) -> list[str]:
    """Return ``[IF NOT EXISTS] name (columns)``."""
    columns = [column_sql(column) for column in statement.columns]
    if isinstance(statement, statements.CreateRelation) and statement.key:
        columns.append(f"PRIMARY KEY ({', '.join(map(name_sql, statement.key))})")
    guard = ["IF NOT EXISTS"] if statement.if_not_exists else []
    return [*guard, name_sql(statement.name), f"({', '.join(columns)})"]


def column_sql(column: statements.ColumnSpec) -> str:
    """Return ``name TYPE [NOT NULL]``."""
    return f"{name_sql(column.name)} {to_sql(column.type)}{'' if column.nullable else ' NOT NULL'}"


def clauses(statement: statements.CreateStream | statements.CreateRelation) -> list[str]:
    """Return USING and OPTIONS, where given."""
    parts = []
    if statement.format is not None:
        parts.append(f"USING {dotted_sql(statement.format)}")
    if statement.options:
        options = (f"{string_sql(name)} {string_sql(text)}" for name, text in statement.options)
        parts.append(f"OPTIONS ({', '.join(options)})")
    return parts


def stream_clauses(statement: statements.CreateStream) -> list[str]:
    """Return the clauses of a stream."""
    parts = clauses(statement)
    if statement.time_column is not None:
        parts.append(f"TIMESTAMP BY {name_sql(statement.time_column)}")
    if statement.slack is not None:
        parts.append(f"SLACK {to_sql(statement.slack)}")
    if statement.max_ahead is not None:
        parts.append(f"MAX AHEAD {to_sql(statement.max_ahead)}")
    return parts


def name_sql(name: str) -> str:
    """Return a name, in backticks if it needs them."""
    if PLAIN_NAME.match(name) and name.upper() not in Cql.Tokenizer.KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def dotted_sql(name: str) -> str:
    """Return a name with dots, each part as it needs."""
    return ".".join(map(name_sql, name.split(".")))


def string_sql(text: str) -> str:
    """Return a string literal."""
    return to_sql(exp.Literal.string(text))


def value_sql(value: statements.OptionValue) -> str:
    """Return the value of a setting."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return string_sql(value) if isinstance(value, str) else repr(value)
