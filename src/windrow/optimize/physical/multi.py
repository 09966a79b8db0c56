"""Trees of joins that one operator does: n inputs, no results between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from windrow.core.errors import SemanticError
from windrow.optimize.choose_join import (
    AUTO,
    HASH_W,
    MERGE_W,
    NAIVE,
    TREE,
    W_JOINS,
    JoinChoice,
    choose_join,
    compares_all,
)
from windrow.optimize.flatten_joins import FlatJoin, flatten
from windrow.optimize.join_estimates import streams_of
from windrow.optimize.notes import JoinNotes, OrderNotes
from windrow.optimize.physical.builder import Builder, Requirements
from windrow.optimize.physical.conditions import (
    departs_in_order,
    leaves_in_order,
    residual_of,
    time_lag,
)
from windrow.physical.conditions import (
    Compare,
    Equality,
    Form,
    JoinInput,
    Method,
    MultiCondition,
    PairBand,
    TimeBand,
)
from windrow.physical.node import PhysicalNode
from windrow.physical.operators import MultiJoinOp, MultiZSetJoinOp, WJoinKind, WJoinOp
from windrow.physical.pair_windows import why_no_w_join
from windrow.plan.expressions import Column, Expr, columns_of
from windrow.plan.nodes import Join, Plan
from windrow.plan.patterns import PatternKind, pattern_of

Lower = Callable[[Builder, Plan, Requirements], PhysicalNode]

FEWEST = 3
"""Inputs from which on a join of many is considered.

