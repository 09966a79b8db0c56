"""SELECT blocks: FROM and WHERE, then GROUP BY, HAVING, SELECT, DISTINCT, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from windrow.core.errors import BindError, SemanticError
from windrow.core.types import BOOLEAN, sql_name
from windrow.language.printing import to_sql
from windrow.language.spans import span_of
from windrow.language.syntax import PairWindow
from windrow.plan.binding.context import Context
from windrow.plan.binding.expressions import ExpressionBinder
from windrow.plan.binding.grouping import Grouping, has_aggregate
from windrow.plan.binding.joins import build_joins
from windrow.plan.binding.ordering import apply_order
from windrow.plan.binding.pairs import pair_bands
from windrow.plan.binding.scope import Scope, Source
from windrow.plan.binding.sources import QueryBinders, bind_source
from windrow.plan.binding.subqueries import (
    Inner,
    SubqueryTerm,
    apply_subquery,
    membership_column,
    subquery_term,
)
from windrow.plan.expressions import Expr, columns_of
from windrow.plan.nodes import (
    Filter,
    Istream,
    Named,
    Plan,
    Project,
    SortKey,
    Window,
    as_column,
)
from windrow.plan.windows import Until

BindExpr = Callable[[exp.Expr], Expr]

UNSUPPORTED = {
    "laterals": "LATERAL",
    "qualify": "QUALIFY",
    "windows": "a WINDOW definition",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
    "into": "INTO",
    "locks": "FOR UPDATE",
    "match": "MATCH_RECOGNIZE",
    "connect": "CONNECT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "sort": "SORT BY",
}


@dataclass(frozen=True, slots=True)
class Body:
    """A bound block or set operation, before SLIDE and the output operator.

    `internal`: all bounded windows are INTERNAL, so its insertions stay for ever.
    """

    plan: Plan
    order: tuple[SortKey, ...] = ()
    internal: bool = False
    aggregated: bool = False


@dataclass(frozen=True, slots=True)
class Joined:
    """FROM and WHERE of a block: the joined plan and the terms that reach outwards."""

    plan: Plan
    scope: Scope
    correlated: tuple[Expr, ...]
    negated: bool


def bind_block(
    select: exp.Select, context: Context, binders: QueryBinders, outer: Scope | None = None
) -> Body:
    """Bind a SELECT. Its plan's columns are the output names."""
    _refuse_unsupported(select)
    if not select.args.get("from_"):
        raise BindError(
            "a continuous query needs FROM",
            hint="Name a stream: SELECT ... FROM s [RANGE 1 MINUTE].",
            span=span_of(select),
        )
    joined = bind_from_where(select, context, binders, outer)
    if joined.correlated:
        raise BindError(
            "this sub-query may not refer to the query around it",
            detail="Only sub-queries of EXISTS and IN without grouping or LIMIT can be correlated.",
            hint="Join in FROM instead.",
            span=span_of(select),
        )
    return _select(select, joined)


def _select(select: exp.Select, joined: Joined) -> Body:
    items = _expand_stars(select, joined.scope)
    grouped = (
        select.args.get("group") or select.args.get("having") or any(map(has_aggregate, items))
    )
    bind, plan = _grouped(select, joined, items) if grouped else _plain(joined)
    _check_internal(joined, select, aggregated=bool(grouped))
    columns = _columns(items, bind)
    plan, order = apply_order(select, plan, columns, bind)
    internal = _is_internal(joined.scope.sources)
    return Body(plan, order, internal, bool(grouped))


def _plain(joined: Joined) -> tuple[BindExpr, Plan]:
    return ExpressionBinder(joined.scope).bind, joined.plan


def _grouped(select: exp.Select, joined: Joined, items: list[exp.Expr]) -> tuple[BindExpr, Plan]:
    grouping = Grouping(joined.scope)
    group = select.args.get("group")
    for node in group.expressions if group else ():
        grouping.add_key(_group_term(node, items, joined.scope))
    for node in _grouped_parts(select, items):
        grouping.bind(node)
    plan: Plan = grouping.plan(joined.plan)
    having = select.args.get("having")
    if having:
        plan = Filter(plan, _boolean(grouping.bind(having.this), having.this, "HAVING"))
    return grouping.bind, plan


def _grouped_parts(select: exp.Select, items: list[exp.Expr]) -> list[exp.Expr]:
    """All expressions over groups, so that every aggregate is known before the plan is made."""
    parts = [item.unalias() for item in items]
    having, order = select.args.get("having"), select.args.get("order")
    if having:
        parts.append(having.this)
    aliases = {item.alias.lower() for item in items if isinstance(item, exp.Alias)}
    terms = [term.this for term in order.expressions] if order else []
    return parts + [t for t in terms if has_aggregate(t) and t.name.lower() not in aliases]


