"""Statements other than queries: CREATE, DROP, SHOW, DESCRIBE, EXPLAIN, SET."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, get_args

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from windrow.core.errors import Span
from windrow.language import spans, statements
from windrow.language.grammar import check
from windrow.language.queries import QueryParser
from windrow.language.syntax import Duration
from windrow.language.windows import BARE_WINDOW, WINDOW_WORDS

Word = TypeVar("Word", bound=str)

CREATE_FORMS = "CREATE makes a STREAM, a RELATION, a NON RETROACTIVE RELATION, a VIEW or a QUERY."
LEFT_OVER = "Take it out, or end the statement before it with ;."
AFTER = dict.fromkeys(WINDOW_WORDS, BARE_WINDOW) | {
    "EXISTS": "Write EXISTS (SELECT ... FROM ...).",
    "GROUP": "Write GROUP BY.",
    "ORDER": "Write ORDER BY.",
}
"""What was probably meant by a word that was taken for a name, so that the next does not fit."""
CLAUSES = ("USING", "OPTIONS", "TIMESTAMP BY", "SLACK", "MAX AHEAD")

QUOTED = (TokenType.STRING, TokenType.IDENTIFIER)
"""In options and settings, where no column can stand, a text may be in quotes of any kind."""
CLAUSE_BEGUN = {
    "TIMESTAMP": "Write TIMESTAMP BY column.",
    "MAX": "Write MAX AHEAD and a length of time: MAX AHEAD 1 HOUR.",
    "AHEAD": "Write MAX AHEAD and a length of time: MAX AHEAD 1 HOUR.",
}
"""What to write where only a part of a clause's words is written."""


def read_statement(p: QueryParser) -> statements.Statement:
    """Take one statement, to the last of its tokens."""
    start = p._curr
    read = READERS.get(p.word())
    if read is None and not p.at_query() and not p.at_stream_function():
        p.fail(
            f"{p.found()} does not begin a statement",
            detail="A statement begins with SELECT, CREATE, DROP, INSERT, SHOW, DESCRIBE, EXPLAIN "
            "or SET.",
            hint=spans.did_you_mean(p.word(), (*spans.STATEMENT_WORDS, *spans.STREAM_WORDS))
            or no_statement(p.word()),
        )
    statement = read(p, start) if read is not None else read_select(p, start)
    need_end(p)
    return statement


def no_statement(word: str) -> str:
    """Return a next step for somebody who writes a statement of another SQL."""
    if word in ("UPDATE", "DELETE", "MERGE"):
        return "Push changes of a relation from Python: db.push(name, rows), _sign -1 deletes."
    return "For example SELECT * FROM s [RANGE 1 MINUTE]."


def need_end(p: QueryParser) -> None:
    """Fail if tokens are left over."""
    if not p._curr:
        return
    if p._curr.token_type == TokenType.L_BRACKET:
        p.misplaced_window()
    if p.word() == "QUALIFY":
        p.fail(
            "QUALIFY is not part of the language",
            detail="It filters by OVER (...), which is none either.",
            hint="Filter groups with HAVING, or a sub-query with WHERE.",
        )
    p.fail(f"unexpected {p.found()}", hint=AFTER.get(p.word(-1)) or p.near_miss() or LEFT_OVER)


def so_far(p: QueryParser, start: Token) -> Span:
    """Return the place from `start` up to here."""
    return Span(start.start, p._prev.end + 1)


def read_query(p: QueryParser) -> exp.Expr:
    """Take a query and check it."""
    query = p.query()
    check(query)
    return query


def read_select(p: QueryParser, start: Token) -> statements.Select:
    """Take a query as a statement."""
    return statements.Select(query=read_query(p), span=so_far(p, start))


def named(p: QueryParser, what: str) -> tuple[str, Span]:
    """Take a name: what it is and where it stands."""
    start = p._curr
    name = p.name(what).name
    return name, so_far(p, start)


# -- CREATE ------------------------------------------------------------------------------------


