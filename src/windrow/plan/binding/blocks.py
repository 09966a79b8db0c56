"""SELECT blocks: FROM and WHERE, then GROUP BY, HAVING, SELECT, DISTINCT, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, combinations

from sqlglot import exp

from windrow.core.errors import BindError, SemanticError
from windrow.language.printing import to_sql
from windrow.language.spans import span_of
from windrow.language.syntax import PairWindow, StreamWindow
from windrow.plan import nodes
from windrow.plan.binding.context import Context
from windrow.plan.binding.expressions import ExpressionBinder, condition, misplaced
from windrow.plan.binding.factor_disjunctions import factor_disjunctions
from windrow.plan.binding.from_joins import Condition, bind_joins, conjuncts_of
from windrow.plan.binding.grouping import BlockGrouping, has_aggregate, owners_of_star
from windrow.plan.binding.imply_conditions import imply_conditions
from windrow.plan.binding.infer_equalities import infer_constants
from windrow.plan.binding.joins import build_joins, pair_bands
from windrow.plan.binding.ordering import apply_order, order_terms, ordinal, output_key
from windrow.plan.binding.scope import FromItem, Scope
from windrow.plan.binding.sources import QueryBinders, bind_source
from windrow.plan.binding.subqueries import (
    Inner,
    SubqueryTerm,
    SubqueryValue,
    apply_subquery,
    folded_value,
    require_bounded,
    selected_value,
    several_columns,
    single_value,
    subquery_term,
    two_levels_up,
    unwrap,
    value_nodes,
)
from windrow.plan.expressions import Expr, columns_of, conjuncts
from windrow.plan.windows import Range, Rows, Until

BindExpr = Callable[[exp.Expr], Expr]
MAX_SETS = 64
"""Grouping sets of one GROUP BY: six columns of a CUBE."""

SLIDE_COLUMN = "#slide"
"""The column with the instant at which a count window slides."""


@dataclass(frozen=True, slots=True)
class Body:
    """A bound block or set operation, before SLIDE and the output operator.

    `internal`: no window lets results expire, and some are INTERNAL: its results stay for ever.
    `slides`: of an aggregate over windows ``[ROWS n SLIDE m]`` alone, when each of them slides.
    """

    plan: nodes.Plan
    order: tuple[nodes.SortKey, ...] = ()
    internal: bool = False
    aggregated: bool = False
    slides: tuple[nodes.SlideInstants, ...] = ()


@dataclass(frozen=True, slots=True)
class Joined:
    """FROM and WHERE of a block: the joined plan and the terms that reach outwards."""

    plan: nodes.Plan
    scope: Scope
    correlated: tuple[Expr, ...]
    subqueries: tuple[SubqueryTerm, ...]


def bind_block(select: exp.Select, context: Context, binders: QueryBinders) -> Body:
    """Bind a SELECT. Its plan's columns are the output names."""
    _refuse_over(select)
    joined = bind_from_where(select, context, binders, None)
    items = _expand_stars(select, joined.scope)
    grouped = (
        select.args.get("group") or select.args.get("having") or any(map(has_aggregate, items))
    )
    values = ValueBinder(select, joined.scope, context, binders)
    bind, plan = (
        _grouped(select, joined, items, values) if grouped else _plain(joined, items, values)
    )
    _check_internal(joined, select, aggregated=bool(grouped))
    columns = _columns(items, bind)
    plan, order = apply_order(select, plan, columns, bind)
    internal = _is_internal(joined.scope.sources)
    slides = _slide_instants(select, joined.scope.sources, context, binders) if grouped else ()
    return Body(plan, order, internal, bool(grouped), slides)


