"""FROM: streams behind their windows, relations, and sub-queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from windrow.core.errors import BindError, SemanticError, Span, WindrowError
from windrow.core.naming import near
from windrow.core.schema import Schema
from windrow.core.time import Clock
from windrow.language.printing import to_sql
from windrow.language.spans import span_of
from windrow.language.syntax import Duration, StreamWindow, Windowed
from windrow.plan import nodes
from windrow.plan.binding.context import Context
from windrow.plan.binding.durations import bind_count, bind_duration, bind_instant
from windrow.plan.binding.scope import FromItem, Scope, unknown_column
from windrow.plan.catalog import NamedQuery, Relation, Stream
from windrow.plan.expressions import Column
from windrow.plan.windows import PartitionRows, Range, Rows, Since, Unbounded, WindowSpec

BindQuery = Callable[[exp.Expr, Context], "nodes.Plan"]


@dataclass(frozen=True, slots=True)
class QueryBinders:
    """How a sub-query is bound: as a relation, or as the stream that a window looks at."""

    relation: BindQuery
    stream: BindQuery


def bind_source(node: exp.Expr, context: Context, binders: QueryBinders) -> FromItem:
    """Bind one item of FROM."""
    window = node.args["window"] if isinstance(node, Windowed) else None
    inner = node.this if isinstance(node, Windowed) else node
    match inner:
        case exp.Table():
            _refuse_qualified(inner)
            named = context.named_queries.get(inner.name.lower())
            if named is None:
                source = _named_source(inner, window, context)
            else:
                source = _with_source(named, inner, window, context, binders)
        case _:
            assert isinstance(inner, exp.Subquery), "the grammar has names and queries in FROM"
            alias = inner.alias or context.name_unnamed()
            source = _query_source(inner, window, alias, context, binders)
    columns = tuple(column.name for column in inner.args["alias"].columns) if inner.alias else ()
    return _renamed(source, columns)


def _refuse_qualified(node: exp.Table) -> None:
    if node.args.get("db"):
        raise BindError(
            f'"{node.args["db"].name}.{node.name}" has too many parts',
            detail="Streams and relations have one name: there are no databases or schemas.",
            hint=f"Write {node.name}.",
            span=span_of(node),
        )


def _with_source(
    named: NamedQuery,
    node: exp.Table,
    window: StreamWindow | None,
    context: Context,
    binders: QueryBinders,
) -> FromItem:
    """Bind a view or a query of WITH where it is read: it knows the names written before its own.

    An error inside a view is shown where the view is read: its own text is elsewhere.
    """
    known, context.named_queries = context.named_queries, named.known
    around, context.around = context.around, None
    body = exp.Subquery(this=named.query)
    body.meta.update(node.meta)
    try:
        source = _query_source(body, window, node.alias_or_name, context, binders)
    except WindrowError as error:
        if named.view:
            error.span = span_of(node)
        raise
    context.named_queries, context.around = known, around
    return _renamed(replace(source, span=span_of(node)), named.columns)


def _renamed(source: FromItem, names: tuple[str, ...]) -> FromItem:
    """Give the columns of a source the names written after its alias."""
    if not names:
        return source
    if len(names) != len(source.columns) or len({n.lower() for n in names}) != len(names):
        raise BindError(
            f'"{source.alias}" names {len(names)} columns, its source has {len(source.columns)}'
            if len(names) != len(source.columns)
            else f'"{source.alias}" names a column twice',
            detail=f"The source's columns are {', '.join(n for n, _ in source.columns)}.",
            hint="Give each column a name of its own.",
            span=source.span,
        )
    renamed = zip(names, source.columns, strict=True)
    return replace(source, columns=tuple((name, column) for name, (_, column) in renamed))


def _named_source(node: exp.Table, window: StreamWindow | None, context: Context) -> FromItem:
    entry = context.catalog.get(node.name)
    span = span_of(node)
    match entry:
        case Stream():
            return _stream_source(entry, node.alias_or_name, window, context, span)
        case Relation():
            if window is not None:
                raise SemanticError(
                    f'relation "{entry.name}" has a window',
                    detail="A window chooses tuples by their time; rows of a relation have none.",
                    hint="Leave the window out, or declare it as a stream.",
                    span=span_of(window),
                )
            return _relation_source(entry, node.alias_or_name, context, span)
        case None:
            views = context.catalog.views
            named = [name for name in context.named_queries if name not in views]
            known = [*context.catalog.names, *named]
            raise BindError(
                f'unknown stream or relation "{node.name}"',
                detail=f"Declared are {', '.join(known)}." if known else "Nothing is declared yet.",
                hint=near(node.name, known)
                or f"Declare it: CREATE STREAM {node.name} (...) TIMESTAMP BY ...;",
                span=span,
            )


def _stream_source(
    stream: Stream, alias: str, window: StreamWindow | None, context: Context, span: Span | None
) -> FromItem:
    context.agree_on_clock(stream.clock, stream.name, span)
    scan = nodes.Scan(stream, context.unique_alias(alias, span))
    columns = _visible(stream.schema, scan.schema)
    bare = FromItem(
        alias, scan, columns, "stream", span, time_column=scan.time_column, unread=stream.unread
    )
    if window is None:
        return replace(bare, plan=nodes.Window(scan, Unbounded(written=False)), implicit=True)
    return _windowed(bare, scan, window, context)


def _windowed(
    source: FromItem, stream: nodes.Plan, window: StreamWindow, context: Context
) -> FromItem:
    spec = bind_window(window, source, context)
    internal = bool(window.args.get("internal"))
    bounded = not isinstance(spec, Unbounded | Since)
    return replace(
        source,
        plan=nodes.Window(stream, spec),
        internal=internal,
        external=bounded and not internal,
        count_slides=isinstance(spec, Rows) and window.args.get("slide") is not None,
    )


def _relation_source(
    relation: Relation, alias: str, context: Context, span: Span | None
) -> FromItem:
    table = nodes.Table(relation, context.unique_alias(alias, span))
    kind = "relation" if relation.retroactive else "nrr"
    visible = _visible(relation.schema, table.schema)
    return FromItem(alias, table, visible, kind, span, unread=relation.unread)


def _query_source(
    query: exp.Subquery,
    window: StreamWindow | None,
    alias: str,
    context: Context,
    binders: QueryBinders,
) -> FromItem:
    span = span_of(query)
    bind = binders.relation if window is None else binders.stream
    inner = bind(query.this, context)
    plan_alias = context.unique_alias(alias, span)
    renamed = nodes.Project(
        inner,
        tuple(nodes.Named(f"{plan_alias}.{f.name}", nodes.as_column(f)) for f in inner.schema),
    )
    source = FromItem(alias, renamed, _visible(inner.schema, renamed.schema), "query", span)
    if window is None:
        return replace(source, external=True, implicit=_keeps_all(inner))
    return _windowed(source, renamed, window, context)


def _keeps_all(plan: nodes.Plan) -> bool:
    """Return whether every tuple of a stream stays in the answer though nobody wrote UNBOUNDED.

    Aggregates and DISTINCT keep values, not tuples, so what they store does not count here.
    """
    match plan:
        case nodes.Window(spec=Unbounded(written=written)):
            return not written
        case (
            nodes.Filter()
            | nodes.Project()
            | nodes.Join()
            | nodes.NrrJoin()
            | nodes.SemiJoin()
            | nodes.AntiJoin()
            | nodes.OuterJoin()
            | nodes.UnionAll()
        ):
            return any(_keeps_all(below) for below in nodes.inputs_of(plan))
        case _:
            return False


def _visible(names: Schema, plan: Schema) -> tuple[tuple[str, Column], ...]:
    return tuple((n.name, nodes.as_column(p)) for n, p in zip(names, plan, strict=True))


def bind_window(node: StreamWindow, source: FromItem, context: Context) -> WindowSpec:
    """Return what a written window means on this source; its SLIDE goes to the context."""
    size: exp.Expr = node.args.get("size") or node
    slide: exp.Expr | None = node.args.get("slide")
    clock = _clock(node, context)
    match node.args["kind"]:
        case "range":
            if slide is not None:
                step = bind_duration(slide, clock, "SLIDE")
                context.refresh.note(step, span_of(slide), rows=False)
            return Range(bind_duration(size, clock, "RANGE"))
        case "tumble":
            width = bind_duration(size, clock, "TUMBLE")
            context.refresh.note(width, span_of(node), rows=False)
            return Range(width)
        case "rows":
            step = 1 if slide is None else bind_count(slide, "SLIDE")
            if slide is not None:
                context.refresh.note(step, span_of(slide), rows=True)
            return Rows(bind_count(size, "ROWS"), step)
        case "partition":
            return PartitionRows(_partition_keys(node, source), bind_count(size, "ROWS"))
        case "now":
            return Range(1)
        case "since":
            return Since(bind_instant(size, clock, "SINCE"))
        case _:
            return Unbounded()


def _clock(node: StreamWindow, context: Context) -> Clock:
    """Return the query's clock; refuse a query of relations alone on any but timestamps."""
    if context.clock is not None:
        return context.clock
    for length in (node.args.get("size"), node.args.get("slide")):
        if isinstance(length, Duration) and length.args.get("unit") is None:
            raise BindError(
                f"{to_sql(length)} of what? The query reads no stream",
                detail="A bare number is seconds or ticks, as the clock of a stream says.",
                hint=f"Write a unit: {to_sql(length)} SECONDS.",
                span=span_of(length),
            )
    return Clock.TIMESTAMP


def _partition_keys(node: StreamWindow, source: FromItem) -> tuple[str, ...]:
    if node.args.get("slide") is not None:
        raise SemanticError(
            "a partitioned window cannot SLIDE",
            detail="Each partition has its own count, so there is no common moment to slide.",
            hint="Leave SLIDE out.",
            span=span_of(node),
        )
    keys = []
    scope = Scope((source,))
    for key in node.args["keys"]:
        column = scope.resolve(key)
        if column is None:
            raise unknown_column(key, scope)
        keys.append(column.name)
    return tuple(keys)