def read_create(p: QueryParser, start: Token) -> statements.Statement:
    """``CREATE STREAM``, ``[NON RETROACTIVE] RELATION``, ``[OR REPLACE] VIEW | QUERY``."""
    p._advance()
    replace = p.take("OR", "REPLACE")
    if p.take("QUERY"):
        return read_create_query(p, start, or_replace=replace)
    if p.take("VIEW"):
        return read_create_view(p, start, or_replace=replace)
    if replace:
        p.fail(
            "OR REPLACE is for views and queries only",
            hint="DROP it first, then CREATE it again.",
        )
    if p.take("STREAM"):
        return read_create_stream(p, start)
    if p.take("RELATION"):
        return read_create_relation(p, start, retroactive=True)
    if p.take("NRR") or p.take("NON", "RETROACTIVE", "RELATION"):
        return read_create_relation(p, start, retroactive=False)
    return p.fail(
        f"cannot CREATE {p.found()}",
        detail=CREATE_FORMS,
        hint=spans.did_you_mean(p.word(), ("STREAM", "RELATION", "VIEW", "QUERY"))
        or ("Write CREATE NON RETROACTIVE RELATION." if p.at("NON") else "")
        or "Write CREATE STREAM for tuples with a time, CREATE RELATION for a table.",
    )


def read_create_query(p: QueryParser, start: Token, *, or_replace: bool) -> statements.CreateQuery:
    """``CREATE QUERY name AS query``."""
    if_not_exists = p.take("IF", "NOT", "EXISTS")
    name, name_span = named(p, "the name of the query")
    p.need("AS", "CREATE QUERY name AS is followed by the query.")
    first = p._curr
    query = read_query(p)
    text = p.sql[first.start : p._prev.end + 1] if first else ""
    return statements.CreateQuery(
        name=name,
        name_span=name_span,
        query=query,
        text=text,
        or_replace=or_replace,
        if_not_exists=if_not_exists,
        span=so_far(p, start),
    )


def read_create_view(p: QueryParser, start: Token, *, or_replace: bool) -> statements.CreateView:
    """``CREATE VIEW name [(columns)] AS query``."""
    if_not_exists = p.take("IF", "NOT", "EXISTS")
    name, name_span = named(p, "the name of the view")
    columns = read_names(p, "of the view") if p.at("(") else ()
    p.need("AS", "CREATE VIEW name AS is followed by the query.")
    return statements.CreateView(
        name=name,
        name_span=name_span,
        columns=columns,
        query=read_query(p),
        or_replace=or_replace,
        if_not_exists=if_not_exists,
        span=so_far(p, start),
    )


def read_create_stream(p: QueryParser, start: Token) -> statements.CreateStream:
    """``CREATE STREAM name (columns) clauses``."""
    if_not_exists = p.take("IF", "NOT", "EXISTS")
    name, name_span = named(p, "the name of the stream")
    columns, key, key_span = read_columns(p)
    if key:
        p.fail("a stream has no PRIMARY KEY", hint="A RELATION may have one.", span=key_span)
    clauses = read_clauses(p)
    return statements.CreateStream(
        name=name,
        name_span=name_span,
        columns=columns,
        time_column=clauses.time_column,
        time_span=clauses.time_span,
        slack=clauses.slack,
        max_ahead=clauses.max_ahead,
        format=clauses.format,
        options=clauses.options,
        if_not_exists=if_not_exists,
        span=so_far(p, start),
    )


def read_create_relation(
    p: QueryParser, start: Token, *, retroactive: bool
) -> statements.CreateRelation:
    """``CREATE RELATION name (columns, PRIMARY KEY (c)) clauses``."""
    if_not_exists = p.take("IF", "NOT", "EXISTS")
    name, name_span = named(p, "the name of the relation")
    columns, key, key_span = read_columns(p)
    clauses = read_clauses(p)
    if clauses.time_column is not None:
        p.fail(
            "a relation has no TIMESTAMP BY",
            detail="Its rows hold from when they are pushed, or from the time pushed with them.",
            hint="Leave TIMESTAMP BY out, or declare a STREAM.",
            span=clauses.time_span,
        )
    if clauses.slack is not None:
        p.fail(
            "a relation has no SLACK",
            detail="SLACK sorts the tuples of a stream.",
            hint="Leave SLACK out.",
            span=spans.span_of(clauses.slack),
        )
    if clauses.max_ahead is not None:
        p.fail(
            "a relation has no MAX AHEAD",
            detail="MAX AHEAD keeps one wrong date from advancing the clock of a stream.",
            hint="Leave MAX AHEAD out.",
            span=spans.span_of(clauses.max_ahead),
        )
    return statements.CreateRelation(
        name=name,
        name_span=name_span,
        columns=columns,
        retroactive=retroactive,
        key=key,
        key_span=key_span,
        format=clauses.format,
        options=clauses.options,
        if_not_exists=if_not_exists,
        span=so_far(p, start),
    )


