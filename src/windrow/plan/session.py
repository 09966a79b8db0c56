"""A session: what has been declared, set and registered, statement by statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlglot import exp

from windrow.core.errors import BindError, Span, WindrowError
from windrow.core.naming import near, require_text
from windrow.core.schema import Field, Schema
from windrow.core.time import Clock
from windrow.core.types import (
    NULL,
    STRING,
    TIMESTAMP,
    is_integer,
    is_numeric,
    is_temporal,
    sql_name,
)
from windrow.language.parse import parse_query, parse_script
from windrow.language.printing import to_sql
from windrow.language.spans import span_of
from windrow.language.statements import (
    ColumnSpec,
    CreateQuery,
    CreateRelation,
    CreateStream,
    CreateView,
    Describe,
    Drop,
    Explain,
    Insert,
    Select,
    SetOption,
    Show,
    Statement,
)
from windrow.plan.binding import bind_query
from windrow.plan.binding.durations import bind_duration
from windrow.plan.binding.expressions import ExpressionBinder, bind_type, has_parts
from windrow.plan.binding.scope import Scope
from windrow.plan.catalog import Catalog, NamedQuery, Relation, Stream, Unread
from windrow.plan.expressions import Expr, Literal
from windrow.plan.functions import resolve_cast
from windrow.plan.functions.signature import read_moment
from windrow.plan.listing import described, listed
from windrow.plan.nodes import Query
from windrow.plan.settings import SETTINGS, check_setting

DIFFERENT_NAMES = "Streams, relations, views and queries have different names."
After = Callable[[Statement, object], None]

SCRIPT_HINT = 'Give a str such as "CREATE STREAM s (ts TIMESTAMP, k BIGINT)".'
QUERY_HINT = 'Give a str such as "SELECT * FROM s [RANGE 1 MINUTE]".'


def unregistered(statement: Select) -> BindError:
    """Return the error for a query in a script that would do nothing there."""
    return BindError(
        "a query by itself has no name to read it by",
        detail="execute() runs declarations; a query stands, and is read by its handle.",
        hint="Call db.query(...) with it, which returns the handle; or write CREATE QUERY q AS "
        "before it, and read db.query('q').",
        span=statement.span,
    )


@dataclass(frozen=True, slots=True)
class Inserted:
    """What an INSERT pushes: the values of some columns, row by row."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Expr, ...], ...]