def _slide_instants(
    select: exp.Select, sources: tuple[FromItem, ...], context: Context, binders: QueryBinders
) -> tuple[nodes.SlideInstants, ...]:
    """Return when the windows of a block slide, if all of them count tuples and SLIDE.

    Each stream is bound once more: that it is counted does not depend on who else reads it.
    """
    moving = [
        n
        for n, s in zip(_from_items(select), sources, strict=True)
        if s.kind in ("stream", "query")
    ]
    if not all(s.count_slides for s in sources if s.kind in ("stream", "query")):
        return ()
    windows = [bind_source(node, context, binders).plan for node in moving]
    return tuple(
        nodes.SlideInstants(w.source, w.spec.step, SLIDE_COLUMN)
        for w in windows
        if isinstance(w, nodes.Window) and isinstance(w.spec, Rows)
    )


def _refuse_over(select: exp.Select) -> None:
    """Refuse OVER (...) before anything else of the block is found wrong because of it."""
    parts = [*select.expressions, *(select.args.get(c) for c in ("where", "having", "order"))]
    for part in parts:
        if part is None:
            continue
        for node in part.walk(prune=lambda n: isinstance(n, exp.Query)):
            if isinstance(node, exp.Window):
                raise misplaced(node)


@dataclass(frozen=True, slots=True)
class ValueBinder:
    """Binds sub-queries that are values of a block."""

    select: exp.Select
    scope: Scope
    context: Context
    binders: QueryBinders

    def of(self, parts: Iterable[exp.Expr]) -> tuple[list[SubqueryValue], Scope]:
        """Return those of some expressions, and the scope in which they are known."""
        found = value_nodes(parts)
        if not found:
            return [], self.scope
        require_bounded(self.scope.sources, found[0], "a sub-query that is a value")
        if any(s.internal for s in self.scope.sources):
            raise internal_refused(internal_window(self.select), "a sub-query that is a value")
        made = [self._value(node) for node in found]
        known = {**self.scope.values, **{id(value.node): value.expr for value in made}}
        return made, replace(self.scope, values=known)

    def _value(self, node: exp.Expr) -> SubqueryValue:
        query = unwrap(node.this if isinstance(node, exp.Exists) else node)
        simple = _is_simple(query)
        if isinstance(node, exp.Exists):
            if not simple or any(map(has_aggregate, query.expressions)):
                raise misplaced(node)
            query = _counted(query)
        context = self.context
        if not simple:
            around, context.around = context.around, self.scope
            source = bind_source(exp.Subquery(this=query), context, self.binders)
            context.around = around
            return single_value(node, source.plan)
        assert isinstance(query, exp.Select)
        joined = bind_from_where(query, context, self.binders, self.scope)
        if any(s.internal for s in joined.scope.sources):
            raise internal_refused(internal_window(query), "a sub-query that is a value")
        alias = context.unique_alias("value", span_of(node))
        if not any(map(has_aggregate, query.expressions)):
            columns = _checked_columns(query, joined.scope)
            return selected_value(node, joined.plan, columns, joined.correlated, alias)
        if len(query.expressions) != 1:
            raise several_columns(len(query.expressions), node)
        inner = joined.plan, joined.scope, joined.correlated
        return folded_value(node, query.expressions[0], self.scope, inner, alias)


def _is_simple(query: exp.Expr) -> bool:
    """Return whether a sub-query may look outwards: a SELECT with WHERE, and no more."""
    clauses = ("group", "having", "limit", "offset", "with_")
    return isinstance(query, exp.Select) and not any(map(query.args.get, clauses))


def _counted(query: exp.Expr) -> exp.Select:
    """Return ``SELECT COUNT(*) > 0`` of what EXISTS looks at."""
    counted = query.copy()
    counted.set("distinct", None)
    counted.set("order", None)
    count = exp.Anonymous(this="COUNT", expressions=[exp.Star()])
    counted.set("expressions", [exp.GT(this=count, expression=exp.Literal.number(0))])
    assert isinstance(counted, exp.Select)
    return counted


def _plain(
    joined: Joined, items: list[exp.Expr], values: ValueBinder
) -> tuple[BindExpr, nodes.Plan]:
    made, scope = values.of(items)
    plan = joined.plan
    for value in made:
        plan = value.joined(plan)
    return ExpressionBinder(scope, "ORDER BY").bind, plan


