"""GROUP BY over joins as one operator: entries meet, and what they contribute is folded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from windrow.core.errors import SemanticError
from windrow.core.schema import Field, Schema
from windrow.optimize.choose_early import EarlyChoice
from windrow.optimize.choose_join import AUTO, HASH, LOOPS
from windrow.optimize.early_costs import stored_graph
from windrow.optimize.early_estimates import (
    NONE,
    answers_to,
    chosen_early,
    estimated_facts,
    meets_a_version,
)
from windrow.optimize.early_grouping import EntryColumns, argument_exprs, early_calls, entry_columns
from windrow.optimize.grouped_joins import GroupedJoin, grouped_join, versioned
from windrow.optimize.join_graph import Order
from windrow.optimize.join_orders import best_orders
from windrow.optimize.notes import EarlyNote, EarlyNotes
from windrow.optimize.physical.builder import Builder, Requirements
from windrow.optimize.physical.conditions import residual_of
from windrow.optimize.physical.early_on_shards import (
    APART,
    chosen_on_shards,
    facts_on_shards,
    follows,
    results_apart,
)
from windrow.optimize.preaggregate_joins import copies_of
from windrow.optimize.rewriting import slides_under
from windrow.physical.calls import IN_ORDER, AccumulatorCall, GroupBy, PlacedCall
from windrow.physical.conditions import Compare, Equality, JoinInput, Method, MultiCondition
from windrow.physical.identity import computed_name
from windrow.physical.node import PhysicalNode
from windrow.physical.operators import (
    STATELESS,
    AggregationJoinOp,
    ContributingJoinOp,
    ExpireOp,
    RowStoreOp,
)
from windrow.physical.parts import split_calls
from windrow.plan.expressions import Expr, Literal, columns_of
from windrow.plan.nodes import Aggregate, AggregateCall, Exchange, Named, Plan, Versions, as_column
from windrow.plan.patterns import PatternKind

Lower = Callable[[Builder, Plan, Requirements], PhysicalNode]

TWO = 2
"""Inputs up to which loops have one order only."""

KEEPS = "results keep the versions that they met"
"""Why a placement is not changed while it runs."""

METHODS = {AUTO: Method.HASH, HASH: Method.HASH, LOOPS: Method.LOOPS}
"""How loops find entries, by what `SET join_algorithm` asks for."""


@dataclass(frozen=True)
class Considered:
    """A GROUP BY over joins: what may be folded before them, and what is chosen."""

    joined: GroupedJoin
    choice: EarlyChoice
    early: tuple[int | None, ...]
    slide: int | None

    @property
    def entries(self) -> tuple[EntryColumns, ...]:
        """What the entries of each input have."""
        everyone = range(len(self.joined.flat.inputs))
        return tuple(entry_columns(self.joined, self.early, i) for i in everyone)


def considered(builder: Builder, plan: Aggregate, slide: int | None) -> Considered | None:
    """Return what is chosen for an aggregate; None if it is over no join, or nobody may choose.

    `slide` is the SLIDE by which its inputs are refreshed.
    """
    early = builder.early
    if early.asked == NONE and not early.costed:
        return None
    joined = grouped_join(plan, versions=early.versions, slide=slide)
    if joined is None:
        return None
    asked = early.asked
    if asked == AUTO and _is_free(builder):
        asked = early.again(joined.key)
    if asked not in (AUTO, NONE) and not answers_to(joined, asked):
        asked = NONE
    facts = estimated_facts(joined, builder.statistics, slide)
    facts = facts_on_shards(joined, facts, early)
    choice = chosen_early(joined, facts, asked)
    if asked == AUTO and not _is_free(builder):
        none = (False,) * len(joined.names)
        choice = replace(choice, placement=none, reason=_bound(builder))
    elif early.shards and early.asked == AUTO:
        choice = chosen_on_shards(joined, facts, asked, early.constants)
    elif asked != AUTO == early.asked:
        measured = "by what was measured while it ran"
        choice = replace(choice, reason=KEEPS if joined.versioned else measured)
    elif asked != early.asked:
        choice = replace(choice, reason=f"early_aggregation is {early.asked}")
    if any(choice.placement):
        _require_method(builder, choice)
    return Considered(joined, choice, early_calls(joined, choice.placement), slide)


def folded_source(source: Plan) -> tuple[Plan, bool]:
    """Return what γ folds, and whether it does so before an exchange."""
    match source:
        case Exchange(source=below, folds=True):
            return below, True
        case _:
            return source, False


def unplaced(builder: Builder, plan: Aggregate, slide: int | None) -> EarlyNote | EarlyNotes | None:
    """Return why an aggregate has no placements, where that is not plain from its query.

    Raises `SemanticError` for names of what cannot be aggregated early.
    """
    asked, found = builder.early.asked, versioned(plan)
    if asked == NONE:
        return None
    if found is None:
        return _note_apart(builder, plan, slide)
    if asked != AUTO and (refused := meets_a_version(asked, found)) is not None:
        raise refused
    if not builder.early.versions:
        return EarlyNote(f"versions of {found.table} are not followed under a processor")
    return EarlyNote(found.reason)


def _note_apart(
    builder: Builder, plan: Aggregate, slide: int | None
) -> EarlyNote | EarlyNotes | None:
    """Note the groups whose results change shards before anything has folded them."""
    found = considered_apart(builder, plan, slide)
    if found is not None:
        return replace(notes_on(builder, found), adapts=False, replans=False)
    apart = results_apart(plan)
    return None if apart is None or grouped_join(apart) is None else EarlyNote(APART)


def considered_apart(builder: Builder, plan: Aggregate, slide: int | None) -> Considered | None:
    """Return what is chosen for a GROUP BY whose joined rows change shards as they are."""
    apart = results_apart(plan)
    joined = None if apart is None else grouped_join(apart)
    if apart is None or joined is None or joined.key not in builder.early.moved:
        return None
    return considered(builder, apart, slide) if builder.early.asked == AUTO else None


def placements_under(builder: Builder, root: Plan) -> dict[str, str]:
    """Return what would be aggregated early of each join under a GROUP BY, by its inputs' names."""
    found = dict[str, str]()
    for plan, slide, once in slides_under(root):
        if isinstance(plan, Aggregate):
            near = builder.unsigned if once else builder
            whole = replace(plan, source=folded_source(plan.source)[0])
            chosen = considered(near, whole, slide) or considered_apart(near, plan, slide)
            if chosen is not None:
                found[chosen.joined.key] = chosen.choice.early_aggregation
    return found