def read_columns(
    p: QueryParser,
) -> tuple[tuple[statements.ColumnSpec, ...], tuple[str, ...], Span | None]:
    """``(name TYPE [NOT NULL], ..., [PRIMARY KEY (name, ...)])``: columns, key, the key's place."""
    opened = p._curr
    p.need("(", "The columns and their types follow the name.")
    columns: list[statements.ColumnSpec] = []
    key: tuple[str, ...] = ()
    key_span: Span | None = None
    while True:
        start = p._curr
        if not key and p.take("PRIMARY KEY"):
            key, key_span = read_names(p, "of the key"), so_far(p, start)
        else:
            column, is_key = read_column(p)
            columns.append(column)
            if is_key and not key:
                key, key_span = (column.name,), column.span
        if not p._match(TokenType.COMMA):
            break
    if p._curr and p._curr.token_type != TokenType.R_PAREN:
        p.fail(
            f'expected "," or ")", found {p.found()}',
            detail="A column is a name and a type, and perhaps NOT NULL or PRIMARY KEY.",
            hint="Separate the columns by commas.",
        )
    p.need_close(TokenType.R_PAREN, opened)
    return tuple(columns), key, key_span


def read_names(p: QueryParser, whose: str) -> tuple[str, ...]:
    """``(a, b)``."""
    opened = p._curr
    p.need("(", f"The columns {whose} follow in brackets.")
    names = [p.name(f"a column {whose}").name]
    while p._match(TokenType.COMMA):
        names.append(p.name(f"a column {whose}").name)
    p.need_close(TokenType.R_PAREN, opened)
    return tuple(names)


def read_column(p: QueryParser) -> tuple[statements.ColumnSpec, bool]:
    """``name TYPE [NOT NULL] [PRIMARY KEY]``: the column, and whether it is the key."""
    start = p._curr
    name = p.name("the name of a column").name
    kind = p._parse_types(schema=True) if p._curr else None
    if not isinstance(kind, exp.DataType):
        p.fail(
            f'expected the type of column "{name}", found {p.found()}',
            hint=spans.did_you_mean(p.word(), spans.TYPE_WORDS) or spans.TYPES_HINT,
        )
    check(kind)
    nullable = not p.take("NOT", "NULL")
    if nullable:
        p.take("NULL")
    is_key = p.take("PRIMARY KEY")
    return statements.ColumnSpec(name, kind, nullable and not is_key, so_far(p, start)), is_key


@dataclass(slots=True)
class Clauses:
    """What follows the columns of a CREATE, gathered in any order."""

    time_column: str | None = None
    time_span: Span | None = None
    slack: Duration | None = None
    max_ahead: Duration | None = None
    format: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    seen: set[str] = field(default_factory=set)


def read_clauses(p: QueryParser) -> Clauses:
    """Take USING, OPTIONS, TIMESTAMP BY, SLACK and MAX AHEAD, each at most once."""
    clauses = Clauses()
    while p._curr:
        clause = next((c for c in CLAUSES if p.at(*c.split())), None)
        if clause is None:
            p.fail(
                f"unexpected {p.found()}",
                detail="USING, OPTIONS (...), TIMESTAMP BY, SLACK and MAX AHEAD can follow the "
                "columns.",
                hint=CLAUSE_BEGUN.get(p.word())
                or spans.did_you_mean(p.word(), ("USING", "OPTIONS", "TIMESTAMP", "SLACK", "MAX"))
                or LEFT_OVER,
            )
        if clause in clauses.seen:
            p.fail(f"{clause} is written twice", hint="Leave one of them out.")
        clauses.seen.add(clause)
        p._advance(len(clause.split()))
        read_clause(p, clause, clauses)
    return clauses


def read_clause(p: QueryParser, clause: str, clauses: Clauses) -> None:
    """Take what follows the word of one clause."""
    match clause:
        case "USING":
            clauses.format = dotted_name(p, "the format after USING")
        case "OPTIONS":
            clauses.options = read_options(p)
        case "TIMESTAMP BY":
            what = "the time column after TIMESTAMP BY"
            clauses.time_column, clauses.time_span = named(p, what)
        case "SLACK":
            clauses.slack = p.duration("SLACK")
        case _:
            clauses.max_ahead = p.duration("MAX AHEAD")