def _grouped(
    select: exp.Select, joined: Joined, items: list[exp.Expr], values: ValueBinder
) -> tuple[BindExpr, nodes.Plan]:
    grouping = BlockGrouping(joined.scope)
    group = select.args.get("group")
    if group is not None:
        grouping.add_sets(
            _grouping_sets(group, items), lambda n: _group_term(n, items, joined.scope)
        )
    having = select.args.get("having")
    made, grouping.scope = values.of([*items, *([having.this] if having else ())])
    for node in _grouped_parts(select, items):
        grouping.bind(node)
    plan = grouping.plan(joined.plan)
    for value in made:
        plan = value.joined(plan, partial(grouping.over_groups, node=value.node))
    if having:
        bound = condition(grouping.bind(having.this), having.this, "HAVING")
        plan = nodes.Filter(plan, factor_disjunctions(bound))
    return grouping.bind, plan


def _grouping_sets(group: exp.Group, items: list[exp.Expr]) -> list[list[exp.Expr]]:
    """Return the keys of each set that a GROUP BY names; a plain one has one set.

    GROUP BY a, ROLLUP (b, c)  is  (a, b, c), (a, b), (a);  ALL is every item without an aggregate.
    """
    if group.args.get("all"):
        return [[item.unalias() for item in items if not has_aggregate(item)]]
    sets: list[list[exp.Expr]] = [[]]
    for element in group.expressions:
        sets = [before + chosen for before in sets for chosen in _sets_of(element)]
        if len(sets) > MAX_SETS:
            raise BindError(
                f"GROUP BY has more than {MAX_SETS} grouping sets",
                detail="Each of them is an aggregate of its own.",
                hint="Name those that are needed: GROUPING SETS ((a, b), (a), ()).",
                span=span_of(group),
            )
    return sets


def _sets_of(element: exp.Expr) -> list[list[exp.Expr]]:
    parts = [_columns_in(node) for node in element.expressions]
    match element:
        case exp.Rollup():
            return [list(chain(*parts[:n])) for n in range(len(parts), -1, -1)]
        case exp.Cube():
            sizes = range(min(len(parts), MAX_SETS), -1, -1)
            return [list(chain(*some)) for n in sizes for some in combinations(parts, n)]
        case exp.GroupingSets():
            return [found for node in element.expressions for found in _sets_of(node)]
        case _:
            return [_columns_in(element)]


def _columns_in(node: exp.Expr) -> list[exp.Expr]:
    """Return the columns of a set in brackets, or the one that it is."""
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    return [node.this if isinstance(node, exp.Paren) else node]


def _grouped_parts(select: exp.Select, items: list[exp.Expr]) -> list[exp.Expr]:
    """All expressions over groups, so that every aggregate is known before the plan is made."""
    parts = [item.unalias() for item in items]
    having, order = select.args.get("having"), select.args.get("order")
    if having:
        parts.append(having.this)
    terms = [term.this for term in order.expressions] if order else []
    return parts + [term for term in terms if has_aggregate(term)]


def _group_term(node: exp.Expr, items: list[exp.Expr], scope: Scope) -> exp.Expr:
    """Return what a GROUP BY term means: an ordinal, an output name, or an expression."""
    if isinstance(node, exp.Literal) and not node.is_string:
        return items[ordinal(node, len(items), "GROUP BY")].unalias()
    if isinstance(node, exp.Column) and not node.table and scope.resolve(node) is None:
        for item in items:
            if isinstance(item, exp.Alias) and item.alias.lower() == node.name.lower():
                return item.unalias()
    return node