def _is_free(builder: Builder) -> bool:
    """Return whether `auto` may choose: neither strategy nor algorithm says how state is kept."""
    return builder.strategy in ("auto", "upa") and builder.algorithm == AUTO


def _bound(builder: Builder) -> str:
    if builder.algorithm != AUTO:
        return f"join_algorithm is {builder.algorithm}"
    return f"the strategy is {builder.strategy}"


def _require_method(builder: Builder, choice: EarlyChoice) -> None:
    if builder.algorithm not in METHODS:
        raise SemanticError(
            f"early_aggregation {choice.early_aggregation} cannot be"
            f" with join_algorithm {builder.algorithm}",
            detail="Aggregation sets are joined by hash, or by loops.",
            hint="SET join_algorithm = 'auto', or early_aggregation = 'none'.",
        )


def lower_grouped_join(
    builder: Builder, found: Considered, wanted: Requirements, lower: Lower
) -> PhysicalNode:
    """Lower γ over ⋈ as an aggregation join; its output is as that of a GROUP BY."""
    joined = found.joined
    inputs = inputs_for(builder, found, wanted, lower)
    op, names = _operator(builder, found, inputs)
    schema = GroupBy(op.keys, op.calls).schema
    edge = add_join(builder, found, inputs, op, schema)
    edge = replace(edge, netted=frozenset(f.name for f in op.keys))
    if names == tuple(k.name for k in joined.keys):
        return edge
    columns = [Named(k.name, as_column(schema[n])) for k, n in zip(joined.keys, names, strict=True)]
    columns += [Named(c.output, as_column(schema[c.output])) for c in joined.calls]
    return builder.project(edge, tuple(columns), label="Compute")


def orders_for(found: Considered) -> tuple[Order, ...]:
    """Return the best orders of loops over what the placement lets be stored."""
    return best_orders(stored_graph(found.choice.facts, found.choice.placement))


