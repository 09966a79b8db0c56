"""Whole queries: set operations, SLIDE, and the operator that turns the answer into output.

SET hold wraps negations whose results are emitted once they have lasted. Where a negation stands
decides what is held, so this is done to the plan as it was written, before any rule moves a
negation. Of negations in one another only the outermost is held: its results wait already, and if
those of the inner ones waited too, answers would come later than h.

``SUM(Wstream(SUM(a))[ROWS 10])`` is THESIS 3.4's short form of a windowed sub-query:

   SELECT SUM(Wstream(SUM(a))[ROWS 10]) FROM S [RANGE 6 SEC SLIDE 6 SEC]
⇒  SELECT SUM(part) FROM (SELECT SUM(a) AS part FROM S [RANGE 6 SEC SLIDE 6 SEC INTERNAL]) [ROWS 10]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pyarrow as pa
from sqlglot import exp

from windrow.core.errors import BindError, SemanticError
from windrow.core.time import Clock
from windrow.core.types import common_type, sql_name
from windrow.language.spans import span_of
from windrow.language.syntax import StreamFunction, StreamWindow, Windowed
from windrow.plan import nodes
from windrow.plan.binding.blocks import Body, bind_block, internal_refused, internal_window
from windrow.plan.binding.context import Context, RefreshScope
from windrow.plan.binding.durations import expiry_of, said_length
from windrow.plan.binding.ordering import keyed_cut, order_outputs
from windrow.plan.binding.scope import FromItem
from windrow.plan.binding.sources import QueryBinders, bind_window
from windrow.plan.binding.subqueries import is_bracket
from windrow.plan.catalog import Catalog, NamedQuery
from windrow.plan.expressions import Cast
from windrow.plan.patterns import PatternKind, pattern_of
from windrow.plan.rebuilding import with_inputs
from windrow.plan.settings import asked_of
from windrow.plan.windows import Range, Unbounded


def bind_query(
    tree: exp.Expr,
    catalog: Catalog,
    settings: Mapping[str, object] | None = None,
    *,
    text: str = "",
    name: str = "",
) -> nodes.Query:
    """Return the bound query of a syntax tree."""
    context = Context(catalog, settings or {})
    context.settle_clock(tree)
    plan, order, keyed = _output(tree, context)
    settings = context.settings
    held = partial(hold_negations, said=str(settings.get("hold", "none")), clock=context.clock)
    return nodes.Query(
        held(plan),
        order,
        text,
        name,
        join_algorithm=str(settings.get("join_algorithm", "auto")),
        early_aggregation=str(settings.get("early_aggregation", "auto")),
        expiry=expiry_of(settings, context.clock),
        asked=asked_of(settings),
        keyed=None if keyed is None else replace(keyed, plan=held(keyed.plan)),
    )


def _output(
    tree: exp.Expr, context: Context
) -> tuple[nodes.Plan, tuple[nodes.SortKey, ...], nodes.Keyed | None]:
    """Bind the outermost query: RSTREAM or nothing gives the view, INTERNAL a stream.

    Also return the order that the answer is shown in, and the view with its keys if it lacks them.
    """
    function, query = _split(tree)
    body = _body(query, context)
    period = context.refresh.period
    kind = _kind(function, body)
    restore = bool(function and function.args.get("restore"))
    if function is not None and restore:
        _check_restore(function, kind, period)
    if kind == "rstream" and not body.internal:
        plan = _refreshed(body.plan, period, restore=restore)
        keyed = None if restore else keyed_cut(body.plan, body.order)
        if keyed is not None:
            keyed = replace(keyed, plan=_refreshed(keyed.plan, period))
        return plan, body.order, keyed
    plan = _stream(body, kind, period, restore=restore)
    if kind == "wstream":
        return _wstream(function, body, plan, context), body.order, None
    return plan, (), None


def _split(tree: exp.Expr) -> tuple[StreamFunction | None, exp.Expr]:
    while is_bracket(tree):
        tree = tree.this
    return (tree, tree.this) if isinstance(tree, StreamFunction) else (None, tree)


def _kind(function: StreamFunction | None, body: Body) -> str:
    """Return the output operator; none written is RSTREAM. Results that stay have no DSTREAM."""
    kind = str(function.args["kind"]) if function else "rstream"
    if kind == "dstream" and body.internal:
        assert function is not None
        raise SemanticError(
            "DSTREAM over INTERNAL windows is always empty",
            detail="Results of INTERNAL windows stay for ever: nothing leaves the answer.",
            hint="Leave INTERNAL out, so that results expire with the window.",
            span=span_of(function),
        )
    return kind


def _stream(body: Body, kind: str, period: int | None, *, restore: bool) -> nodes.Plan:
    """Turn a body into the stream that its output operator, or INTERNAL, makes of it."""
    if kind == "dstream":
        return nodes.Dstream(_refreshed(body.plan, period))
    if restore and (kind == "istream" or body.internal):
        assert period is not None, "RESTORE without SLIDE is refused before"
        return nodes.Delay(nodes.Produced(body.plan), period)
    keeps_all = body.aggregated and (body.internal or kind == "wstream")
    if keeps_all and period is not None:
        return nodes.Rstream(nodes.Refresh(body.plan, period))
    if keeps_all and body.slides:
        return _whole_at_slides(body)
    refreshed = _refreshed(body.plan, period, restore=restore)
    return (
        nodes.Istream(refreshed)
        if kind == "istream" and not body.internal
        else nodes.Produced(refreshed)
    )


def _whole_at_slides(body: Body) -> nodes.Plan:
    """Return the stream of whole answers: at each instant at which a count window slides.

    A slide meets the answer of its own instant: { s∘t | s slides at τ, t ∈ source(τ) }.
    """
    windows = tuple(nodes.Window(instants, Range(1)) for instants in body.slides)
    slides = windows[0] if len(windows) == 1 else nodes.Distinct(nodes.UnionAll(windows))
    columns = tuple(nodes.Named(f.name, nodes.as_column(f)) for f in body.plan.schema)
    return nodes.Produced(nodes.Project(nodes.Join(slides, body.plan), columns))


def _refreshed(plan: nodes.Plan, period: int | None, *, restore: bool = False) -> nodes.Plan:
    return plan if period is None else nodes.Refresh(plan, period, restore)


def _wstream(
    function: StreamFunction | None, body: Body, stream: nodes.Plan, context: Context
) -> nodes.Plan:
    assert function is not None
    node = function.args.get("window")
    if node is None:
        raise BindError(
            "WSTREAM needs a window",
            detail="It keeps the newest results: how many, or how long?",
            hint="Write WSTREAM(...)[ROWS 10] or WSTREAM(...)[RANGE 1 MINUTE].",
            span=span_of(function),
        )
    if not body.aggregated:
        _require_windowable(body.plan, function)
    elif isinstance(stream, nodes.Produced) and not body.internal and not body.slides:
        raise SemanticError(
            "WSTREAM over an aggregate needs a SLIDE",
            detail="Without it the aggregate's value follows every change: there is no moment at "
            "which a value is a result to keep.",
            hint="Write a window such as [RANGE 1 MINUTE SLIDE 10 SECONDS], or make it INTERNAL.",
            span=span_of(function),
        )
    if node.args.get("slide") is not None or node.args["kind"] == "tumble":
        raise SemanticError(
            "the window of WSTREAM cannot SLIDE",
            detail="The answer is renewed when the query's own windows slide.",
            hint="Put SLIDE into the windows of FROM.",
            span=span_of(node),
        )
    if node.args.get("internal"):
        raise SemanticError(
            "the window of WSTREAM cannot be INTERNAL",
            detail="It says how long results stay; INTERNAL would let them stay for ever.",
            hint="Write ISTREAM(...) if every result is to stay.",
            span=span_of(node),
        )
    columns = tuple((f.name, nodes.as_column(f)) for f in stream.schema)
    source = FromItem("output", stream, columns, "query")
    return nodes.Window(stream, bind_window(node, source, context))


def _check_restore(function: StreamFunction, kind: str, period: int | None) -> None:
    if kind in ("wstream", "dstream"):
        raise SemanticError(
            f"{kind.upper()} has no RESTORE",
            detail="One refresh may restore more results than an output window holds."
            if kind == "wstream"
            else "RESTORE brings back results that were missed, not deletions.",
            hint="Use ISTREAM(...) RESTORE or RSTREAM(...) RESTORE.",
            span=span_of(function),
        )
    if period is None:
        raise SemanticError(
            "RESTORE needs a SLIDE",
            detail="Without SLIDE the answer follows every change, so no result is missed.",
            hint="Leave RESTORE out, or write a window such as [RANGE 1 MINUTE SLIDE 10 SECONDS].",
            span=span_of(function),
        )


def _body(tree: exp.Expr, context: Context) -> Body:
    while is_bracket(tree):
        tree = tree.this
    known = context.named_queries
    context.named_queries = _with_named_queries(tree, known)
    match tree:
        case exp.Select():
            body = bind_block(lift_nested_wstream(tree), context, BINDERS)
        case exp.Union() | exp.Except() | exp.Intersect():
            body = _set_operation(tree, context)
        case _:
            assert isinstance(tree, exp.Subquery), "the grammar has no other queries"
            body = _reordered(tree, context)
    context.named_queries = known
    return body


def _reordered(tree: exp.Subquery, context: Context) -> Body:
    """``(query) ORDER BY ... LIMIT ...``: the query as a relation, ordered anew."""
    plan, order = order_outputs(tree, bind_relation(tree.this, context))
    return Body(plan, order)


def _with_named_queries(
    tree: exp.Expr, known: Mapping[str, NamedQuery]
) -> Mapping[str, NamedQuery]:
    """Add the queries of WITH; each may read those before it."""
    clause = tree.args.get("with_")
    if clause is None:
        return known
    here: set[str] = set()
    for named in clause.expressions:
        name = named.alias.lower()
        if name in here:
            raise BindError(
                f'WITH names "{named.alias}" twice',
                hint=f"Call one of them {named.alias}2, for example.",
                span=span_of(named),
            )
        here.add(name)
        columns = tuple(column.name for column in named.args["alias"].columns)
        known = {**known, name: NamedQuery(named.this, columns, known)}
    return known


def _set_operation(tree: exp.SetOperation, context: Context) -> Body:
    sides = bind_relation(tree.this, context), bind_relation(tree.expression, context)
    everything = not tree.args.get("distinct")
    if not (everything and isinstance(tree, exp.Union)):
        _refuse_internal(tree.this, sides[0], tree)
        _refuse_internal(tree.expression, sides[1], tree)
    left, right = _alike(*sides, tree)
    match tree:
        case exp.Union():
            merged = nodes.UnionAll((left, right))
            plan: nodes.Plan = merged if everything else nodes.Distinct(merged)
        case exp.Except():
            plan = nodes.Except(left, right, everything)
        case _:
            plan = nodes.Intersect(left, right, everything)
    plan, order = order_outputs(tree, plan)
    return Body(plan, order)


def _refuse_internal(side: exp.Expr, plan: nodes.Plan, tree: exp.SetOperation) -> None:
    """Refuse an input whose results never expire where the query is not a stream."""
    stays = isinstance(plan, nodes.Window) and plan.spec == Unbounded(written=False)
    if stays and _split(side)[0] is None:
        raise internal_refused(internal_window(side), type(tree).__name__.upper())


def _alike(
    left: nodes.Plan, right: nodes.Plan, tree: exp.SetOperation
) -> tuple[nodes.Plan, nodes.Plan]:
    """Bring both sides to the same column types, under the left side's names."""
    word = type(tree).__name__.upper()
    if len(left.schema) != len(right.schema):
        raise BindError(
            f"{word} of {len(left.schema)} and {len(right.schema)} columns",
            hint="Select the same number of columns on both sides.",
            span=span_of(tree.expression),
        )
    types = []
    for a, b in zip(left.schema, right.schema, strict=True):
        type_ = common_type(a.type, b.type)
        if type_ is None:
            raise BindError(
                f"{word}: {a.name} is {sql_name(a.type)}, {b.name} is {sql_name(b.type)}",
                detail="Columns are matched by their position.",
                hint=f"Write CAST(... AS {sql_name(a.type)}) or CAST(... AS {sql_name(b.type)}).",
                span=span_of(tree.expression),
            )
        types.append(type_)
    return _typed(left, types), _typed(right, types)


