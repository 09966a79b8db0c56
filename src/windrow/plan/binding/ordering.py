"""SELECT, DISTINCT, ORDER BY, LIMIT: the last steps of a block."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from windrow.core.errors import BindError
from windrow.language.spans import span_of
from windrow.plan.expressions import Expr
from windrow.plan.nodes import Distinct, Named, Plan, Project, SortKey, TopN, as_column

BindExpr = Callable[[exp.Expr], Expr]


def apply_order(
    select: exp.Query, plan: Plan, columns: tuple[Named, ...], bind: BindExpr
) -> tuple[Plan, tuple[SortKey, ...]]:
    """Project, make distinct, and cut to LIMIT. Also return the order to show the answer in.

    ORDER BY may name outputs, or, where LIMIT cuts and DISTINCT does not, any input column.
    """
    distinct = bool(select.args.get("distinct"))
    limit, offset = _row_count(select, "limit"), _row_count(select, "offset")
    projected = Project(plan, columns)
    terms = order_terms(select)
    keys = [_output_key(term, columns, bind) for term in terms]
    cuts = limit is not None or offset is not None
    if cuts and not distinct and None in keys:
        inner = tuple(sort_key(term, bind(term.this)) for term in terms)
        return Project(_top(plan, inner, limit, offset), columns), ()
    for term, key in zip(terms, keys, strict=True):
        if key is None:
            raise _not_an_output(term)
    found = tuple(key for key in keys if key is not None)
    result: Plan = Distinct(projected) if distinct else projected
    return (_top(result, found, limit, offset) if cuts else result), found


def order_terms(select: exp.Query) -> list[exp.Ordered]:
    """Return the terms of ORDER BY."""
    order = select.args.get("order")
    return list(order.expressions) if order else []


def sort_key(term: exp.Ordered, expr: Expr) -> SortKey:
    """Return a bound ORDER BY term; NULLs come first ascending, last descending."""
    descending = bool(term.args.get("desc"))
    nulls_first = term.args.get("nulls_first")
    return SortKey(expr, descending, not descending if nulls_first is None else bool(nulls_first))


def order_outputs(query: exp.Query, plan: Plan) -> tuple[Plan, tuple[SortKey, ...]]:
    """Apply ORDER BY and LIMIT of a set operation, whose terms name output columns."""
    columns = tuple(Named(f.name, as_column(f)) for f in plan.schema)
    keys = []
    for term in order_terms(query):
        key = _output_key(term, columns, None)
        if key is None:
            raise _not_an_output(term)
        keys.append(key)
    limit, offset = _row_count(query, "limit"), _row_count(query, "offset")
    if limit is None and offset is None:
        return plan, tuple(keys)
    return _top(plan, tuple(keys), limit, offset), tuple(keys)


def _top(plan: Plan, keys: tuple[SortKey, ...], limit: int | None, offset: int | None) -> Plan:
    return TopN(plan, keys, 2**31 if limit is None else limit, offset or 0)


def _output_key(
    term: exp.Ordered, columns: tuple[Named, ...], bind: BindExpr | None
) -> SortKey | None:
    """Return the key if the term is an output: by position, by name or by expression."""
    node = term.this
    if isinstance(node, exp.Literal) and not node.is_string:
        position = int(node.name) if node.name.isdigit() else 0
        if not 1 <= position <= len(columns):
            raise BindError(
                f"ORDER BY {node.name}: SELECT has {len(columns)} columns", span=span_of(node)
            )
        return sort_key(term, as_column(columns[position - 1].field))
    if isinstance(node, exp.Column) and not node.table:
        for column in columns:
            if column.name.lower() == node.name.lower():
                return sort_key(term, as_column(column.field))
    if bind is None:
        return None
    expr = bind(node)
    for column in columns:
        if column.expr == expr:
            return sort_key(term, as_column(column.field))
    return None


def _row_count(select: exp.Query, clause: str) -> int | None:
    node = select.args.get(clause)
    if node is None:
        return None
    value = node.expression
    if isinstance(value, exp.Literal) and not value.is_string and value.name.isdigit():
        return min(int(value.name), 2**31)
    raise BindError(
        f"{clause.upper()} takes a whole number", hint="For example LIMIT 10.", span=span_of(node)
    )


def _not_an_output(term: exp.Ordered) -> BindError:
    return BindError(
        "ORDER BY names something that SELECT does not give",
        detail="Without LIMIT, ORDER BY only says how the answer is shown.",
        hint="Select it as well, or add LIMIT.",
        span=span_of(term),
    )