def bind_from_where(
    select: exp.Select, context: Context, binders: QueryBinders, outer: Scope | None
) -> Joined:
    """Bind FROM and WHERE: sources, joins, then sub-query predicates above them."""
    if not select.args.get("from_"):
        raise BindError(
            "a continuous query needs FROM",
            hint="Name a stream: SELECT ... FROM s [RANGE 1 MINUTE].",
            span=span_of(select),
        )
    sources = tuple(bind_source(node, context, binders) for node in _from_items(select))
    _require_distinct_aliases(sources)
    sources = _with_expiry(sources)
    bare_words = context.settings.get("bare_words") == "strings"
    clause = bind_joins(select, sources, Scope((), outer, bare_words, context.around))
    scope, units = clause.scope, clause.units
    where = select.args.get("where")
    terms = conjuncts_of(where.this if where else None)
    conditions = [*clause.conditions, *(("WHERE", n) for n in terms)]
    pairs = [n for _, n in conditions if isinstance(n, PairWindow)]
    predicates = tuple(p for _, n in conditions if (p := subquery_term(n)) is not None)
    others = [
        (c, n) for c, n in conditions if not isinstance(n, PairWindow) and subquery_term(n) is None
    ]
    plain = [(c, n) for c, n in others if not value_nodes([n])]
    if pairs and clause.outer_joins:
        raise _window_beside_outer_join(pairs[0])
    inside, correlated = _bind_terms(plain, scope)
    inside += clause.terms
    known = (*correlated, *(() if outer is None else outer.terms))
    inside += _implied(inside, known, units)
    scope = replace(scope, terms=tuple(inside))
    plan = build_joins(units, inside, pair_bands(pairs, sources, context), known)
    for term in sorted(predicates, key=lambda p: p.negated):
        plan = apply_subquery(plan, scope, term, _bind_inner(term, context, binders, scope))
    by_value = [(c, n) for c, n in others if value_nodes([n])]
    plan = _filtered_by_values(plan, by_value, ValueBinder(select, scope, context, binders))
    plan = _until_external_end(plan, sources)
    return Joined(plan, scope, tuple(correlated), predicates)


def _filtered_by_values(
    plan: nodes.Plan, conditions: list[Condition], values: ValueBinder
) -> nodes.Plan:
    """Apply the terms of WHERE that hold sub-queries as values, which are joined for them."""
    names = plan.schema.names
    for clause, node in conditions:
        made, scope = values.of([node])
        for value in made:
            plan = value.joined(plan)
        bound = condition(ExpressionBinder(scope, clause).bind(node), node, clause)
        outward = columns_of(bound) - frozenset(plan.schema.names)
        if outward:
            raise two_levels_up(outward, scope, node)
        plan = nodes.Filter(plan, factor_disjunctions(bound))
    if plan.schema.names == names:
        return plan
    return nodes.Project(
        plan, tuple(nodes.Named(n, nodes.as_column(plan.schema[n])) for n in names)
    )


def _window_beside_outer_join(node: exp.Expr) -> SemanticError:
    return SemanticError(
        "WINDOW(...) does not go with an outer join",
        detail="It bounds a pair of tuples, and a tuple that stays without a partner is in none.",
        hint="Give each stream a window, for example s [RANGE 10 MINUTES].",
        span=span_of(node),
    )


def _bind_terms(conditions: list[Condition], scope: Scope) -> tuple[list[Expr], list[Expr]]:
    """Bind plain terms; return those about this block and those that reach outwards."""
    known = scope.own_columns
    inside: list[Expr] = []
    correlated: list[Expr] = []
    for clause, node in conditions:
        bound = condition(ExpressionBinder(scope, clause).bind(node), node, clause)
        for expr in conjuncts(factor_disjunctions(bound)):
            (inside if columns_of(expr) <= known else correlated).append(expr)
    return inside, correlated


def _implied(
    inside: list[Expr], known: tuple[Expr, ...], sources: tuple[FromItem, ...]
) -> list[Expr]:
    """Return conditions on single sources that follow from others.

    An NRR is looked up as it is: a condition on it would be tested after the join, in vain.
    `known` terms hold wherever a row of a sub-query can matter, be it for EXISTS or NOT EXISTS.
    """
    names = [frozenset(s.plan.schema.names) for s in sources if s.kind != "nrr"]
    ors = imply_conditions([*inside, *known], names)
    constants = infer_constants([*inside, *known])
    return [*ors, *(t for t in constants if any(columns_of(t) <= n for n in names))]