def _typed(plan: nodes.Plan, types: list[pa.DataType]) -> nodes.Plan:
    if all(f.type == t for f, t in zip(plan.schema, types, strict=True)):
        return plan
    columns = tuple(
        nodes.Named(
            f.name, nodes.as_column(f) if f.type == t else Cast(nodes.as_column(f), t, f.nullable)
        )
        for f, t in zip(plan.schema, types, strict=True)
    )
    return nodes.Project(plan, columns)


def bind_relation(tree: exp.Expr, context: Context) -> nodes.Plan:
    """Bind a sub-query as a relation. Its SLIDE, if any, is that of the query around it."""
    function, query = _split(tree)
    outer, context.refresh = context.refresh, RefreshScope()
    body = _body(query, context)
    inner, context.refresh = context.refresh, outer
    kind = _kind(function, body)
    if function is not None and function.args.get("restore"):
        raise SemanticError(
            "RESTORE goes with the whole query, or with a windowed sub-query",
            detail="A sub-query without a window is refreshed with the query around it.",
            hint="Put RESTORE on the outermost query.",
            span=span_of(function),
        )
    if kind == "rstream" and not body.internal:
        if inner.slide is not None:
            outer.note(inner.slide, inner.span, rows=inner.rows)
        return body.plan
    stream = _stream(body, kind, inner.period, restore=False)
    if kind == "wstream":
        return _wstream(function, body, stream, context)
    return nodes.Window(stream, Unbounded(written=False))


