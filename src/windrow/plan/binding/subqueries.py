"""EXISTS, IN and their negations: terms of WHERE that become semi- and anti-joins."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from windrow.core.errors import BindError, SemanticError, UnboundedStateError
from windrow.language.spans import span_of
from windrow.language.syntax import StreamFunction
from windrow.plan.binding.expressions import ExpressionBinder
from windrow.plan.binding.joins import join_on, window_hint, without_window
from windrow.plan.binding.scope import FromItem, Scope
from windrow.plan.expressions import Call, Expr, columns_of
from windrow.plan.functions import resolve_call
from windrow.plan.nodes import AntiJoin, JoinOn, Plan, SemiJoin, as_column


@dataclass(frozen=True, slots=True)
class SubqueryTerm:
    """``[NOT] EXISTS (query)`` or ``value [NOT] IN (query)``."""

    node: exp.Expr
    query: exp.Expr
    value: exp.Expr | None
    negated: bool


@dataclass(frozen=True, slots=True)
class Inner:
    """A bound sub-query: its plan, its one column if asked for, and its outward terms."""

    plan: Plan
    column: Expr | None
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
            return SubqueryTerm(node, unwrap(node.args["query"]), node.this, negated)
        case _:
            return None


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
    _require_bounded(scope.sources, term)
    _require_bounded(inner.sources, term)
    _require_one_level(left, scope, term, inner)
    on = join_on(
        list(inner.correlated), frozenset(left.schema.names), frozenset(inner.plan.schema.names)
    )
    null_aware = False
    if term.value is not None:
        on, null_aware = _with_membership(on, scope, term, inner)
    if not term.negated:
        return SemiJoin(left, inner.plan, on)
    return AntiJoin(left, inner.plan, on, null_aware)


def _with_membership(
    on: JoinOn, scope: Scope, term: SubqueryTerm, inner: Inner
) -> tuple[JoinOn, bool]:
    assert term.value is not None
    assert inner.column is not None, "the block binder gives IN its column"
    value = ExpressionBinder(scope, "IN").bind(term.value)
    here = scope.own_columns
    if not columns_of(value) <= here:
        raise _two_levels_up(columns_of(value) - here, scope, term)
    try:
        equal = resolve_call("eq", (value, inner.column))
    except BindError as error:
        error.span = error.span or span_of(term.node)
        raise
    assert isinstance(equal, Call), "an equality of two columns stays a call"
    nullable = value.nullable or inner.column.nullable
    null_aware = term.negated and nullable
    if null_aware and inner.correlated:
        raise SemanticError(
            "NOT IN over a correlated sub-query is not supported",
            detail="With NULLs about, its meaning depends on every row of the sub-query.",
            hint="Write NOT EXISTS (SELECT ... WHERE inner = outer), which ignores NULLs.",
            span=span_of(term.node),
        )
    left, right = equal.args
    return (
        JoinOn((left, *on.left_keys), (right, *on.right_keys), on.bands, on.residual),
        null_aware,
    )


def _require_bounded(sources: tuple[FromItem, ...], term: SubqueryTerm) -> None:
    for source in sources:
        if source.implicit:
            word = "IN" if term.value is not None else "EXISTS"
            raise UnboundedStateError(
                f'{word} needs unbounded state for "{source.alias}"'
                if source.kind == "stream"
                else f"{word} needs unbounded state",
                detail=f"{without_window(source)} A match may come at any later time.",
                hint=window_hint(source),
                span=source.span or span_of(term.node),
            )


def _require_one_level(left: Plan, scope: Scope, term: SubqueryTerm, inner: Inner) -> None:
    known = frozenset(left.schema.names) | frozenset(inner.plan.schema.names)
    for expr in inner.correlated:
        missing = columns_of(expr) - known
        if missing:
            raise _two_levels_up(missing, scope, term)


def _two_levels_up(missing: frozenset[str], scope: Scope, term: SubqueryTerm) -> BindError:
    written = ", ".join(sorted(scope.written(name) for name in missing))
    return BindError(
        f"the sub-query refers to {written}, two levels up",
        detail="A sub-query may refer to the query directly around it.",
        hint="Read the outer stream again in the sub-query between, and compare with that.",
        span=span_of(term.node),
    )


def membership_column(plan: Plan, node: exp.Expr) -> Expr:
    """Return the only column of a sub-query after IN."""
    if len(plan.schema) != 1:
        raise too_many_columns(len(plan.schema), node)
    return as_column(plan.schema.fields[0])


def too_many_columns(count: int, node: exp.Expr) -> BindError:
    """Return the error for IN over a sub-query of several columns."""
    return BindError(
        f"the sub-query of IN has {count} columns",
        detail="IN compares one value.",
        hint="Select exactly one column, or use EXISTS.",
        span=span_of(node),
    )
