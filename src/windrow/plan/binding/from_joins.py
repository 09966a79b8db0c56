"""FROM: its items side by side, and the joins that are written between them.

Inner joins are left to `joins.py`, which orders them as is best: their conditions are terms of the
block. An outer join stands where it is written: what comes before it, up to a comma, is its left
side, and its ON says which tuples are partners, no more.

    FROM a, b JOIN c ON p LEFT JOIN d ON q, e          units   a    (b ⋈_p c) ⟕_q d    e

USING and NATURAL compare columns of equal names and show one of the two: the left one, or in a
RIGHT JOIN the right one, as the other may be NULL; in a FULL JOIN the one that is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from windrow.core.errors import BindError, SemanticError
from windrow.core.naming import near
from windrow.language.spans import span_of
from windrow.language.syntax import PairWindow
from windrow.plan import nodes
from windrow.plan.binding.expressions import ExpressionBinder, condition
from windrow.plan.binding.factor_disjunctions import factor_disjunctions
from windrow.plan.binding.joins import build_joins, join_on, require_bounded_state
from windrow.plan.binding.scope import FromItem, Scope
from windrow.plan.expressions import Column, Expr, columns_of, conjunction, conjuncts
from windrow.plan.functions import resolve_call

Condition = tuple[str, exp.Expr]
"""A term of WHERE or ON, after the name of its clause."""


@dataclass(frozen=True, slots=True)
class FromClause:
    """What the terms of a block join, and what its names mean.

    `units` are sources, and outer joins of several; `terms` come of USING and NATURAL, `conditions`
    of ON. `scope` has every source.
    """

    units: tuple[FromItem, ...]
    scope: Scope
    terms: tuple[Expr, ...] = ()
    conditions: tuple[Condition, ...] = ()

    @property
    def outer_joins(self) -> bool:
        """Whether some join is an outer join."""
        return self.units != self.scope.sources


@dataclass(slots=True)
class JoinedItems:
    """The items between two commas, as far as they are joined."""

    units: list[FromItem]
    sources: list[FromItem]
    merged: list[FromItem] = field(default_factory=list)
    terms: list[Expr] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)


def bind_joins(select: exp.Select, sources: Sequence[FromItem], around: Scope) -> FromClause:
    """Return FROM over its bound items; `around` is a scope without any of them."""
    first, *others = sources
    parts = [JoinedItems([first], [first])]
    for join, source in zip(select.args.get("joins") or (), others, strict=True):
        _refuse_other_joins(join)
        if _is_comma(join):
            parts.append(JoinedItems([source], [source]))
        elif join.args.get("side"):
            _join_outer(parts[-1], join, source, around)
        else:
            _join_inner(parts[-1], join, source)
    shown = tuple(item for part in parts for item in (*part.merged, *part.sources))
    scope = replace(
        around,
        sources=tuple(s for part in parts for s in part.sources),
        merged=tuple(m for part in parts for m in part.merged),
        shown=shown,
    )
    return FromClause(
        tuple(u for part in parts for u in part.units),
        scope,
        tuple(t for part in parts for t in part.terms),
        tuple(c for part in parts for c in part.conditions),
    )


def _is_comma(join: exp.Join) -> bool:
    return not any(join.args.get(part) for part in ("method", "side", "kind", "on", "using"))


def _refuse_other_joins(join: exp.Join) -> None:
    words = [str(join.args.get(part) or "").upper() for part in ("method", "side", "kind")]
    kind = " ".join(word for word in words if word)
    if "SEMI" in kind:
        hint = "Write WHERE EXISTS (SELECT * FROM ... WHERE ...)."
    elif "ANTI" in kind:
        hint = "Write WHERE NOT EXISTS (SELECT * FROM ... WHERE ...)."
    elif words[0] in ("", "NATURAL") and words[2] in ("", "INNER", "OUTER", "CROSS"):
        return
    else:
        hint = "Write JOIN, LEFT JOIN, RIGHT JOIN, FULL JOIN or CROSS JOIN."
    raise BindError(
        f"{kind} JOIN is not supported",
        detail="Joins are inner and outer joins: a JOIN b ON ..., a LEFT JOIN b ON ...",
        hint=hint,
        span=span_of(join),
    )


def _join_inner(part: JoinedItems, join: exp.Join, source: FromItem) -> None:
    pairs = _compared(part, join, source)
    part.units.append(source)
    part.sources.append(source)
    part.conditions += [("ON", node) for node in conjuncts_of(join.args.get("on"))]
    part.terms += [equal for _, _, _, equal in pairs]
    _merge(part, [(name, left) for name, left, _, _ in pairs])


def _join_outer(part: JoinedItems, join: exp.Join, source: FromItem, around: Scope) -> None:
    """Replace what stands left of the join, and the item right of it, by one unit."""
    side = str(join.args["side"]).upper()
    _refuse_outer_join(join, [*part.units, source], source)
    pairs = _compared(part, join, source)
    before = replace(around, sources=tuple(part.sources), merged=tuple(part.merged))
    terms = [*part.terms, *_bound(part.conditions, before)]
    left, right = build_joins(tuple(part.units), terms, []), source.plan
    both = replace(before, sources=(*part.sources, source))
    on = [equal for _, _, _, equal in pairs]
    on += _bound([("ON", node) for node in conjuncts_of(join.args.get("on"))], both)
    plan = _outer_join(*((right, left) if side == "RIGHT" else (left, right)), on, side == "FULL")
    if side != "LEFT":
        part.sources = [_may_be_missing(s) for s in part.sources]
        part.merged = [_may_be_missing(m) for m in part.merged]
    if side != "RIGHT":
        source = _may_be_missing(source)
    part.sources.append(source)
    merged = [(name, ours if side == "LEFT" else other) for name, ours, other, _ in pairs]
    if side == "FULL" and pairs:
        plan, merged = _with_either(plan, pairs)
    units = (*part.units, source)
    external = any(s.external for s in units)
    alias = ", ".join(s.alias for s in units)
    part.units = [FromItem(alias, plan, (), "query", span_of(join), external=external)]
    part.terms, part.conditions = [], []
    _merge(part, merged)


def _refuse_outer_join(join: exp.Join, units: list[FromItem], source: FromItem) -> None:
    word = f"{str(join.args['side']).upper()} JOIN"
    if source.kind == "nrr" or any(u.kind == "nrr" for u in units[:1]):
        alias = source.alias if source.kind == "nrr" else units[0].alias
        raise SemanticError(
            f'{word} with non-retroactive relation "{alias}" is not supported',
            detail="It is looked at once, at the time of a stream's tuple, and never again.",
            hint="Join it with JOIN, or declare it as a RELATION.",
            span=span_of(join),
        )
    if any(u.internal for u in units):
        raise SemanticError(
            f"INTERNAL does not go with {word}",
            detail="A tuple that stays without a partner is retracted when a partner comes, but "
            "results of INTERNAL windows stay for ever.",
            hint="Leave INTERNAL out, so that results expire with the window.",
            span=span_of(join),
        )
    require_bounded_state(tuple(units), [])


def _outer_join(left: nodes.Plan, right: nodes.Plan, on: list[Expr], full: bool) -> nodes.Plan:  # noqa: FBT001
    """Return L ⟕ R: what ON says of R alone chooses its tuples before."""
    names = frozenset(left.schema.names), frozenset(right.schema.names)
    local = [] if full else [t for t in on if columns_of(t) and columns_of(t) <= names[1]]
    rest = [t for t in on if t not in local]
    predicate = conjunction(tuple(local))
    chosen = right if predicate is None else nodes.Filter(right, predicate)
    return nodes.OuterJoin(left, chosen, join_on(rest, *names), full)


def _bound(conditions: Sequence[Condition], scope: Scope) -> list[Expr]:
    """Bind terms of ON that are tested where they stand."""
    terms: list[Expr] = []
    for clause, node in conditions:
        bound = condition(ExpressionBinder(scope, clause).bind(node), node, clause)
        outward = columns_of(bound) - scope.own_columns
        if outward:
            raise BindError(
                f"ON of an outer join refers to {scope.written(min(outward))} of the query around",
                detail="Which tuples are partners does not depend on the query around it.",
                hint="Put the outer join into a sub-query in FROM, and compare in WHERE.",
                span=span_of(node),
            )
        terms += conjuncts(factor_disjunctions(bound))
    return terms


def _may_be_missing(item: FromItem) -> FromItem:
    columns = tuple((name, replace(column, nullable=True)) for name, column in item.columns)
    return replace(item, columns=columns)


# -- USING and NATURAL -------------------------------------------------------------------------

Pair = tuple[str, Column, Column, Expr]
"""A name of USING, its column on the left and on the right, and that they are equal."""


def _compared(part: JoinedItems, join: exp.Join, source: FromItem) -> list[Pair]:
    """Return what USING or NATURAL compares."""
    scope = Scope(tuple(part.sources), merged=tuple(part.merged))
    named: list[exp.Expr] = list(join.args.get("using") or ())
    if str(join.args.get("method") or "").upper() == "NATURAL":
        visible = [n for s in (*part.merged, *part.sources) for n in _shown(s)]
        names = [n for n in dict.fromkeys(visible) if source.find(n) is not None]
        if not names:
            raise BindError(
                "NATURAL JOIN of sources without a common column",
                detail=f'No column of "{source.alias}" has the name of one on the left.',
                hint="Write ON with the columns that have to be equal, or CROSS JOIN.",
                span=span_of(join),
            )
        named = [exp.to_identifier(n, quoted=True) for n in names]
    return [_pair(name, scope, source, join) for name in named]


def _shown(source: FromItem) -> list[str]:
    return [name for name, _ in source.columns if name.lower() not in source.hidden]


def _pair(node: exp.Expr, scope: Scope, source: FromItem, join: exp.Join) -> Pair:
    column = exp.column(node.copy())
    column.meta.update(node.meta or join.meta)
    left, right = scope.resolve(column), source.find(node.name)
    if left is None or right is None:
        side = "left" if left is None else "right"
        items = scope.sources if left is None else (source,)
        names = list(dict.fromkeys(n for s in items for n, _ in s.columns))
        raise BindError(
            f'USING names "{node.name}", which is no column on the {side}',
            detail=f"The columns are {', '.join(names)}.",
            hint=near(node.name, names) or "Write ON with the columns that have to be equal.",
            span=span_of(column),
        )
    try:
        return node.name, left, right, resolve_call("eq", (left, right))
    except BindError as error:
        error.span = error.span or span_of(column)
        raise


def _merge(part: JoinedItems, columns: list[tuple[str, Column]]) -> None:
    """Let each of these names mean one column; those of the sources need their alias now."""
    if not columns:
        return
    names = frozenset(name.lower() for name, _ in columns)
    part.sources = [replace(s, hidden=s.hidden | names) for s in part.sources]
    kept = [
        replace(m, columns=tuple(c for c in m.columns if c[0].lower() not in names))
        for m in part.merged
    ]
    alias = ", ".join(s.alias for s in part.sources)
    both = FromItem(alias, part.sources[0].plan, tuple(columns), "query")
    part.merged = [both, *(m for m in kept if m.columns)]


def _with_either(
    plan: nodes.Plan, pairs: list[Pair]
) -> tuple[nodes.Plan, list[tuple[str, Column]]]:
    """Add to a FULL JOIN the columns that have the value of the side that is there."""
    made = [
        nodes.Named(f"#{left.name} or {right.name}", resolve_call("coalesce", (left, right)))
        for _, left, right, _ in pairs
    ]
    columns = (*(nodes.Named(f.name, nodes.as_column(f)) for f in plan.schema), *made)
    shown = [nodes.as_column(column.field) for column in made]
    named = zip((pair[0] for pair in pairs), shown, strict=True)
    return nodes.Project(plan, columns), list(named)


def conjuncts_of(node: exp.Expr | None) -> list[exp.Expr]:
    """Return the terms of a condition that AND joins, brackets around several apart."""
    match node:
        case None:
            return []
        case exp.And():
            return conjuncts_of(node.this) + conjuncts_of(node.expression)
        case exp.Paren(this=exp.And() | exp.Paren() | PairWindow()):
            return conjuncts_of(node.this)
        case _:
            return [node]