def bind_stream(tree: exp.Expr, context: Context) -> nodes.Plan:
    """Bind a sub-query as the stream of its insertions, for a window to look at."""
    function, query = _split(tree)
    outer, context.refresh = context.refresh, RefreshScope()
    body = _body(query, context)
    period = context.refresh.period
    context.refresh = outer
    kind = _kind(function, body)
    if kind == "wstream":
        stream = _stream(body, kind, period, restore=False)
        return nodes.Produced(_wstream(function, body, stream, context))
    if kind == "rstream" and not body.internal:
        _require_windowable(body.plan, tree)
    restore = bool(function and function.args.get("restore"))
    if function is not None and restore:
        _check_restore(function, kind, period)
    return _stream(body, kind, period, restore=restore)


BINDERS = QueryBinders(bind_relation, bind_stream)


def _require_windowable(plan: nodes.Plan, node: exp.Expr) -> None:
    """Refuse a window over results that replace or contradict one another."""
    culprit = _replacing(plan)
    if culprit is None or pattern_of(plan).kind is PatternKind.MON:
        return
    name, internal_helps = culprit
    hint = (
        "Make the windows inside INTERNAL, so that each result stays, or use ISTREAM(...)."
        if internal_helps
        else "Use ISTREAM(...) instead, which emits what enters and never retracts it."
    )
    raise SemanticError(
        f"the output of {name} cannot be windowed",
        detail="Values can be retracted before they leave the outer window: a window over it "
        "would hold results that are no longer true.",
        hint=hint,
        span=span_of(node),
    )