Two are joined as such if that is asked, or if no equality says which pairs to make.
"""


@dataclass(frozen=True, slots=True)
class Many:
    """A tree of joins that may be one: what holds between its inputs, and how it is to be done."""

    plan: Join
    flat: FlatJoin
    choice: JoinChoice


def considered(builder: Builder, plan: Join) -> Many | None:
    """Return the tree that begins at a join, with what is chosen for it; None for a plain pair."""
    asked = builder.algorithm
    flat = flatten(plan)
    if flat is None:
        return None
    if len(flat.inputs) < FEWEST and (asked == TREE or (asked == AUTO and not compares_all(flat))):
        return None
    choice = choose_join(plan, flat, builder.statistics, asked)
    return Many(plan, flat, choice)


def lower_many(
    builder: Builder, many: Many, wanted: Requirements, lower: Lower
) -> PhysicalNode | None:
    """Lower a tree of joins as one operator; None where it stays a tree.

    Unless an algorithm is asked for, it does under strategies that keep state otherwise, and where
    departures travel that the costs did not foresee.
    """
    asked, choice = builder.algorithm, many.choice
    if choice.algorithm == TREE or (asked == AUTO and builder.strategy in ("direct", "negative")):
        return None
    needs = wanted.plus(many.flat.reads)
    edges = [lower(builder, p, needs.within(p.schema)) for p in many.flat.inputs]
    signed_inputs = [i for i, e in enumerate(edges) if not e.unsigned]
    if not signed_inputs:
        return _joined(builder, many, edges, wanted)
    if asked in (NAIVE, *W_JOINS):
        raise _cannot(asked, _why_signed(builder, many, signed_inputs))
    if asked != AUTO or _strict(many):
        return _signed(builder, many, edges, wanted)
    return None


def _why_signed(builder: Builder, many: Many, signed_inputs: list[int]) -> str:
    """Return why departures of some inputs travel: they must, or the strategy wants it."""
    own = [i for i in signed_inputs if i in _strict(many)]
    if builder.strategy == "negative" and not own:
        return "Under the strategy negative no departure is known before it comes."
    name = many.choice.names[(own or signed_inputs)[0]]
    return f'Departures of "{name}" are not known before they come.'


def _strict(many: Many) -> list[int]:
    """Return the inputs whose departures cannot be known in advance."""
    kinds = [pattern_of(p).kind for p in many.flat.inputs]
    return [i for i, kind in enumerate(kinds) if kind is PatternKind.STR]


def tree_notes(many: Many | None) -> JoinNotes | None:
    """Return what EXPLAIN shows of a tree of joins that stays one."""
    if many is None:
        return None
    choice = many.choice
    if choice.algorithm == TREE:
        return JoinNotes(choice)
    said = "departures travel on an input, or the strategy keeps state otherwise"
    return JoinNotes(JoinChoice(TREE, choice.names, choice.graph, (), said))


def _joined(
    builder: Builder, many: Many, edges: list[PhysicalNode], wanted: Requirements
) -> PhysicalNode | None:
    choice = many.choice
    condition, edges = _condition(builder, many.flat, edges, wanted)
    if choice.algorithm in W_JOINS:
        return _w_joined(builder, many, condition, edges)
    lags = [_lags(condition, i) for i in range(len(edges))]
    fifo = [leaves_in_order(e.kind, lags[i]) for i, e in enumerate(edges)]
    forms = tuple(Form.FIFO if f else Form.CALENDAR for f in fifo)
    op = MultiJoinOp(condition, forms, choice.orders, Method(choice.algorithm))
    monotonic = all(e.kind is PatternKind.MON for e in edges)
    kept = " × ".join("ring" if f else "linked rows" for f in fifo)
    edge = builder.add(
        op,
        tuple(edges),
        condition.output,
        PatternKind.MON if monotonic else PatternKind.WK,
        label="Join",
        structure=f"{choice.algorithm} of {len(edges)}: {kept}",
    )
    adapts = choice.algorithm != NAIVE
    return replace(edge, notes=OrderNotes(choice, streams_of(many.flat), adapts))


def _w_joined(
    builder: Builder, many: Many, condition: MultiCondition, edges: list[PhysicalNode]
) -> PhysicalNode | None:
    """Join streams within windows of time of each other; None if they are not such streams.

    Merged loops go by what is there already.
    """
    choice = many.choice
    ending = [n for n, e in zip(choice.names, edges, strict=True) if e.kind is not PatternKind.MON]
    why = (
        f'"{ending[0]}" has a window of its own'
        if ending
        else why_no_w_join(len(edges), condition.bands)
    )
    if why:
        if builder.algorithm == AUTO:
            return None
        raise _cannot(choice.algorithm, f"It joins streams within windows of each other; {why}.")
    op = WJoinOp(condition, choice.orders, WJoinKind(choice.algorithm))
    kept = "rows by time and key" if choice.algorithm == HASH_W else "rows by time"
    structure = f"{choice.algorithm} of {len(edges)}: {kept}"
    edge = builder.add(
        op, tuple(edges), condition.output, PatternKind.MON, label="Join", structure=structure
    )
    adapts = choice.algorithm != MERGE_W
    return replace(edge, notes=OrderNotes(choice, streams_of(many.flat), adapts))


def _cannot(algorithm: str, why: str) -> SemanticError:
    return SemanticError(
        f"join_algorithm {algorithm} cannot do this join",
        detail=why,
        hint="SET join_algorithm = 'auto' for this query; EXPLAIN shows what is taken.",
    )


def _signed(
    builder: Builder, many: Many, edges: list[PhysicalNode], wanted: Requirements
) -> PhysicalNode:
    """Join inputs on which all departures travel.

    Rows that expire in order are kept in a ring if their times distinguish them: of equal ones it
    would walk through each copy, where a table has their number.
    """
    choice = many.choice
    signed = [builder.signed(e) for e in edges]
    condition, edges = _condition(builder, many.flat, signed, wanted)
    rings = tuple(
        departs_in_order(e)
        and any(time_lag(p, name, wanted.slide) == 0 for name in condition.inputs[i].kept)
        for i, (p, e) in enumerate(zip(many.flat.inputs, edges, strict=True))
    )
    op = MultiZSetJoinOp(condition, choice.orders, Method(choice.algorithm), rings)
    kept = " × ".join("ring" if ring else "rows with their copies" for ring in rings)
    edge = builder.add(
        op,
        tuple(edges),
        condition.output,
        PatternKind.STR,
        label="Join",
        structure=f"{choice.algorithm} of {len(edges)}: {kept}",
    )
    return replace(edge, notes=OrderNotes(choice, streams_of(many.flat)))


def _condition(
    builder: Builder, flat: FlatJoin, edges: list[PhysicalNode], wanted: Requirements
) -> tuple[MultiCondition, list[PhysicalNode]]:
    """Return the operator's parameters, and its inputs with a column for all that it reads."""
    made, columns, inputs = [], [], []
    residual = frozenset() if flat.residual is None else columns_of(flat.residual)
    for i, edge in enumerate(edges):
        exprs = flat.exprs_of(i)
        whole, names = builder.with_columns(edge, exprs)
        made.append(whole)
        columns.append(dict(zip(exprs, names, strict=True)))
        inputs.append(_input(whole, wanted.columns, residual | _origins(exprs)))
    condition = MultiCondition(
        tuple(inputs),
        tuple(
            Equality(tuple(tuple(columns[i][e] for e in m) for i, m in enumerate(c.members)))
            for c in flat.classes
        ),
        tuple(_band(flat, n, wanted.slide) for n in range(len(flat.bands))),
        tuple(
            Compare(c.first, columns[c.first][c.left], c.op, c.second, columns[c.second][c.right])
            for c in flat.compares
        ),
        residual_of(flat.residual),
    )
    return condition, made


def _origins(exprs: tuple[Expr, ...]) -> frozenset[str]:
    """Return the columns that computed ones are made of and that nothing else reads.

    They are held so that another plan, which computes at another place, can go on.
    """
    plain = frozenset(e.name for e in exprs if isinstance(e, Column))
    return frozenset[str]().union(*map(columns_of, exprs)) - plain


def _input(edge: PhysicalNode, output: frozenset[str], reads: frozenset[str]) -> JoinInput:
    names = edge.schema.names
    return JoinInput(
        edge.schema,
        tuple(n for n in names if n in output),
        tuple(n for n in names if n in reads),
    )


def _band(flat: FlatJoin, number: int, slide: int | None) -> PairBand:
    between = flat.bands[number]
    band = between.band
    first, second = flat.inputs[between.first], flat.inputs[between.second]
    lags = time_lag(first, band.left, slide), time_lag(second, band.right, slide)
    times = TimeBand(band.left, band.right, band.low, band.high, *lags)
    return PairBand(between.first, between.second, times)


def _lags(condition: MultiCondition, at: int) -> list[int | None]:
    """Return how far the times that bands read may lie behind those of an input's rows."""
    left = [b.band.left_lag for b in condition.bands if b.first == at]
    return left + [b.band.right_lag for b in condition.bands if b.second == at]