def _group_term(node: exp.Expr, items: list[exp.Expr], scope: Scope) -> exp.Expr:
    """Return what a GROUP BY term means: an ordinal, an output name, or an expression."""
    if isinstance(node, exp.Literal) and not node.is_string:
        position = int(node.name) if node.name.isdigit() else 0
        if not 1 <= position <= len(items):
            raise BindError(
                f"GROUP BY {node.name}: SELECT has {len(items)} columns", span=span_of(node)
            )
        return items[position - 1].unalias()
    if isinstance(node, exp.Column) and not node.table and scope.resolve(node) is None:
        for item in items:
            if isinstance(item, exp.Alias) and item.alias.lower() == node.name.lower():
                return item.unalias()
    return node


def bind_from_where(
    select: exp.Select, context: Context, binders: QueryBinders, outer: Scope | None
) -> Joined:
    """Bind FROM and WHERE: sources, joins, then sub-query predicates above them."""
    nodes, terms = _from_items(select)
    sources = tuple(bind_source(node, context, binders) for node in nodes)
    _require_distinct_aliases(sources)
    sources = _with_expiry(sources)
    scope = Scope(sources, outer, bool(context.settings.get("bare_words") == "strings"))
    where = select.args.get("where")
    terms += _conjuncts(where.this if where else None)
    pairs = [n for n in terms if isinstance(n, PairWindow)]
    predicates = [p for n in terms if (p := subquery_term(n)) is not None]
    plain = [n for n in terms if not isinstance(n, PairWindow) and subquery_term(n) is None]
    inside, correlated = _bind_terms(plain, scope, sources)
    plan = build_joins(sources, inside, pair_bands(pairs, sources, context))
    for term in sorted(predicates, key=lambda p: p.negated):
        plan = apply_subquery(plan, scope, term, _bind_inner(term, context, binders, scope))
    plan = _until_external_end(plan, sources)
    return Joined(plan, scope, tuple(correlated), any(p.negated for p in predicates))


def _bind_terms(
    nodes: list[exp.Expr], scope: Scope, sources: tuple[Source, ...]
) -> tuple[list[Expr], list[Expr]]:
    """Bind plain terms; return those about this block and those that reach outwards."""
    known = frozenset(name for s in sources for name in s.plan.schema.names)
    inside: list[Expr] = []
    correlated: list[Expr] = []
    for node in nodes:
        expr = _boolean(ExpressionBinder(scope).bind(node), node, "WHERE")
        (inside if columns_of(expr) <= known else correlated).append(expr)
    return inside, correlated


def _boolean(expr: Expr, node: exp.Expr, clause: str) -> Expr:
    if expr.type != BOOLEAN:
        raise BindError(
            f"{clause} needs a condition, {to_sql(node)} is {sql_name(expr.type)}",
            hint="Compare it with something.",
            span=span_of(node),
        )
    return expr


def _bind_inner(term: SubqueryTerm, context: Context, binders: QueryBinders, scope: Scope) -> Inner:
    query = term.query
    simple = isinstance(query, exp.Select) and not any(
        query.args.get(clause) for clause in ("group", "having", "limit", "offset", "with_")
    )
    if not simple or any(map(has_aggregate, query.expressions)):
        plan = binders.relation(query, context)
        column = None if term.value is None else membership_column(plan, term.node)
        return Inner(plan, column, (), ())
    assert isinstance(query, exp.Select)
    _refuse_unsupported(query)
    joined = bind_from_where(query, context, binders, scope)
    if any(s.internal for s in joined.scope.sources):
        raise _internal_negation(term.node, "EXISTS and IN")
    column = None if term.value is None else _inner_column(query, joined.scope, term)
    return Inner(joined.plan, column, joined.correlated, joined.scope.sources)


def _inner_column(query: exp.Select, scope: Scope, term: SubqueryTerm) -> Expr:
    items = _expand_stars(query, scope)
    if len(items) != 1:
        raise BindError(
            f"the sub-query of IN has {len(items)} columns",
            detail="IN compares one value.",
            hint="Select exactly one column, or use EXISTS.",
            span=span_of(term.node),
        )
    return ExpressionBinder(Scope(scope.sources, None, scope.bare_words)).bind(items[0].unalias())