def dotted_name(p: QueryParser, what: str) -> str:
    """``parquet`` or ``org.example.format``."""
    parts = [p.name(what).name]
    while p._match(TokenType.DOT):
        parts.append(p.name(what).name)
    return ".".join(parts)


def read_options(p: QueryParser) -> tuple[tuple[str, str], ...]:
    """``(path 'data/link1', header = true)``, in the order written."""
    opened = p._curr
    p.need("(", "Options stand in brackets: OPTIONS (path 'data/link1').")
    options: dict[str, str] = {}
    while not p._match(TokenType.R_PAREN):
        if options and not p._match(TokenType.COMMA):
            p.need_close(TokenType.R_PAREN, opened)
        name = p._prev.text if p._match(TokenType.STRING) else dotted_name(p, "an option's name")
        if name in options:
            p.fail(
                f'option "{name}" is written twice', hint="Leave one of them out.", span=p._before()
            )
        p._match(TokenType.EQ)
        options[name] = option_text(p, name)
    return tuple(options.items())


def option_text(p: QueryParser, name: str) -> str:
    """Take the value of an option: a string, a number or a word."""
    sign = "-" if p._match(TokenType.DASH) else ""
    if p._match(TokenType.NUMBER) or (not sign and p._match_set(QUOTED)):
        return sign + p._prev.text
    if not sign and p._curr.token_type in (TokenType.TRUE, TokenType.FALSE, TokenType.VAR):
        p._advance()
        return p._prev.text
    return p.fail(
        f'expected the value of option "{name}", found {p.found()}',
        hint=f"Write a string, a number or a word: {name} 'value'.",
    )


# -- the others --------------------------------------------------------------------------------


def read_drop(p: QueryParser, start: Token) -> statements.Drop:
    """``DROP kind [IF EXISTS] name``."""
    p._advance()
    kind = one_of(p, get_args(statements.ObjectKind), "DROP")
    if_exists = p.take("IF", "EXISTS")
    name, place = named(p, f"the name of the {kind.lower()}")
    return statements.Drop(
        kind=kind, name=name, name_span=place, if_exists=if_exists, span=so_far(p, start)
    )


def read_insert(p: QueryParser, start: Token) -> statements.Insert:
    """``INSERT INTO name [(columns)] VALUES (...), (...)``."""
    p._advance()
    p.need("INTO", "INSERT INTO is followed by a stream or a relation.")
    name, place = named(p, "the stream or relation")
    columns = read_names(p, "to insert into") if p.at("(") else ()
    if p.at_query():
        p.fail(
            "INSERT INTO takes no query",
            detail="A query stands: its answer changes, and rows inserted once would not.",
            hint=f"Let others read it by a name: CREATE VIEW {name} AS SELECT ....",
        )
    p.need("VALUES", "INSERT INTO name is followed by VALUES (...), (...).")
    rows = [read_row(p)]
    while p._match(TokenType.COMMA):
        rows.append(read_row(p))
    return statements.Insert(
        name=name, name_span=place, columns=columns, rows=tuple(rows), span=so_far(p, start)
    )


def read_row(p: QueryParser) -> tuple[exp.Expr, ...]:
    """``(value, ...)``."""
    if not p._curr or p._curr.token_type != TokenType.L_PAREN:
        p.fail(f"expected a row in brackets, found {p.found()}", hint="For example (1, 'a').")
    row = p._parse_paren()
    assert row is not None, "it begins with a bracket"
    check(row)
    return tuple(row.expressions) if isinstance(row, exp.Tuple) else (row,)


def read_show(p: QueryParser, start: Token) -> statements.Show:
    """``SHOW what``."""
    p._advance()
    what = one_of(p, get_args(statements.ShowKind), "SHOW")
    return statements.Show(what=what, span=so_far(p, start))


def read_describe(p: QueryParser, start: Token) -> statements.Describe:
    """``DESCRIBE name``, ``DESC name``."""
    p._advance()
    if p._next:
        any(p.take(kind) for kind in get_args(statements.ObjectKind))
    name, place = named(p, "a stream, a relation, a view or a query")
    return statements.Describe(name=name, name_span=place, span=so_far(p, start))


