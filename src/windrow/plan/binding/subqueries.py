"""Sub-queries outside of FROM: terms of WHERE that become half joins, and values that are joined.

EXISTS, IN, op ANY, op ALL      P ⋉ Q, P ▷ Q
(SELECT SUM(x) FROM R)          P × γ(R)                     one row, always
(... FROM R WHERE R.k = P.k)    P ⟕_{P.k = g.k} γ_{k}(R)     COUNT of no tuples is 0, not NULL
(... LIMIT 1)                   P ⟕ Q                        one row or none
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from windrow.core.errors import BindError, SemanticError, UnboundedStateError
from windrow.core.types import BIGINT
from windrow.language.spans import span_of
from windrow.language.syntax import StreamFunction
from windrow.plan.binding.expressions import BINARY_OPERATORS, ExpressionBinder
from windrow.plan.binding.grouping import BlockGrouping
from windrow.plan.binding.joins import join_on, window_hint, without_window
from windrow.plan.binding.scope import FromItem, Scope
from windrow.plan.expressions import Call, Column, Expr, Literal, columns_of, substitute
from windrow.plan.functions import is_aggregate, resolve_call
from windrow.plan.nodes import (
    Aggregate,
    AntiJoin,
    Distinct,
    Filter,
    Join,
    JoinOn,
    Named,
    OuterJoin,
    Plan,
    Project,
    SemiJoin,
    TopN,
    as_column,
)


@dataclass(frozen=True, slots=True)
class SubqueryTerm:
    """``[NOT] EXISTS (query)``, ``value [NOT] IN (query)`` or ``value op ANY (query)``.

    `compared`: the operator before ANY or ALL; `every` says that it is ALL.
    """

    node: exp.Expr
    query: exp.Expr
    value: exp.Expr | None
    negated: bool
    compared: str = ""
    every: bool = False

    @property
    def word(self) -> str:
        """What the term is called in errors."""
        if self.compared:
            return "ALL" if self.every else "ANY"
        return "EXISTS" if self.value is None else "IN"

    @property
    def values(self) -> list[exp.Expr]:
        """What is compared with the columns of the sub-query."""
        if self.value is None:
            return []
        return self.value.expressions if isinstance(self.value, exp.Tuple) else [self.value]


@dataclass(frozen=True, slots=True)
class Inner:
    """A bound sub-query: its plan, its columns if they are compared, and its outward terms."""

    plan: Plan
    columns: tuple[Expr, ...]
    correlated: tuple[Expr, ...]
    sources: tuple[FromItem, ...]


def subquery_term(node: exp.Expr, *, negated: bool = False) -> SubqueryTerm | None:
    """Recognise a conjunct that is a sub-query predicate."""
    match node:
        case exp.Paren():
            return subquery_term(node.this, negated=negated)
        case exp.Not():
            term = subquery_term(node.this, negated=not negated)
            return None if term is None else replace(term, node=node)
        case exp.Exists():
            return SubqueryTerm(node, unwrap(node.this), None, negated)
        case exp.In() if node.args.get("query"):
            value = node.this.unnest()
            return SubqueryTerm(node, unwrap(node.args["query"]), value, negated)
        case exp.Binary(expression=exp.Any() | exp.All()) if type(node) in BINARY_OPERATORS:
            return _quantified(node, negated=negated)
        case _:
            return None


def _quantified(node: exp.Binary, *, negated: bool) -> SubqueryTerm:
    """``= ANY`` is IN, and ``<> ALL`` is NOT IN."""
    operator, every = BINARY_OPERATORS[type(node)], isinstance(node.expression, exp.All)
    query = unwrap(node.expression.this)
    if operator == ("ne" if every else "eq"):
        return SubqueryTerm(node, query, node.this, negated is not every)
    return SubqueryTerm(node, query, node.this, negated, operator, every)


def unwrap(node: exp.Expr) -> exp.Expr:
    """Strip parentheses and RSTREAM, which is the view itself."""
    while is_bracket(node) or (
        isinstance(node, StreamFunction)
        and node.args["kind"] == "rstream"
        and not node.args.get("restore")
    ):
        node = node.this
    return node


def is_bracket(node: exp.Expr) -> bool:
    """Return whether a node is a query in parentheses and nothing else: no ORDER BY, no LIMIT."""
    return isinstance(node, exp.Subquery | exp.Paren) and not any(
        node.args.get(clause) for clause in ("alias", "with_", "order", "limit", "offset")
    )


def apply_subquery(left: Plan, scope: Scope, term: SubqueryTerm, inner: Inner) -> Plan:
    """Return `left` restricted by the term."""
    require_bounded(scope.sources, term.node, term.word)
    require_bounded(inner.sources, term.node, term.word)
    _require_one_level(left, scope, term, inner)
    terms = list(inner.correlated)
    if term.compared:
        terms.append(_compared(scope, term, inner))
    on = join_on(terms, frozenset(left.schema.names), frozenset(inner.plan.schema.names))
    null_aware = False
    if term.compared:
        return (AntiJoin if term.negated is not term.every else SemiJoin)(left, inner.plan, on)
    if term.value is not None:
        on, null_aware = _with_membership(on, scope, term, inner)
    if not term.negated:
        return SemiJoin(left, inner.plan, on)
    return AntiJoin(left, inner.plan, on, null_aware)


def _compared(scope: Scope, term: SubqueryTerm, inner: Inner) -> Expr:
    """Return the condition of ⋉, or of ▷, for ``value op ANY`` and ``value op ALL``.

    A term of WHERE counts if it is true.  ANY: some row compares true; NOT ANY: none compares
    otherwise than false.  ALL: none compares otherwise than true; NOT ALL: some compares false.
    """
    same = _comparison(term.compared, scope, term, inner)[0]
    if not (term.every or term.negated):
        return same
    if term.every and term.negated:
        return resolve_call("not", (same,))
    surely = resolve_call("is_true" if term.every else "is_false", (same,))
    return resolve_call("not", (surely,))


def _comparison(operator: str, scope: Scope, term: SubqueryTerm, inner: Inner) -> list[Expr]:
    """Return each value compared with its column of the sub-query."""
    values = [ExpressionBinder(scope, term.word).bind(value) for value in term.values]
    if len(values) != len(inner.columns):
        raise too_many_columns(len(inner.columns), len(values), term)
    outward = frozenset().union(*map(columns_of, values)) - scope.own_columns
    if outward:
        raise two_levels_up(outward, scope, term.node)
    try:
        pairs = zip(values, inner.columns, strict=True)
        return [resolve_call(operator, pair) for pair in pairs]
    except BindError as error:
        error.span = error.span or span_of(term.node)
        raise


def _with_membership(
    on: JoinOn, scope: Scope, term: SubqueryTerm, inner: Inner
) -> tuple[JoinOn, bool]:
    equal = _comparison("eq", scope, term, inner)
    pairs = [call.args for call in equal if isinstance(call, Call)]
    assert len(pairs) == len(equal), "an equality of two columns stays a call"
    null_aware = term.negated and any(value.nullable for pair in pairs for value in pair)
    if null_aware and (inner.correlated or len(pairs) > 1):
        what = (
            "over a correlated sub-query"
            if inner.correlated
            else "of several columns that may be NULL"
        )
        raise SemanticError(
            f"NOT IN {what} is not supported",
            detail="With NULLs about, its meaning depends on every row of the sub-query.",
            hint="Write NOT EXISTS (SELECT ... WHERE inner = outer), which ignores NULLs.",
            span=span_of(term.node),
        )
    left, right = (tuple(pair[side] for pair in pairs) for side in (0, 1))
    return (
        JoinOn((*left, *on.left_keys), (*right, *on.right_keys), on.bands, on.residual),
        null_aware,
    )


def require_bounded(sources: tuple[FromItem, ...], node: exp.Expr, word: str) -> None:
    """Refuse a sub-query beside a stream that would have to be kept for ever."""
    for source in sources:
        if source.implicit:
            raise UnboundedStateError(
                f'{word} needs unbounded state for "{source.alias}"'
                if source.kind == "stream"
                else f"{word} needs unbounded state",
                detail=f"{without_window(source)} A match may come at any later time.",
                hint=window_hint(source),
                span=source.span or span_of(node),
            )


def _require_one_level(left: Plan, scope: Scope, term: SubqueryTerm, inner: Inner) -> None:
    known = frozenset(left.schema.names) | frozenset(inner.plan.schema.names)
    for expr in inner.correlated:
        missing = columns_of(expr) - known
        if missing:
            raise two_levels_up(missing, scope, term.node)


def two_levels_up(missing: frozenset[str], scope: Scope, node: exp.Expr) -> BindError:
    """Return the error for a sub-query that refers to columns of the query beyond its own."""
    written = ", ".join(sorted(scope.written(name) for name in missing))
    return BindError(
        f"the sub-query refers to {written}, two levels up",
        detail="A sub-query may refer to the query directly around it.",
        hint="Read the outer stream again in the sub-query between, and compare with that.",
        span=span_of(node),
    )


def too_many_columns(count: int, wanted: int, term: SubqueryTerm) -> BindError:
    """Return the error for IN, ANY or ALL over a sub-query of another number of columns."""
    return BindError(
        f"the sub-query of {term.word} has {count} column{'' if count == 1 else 's'}",
        detail=f"{term.word} compares {'one value' if wanted == 1 else f'{wanted} values'}.",
        hint=f"Select exactly {'one column' if wanted == 1 else f'{wanted} columns'}, "
        "or use EXISTS.",
        span=span_of(term.node),
    )


# -- values ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SubqueryValue:
    """A sub-query that stands for a value, to be joined with what it stands in.

    `expr` is the value, over the columns of `plan`. `outer_keys` are compared with `keys`; without
    them every row meets the one row that there is, or none if it is not `one_row`.
    """

    node: exp.Expr
    plan: Plan
    expr: Expr
    outer_keys: tuple[Expr, ...] = ()
    keys: tuple[Expr, ...] = ()
    one_row: bool = False

    def joined(self, left: Plan, over: Callable[[Expr], Expr] = lambda expr: expr) -> Plan:
        """Return a plan with the value's columns; `over` rewrites keys for the plan's columns."""
        on = JoinOn(tuple(map(over, self.outer_keys)), self.keys)
        return Join(left, self.plan, on) if self.one_row else OuterJoin(left, self.plan, on)


def value_nodes(parts: Iterable[exp.Expr]) -> list[exp.Expr]:
    """Return the sub-queries that are values, in the order written; not those in aggregates."""
    return [
        node
        for part in parts
        for node in part.walk(prune=_closed)
        if isinstance(node, exp.Subquery | exp.Exists)
    ]


def _closed(node: exp.Expr) -> bool:
    """Return whether what is below a node is not looked into."""
    aggregate = isinstance(node, exp.Anonymous) and is_aggregate(node.name)
    query = isinstance(node, exp.Query | exp.Exists | exp.Any | exp.All)
    return aggregate or query or bool(isinstance(node, exp.In) and node.args.get("query"))


def folded_value(
    node: exp.Expr,
    item: exp.Expr,
    scope: Scope,
    inner: tuple[Plan, Scope, tuple[Expr, ...]],
    alias: str,
) -> SubqueryValue:
    """Return the value of an item with aggregates, by the keys that tie its sub-query outwards.

    `inner` are FROM and WHERE of the sub-query, its scope, and its terms about the outside.
    """
    below, inside, correlated = inner
    on = join_on(list(correlated), scope.own_columns, frozenset(below.schema.names))
    if on.residual is not None:
        raise SemanticError(
            "the sub-query is tied to the query around it by more than equalities",
            detail="Its value is joined by the columns that are equal.",
            hint="Compare its columns with those of the query directly around it by = only, "
            "joined by AND; or put the sub-query into FROM.",
            span=span_of(node),
        )
    grouping = BlockGrouping(inside)
    made = grouping.bind(item.unalias())
    grouping.keys = [Named(f"#key{i}", key) for i, key in enumerate(on.right_keys)]
    folded = grouping.plan(below)
    columns = {f.name: Named(f"{alias}.{f.name}", as_column(f)) for f in folded.schema}
    plan = Project(folded, tuple(columns.values()))
    keys = tuple(as_column(columns[key.name].field) for key in grouping.keys)
    outputs = {c.name: as_column(c.field) for c in columns.values()}
    expr = substitute(made, lambda c: _over_none(outputs[f"{alias}.{c.name}"], node, bool(keys)))
    return SubqueryValue(node, plan, expr, on.left_keys, keys, one_row=not keys)


def _over_none(column: Column, node: exp.Expr, maybe_none: bool) -> Expr:  # noqa: FBT001
    """Return an aggregate's value where there may be no group: that of no tuples."""
    if not maybe_none:
        return column
    if column.nullable:
        return column
    if column.type != BIGINT:
        raise SemanticError(
            "a correlated sub-query cannot have this aggregate as its value",
            detail="Over no tuples it is neither NULL nor 0.",
            hint="Put the sub-query into FROM and join with it.",
            span=span_of(node),
        )
    return resolve_call("coalesce", (replace(column, nullable=True), Literal(0, BIGINT)))


