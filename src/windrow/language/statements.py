"""What a script is made of: frozen values, equal when they mean the same, wherever written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sqlglot import exp

from windrow.core.errors import Span
from windrow.language.syntax import Duration

ObjectKind: TypeAlias = Literal["STREAM", "RELATION", "VIEW", "QUERY"]
ShowKind: TypeAlias = Literal["STREAMS", "RELATIONS", "VIEWS", "QUERIES", "SETTINGS"]
ExplainFormat: TypeAlias = Literal["text", "json", "dot", "mermaid"]
OptionValue: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One column of a CREATE: ``src STRING NOT NULL``."""

    name: str
    type: exp.DataType
    nullable: bool
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateStream:
    """``CREATE STREAM name (columns)``, then the clauses of a stream.

    ``[USING ...] [OPTIONS (...)] [TIMESTAMP BY c] [SLACK d] [MAX AHEAD d]``.
    """

    name: str
    name_span: Span = field(compare=False)
    columns: tuple[ColumnSpec, ...]
    time_column: str | None = None
    time_span: Span | None = field(default=None, compare=False)
    slack: Duration | None = None
    max_ahead: Duration | None = None
    format: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    if_not_exists: bool = False
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRelation:
    """``CREATE [NON RETROACTIVE] RELATION name (columns [, PRIMARY KEY (c)]) ...``.

    Updates of a retroactive relation reach results made before them; of the other kind they do
    not.
    """

    name: str
    name_span: Span = field(compare=False)
    columns: tuple[ColumnSpec, ...]
    retroactive: bool = True
    key: tuple[str, ...] = ()
    key_span: Span | None = field(default=None, compare=False)
    format: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    if_not_exists: bool = False
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateQuery:
    """``CREATE [OR REPLACE] QUERY name AS query``; `text` is the query as written."""

    name: str
    name_span: Span = field(compare=False)
    query: exp.Expr
    text: str = field(compare=False)
    or_replace: bool = False
    if_not_exists: bool = False
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView:
    """``CREATE VIEW name [(columns)] AS query``: a name for a query that others read in FROM."""

    name: str
    name_span: Span = field(compare=False)
    columns: tuple[str, ...] = ()
    query: exp.Expr
    or_replace: bool = False
    if_not_exists: bool = False
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """A query by itself."""

    query: exp.Expr
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """``INSERT INTO name [(columns)] VALUES (...), (...)``: rows to push."""

    name: str
    name_span: Span = field(compare=False)
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[exp.Expr, ...], ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """``DROP STREAM|RELATION|VIEW|QUERY [IF EXISTS] name``."""

    kind: ObjectKind
    name: str
    name_span: Span = field(compare=False)
    if_exists: bool = False
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """``SHOW STREAMS|RELATIONS|VIEWS|QUERIES|SETTINGS``."""

    what: ShowKind
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe:
    """``DESCRIBE name``: the columns of a stream, a relation, a view or a query."""

    name: str
    name_span: Span = field(compare=False)
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    """``EXPLAIN [FORMAT f] query`` or ``EXPLAIN [FORMAT f] name``: one of the two is set."""

    format: ExplainFormat
    query: exp.Expr | None = None
    name: str | None = None
    name_span: Span | None = field(default=None, compare=False)
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOption:
    """``SET name = value``; a set ``{A, B}`` is kept as its text."""

    name: str
    name_span: Span = field(compare=False)
    value: OptionValue
    span: Span = field(compare=False)


Statement: TypeAlias = (
    CreateStream
    | CreateRelation
    | CreateView
    | CreateQuery
    | Select
    | Insert
    | Drop
    | Show
    | Describe
    | Explain
    | SetOption
)