def one_of(p: QueryParser, words: tuple[Word, ...], after: str) -> Word:
    """Take one of `words`, or fail and list them."""
    for word in words:
        if p.take(word):
            return word
    return p.fail(
        f"cannot {after} {p.found()}",
        detail=f"{after} is followed by {', '.join(words[:-1])} or {words[-1]}.",
        hint=spans.did_you_mean(p.word(), words) or f"For example {after} {words[0]}.",
    )


def read_explain(p: QueryParser, start: Token) -> statements.Explain:
    """``EXPLAIN [FORMAT json] query``, ``EXPLAIN (FORMAT json) query``, ``EXPLAIN json name``."""
    p._advance()
    style = explain_format(p)
    if p.at_query():
        return statements.Explain(format=style, query=read_query(p), span=so_far(p, start))
    if p._next:
        p.take("QUERY")
    name, place = named(p, "a query or the name of one")
    return statements.Explain(format=style, name=name, name_span=place, span=so_far(p, start))


def explain_format(p: QueryParser) -> statements.ExplainFormat:
    """Take the format of an EXPLAIN; it is text if none is given."""
    formats: tuple[statements.ExplainFormat, ...] = get_args(statements.ExplainFormat)
    opened = p._curr
    bracket = p.take("(", "FORMAT")
    if bracket or (p.at("FORMAT") and p.word(1)):
        p.take("FORMAT")
        p._match(TokenType.EQ)
        style = p.word().lower()
    elif p.word().lower() in formats and p._next:
        style = p.word().lower()
    else:
        return "text"
    chosen = next((known for known in formats if known == style), None)
    if chosen is None:
        p.fail(f"unknown format {p.found()}", hint=f"Formats are {', '.join(formats)}.")
    p._advance()
    if bracket:
        p.need_close(TokenType.R_PAREN, opened)
    return chosen


def read_set(p: QueryParser, start: Token) -> statements.SetOption:
    """``SET name = value``."""
    p._advance()
    first = p._curr
    name = dotted_name(p, "the name of a setting")
    name_span = so_far(p, first)
    if not p._match(TokenType.EQ) and not p.take("TO"):
        p.fail(f'expected "=", found {p.found()}', hint="Write SET name = value.")
    value = read_value(p)
    return statements.SetOption(name=name, name_span=name_span, value=value, span=so_far(p, start))


def read_value(p: QueryParser) -> statements.OptionValue:
    """Take a word, a string, a number, a boolean or ``{...}``."""
    if p._match(TokenType.L_BRACE):
        return braced_text(p)
    negative = p._match(TokenType.DASH)
    if p._match(TokenType.NUMBER):
        return number(p, negative=negative)
    if not negative and p._match_set(QUOTED):
        return p._prev.text
    if not negative and p._match_set((TokenType.TRUE, TokenType.FALSE)):
        return p._prev.token_type == TokenType.TRUE
    if negative or not p.word().isidentifier():
        p.fail(
            f"expected a value, found {p.found()}",
            hint="Write a string, a number, TRUE, FALSE or a word.",
        )
    p._advance()
    return p._prev.text


def number(p: QueryParser, *, negative: bool) -> int | float:
    """Return the number of the token before this place."""
    text = p._prev.text
    try:
        value = int(text) if text.isdecimal() else float(text)
    except ValueError:
        p.fail(f'"{text}" is not a number', hint="Write digits, or a string.", span=p._before())
    return -value if negative else value


def braced_text(p: QueryParser) -> str:
    """Take up to the closing brace and return it all as written."""
    opened = p._prev
    while p._curr and p._curr.token_type != TokenType.R_BRACE:
        p._advance()
    if not p._match(TokenType.R_BRACE):
        p.fail(
            'expected "}", found the end of the statement',
            hint='Add "}" where the set ends.',
            span=Span(opened.start, opened.end + 1),
        )
    return p.sql[opened.start : p._prev.end + 1]


READERS: dict[str, Callable[[QueryParser, Token], statements.Statement]] = {
    "CREATE": read_create,
    "DROP": read_drop,
    "INSERT": read_insert,
    "SHOW": read_show,
    "DESCRIBE": read_describe,
    "DESC": read_describe,
    "EXPLAIN": read_explain,
    "SET": read_set,
}
