"""Filters are merged, and move down: below projections, unions, joins and windows."""

from __future__ import annotations

from dataclasses import replace

from windrow.optimize.rewriting import names_of, renamed
from windrow.plan.expressions import Call, Column, Expr, columns_of, conjunction, conjuncts
from windrow.plan.nodes import (
    AntiJoin,
    Filter,
    Join,
    NrrJoin,
    OuterJoin,
    Plan,
    Project,
    SemiJoin,
    UnionAll,
    Window,
    as_column,
)
from windrow.plan.windows import PartitionRows, Rows


def merge_filters(plan: Plan) -> Plan:
    """σ_q(σ_p(S))  ⇒  σ_{p AND q}(S).

    AND is true exactly where both are, and a tuple passes only where its predicate is true; so
    NULLs, which pass neither, make no difference.

    >>> from windrow.optimize.showing import rewritten
    >>> text = "SELECT sku FROM (SELECT sku FROM bids [NOW] WHERE price > 1) AS b WHERE sku > 'a'"
    >>> from windrow.optimize.filters import push_filter_below_project
    >>> print(rewritten(text, push_filter_below_project, merge_filters))
    query
    └─ Project b.sku
       └─ Project sku AS b.sku
          └─ Project bids.sku
             └─ Filter bids.price > 1 AND bids.sku > 'a'
                └─ Window NOW
                   └─ Stream bids
    """
    match plan:
        case Filter(Filter(source, first), second):
            both = conjunction(conjuncts(first) + conjuncts(second))
            assert both is not None, "two predicates are at least one"
            return Filter(source, both)
        case _:
            return plan


def push_filter_below_project(plan: Plan) -> Plan:
    """σ_p(π_f(S))  ⇒  π_f(σ_{p∘f}(S)),  if p reads only columns that f passes on as they are.

    A projection makes one tuple of each, so p holds for the one exactly if p∘f holds for the
    other. A computed column stays above: below, it would be computed twice.

    >>> from windrow.optimize.showing import rewritten
    >>> text = "SELECT sku FROM (SELECT sku FROM bids [NOW]) AS b WHERE sku = 'x'"
    >>> print(rewritten(text, push_filter_below_project))
    query
    └─ Project b.sku
       └─ Project sku AS b.sku
          └─ Project bids.sku
             └─ Filter bids.sku = 'x'
                └─ Window NOW
                   └─ Stream bids
    """
    match plan:
        case Filter(Project(source, columns), predicate):
            made = {column.name: column.expr for column in columns}
            if any(not isinstance(made[name], Column) for name in columns_of(predicate)):
                return plan
            return Project(Filter(source, renamed(predicate, made)), columns)
        case _:
            return plan


def push_filter_below_union(plan: Plan) -> Plan:
    """σ_p(L ⊎ R)  ⇒  σ_p(L) ⊎ σ_p(R).

    A merge-union passes every copy on, so each may be tried before or after. The inputs name
    their columns differently: columns of p are found by position.

    >>> from windrow.optimize.showing import rewritten
    >>> from windrow.optimize.filters import push_filter_below_project
    >>> text = '''SELECT p FROM (SELECT price AS p FROM bids [NOW] UNION ALL
    ...   SELECT price FROM asks [NOW]) AS u WHERE p > 9'''
    >>> print(rewritten(text, push_filter_below_project, push_filter_below_union))
    query
    └─ Project u.p
       └─ Project p AS u.p
          └─ Union all
             ├─ Project bids.price AS p
             │  └─ Filter bids.price > 9
             │     └─ Window NOW
             │        └─ Stream bids
             └─ Project asks.price
                └─ Filter asks.price > 9
                   └─ Window NOW
                      └─ Stream asks
    """
    match plan:
        case Filter(UnionAll(inputs) as union, predicate):
            return UnionAll(tuple(Filter(p, _for_input(predicate, union, p)) for p in inputs))
        case _:
            return plan


def _for_input(predicate: Expr, union: UnionAll, below: Plan) -> Expr:
    pairs = zip(union.schema, below.schema, strict=True)
    return renamed(predicate, {ours.name: as_column(theirs) for ours, theirs in pairs})


def push_filter_below_join(plan: Plan) -> Plan:
    """σ_p(L ⋈ R)  ⇒  σ_p(L) ⋈ R  if p reads only L; likewise R; the left of ⋉, ▷, ⟕, ⋈NRR.

    A result holds its left tuple unchanged, so p says of it what it says of that tuple. The
    right side of ⋉ and ▷ is not in the result, that of ⟕ may be NULL there, and an NRR is looked
    up as it is.

    >>> from windrow.optimize.showing import rewritten
    >>> from windrow.optimize.filters import push_filter_below_project
    >>> text = '''SELECT p FROM (SELECT b.price AS p FROM bids AS b [NOW], asks AS a [NOW]
    ...   WHERE a.sku = b.sku) AS j WHERE p > 9'''
    >>> print(rewritten(text, push_filter_below_project, push_filter_below_join))
    query
    └─ Project j.p
       └─ Project p AS j.p
          └─ Project b.price AS p
             └─ Join on b.sku = a.sku
                ├─ Filter b.price > 9
                │  └─ Window NOW
                │     └─ Stream bids AS b
                └─ Window NOW
                   └─ Stream asks AS a
    """
    match plan:
        case Filter(Join(left, right) as join, predicate):
            of_left, others = _split(predicate, left)
            of_right, rest = _split(others, right)
            made = replace(join, left=_filtered(left, of_left), right=_filtered(right, of_right))
            return plan if made == join else _filtered(made, rest)
        case Filter(SemiJoin() | AntiJoin() | NrrJoin() | OuterJoin(full=False) as join, predicate):
            of_left, rest = _split(predicate, join.left)
            made_left = replace(join, left=_filtered(join.left, of_left))
            return plan if made_left == join else _filtered(made_left, rest)
        case _:
            return plan


