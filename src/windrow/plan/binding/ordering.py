"""SELECT, DISTINCT, ORDER BY, LIMIT: the last steps of a block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from windrow.core.errors import BindError
from windrow.language.printing import to_sql
from windrow.language.spans import span_of
from windrow.plan.expressions import Call, Cast, Column, Expr, Literal
from windrow.plan.nodes import Distinct, Keyed, Named, Plan, Project, SortKey, TopN, as_column

BindExpr = Callable[[exp.Expr], Expr]

HIDDEN = "#key"
"""How names of keys begin that SELECT does not give."""


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
    keys = [output_key(term, columns, bind) for term in terms]
    cuts = limit is not None or offset is not None
    if cuts and not distinct and None in keys:
        cut = _top_by_hidden(plan, columns, _hidden(terms, keys, bind), limit, offset)
        return cut, shown_order(cut)
    for term, key in zip(terms, keys, strict=True):
        if key is None:
            raise _not_an_output(term, distinct=distinct)
    found = tuple(key for key in keys if key is not None)
    result: Plan = Distinct(projected) if distinct else projected
    return (_top(result, found, limit, offset) if cuts else result), found


Hidden = tuple[tuple[Named, ...], tuple[SortKey, ...]]
"""Columns that SELECT does not give, and keys over these and over outputs."""


def _hidden(terms: list[exp.Ordered], keys: list[SortKey | None], bind: BindExpr) -> Hidden:
    """Return the keys of ORDER BY; those that are no outputs get columns of their own."""
    own: list[Named] = []
    made: list[SortKey] = []
    for term, key in zip(terms, keys, strict=True):
        if key is not None:
            made.append(key)
            continue
        own.append(Named(f"{HIDDEN}{len(own)}", bind(term.this)))
        made.append(sort_key(term, as_column(own[-1].field)))
    return tuple(own), tuple(made)


def _top_by_hidden(
    plan: Plan, columns: tuple[Named, ...], hidden: Hidden, limit: int | None, offset: int | None
) -> Project:
    """Apply LIMIT by keys that SELECT does not return: hidden columns, removed afterwards."""
    own, keys = hidden
    top = _top(Project(plan, columns + own), keys, limit, offset)
    return Project(top, tuple(Named(c.name, as_column(c.field)) for c in columns))


def shown_order(cut: Project) -> tuple[SortKey, ...]:
    """Return the order of a cut by hidden keys as one over outputs; none if these are too few."""
    top = cut.source
    assert isinstance(top, TopN), "keys are dropped above the cut"
    assert isinstance(top.source, Project), "keys are computed below the cut"
    outputs = top.source.columns[: len(cut.columns)]
    computed = {c.name: c.expr for c in top.source.columns}
    order = []
    for key in top.keys:
        assert isinstance(key.expr, Column), "a cut is by columns"
        expr = over_outputs(computed[key.expr.name], outputs)
        if expr is None:
            return ()
        order.append(replace(key, expr=expr))
    return tuple(order)


def over_outputs(expr: Expr, outputs: tuple[Named, ...]) -> Expr | None:
    """Return an expression over the columns of SELECT; None if these are too few."""
    for output in outputs:
        if output.expr == expr:
            return as_column(output.field)
    match expr:
        case Literal():
            return expr
        case Call(args=args):
            made = [over_outputs(arg, outputs) for arg in args]
            known = tuple(arg for arg in made if arg is not None)
            return replace(expr, args=known) if len(known) == len(args) else None
        case Cast(value=value):
            inner = over_outputs(value, outputs)
            return None if inner is None else replace(expr, value=inner)
        case _:
            return None


def keyed_cut(plan: Plan, order: tuple[SortKey, ...]) -> Keyed | None:
    """Return the cut below a projection that drops its keys, where the order is not shown yet."""
    if order or not isinstance(plan, Project) or not isinstance(plan.source, TopN):
        return None
    top, outputs = plan.source, tuple(Named(f.name, as_column(f)) for f in plan.schema)
    dropped = top.schema.names[len(outputs) :]
    if plan.columns != outputs or not any(name.startswith(HIDDEN) for name in dropped):
        return None
    return Keyed(top, top.keys)


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
        key = output_key(term, columns, None)
        if key is None:
            raise _not_in_both(term, columns)
        keys.append(key)
    limit, offset = _row_count(query, "limit"), _row_count(query, "offset")
    if limit is None and offset is None:
        return plan, tuple(keys)
    return _top(plan, tuple(keys), limit, offset), tuple(keys)


def _top(plan: Plan, keys: tuple[SortKey, ...], limit: int | None, offset: int | None) -> Plan:
    return TopN(plan, keys, 2**31 if limit is None else limit, offset or 0)


def output_key(
    term: exp.Ordered, columns: tuple[Named, ...], bind: BindExpr | None
) -> SortKey | None:
    """Return the key if the term is an output: by position, by name or by expression."""
    node = term.this
    if isinstance(node, exp.Literal) and not node.is_string:
        return sort_key(term, as_column(columns[ordinal(node, len(columns), "ORDER BY")].field))
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


def ordinal(node: exp.Literal, columns: int, clause: str) -> int:
    """Return the index of the output column that a number in GROUP BY or ORDER BY means."""
    position = int(node.name) if node.name.isdecimal() and len(node.name) < 10 else 0
    if not 1 <= position <= columns:
        has = "1 column" if columns == 1 else f"{columns} columns"
        raise BindError(
            f"{clause} {node.name}: SELECT has {has}",
            detail=f"A number in {clause} is the position of a column of SELECT, from 1 on.",
            hint="Name the column instead.",
            span=span_of(node),
        )
    return position - 1


def _row_count(select: exp.Query, clause: str) -> int | None:
    node = select.args.get(clause)
    if node is None:
        return None
    value = node.expression
    if isinstance(value, exp.Literal) and not value.is_string and value.name.isdecimal():
        return int(value.name) if len(value.name) < 10 else 2**31
    raise BindError(
        f"{clause.upper()} takes a whole number, not {to_sql(value)}",
        hint=f"For example {clause.upper()} 10.",
        span=span_of(node),
    )


def _not_an_output(term: exp.Ordered, *, distinct: bool) -> BindError:
    if distinct:
        return BindError(
            f"ORDER BY {to_sql(term.this)} is not in SELECT DISTINCT",
            detail="Tuples that DISTINCT makes one may differ in it.",
            hint="Select it as well.",
            span=span_of(term),
        )
    return BindError(
        f"ORDER BY {to_sql(term.this)} is not in SELECT",
        detail="Without LIMIT, ORDER BY only says how the answer is shown.",
        hint="Select it as well, or add LIMIT.",
        span=span_of(term),
    )


def _not_in_both(term: exp.Ordered, columns: tuple[Named, ...]) -> BindError:
    return BindError(
        f"ORDER BY {to_sql(term.this)} is no column of the set operation",
        detail=f"Its columns are {', '.join(c.name for c in columns)}.",
        hint="Order by one of them or by its position.",
        span=span_of(term),
    )