def _bind_inner(term: SubqueryTerm, context: Context, binders: QueryBinders, scope: Scope) -> Inner:
    query = term.query
    if not _is_simple(query) or any(map(has_aggregate, query.expressions)):
        around, context.around = context.around, scope
        source = bind_source(exp.Subquery(this=query), context, binders)
        context.around = around
        found = tuple(map(nodes.as_column, source.plan.schema)) if term.values else ()
        return Inner(source.plan, found, (), (source,))
    assert isinstance(query, exp.Select)
    joined = bind_from_where(query, context, binders, scope)
    if any(s.internal for s in joined.scope.sources):
        raise internal_refused(term.node, "EXISTS and IN")
    columns = _checked_columns(query, joined.scope)
    compared = _inner_columns(columns, joined.scope, term) if term.values else ()
    return Inner(joined.plan, compared, joined.correlated, joined.scope.sources)


def _checked_columns(query: exp.Select, scope: Scope) -> tuple[nodes.Named, ...]:
    """Bind SELECT and ORDER BY of a sub-query: they have to make sense even where nobody looks."""
    bind = ExpressionBinder(scope, "ORDER BY").bind
    columns = _columns(_expand_stars(query, scope), bind)
    for term in order_terms(query):
        output_key(term, columns, bind)
    return columns


def _inner_columns(
    columns: tuple[nodes.Named, ...], scope: Scope, term: SubqueryTerm
) -> tuple[Expr, ...]:
    outward = frozenset().union(*(columns_of(c.expr) for c in columns)) - scope.own_columns
    if outward:
        written = scope.written(min(outward))
        raise BindError(
            f"the sub-query of {term.word} selects {written} of the query around it",
            detail=f"{term.word} compares with what the sub-query itself reads.",
            hint="Compare in WHERE of an EXISTS instead.",
            span=span_of(term.node),
        )
    return tuple(column.expr for column in columns)


def _from_items(select: exp.Select) -> list[exp.Expr]:
    return [select.args["from_"].this, *(join.this for join in select.args.get("joins") or ())]


def _require_distinct_aliases(sources: tuple[FromItem, ...]) -> None:
    seen: set[str] = set()
    for source in sources:
        if source.alias.lower() in seen:
            raise BindError(
                f'two sources are called "{source.alias}"',
                detail="Columns are distinguished by the names of their sources.",
                hint=f"Give one another alias: AS {source.alias}2, for example.",
                span=source.span,
            )
        seen.add(source.alias.lower())


def _with_expiry(sources: tuple[FromItem, ...]) -> tuple[FromItem, ...]:
    """Let external windows beside INTERNAL ones have a column with their tuples' `exp`."""
    if not any(s.internal for s in sources) or not any(s.external for s in sources):
        return sources
    return tuple(_with_known_expiry(s) if s.external else s for s in sources)


def _with_known_expiry(source: FromItem) -> FromItem:
    window = source.plan
    if not isinstance(window, nodes.Window) or not isinstance(window.spec, Range):
        raise SemanticError(
            f'"{source.alias}" beside an INTERNAL window must be a stream with a RANGE window',
            detail="A result lives until its first external tuple expires, and only tuples of a "
            "RANGE window know when that will be.",
            hint="Make all windows of the query INTERNAL, or none.",
            span=source.span,
        )
    column = f"{source.plan.schema.names[0].split('.')[0]}.#exp"
    return replace(source, plan=replace(window, expiry_column=column), expiry_column=column)