def add_join(
    builder: Builder,
    found: Considered,
    inputs: list[Prepared],
    op: AggregationJoinOp | ContributingJoinOp,
    schema: Schema,
) -> PhysicalNode:
    """Return an aggregation join, with what is known of its choice."""
    edge = builder.add(
        op,
        tuple(edge for edge, _ in inputs),
        schema,
        PatternKind.STR,
        label="AggregationJoin",
        structure=f"entries of {len(inputs)}, early {found.choice.early_aggregation}",
    )
    return replace(edge, notes=notes_on(builder, found))


def notes_on(builder: Builder, found: Considered) -> EarlyNotes:
    """Return what is known of a GROUP BY over joins, whatever was chosen for it."""
    late_only = any(i.not_early for i in found.choice.facts.inputs)
    free = builder.early.asked == AUTO and _is_free(builder) and not late_only
    free = free and (not builder.early.shards or follows(found.joined))
    replans = free and not found.joined.versioned
    orders = any(found.choice.placement) and len(found.joined.names) > TWO
    return EarlyNotes(
        found.joined,
        found.choice,
        adapts=replans or orders,
        replans=replans,
        slide=found.slide,
        constants=builder.early.constants,
        refused=KEEPS if free and not replans else "",
    )


def inputs_for(
    builder: Builder, found: Considered, wanted: Requirements, lower: Lower
) -> list[Prepared]:
    """Lower the inputs of an aggregation join."""
    everyone = range(len(found.joined.flat.inputs))
    return [_input(builder, found, i, wanted, lower) for i in everyone]


Prepared = tuple[PhysicalNode, dict[Expr, str]]
"""An input with all departures on it, and the column of each expression that is read of it."""


def _input(
    builder: Builder, found: Considered, which: int, wanted: Requirements, lower: Lower
) -> Prepared:
    joined, entries = found.joined, found.entries[which]
    plan = joined.flat.inputs[which]
    exprs = (*entries.all, *argument_exprs(joined.calls, found.early, which))
    reads = frozenset[str]().union(*map(columns_of, exprs))
    if (copies := copies_of(plan)) is not None:
        assert found.choice.placement[which], "merged rows are aggregated before the join"
        reads |= {copies}
    edge = lower(builder, plan, wanted.of(reads))
    edge = builder.signed(edge) if joined.versioned else _kept(builder, edge)
    edge, names = builder.with_columns(edge, exprs)
    return edge, dict(zip(exprs, names, strict=True))


def _kept(builder: Builder, edge: PhysicalNode) -> PhysicalNode:
    """Return the edge with all departures on it, its tuples kept below for another plan.

    Tuples that never expire are not: they may be too many, and are why one aggregates.
    """
    endless = edge.kind is PatternKind.MON
    edge = builder.signed(edge)
    below = edge
    while isinstance(below.op, STATELESS) and len(below.inputs) == 1:
        (below,) = below.inputs
    if endless or isinstance(below.op, ExpireOp | RowStoreOp):
        return edge
    return builder.add(
        RowStoreOp(),
        (edge,),
        edge.schema,
        PatternKind.STR,
        label="Store rows",
        structure="hash by row",
    )


def _operator(
    builder: Builder, found: Considered, inputs: list[Prepared]
) -> tuple[AggregationJoinOp, tuple[str, ...]]:
    """Return the operator, and by key of the plan the name of the column that has it."""
    joined = found.joined
    columns = ContributedExprs(joined, [names for _, names in inputs])
    keys = [columns.field(k.expr) for k in joined.keys]
    folds = tuple(
        PlacedCall(call_over(c, partial(columns.field, early=at)), at)
        for c, at in zip(joined.calls, found.early, strict=True)
    )
    op = AggregationJoinOp(
        condition_of(found, inputs),
        found.choice.placement,
        tuple({f.name: f for f in keys}.values()),
        folds,
        tuple(columns.made.values()),
        all_copies(joined),
        orders_for(found),
        METHODS[builder.algorithm],
    )
    return op, tuple(f.name for f in keys)


def all_copies(joined: GroupedJoin) -> tuple[str | None, ...]:
    """Return, of each input, the column that says how many tuples a row is; () if none has one."""
    found = tuple(map(copies_of, joined.flat.inputs))
    return found if any(found) else ()