def _replacing(plan: nodes.Plan) -> tuple[str, bool] | None:
    """Return a description of what replaces results, and whether INTERNAL would stop that."""
    match plan:
        case nodes.Aggregate():
            return "an external aggregate", True
        case nodes.Distinct() | nodes.Intersect(all=False):
            return "DISTINCT over an external window", False
        case nodes.AntiJoin() | nodes.Except():
            return "a negation", False
        case nodes.OuterJoin():
            return "an outer join", False
        case nodes.TopN():
            return "LIMIT", False
        case nodes.SemiJoin(left=left):  # the right side is not in the output
            return _replacing(left)
        case _ if nodes.is_stream(plan):
            return None
        case _:
            return next(
                (c for p in nodes.inputs_of(plan) if (c := _replacing(p)) is not None), None
            )


def hold_negations(plan: nodes.Plan, said: str, clock: Clock | None) -> nodes.Plan:
    """Return the plan with its outermost negations held for as long as was said; or "none".

    `clock` is that of the query's streams, None if it reads none.
    """
    if said == "none" or not any(
        isinstance(n, nodes.AntiJoin | nodes.Except) for n in nodes.nodes_of(plan)
    ):
        return plan
    return _held(plan, said_length(said, clock, "hold"))


def _held(plan: nodes.Plan, length: int) -> nodes.Plan:
    if isinstance(plan, nodes.AntiJoin | nodes.Except):
        return nodes.Hold(plan, length)
    below = nodes.inputs_of(plan)
    held = tuple(_held(p, length) for p in below)
    return plan if held == below else with_inputs(plan, held)


REFUSED = ("distinct", "group", "having", "order", "limit", "offset")


def lift_nested_wstream(select: exp.Select) -> exp.Select:
    """Return the select with a nested WSTREAM written out as a sub-query; else as it is."""
    found = [
        node
        for item in select.expressions
        for node in item.find_all(StreamFunction)
        if not isinstance(node.parent, exp.Query)
    ]
    if not found:
        return select
    function = found[0]
    _check(select, found)
    inner = select.copy()
    inner.set("expressions", [exp.alias_(function.this.copy(), "part")])
    for window in inner.find_all(StreamWindow):
        window.args["internal"] = True
    item = select.expressions[0].copy()
    next(iter(item.find_all(StreamFunction))).replace(exp.column("part"))
    source = Windowed(this=exp.Subquery(this=inner), window=function.args["window"].copy())
    return exp.Select(expressions=[item], from_=exp.From(this=source))


def _check(select: exp.Select, found: list[StreamFunction]) -> None:
    function = found[0]
    alone = len(select.expressions) == 1 and len(found) == 1
    clauses = any(select.args.get(clause) for clause in REFUSED)
    if function.args["kind"] != "wstream" or function.args.get("window") is None:
        raise BindError(
            "inside an aggregate only WSTREAM(...)[window] can stand",
            hint="Write SUM(WSTREAM(SUM(a))[ROWS 10]), for example.",
            span=span_of(function),
        )
    if not alone or clauses:
        raise BindError(
            "an aggregate over WSTREAM must be the only item",
            detail="There can be no DISTINCT, GROUP BY, HAVING, ORDER BY, LIMIT or OFFSET either.",
            hint="Write the windowed sub-query out: SELECT ... FROM (SELECT ...) [ROWS 10].",
            span=span_of(function),
        )