def _until_external_end(plan: nodes.Plan, sources: tuple[FromItem, ...]) -> nodes.Plan:
    ends = tuple(s.expiry_column for s in sources if s.expiry_column is not None)
    if not ends:
        return plan
    kept = nodes.Window(nodes.Produced(plan), Until(ends))
    columns = tuple(
        nodes.Named(f.name, nodes.as_column(f)) for f in plan.schema if f.name not in ends
    )
    return nodes.Project(kept, columns)


def _is_internal(sources: tuple[FromItem, ...]) -> bool:
    return any(s.internal for s in sources) and not any(s.external for s in sources)


def _check_internal(joined: Joined, select: exp.Select, *, aggregated: bool) -> None:
    sources = joined.scope.sources
    if not any(s.internal for s in sources):
        return
    for clause in ("distinct", "limit", "offset"):
        if select.args.get(clause):
            raise internal_refused(internal_window(select), clause.upper())
    for term in joined.subqueries:
        word = "IN" if term.value is not None else "EXISTS"
        raise internal_refused(term.node, f"NOT {word}" if term.negated else word)
    if aggregated and any(s.external for s in sources):
        raise SemanticError(
            "an aggregate mixes INTERNAL and external windows",
            detail="Its values would both stay for ever and expire.",
            hint="Make all windows INTERNAL, or none.",
            span=span_of(select),
        )


def internal_window(query: exp.Expr) -> exp.Expr:
    """Return the first window of a query that is INTERNAL, or else the query."""
    windows = query.find_all(StreamWindow)
    return next((w for w in windows if w.args.get("internal")), query)


def internal_refused(node: exp.Expr, what: str) -> SemanticError:
    """Return the error for INTERNAL windows below an operator that retracts results."""
    return SemanticError(
        f"INTERNAL does not go with {what}",
        detail="Results that stay after their tuples have expired would be duplicates, or would no "
        "longer satisfy the condition.",
        hint="Leave INTERNAL out, so that results expire with the window.",
        span=span_of(node),
    )


def _expand_stars(select: exp.Select, scope: Scope) -> list[exp.Expr]:
    """Return the select list with each * written out."""
    items: list[exp.Expr] = []
    for item in select.expressions:
        if isinstance(item, exp.Star):
            items += _star(scope.shown, item)
        elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            items += _star(owners_of_star(item, scope), item, everything=True)
        else:
            items.append(item)
    return items


def _star(
    sources: tuple[FromItem, ...], star: exp.Expr, *, everything: bool = False
) -> list[exp.Expr]:
    """Return the columns of the sources, each standing where the star stands."""
    columns: list[exp.Expr] = []
    for source in sources:
        for name, _ in source.columns:
            if name.lower() in source.hidden and not everything:
                continue
            column = exp.column(name, table=source.alias, quoted=True)
            column.meta.update(star.meta)
            columns.append(column)
    return columns


def _columns(items: list[exp.Expr], bind: BindExpr) -> tuple[nodes.Named, ...]:
    """Bind the select list under unique output names: the first item of a name keeps it."""
    columns: list[nodes.Named] = []
    names = [_written(item) for item in items]
    wanted = {name.lower() for name in names}
    taken: set[str] = set()
    for item, written in zip(items, names, strict=True):
        is_free = written.lower() not in taken
        name = written if is_free else _made_up(item, written, taken | wanted)
        taken.add(name.lower())
        columns.append(nodes.Named(name, bind(item.unalias())))
    return tuple(columns)


def _written(item: exp.Expr) -> str:
    """Return the output name: the alias, the column's name, or the expression's text."""
    inner = item.unalias()
    return item.alias or (inner.name if isinstance(inner, exp.Column) else to_sql(inner))


def _made_up(item: exp.Expr, written: str, taken: set[str]) -> str:
    """Return a name that no other item has, for one whose own is taken."""
    inner = item.unalias()
    source = inner.table if isinstance(inner, exp.Column) else ""
    base = name = f"{source}_{written}" if source else written
    n = 1
    while name.lower() in taken:
        n += 1
        name = f"{base}_{n}"
    return name