def _split(predicate: Expr | None, side: Plan) -> tuple[Expr | None, Expr | None]:
    """Return the terms that read columns of one side only, and the others."""
    names = names_of(side)
    terms = conjuncts(predicate)
    mine = tuple(t for t in terms if columns_of(t) and columns_of(t) <= names)
    return conjunction(mine), conjunction(tuple(t for t in terms if t not in mine))


def _filtered(plan: Plan, predicate: Expr | None) -> Plan:
    return plan if predicate is None else Filter(plan, predicate)


def push_filter_below_window(plan: Plan) -> Plan:
    """σ_p(S [w])  ⇒  (σ_p S) [w],  if w does not count what p drops.

    In RANGE, UNBOUNDED, SINCE and per-tuple windows a tuple's own time decides, so dropping
    others changes nothing. ROWS counts: filtering first would let older tuples in. PARTITION BY
    counts by key: there p may read the keys, for then it drops whole partitions.

    >>> from windrow.optimize.showing import rewritten
    >>> text = "SELECT sku FROM bids [RANGE 1 MINUTE] WHERE price > 9"
    >>> print(rewritten(text, push_filter_below_window))
    query
    └─ Project bids.sku
       └─ Window RANGE 1 MINUTE
          └─ Filter bids.price > 9
             └─ Stream bids
    """
    match plan:
        case Filter(Window(spec=Rows()), _):
            return plan
        case Filter(Window(source, spec) as window, predicate):
            read = columns_of(predicate)
            if isinstance(spec, PartitionRows) and not read <= set(spec.keys):
                return plan
            if not read <= names_of(source):  # it asks when the tuple expires
                return plan
            return replace(window, source=Filter(source, predicate))
        case _:
            return plan


Pair = tuple[Expr, Expr]


def merge_filter_into_join(plan: Plan) -> Plan:
    """σ_{l = r}(L ⋈ R)  ⇒  L ⋈_{l = r} R  if l reads only L, and r only R; likewise ⋈NRR.

    A pair of tuples is in the result exactly if the join's own condition and l = r are true. A
    NULL key matches nothing, as l = r is not true of a NULL. Other comparisons stay above: they
    are no keys. The binder makes keys of what one SELECT says; this is for a SELECT above it.

    >>> from windrow.optimize.showing import rewritten
    >>> from windrow.optimize.filters import push_filter_below_project
    >>> text = '''SELECT p FROM (SELECT b.price AS p, a.price AS q
    ...   FROM bids AS b [NOW], asks AS a [NOW]) AS j WHERE p = q AND p + q > 9'''
    >>> print(rewritten(text, push_filter_below_project, merge_filter_into_join))
    query
    └─ Project j.p
       └─ Project p AS j.p, q AS j.q
          └─ Project b.price AS p, a.price AS q
             └─ Filter b.price + a.price > 9
                └─ Join on b.price = a.price
                   ├─ Window NOW
                   │  └─ Stream bids AS b
                   └─ Window NOW
                      └─ Stream asks AS a
    """
    match plan:
        case Filter(Join(left, right) as join, predicate):
            sides = names_of(left), names_of(right)
        case Filter(NrrJoin(left, table) as join, predicate):
            sides = names_of(left), names_of(table)
        case _:
            return plan
    pairs = {term: pair for term in conjuncts(predicate) if (pair := _pair(term, *sides))}
    if not pairs:
        return plan
    on = replace(
        join.on,
        left_keys=(*join.on.left_keys, *(left for left, _ in pairs.values())),
        right_keys=(*join.on.right_keys, *(right for _, right in pairs.values())),
    )
    rest = conjunction(tuple(t for t in conjuncts(predicate) if t not in pairs))
    keyed = replace(join, on=on)
    return keyed if rest is None else Filter(keyed, rest)


def _pair(term: Expr, left: frozenset[str], right: frozenset[str]) -> Pair | None:
    """Return the sides of an equality between both inputs, the left input's first."""
    if not isinstance(term, Call) or term.name != "eq":
        return None
    for one, other in (term.args, term.args[::-1]):
        ours, theirs = columns_of(one), columns_of(other)
        if ours and theirs and ours <= left and theirs <= right:
            return one, other
    return None