class ContributedExprs:
    """The columns of contributions: of inputs' entries, or computed of several."""

    def __init__(self, joined: GroupedJoin, names: list[dict[Expr, str]]) -> None:
        self.joined = joined
        self.names = names
        self.made: dict[str, Named] = {}

    def field(self, expr: Expr, early: int | None = None) -> Field:
        """Return the column of an expression, which an early call reads of its input."""
        owners = self.joined.owners(expr) if early is None else (early,)
        if len(owners) == 1 and expr in (names := self.names[owners[0]]):
            return Field(names[expr], expr.type, expr.nullable)
        name = computed_name(expr)
        self.made[name] = Named(name, expr)
        return self.made[name].field


def condition_of(found: Considered, inputs: list[Prepared]) -> MultiCondition:
    """Return when entries match."""
    flat = found.joined.flat
    names = [names for _, names in inputs]
    return MultiCondition(
        tuple(
            JoinInput(edge.schema, _named(n, e.shown), _named(n, e.tested), isinstance(p, Versions))
            for (edge, n), e, p in zip(inputs, found.entries, flat.inputs, strict=True)
        ),
        tuple(
            Equality(tuple(_named(names[i], m) for i, m in enumerate(c.members)))
            for c in flat.classes
        ),
        (),
        tuple(
            Compare(c.first, names[c.first][c.left], c.op, c.second, names[c.second][c.right])
            for c in flat.compares
        ),
        residual_of(flat.residual),
    )


def _named(names: dict[Expr, str], exprs: Iterable[Expr]) -> tuple[str, ...]:
    return tuple(names[e] for e in exprs)


def lower_contributions(
    builder: Builder, found: Considered, wanted: Requirements, lower: Lower
) -> tuple[PhysicalNode, tuple[AccumulatorCall, ...]]:
    """Lower Δγ over ⋈ as one operator; return its edge, by the keys' names, and calls over it."""
    joined = found.joined
    inputs = inputs_for(builder, found, wanted, lower)
    columns = ContributedExprs(joined, [names for _, names in inputs])
    keys = [columns.field(k.expr) for k in joined.keys]
    placed = tuple(zip(joined.calls, found.early, strict=True))
    calls = tuple(call_over(c, partial(columns.field, early=at)) for c, at in placed)
    parts, merging = split_calls(calls)
    early = {(c.args, c.filter): at for c, at in zip(calls, found.early, strict=True)}
    op = AggregationJoinOp(
        condition_of(found, inputs),
        found.choice.placement,
        tuple({f.name: f for f in keys}.values()),
        tuple(PlacedCall(p.call, early[p.call.args, p.call.filter]) for p in parts),
        tuple(columns.made.values()),
        all_copies(joined),
        orders_for(found),
        METHODS[builder.algorithm],
    )
    made = Schema(op.keys + tuple(f for part in parts for f in part.fields))
    edge = add_join(builder, found, inputs, ContributingJoinOp(op, parts), made)
    named = [Named(k.name, as_column(f)) for k, f in zip(joined.keys, keys, strict=True)]
    named += [Named(f.name, as_column(f)) for part in parts for f in part.fields]
    return builder.project(edge, tuple(named), label="Compute"), merging


PARAMETERIZED = {"quantile", "topk", "approx_quantile", "approx_topk"}


def call_over(call: AggregateCall, column: Callable[[Expr], Field]) -> AccumulatorCall:
    """Return a call over the columns of its arguments and filter."""
    values = call.args[: _values(call)]
    return AccumulatorCall(
        call.name,
        tuple(column(a) for a in values),
        call.output,
        call.type,
        distinct=call.distinct,
        filter=None if call.filter is None else column(call.filter).name,
        parameters=tuple(_constant(a) for a in call.args[len(values) :]),
        nullable=call.nullable,
    )


def _values(call: AggregateCall) -> int:
    """Return how many arguments are values; constant parameters may follow."""
    if call.name in PARAMETERIZED:
        return 1
    return len(call.args) - {"string_agg": 2}.get(call.name, 1) * (call.name in IN_ORDER)


def _constant(expr: Expr) -> float | int | str:
    assert isinstance(expr, Literal), "the binder lets only constants be parameters"
    assert isinstance(expr.value, int | float | Decimal | str)
    return float(expr.value) if isinstance(expr.value, Decimal) else expr.value
