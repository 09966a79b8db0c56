"""Joins: symmetric hash joins over unsigned edges, Z-set joins over signed ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from windrow.core.schema import Field, Schema
from windrow.optimize.notes import FormNotes
from windrow.optimize.physical.builder import Builder, Requirements, add_distinct
from windrow.optimize.physical.conditions import leaves_in_order, residual_of, time_lag
from windrow.optimize.physical.multi import considered, lower_many, tree_notes
from windrow.optimize.physical.streams import ordered
from windrow.optimize.rewriting import rows_appear, times_under
from windrow.physical.conditions import (
    Form,
    JoinCondition,
    JoinSide,
    TimeBand,
    bands_imply_liveness,
)
from windrow.physical.node import PhysicalNode
from windrow.physical.operators import (
    AntiJoinOp,
    FifoJoinOp,
    HashJoinOp,
    NrrJoinOp,
    Op,
    PartlySignedAntiJoinOp,
    SemiJoinOp,
    UnionOp,
    ZSetJoinOp,
)
from windrow.plan.expressions import Expr, Literal, columns_of
from windrow.plan.nodes import (
    AntiJoin,
    Band,
    Distinct,
    Join,
    JoinOn,
    Named,
    NrrJoin,
    OuterJoin,
    Plan,
    Project,
    SemiJoin,
    Table,
    as_column,
)
from windrow.plan.patterns import PatternKind

Lower = Callable[[Builder, Plan, Requirements], PhysicalNode]
LowerTable = Callable[[Builder, Table, frozenset[str]], PhysicalNode]


def lower_join(builder: Builder, plan: Join, wanted: Requirements, lower: Lower) -> PhysicalNode:
    """Lower ⋈: a tree of them as one operator where that is better, else this one by itself.

    Over unsigned edges insertions join insertions; else Z-sets are joined.
    """
    many = considered(builder, plan)
    whole = None if many is None else lower_many(builder, many, wanted, lower)
    if whole is not None:
        return whole
    edge = _binary_join(builder, plan, wanted, lower)
    return replace(edge, notes=tree_notes(many))


def _binary_join(builder: Builder, plan: Join, wanted: Requirements, lower: Lower) -> PhysicalNode:
    left, right = _both(builder, plan, wanted, lower)
    return _joined(builder, plan, wanted, left, right)


def _both(
    builder: Builder, plan: Join | OuterJoin, wanted: Requirements, lower: Lower
) -> tuple[PhysicalNode, PhysicalNode]:
    needs = wanted.plus(_reads(plan.on))
    left = lower(builder, plan.left, needs.within(plan.left.schema))
    return left, lower(builder, plan.right, needs.within(plan.right.schema))


def _joined(
    builder: Builder, plan: Join, wanted: Requirements, left: PhysicalNode, right: PhysicalNode
) -> PhysicalNode:
    """Return ⋈ over the edges of its inputs."""
    unsigned = left.unsigned and right.unsigned
    if not unsigned:
        left, right = builder.signed(left), builder.signed(right)
    left, left_keys = builder.with_columns(left, plan.on.left_keys)
    right, right_keys = builder.with_columns(right, plan.on.right_keys)
    output = wanted.columns
    condition = JoinCondition(
        _side(left, left_keys, output, plan.on),
        _side(right, right_keys, output, plan.on),
        tuple(_band(b, plan, wanted.slide) for b in plan.on.bands),
        residual_of(plan.on.residual),
    )
    if unsigned:
        return _hash_join(builder, condition, left, right)
    return builder.add(
        ZSetJoinOp(condition),
        (left, right),
        condition.output,
        PatternKind.STR,
        label="Join",
        structure="hash by row",
    )


def _hash_join(
    builder: Builder,
    condition: JoinCondition,
    left: PhysicalNode,
    right: PhysicalNode,
    *,
    renews: bool = False,
) -> PhysicalNode:
    fifo = (
        leaves_in_order(left.kind, [b.left_lag for b in condition.bands]),
        leaves_in_order(right.kind, [b.right_lag for b in condition.bands]),
    )
    monotonic = left.kind is right.kind is PatternKind.MON
    forms = [Form.DIRECT if builder.direct else Form.FIFO if f else Form.CALENDAR for f in fifo]
    implied = bands_imply_liveness(condition.bands)
    op: Op
    if implied and not renews and forms == [Form.FIFO, Form.FIFO]:
        op = FifoJoinOp(condition, endless=monotonic)
    else:
        op = HashJoinOp(condition, forms[0], forms[1], renews)
    names = {True: "ring", False: "linked rows"}
    structure = "plain lists" if builder.direct else f"{names[fifo[0]]} × {names[fifo[1]]}"
    kind = PatternKind.MON if monotonic else PatternKind.WK
    label = "SemiJoin" if renews else "Join"
    return builder.add(op, (left, right), condition.output, kind, label=label, structure=structure)


def lower_outer_join(
    builder: Builder, plan: OuterJoin, wanted: Requirements, lower: Lower
) -> PhysicalNode:
    """Lower L ⟕ R as (L ⋈ R) ⊎ (L ▷ R) × {NULL}: each input is lowered once, and read by all.

    The join emits the expirations of its results where it can; what completes them with NULLs is
    retracted anyway, so the edge is signed.
    """
    left, right = _both(builder, plan, wanted, lower)
    if not (left.unsigned and right.unsigned):
        left, right = builder.signed(left), builder.signed(right)
    pairs = Join(plan.left, plan.right, plan.on)
    made = [_joined(builder.under(pairs), pairs, wanted, left, right)]
    # A twin that emits expirations would compute an input that is a join a second time.
    once = replace(builder, emits_expirations=False)
    ends = once.signed(left), once.signed(right)
    lone = [(AntiJoin(plan.left, plan.right, plan.on), left, *ends)]
    if plan.full:
        swapped = replace(plan.on, left_keys=plan.on.right_keys, right_keys=plan.on.left_keys)
        lone.append((AntiJoin(plan.right, plan.left, swapped), right, *ends[::-1]))
    schema = Schema(tuple(f for f in plan.schema if f.name in wanted.columns))
    for anti, unsigned, signed, other in lone:
        choice = builder.negation(anti, unsigned)
        kept = unsigned if choice is not None and choice.partly_signed else signed
        below = wanted.within(anti.left.schema)
        edge = _half_joined(once.under(anti), anti, below, kept, other)
        columns = tuple(Named(f.name, _or_null(f, anti.left.schema)) for f in schema)
        made.append(builder.under(Project(anti, columns)).project(edge, columns, label="Project"))
    edges = tuple(builder.signed(ordered(builder, edge, schema)) for edge in made)
    return builder.add(UnionOp(), edges, schema, PatternKind.STR, label="Union all")


def _or_null(field: Field, side: Schema) -> Expr:
    """Return a column of a side; NULL if it is one of the other side."""
    return as_column(side[field.name]) if field.name in side else Literal(None, field.type)


def lower_half_join(
    builder: Builder, plan: SemiJoin | AntiJoin, wanted: Requirements, lower: Lower
) -> PhysicalNode:
    """Lower ⋉ and ▷: over signed edges, unless expirations can be left to timestamps."""
    reads = _reads(plan.on)
    left = lower(builder, plan.left, wanted.plus(reads).within(plan.left.schema))
    right = lower(builder, plan.right, wanted.of(reads).within(plan.right.schema))
    if isinstance(plan, SemiJoin) and _is_weak(builder, plan.on, left, right):
        return _weak_semi_join(builder, plan, wanted, left, right)
    return _half_joined(builder, plan, wanted, left, right)


def _half_joined(
    builder: Builder,
    plan: SemiJoin | AntiJoin,
    wanted: Requirements,
    left: PhysicalNode,
    right: PhysicalNode,
) -> PhysicalNode:
    """Return ⋉ or ▷ over the edges of its inputs, of which one at least is to be signed."""
    choice = builder.negation(plan, left)
    partly_signed = choice is not None and choice.partly_signed
    left, right = left if partly_signed else builder.signed(left), builder.signed(right)
    left, left_keys = builder.with_columns(left, plan.on.left_keys)
    right, right_keys = builder.with_columns(right, plan.on.right_keys)
    condition = JoinCondition(
        _side(left, left_keys, wanted.columns, plan.on),
        _side(right, right_keys, frozenset(), plan.on),
        tuple(_band(b, plan, wanted.slide) for b in plan.on.bands),
        residual_of(plan.on.residual),
    )
    schema = Schema(tuple(left.schema[n] for n in condition.left.output))
    op: Op
    if isinstance(plan, SemiJoin):
        op = SemiJoinOp(condition)
    elif partly_signed:
        op = PartlySignedAntiJoinOp(condition, _form(left))
    else:
        op = AntiJoinOp(condition, plan.null_aware)
    made = builder.add(
        op,
        (left, right),
        schema,
        PatternKind.STR,
        label=type(plan).__name__,
        structure="counters by key" + ", natural ends by timestamp" * partly_signed,
        partly_signed=partly_signed,
    )
    return made if choice is None else replace(made, notes=FormNotes(choice))


def _is_weak(builder: Builder, on: JoinOn, left: PhysicalNode, right: PhysicalNode) -> bool:
    """Return whether ⋉ can be unsigned: keys alone decide, and both inputs are unsigned."""
    by_keys = not on.bands and on.residual is None
    return by_keys and left.unsigned and right.unsigned and builder.renews


def _weak_semi_join(
    builder: Builder, plan: SemiJoin, wanted: Requirements, left: PhysicalNode, right: PhysicalNode
) -> PhysicalNode:
    """Lower L ⋉ R as L ⋈ δ(π R): a key is there once at a time, renewed while it has matches."""
    left, left_keys = builder.with_columns(left, plan.on.left_keys)
    right, right_keys = builder.with_columns(right, plan.on.right_keys)
    made = tuple(Named(n, k) for n, k in zip(right_keys, plan.on.right_keys, strict=True))
    keys = add_distinct(builder, builder.only(right, right_keys))
    keys = replace(keys, logical=Distinct(Project(plan.right, tuple(dict.fromkeys(made)))))
    side = _side(left, left_keys, wanted.columns, plan.on)
    condition = JoinCondition(side, JoinSide(keys.schema, right_keys, ()))
    return _hash_join(builder, condition, left, keys, renews=True)


def _form(left: PhysicalNode) -> Form:
    return Form.FIFO if left.kind is PatternKind.WKS else Form.CALENDAR


def lower_nrr_join(
    builder: Builder, plan: NrrJoin, wanted: Requirements, lower: Lower, table: LowerTable
) -> PhysicalNode:
    """Lower ⋈NRR: the left edge keeps its kind, the table is only looked at.

    Where the left edge can be unsigned it is, under every strategy: the retraction of a tuple would
    otherwise have to say which of several equal tuples, of different times, it is of. Rows that
    appear when a value changes keep all their columns: a row with another value is another row.
    So do results of relations alone.
    """
    times = times_under(plan.left)
    if rows_appear(plan.left) or not times:
        times |= frozenset(plan.left.schema.names)
    needs = wanted.plus(_reads(plan.on) | times)
    left = lower(builder.unsigned.unrenewed, plan.left, needs.within(plan.left.schema))
    if left.partly_signed:
        left = builder.signed(left)
    right = table(builder, plan.table, needs.within(plan.table.schema).columns)
    left, left_keys = builder.with_columns(left, plan.on.left_keys)
    right, right_keys = builder.with_columns(right, plan.on.right_keys)
    side = _side(left, left_keys, wanted.columns, plan.on)
    known = tuple(n for n in left.schema.names if n in times and n not in side.reads)
    condition = JoinCondition(
        replace(side, reads=side.reads + known) if left.signed else side,
        _side(right, right_keys, wanted.columns, plan.on),
        (),
        residual_of(plan.on.residual),
    )
    edge = builder.add(
        NrrJoinOp(condition, left.signed),
        (left, right),
        condition.output,
        left.kind,
        label="Join NRR",
        structure="table by key",
    )
    return builder.signed(edge) if builder.strategy == "negative" else edge


def _reads(on: JoinOn) -> frozenset[str]:
    exprs = (*on.left_keys, *on.right_keys)
    found = frozenset[str]().union(*map(columns_of, exprs))
    if on.residual is not None:
        found |= columns_of(on.residual)
    return found | {c for b in on.bands for c in (b.left, b.right)}


def _side(
    edge: PhysicalNode, keys: tuple[str, ...], output: frozenset[str], on: JoinOn
) -> JoinSide:
    names = edge.schema.names
    reads = frozenset() if on.residual is None else columns_of(on.residual)
    return JoinSide(
        edge.schema,
        keys,
        tuple(n for n in names if n in output),
        tuple(n for n in names if n in reads),
    )


def _band(band: Band, plan: Join | SemiJoin | AntiJoin, slide: int | None) -> TimeBand:
    return TimeBand(
        band.left,
        band.right,
        band.low,
        band.high,
        time_lag(plan.left, band.left, slide),
        time_lag(plan.right, band.right, slide),
    )