@dataclass(slots=True)
class Session:
    """Declarations and queries so far. Plans only: nothing runs here."""

    catalog: Catalog = field(default_factory=Catalog)
    queries: dict[str, Query] = field(default_factory=dict)
    settings: dict[str, object] = field(
        default_factory=lambda: {s.name: s.default for s in SETTINGS.values()}
    )

    def free_name(self) -> str:
        """Return a name for a query that was given none."""
        n = 1
        while self.kind(f"query_{n}") is not None:
            n += 1
        return f"query_{n}"

    def execute(self, text: str, after: After | None = None) -> list[object]:
        """Run a script; return what each statement gives (a query for SELECT, else None).

        `after` is called with each statement and its result. An error leaves what the statements
        before it have done.
        """
        results: list[object] = []
        for statement in parse_script(text):
            try:
                results.append(self.apply(statement, text))
                if after is not None:
                    after(statement, results[-1])
            except WindrowError as error:
                error.locate(text)
                if error.span is None:
                    error.span = statement.span
                raise
        return results

    def apply(self, statement: Statement, text: str = "") -> object:
        """Carry out one statement."""
        match statement:
            case CreateStream():
                self._create(statement, bind_stream_declaration(statement))
            case CreateRelation():
                self._create(statement, bind_relation_declaration(statement))
            case CreateView():
                self._create_view(statement)
            case CreateQuery():
                return self._register(statement, text)
            case Select(query=tree):
                return self.bind(tree, text=to_sql(tree))
            case Insert():
                return self._inserted(statement)
            case SetOption(name=name, value=value):
                self.settings[name.lower()] = check_setting(name, value, statement.name_span)
            case Drop():
                self._drop(statement)
            case Explain():
                return self._explained(statement)
            case Show(what=what):
                return listed(what, self.catalog, self.queries, self.settings)
            case Describe(name=name, name_span=span):
                return described(self._schema_of(name, span))
        return None

    def bind(self, tree: exp.Expr, *, text: str = "", name: str = "", **sets: object) -> Query:
        """Bind a query over what is declared, under settings of its own if they are given."""
        return bind_query(tree, self.catalog, {**self.settings, **sets}, text=text, name=name)

    def bind_text(self, text: str, name: str, **sets: object) -> Query:
        """Bind the text of one query under a name."""
        try:
            return self.bind(parse_query(text), text=text, name=name, **sets)
        except WindrowError as error:
            raise error.locate(text) from None

    def entry(self, name: str) -> Stream | Relation:
        """Return a declared stream or relation by name."""
        require_text(name, "the name of a stream or relation")
        found = self.catalog.get(name)
        if found is None:
            raise BindError(
                f'unknown stream or relation "{name}"',
                detail=f"Declared are {', '.join(self.catalog.names)}."
                if self.catalog.names
                else "Nothing is declared yet.",
                hint=near(name, list(self.catalog.names))
                or f"Declare it: CREATE STREAM {name} (...) TIMESTAMP BY ...;",
            )
        return found

    def _create(self, statement: CreateStream | CreateRelation, entry: Stream | Relation) -> None:
        kind = self.kind(entry.name)
        if kind == _kind_of(entry) and statement.if_not_exists:
            return
        if kind is not None:
            raise BindError(
                f'"{entry.name}" is a {kind} already',
                detail=DIFFERENT_NAMES,
                hint=f"DROP {kind.upper()} {entry.name} first, or choose another name.",
                span=statement.name_span,
            )
        self.catalog.add(entry)

    def _create_view(self, statement: CreateView) -> None:
        """Declare a view; it is bound, so that what is wrong with it is said now."""
        name = statement.name
        kind = self.kind(name)
        if kind == "view" and statement.if_not_exists:
            return
        if kind is not None and not (kind == "view" and statement.or_replace):
            raise _taken(name, kind, "view", statement.name_span)
        if kind == "view":
            self._require_unread_view(name, "replaced", statement.name_span)
        others = {key: view for key, view in self.catalog.views.items() if key != name.lower()}
        before, self.catalog.views = self.catalog.views, others
        try:
            schema = self.bind(statement.query).root.schema
        except WindrowError:
            self.catalog.views = before
            raise
        names = statement.columns or schema.names
        if len(names) != len(schema) or len({n.lower() for n in names}) != len(names):
            self.catalog.views = before
            raise BindError(
                f'"{name}" names {len(names)} columns, its query has {len(schema)}'
                if len(names) != len(schema)
                else f'"{name}" names a column twice',
                detail=f"The query's columns are {', '.join(schema.names)}.",
                hint="Give each column a name of its own.",
                span=statement.name_span,
            )
        shown = Schema(tuple(replace(f, name=n) for f, n in zip(schema, names, strict=True)))
        view = NamedQuery(statement.query, statement.columns, others, name, shown)
        self.catalog.views = {**others, name.lower(): view}

    def _require_unread_view(self, name: str, what: str, span: Span) -> None:
        """Refuse to take a view from those who read it."""
        trees = {view.view: view.query for view in self.catalog.views.values()}
        trees |= {query.name: parse_query(query.text) for query in self.queries.values()}
        readers = [
            reader
            for reader, tree in trees.items()
            if any(read == name.lower() for _, read in self.catalog.read_by(tree))
        ]
        if readers:
            kind = "VIEW" if readers[0].lower() in self.catalog.views else "QUERY"
            raise BindError(
                f'view "{name}" cannot be {what}: it is read by {", ".join(readers)}',
                detail="What reads a view was planned with its query.",
                hint=f"DROP {kind} {readers[0]} first.",
                span=span,
            )

    def _inserted(self, statement: Insert) -> Inserted:
        """Return the rows of an INSERT, bound; each has a value for each column."""
        try:
            entry = self.entry(statement.name)
        except BindError as error:
            error.span = statement.name_span
            raise
        known = {f.name.lower(): f.name for f in entry.schema}
        wrong = [name for name in statement.columns if name.lower() not in known]
        if wrong:
            raise BindError(
                f'"{entry.name}" has no column "{wrong[0]}"',
                detail=f"Its columns are {', '.join(entry.schema.names)}.",
                hint=near(wrong[0], list(entry.schema.names)) or "Leave it out.",
                span=statement.name_span,
            )
        names = tuple(known[n.lower()] for n in statement.columns) or entry.schema.names
        binder = ExpressionBinder(Scope(), "VALUES")
        rows = []
        for row in statement.rows:
            if len(row) != len(names):
                raise BindError(
                    f"a row has {len(row)} values, for {len(names)} columns",
                    detail=f"The columns are {', '.join(names)}.",
                    hint="Give each row a value for each column, NULL where there is none.",
                    span=span_of(row[0]),
                )
            fitted = (
                _fitted(binder.bind(value), entry.schema[name], span_of(value))
                for name, value in zip(names, row, strict=True)
            )
            rows.append(tuple(fitted))
        return Inserted(entry.name, names, tuple(rows))

    def _schema_of(self, name: str, span: Span) -> Schema:
        """Return the columns of what has this name."""
        if name.lower() in self.queries:
            return self.queries[name.lower()].root.schema
        view = self.catalog.views.get(name.lower())
        if view is not None:
            return view.schema
        try:
            return self.entry(name).schema
        except BindError as error:
            error.span = span
            raise

    def kind(self, name: str) -> str | None:
        """Return what has this name: a stream, a relation, a view, a query or nothing."""
        if name.lower() in self.queries:
            return "query"
        if name.lower() in self.catalog.views:
            return "view"
        entry = self.catalog.get(name)
        return None if entry is None else _kind_of(entry)

    def _register(self, statement: CreateQuery, text: str) -> Query:
        key = statement.name.lower()
        kind = self.kind(key)
        if kind == "query" and statement.if_not_exists:
            return self.queries[key]
        if kind is not None and not (kind == "query" and statement.or_replace):
            raise _taken(statement.name, kind, "query", statement.name_span)
        query = self.bind(statement.query, text=statement.text, name=statement.name)
        self.queries[key] = query
        return query

    def _drop(self, statement: Drop) -> None:
        wanted, kind = statement.kind.lower(), self.kind(statement.name)
        if kind == wanted == "query":
            del self.queries[statement.name.lower()]
        elif kind == wanted == "view":
            self._require_unread_view(statement.name, "dropped", statement.name_span)
            del self.catalog.views[statement.name.lower()]
        elif kind == wanted:
            self.catalog.drop(statement.name)
        elif kind is not None:
            raise BindError(
                f'"{statement.name}" is a {kind}, not a {wanted}',
                hint=f"Write DROP {kind.upper()} {statement.name}.",
                span=statement.name_span,
            )
        elif not statement.if_exists:
            known = self.names(wanted)
            raise BindError(
                f'unknown {wanted} "{statement.name}"',
                detail=_known(known),
                hint=near(statement.name, known)
                or f"Write DROP {statement.kind} IF EXISTS {statement.name} if it may be missing.",
                span=statement.name_span,
            )

    def _explained(self, statement: Explain) -> Query:
        if statement.query is not None:
            return self.bind(statement.query, text=to_sql(statement.query))
        return self.query(statement.name or "", statement.name_span)

    def query(self, name: str, span: Span | None = None) -> Query:
        """Return a registered query by name."""
        require_text(name, "the name of a query")
        found = self.queries.get(name.lower())
        if found is None:
            raise BindError(
                f'unknown query "{name}"',
                detail=_known(self.names("query")),
                hint=near(name, self.names("query"))
                or f"Register it: CREATE QUERY {name} AS SELECT ...;",
                span=span,
            )
        return found

    def names(self, kind: str) -> list[str]:
        """Return the names of all that is a "stream", a "relation", a "view" or a "query"."""
        match kind:
            case "view":
                return [view.view for view in self.catalog.views.values()]
            case "query":
                return [query.name for query in self.queries.values()]
            case _:
                entries = self.catalog.entries.values()
                return [entry.name for entry in entries if _kind_of(entry) == kind]