def _from_items(select: exp.Select) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Return the items of FROM and the terms of all ONs."""
    items = [select.args["from_"].this]
    terms: list[exp.Expr] = []
    for join in select.args.get("joins") or ():
        side = join.side or (join.kind if join.kind not in ("", "INNER", "CROSS") else "")
        if side or join.method or join.args.get("using"):
            word = "USING" if join.args.get("using") else f"{side or join.method} JOIN"
            raise BindError(
                f"{word} is not supported",
                detail="Joins are inner joins: FROM a, b WHERE ... or a JOIN b ON ...",
                hint="For tuples without a partner, UNION ALL a query with NOT EXISTS.",
                span=span_of(join.this),
            )
        items.append(join.this)
        terms += _conjuncts(join.args.get("on"))
    return items, terms


def _conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    match node:
        case None:
            return []
        case exp.And():
            return _conjuncts(node.this) + _conjuncts(node.expression)
        case exp.Paren(this=exp.And() | exp.Paren() | PairWindow()):
            return _conjuncts(node.this)
        case _:
            return [node]


def _require_distinct_aliases(sources: tuple[Source, ...]) -> None:
    seen: set[str] = set()
    for source in sources:
        if source.alias.lower() in seen:
            raise BindError(
                f'two sources are called "{source.alias}"',
                hint=f"Give one an alias: {source.alias} AS {source.alias}2.",
                span=source.span,
            )
        seen.add(source.alias.lower())


def _with_expiry(sources: tuple[Source, ...]) -> tuple[Source, ...]:
    """Let external windows beside INTERNAL ones tell when their tuples leave."""
    if not any(s.internal for s in sources) or not any(s.external for s in sources):
        return sources
    return tuple(_telling_expiry(s) if s.external else s for s in sources)


def _telling_expiry(source: Source) -> Source:
    window = source.plan
    if not isinstance(window, Window):
        raise SemanticError(
            f'"{source.alias}" beside an INTERNAL window must be a windowed stream',
            detail="Its tuples do not tell when they leave.",
            hint="Make all windows of the query INTERNAL, or none.",
            span=source.span,
        )
    column = f"{source.plan.schema.names[0].split('.')[0]}.#exp"
    return replace(source, plan=replace(window, expiry_column=column), expiry_column=column)


def _until_external_end(plan: Plan, sources: tuple[Source, ...]) -> Plan:
    ends = tuple(s.expiry_column for s in sources if s.expiry_column is not None)
    if not ends:
        return plan
    kept = Window(Istream(plan), Until(ends))
    columns = tuple(Named(f.name, as_column(f)) for f in plan.schema if f.name not in ends)
    return Project(kept, columns)


def _is_internal(sources: tuple[Source, ...]) -> bool:
    return any(s.internal for s in sources) and not any(s.external for s in sources)


def _check_internal(joined: Joined, select: exp.Select, *, aggregated: bool) -> None:
    sources = joined.scope.sources
    if not any(s.internal for s in sources):
        return
    if select.args.get("distinct"):
        raise _internal_negation(select, "DISTINCT")
    if joined.negated:
        raise _internal_negation(select, "negation")
    if select.args.get("limit"):
        raise _internal_negation(select, "LIMIT")
    if aggregated and any(s.external for s in sources):
        raise SemanticError(
            "an aggregate mixes INTERNAL and external windows",
            detail="Its values would both stay for ever and expire.",
            hint="Make all windows INTERNAL, or none.",
            span=span_of(select),
        )


def _internal_negation(node: exp.Expr, what: str) -> SemanticError:
    return SemanticError(
        f"INTERNAL does not go with {what}",
        detail="Results that stay after their tuples have left would be duplicates, or would no "
        "longer satisfy the condition.",
        hint="Leave INTERNAL out, so that results expire with the window.",
        span=span_of(node),
    )


def _expand_stars(select: exp.Select, scope: Scope) -> list[exp.Expr]:
    """Return the select list with each * written out."""
    items: list[exp.Expr] = []
    for item in select.expressions:
        if isinstance(item, exp.Star):
            items += _star(scope.sources)
        elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            items += _star(_owner(item, scope))
        else:
            items.append(item)
    return items


def _owner(item: exp.Column, scope: Scope) -> tuple[Source, ...]:
    owners = tuple(s for s in scope.sources if s.alias.lower() == item.table.lower())
    if not owners:
        raise BindError(
            f'unknown source "{item.table}"',
            detail=f"FROM has {', '.join(s.alias for s in scope.sources)}.",
            span=span_of(item),
        )
    return owners


def _star(sources: tuple[Source, ...]) -> list[exp.Expr]:
    return [exp.column(name, table=s.alias, quoted=True) for s in sources for name, _ in s.columns]


def _columns(items: list[exp.Expr], bind: BindExpr) -> tuple[Named, ...]:
    """Bind the select list under unique output names."""
    columns: list[Named] = []
    taken: set[str] = set()
    for item in items:
        inner = item.unalias()
        name = _unique(item, inner, taken)
        taken.add(name.lower())
        columns.append(Named(name, bind(inner)))
    return tuple(columns)


def _unique(item: exp.Expr, inner: exp.Expr, taken: set[str]) -> str:
    """Return the output name: the alias, the column's name, or the expression's text."""
    name = item.alias or (inner.name if isinstance(inner, exp.Column) else to_sql(inner))
    if name.lower() in taken and isinstance(inner, exp.Column) and inner.table:
        name = f"{inner.table}_{name}"
    base, n = name, 1
    while name.lower() in taken:
        n += 1
        name = f"{base}_{n}"
    return name


def _refuse_unsupported(select: exp.Select) -> None:
    for clause, word in UNSUPPORTED.items():
        if select.args.get(clause):
            raise BindError(f"{word} is not supported", span=span_of(select))
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise BindError("DISTINCT ON is not supported", span=span_of(select))