def selected_value(
    node: exp.Expr,
    below: Plan,
    columns: tuple[Named, ...],
    correlated: tuple[Expr, ...],
    alias: str,
) -> SubqueryValue:
    """Return the value of a SELECT without aggregates, whose FROM has one row at most."""
    read = frozenset().union(*(columns_of(column.expr) for column in columns))
    if correlated or not read <= frozenset(below.schema.names):
        raise _more_than_one_row(node)
    made = tuple(Named(f"{alias}.{column.name}", column.expr) for column in columns)
    return single_value(node, Project(below, made))


def single_value(node: exp.Expr, plan: Plan) -> SubqueryValue:
    """Return the value of a sub-query that does not look outwards."""
    if len(plan.schema) != 1:
        raise several_columns(len(plan.schema), node)
    if not _at_most_one_row(plan):
        raise _more_than_one_row(node)
    field = plan.schema.fields[0]
    one = _one_row(plan)
    column = Column(field.name, field.type, field.nullable or not one)
    return SubqueryValue(node, plan, column, one_row=one)


def several_columns(count: int, node: exp.Expr) -> BindError:
    """Return the error for a value of several columns."""
    return BindError(
        f"the sub-query has {count} columns",
        detail="A value is one column.",
        hint="Select exactly one column.",
        span=span_of(node),
    )


def _more_than_one_row(node: exp.Expr) -> SemanticError:
    """Return the error for a value that a sub-query may have many of."""
    return SemanticError(
        "the sub-query may have more than one row",
        detail="A value is one row at every instant, and nothing in the sub-query says so.",
        hint="Fold it, for example SELECT MAX(x); or cut it by ORDER BY ... LIMIT 1; or write IN.",
        span=span_of(node),
    )


def _one_row(plan: Plan) -> bool:
    while isinstance(plan, Project):
        plan = plan.source
    return isinstance(plan, Aggregate) and not plan.keys


def _at_most_one_row(plan: Plan) -> bool:
    while isinstance(plan, Project | Filter | Distinct):
        plan = plan.source
    return _one_row(plan) or (isinstance(plan, TopN) and plan.limit <= 1)