def _fitted(value: Expr, column: Field, span: Span | None) -> Expr:
    """Return a value of VALUES in the type of its column."""
    given, wanted = value.type, column.type
    if given in (wanted, NULL):
        return value
    alike = (is_numeric(given) and is_numeric(wanted)) or (
        is_temporal(given) and is_temporal(wanted)
    )
    if alike:
        return resolve_cast(value, wanted)
    if is_temporal(wanted) and given == STRING and isinstance(value, Literal):
        return read_moment(value, wanted)
    raise BindError(
        f'column "{column.name}" is {sql_name(wanted)}, and its value {sql_name(given)}',
        hint=f"Write CAST(... AS {sql_name(wanted)}) if that is meant.",
        span=span,
    )


def _taken(name: str, kind: str, wanted: str, span: Span) -> BindError:
    """Return the error for a view or query whose name something of a `kind` has."""
    replaced = f"Write CREATE OR REPLACE {wanted.upper()} {name}, or choose another name."
    return BindError(
        f'"{name}" is a {kind} already',
        detail=DIFFERENT_NAMES,
        hint=replaced if kind == wanted else "Choose another name.",
        span=span,
    )


def _kind_of(entry: Stream | Relation) -> str:
    return "stream" if isinstance(entry, Stream) else "relation"


def _known(names: list[str]) -> str:
    return f"There are {', '.join(names)}." if names else "There is none yet."


def bind_columns(columns: tuple[ColumnSpec, ...]) -> Schema:
    """Return the schema of a declaration: the columns that queries can read."""
    seen: set[str] = set()
    fields = []
    for column in columns:
        if column.name.lower() in seen:
            raise BindError(
                f'column "{column.name}" is declared twice',
                detail="Names of columns differ, in upper or lower case.",
                hint=f"Call one of them {column.name}2, for example.",
                span=column.span,
            )
        seen.add(column.name.lower())
        if not has_parts(column.type):
            fields.append(Field(column.name, bind_type(column.type), column.nullable))
    return Schema(tuple(fields))


def unread_columns(columns: tuple[ColumnSpec, ...]) -> Unread:
    """Return the declared columns that no query can read."""
    return tuple((c.name, to_sql(c.type)) for c in columns if has_parts(c.type))


def bind_stream_declaration(statement: CreateStream) -> Stream:
    """Return the stream that CREATE STREAM declares."""
    schema = bind_columns(statement.columns)
    time_field = _time_field(statement, schema)
    clock = Clock.TIMESTAMP if time_field.type == TIMESTAMP else Clock.TICKS
    slack = statement.slack
    fields = tuple(replace(f, nullable=False) if f is time_field else f for f in schema)
    stream = Stream(
        statement.name,
        Schema(fields),
        time_field.name,
        clock,
        0 if slack is None else bind_duration(slack, clock, "SLACK", or_zero=True),
        statement.format,
        statement.options,
        _max_ahead(statement, time_field, clock),
        unread_columns(statement.columns),
    )
    if stream.heartbeat is not None and clock is Clock.TICKS:
        raise BindError(
            f'"{stream.name}" cannot have a heartbeat: its time counts ticks',
            detail=f"{stream.time_column} is an integer, and nobody knows how fast it goes.",
            hint="Declare the time as TIMESTAMP; or write idle, which lets other streams go on.",
            span=statement.name_span,
        )
    return stream


def _max_ahead(statement: CreateStream, time: Field, clock: Clock) -> int | None:
    """Return how far a tuple may be ahead of the wall clock, if that is said."""
    said = statement.max_ahead
    if said is None:
        return None
    if clock is Clock.TICKS:
        raise BindError(
            f'"{statement.name}" cannot have MAX AHEAD: its time counts ticks',
            detail=f"{time.name} is {sql_name(time.type)}, and ticks have no wall clock to be "
            "ahead of.",
            hint=f"Declare {time.name} as TIMESTAMP, or leave MAX AHEAD out.",
            span=span_of(said),
        )
    return bind_duration(said, clock, "MAX AHEAD")


def _time_field(statement: CreateStream, schema: Schema) -> Field:
    """Return the time column: the one that is named, else the only one it can be."""
    name = statement.time_column
    if name is None:
        stamps = [f for f in schema if f.type == TIMESTAMP or f.name.lower() == "ts"]
        if len(stamps) == 1:
            return _checked_time(stamps[0], statement)
        raise BindError(
            f'stream "{statement.name}" does not say which column is its time',
            detail=f"It could be {' or '.join(f.name for f in stamps)}."
            if stamps
            else "No column is a TIMESTAMP or called ts.",
            hint="Add TIMESTAMP BY column.",
            span=statement.name_span,
        )
    for candidate in schema:
        if candidate.name.lower() == name.lower():
            return _checked_time(candidate, statement)
    raise _no_column(name, "TIMESTAMP BY", statement, schema)


def _no_column(
    column: str, clause: str, statement: CreateStream | CreateRelation, schema: Schema
) -> BindError:
    span = statement.time_span if isinstance(statement, CreateStream) else statement.key_span
    for name, type_ in unread_columns(statement.columns):
        if name.lower() == column.lower():
            return BindError(
                f'{clause} names "{name}", which is {type_}',
                detail="Values of a STRUCT or MAP stay in their source.",
                hint="Declare one column for each part of the value.",
                span=span,
            )
    return BindError(
        f'{clause} names "{column}", which is no column of "{statement.name}"',
        detail=f"The columns are {', '.join(schema.names)}.",
        hint=near(column, list(schema.names)) or f"Declare {column} as well, or name one of them.",
        span=span,
    )


def _checked_time(column: Field, statement: CreateStream) -> Field:
    if column.type != TIMESTAMP and not is_integer(column.type):
        raise BindError(
            f'"{column.name}" cannot be the time of "{statement.name}": it is '
            f"{sql_name(column.type)}",
            detail="Time is a TIMESTAMP, or an integer that counts ticks.",
            hint=f"Declare {column.name} as TIMESTAMP, or name another column.",
            span=statement.time_span or statement.name_span,
        )
    return column


def bind_relation_declaration(statement: CreateRelation) -> Relation:
    """Return the relation that CREATE RELATION declares."""
    schema = bind_columns(statement.columns)
    by_lower = {f.name.lower(): f.name for f in schema}
    for name in statement.key:
        if name.lower() not in by_lower:
            raise _no_column(name, "PRIMARY KEY", statement, schema)
    key = tuple(by_lower[name.lower()] for name in statement.key)
    return Relation(
        statement.name,
        schema,
        statement.retroactive,
        key,
        statement.format,
        statement.options,
        unread_columns(statement.columns),
    )
