"""What lowering depends on, and the nodes that every operator is lowered with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from windrow.core.schema import Schema
from windrow.optimize.context import Early
from windrow.optimize.negations import FormChoice, NegationPlace, choose_form
from windrow.optimize.statistics import UNKNOWN, Statistics
from windrow.physical.conditions import Form
from windrow.physical.identity import computed_name
from windrow.physical.node import PhysicalNode
from windrow.physical.operators import (
    DistinctKind,
    DistinctOp,
    ExchangeOp,
    ExpireOp,
    ExpirerKind,
    ExpiringJoinOp,
    ExpiringSemiJoinOp,
    FifoJoinOp,
    HashJoinOp,
    InsertionsOp,
    Op,
    ProjectOp,
    SourceOp,
)
from windrow.physical.sources import Crossing, Partials
from windrow.plan.expressions import Column, Expr
from windrow.plan.nodes import AntiJoin, Named, Plan, Route, SemiJoin, as_column
from windrow.plan.patterns import PatternKind


@dataclass(frozen=True, slots=True)
class Requirements:
    """What the node above asks for: which columns, and the SLIDE that it passes down."""

    columns: frozenset[str]
    slide: int | None = None

    def of(self, columns: frozenset[str]) -> Requirements:
        """Return the same wish for other columns."""
        return replace(self, columns=columns)

    def plus(self, columns: frozenset[str]) -> Requirements:
        """Return the same wish with more columns."""
        return replace(self, columns=self.columns | columns)

    def within(self, schema: Schema) -> Requirements:
        """Return the part of the wish that an input with this schema can fulfil."""
        return replace(self, columns=self.columns & frozenset(schema.names))


@dataclass(frozen=True, slots=True)
class Builder:
    """What the operators of a part of the plan are chosen by; makes their nodes.

    `node`: the logical node that is being lowered. `renews`: whether a row may be emitted again
    with a later end. Below an NRR it may not: there it would meet another version. `algorithm`:
    what joins streams (`SET join_algorithm`). `emits_expirations`: whether joins and DISTINCT may
    emit the expirations of their results, which no operator above then stores. `shared`: nodes that
    several others read, by the identity of their logical nodes.
    """

    strategy: str
    root: Plan | None = None
    node: Plan | None = None
    statistics: Statistics = UNKNOWN
    placed: tuple[NegationPlace, ...] = ()
    renews: bool = True
    merging: tuple[Partials, ...] = ()
    algorithm: str = "auto"
    emits_expirations: bool = True
    early: Early = field(default_factory=Early)
    shared: dict[int, PhysicalNode] = field(default_factory=dict)

    @property
    def direct(self) -> bool:
        """Return whether state is kept in plain lists."""
        return self.strategy == "direct"

    def under(self, node: Plan) -> Builder:
        """Return the same for a node of the logical plan."""
        return replace(self, node=node)

    @property
    def unsigned(self) -> Builder:
        """Return the same with unsigned edges wherever ends are known, under every strategy.

        For operators that do not read expirations: under `negative` they would be computed, and
        dropped.
        """
        return replace(self, strategy="upa") if self.strategy == "negative" else self

    @property
    def unrenewed(self) -> Builder:
        """Return the same where no row is emitted again with a later end."""
        return replace(self, renews=False)

    def source(self, op: SourceOp, kind: PatternKind | None, *, label: str) -> PhysicalNode:
        """Return an input: a stream, or the changes of a relation."""
        return self.add(op, (), op.scan.schema, kind, label=f"{label} {op.scan.entry.name}")

    def add(  # noqa: PLR0913 - a node has that many parts
        self,
        op: Op,
        inputs: tuple[PhysicalNode, ...],
        schema: Schema,
        kind: PatternKind | None,
        *,
        label: str,
        structure: str = "",
        partly_signed: bool = False,
    ) -> PhysicalNode:
        """Return the node of an operator over others."""
        return PhysicalNode(
            op,
            inputs,
            schema,
            kind,
            partly_signed,
            label=label,
            structure=structure,
            logical=self.node,
        )

    def exchange(self, edge: PhysicalNode, route: Route, by: tuple[Expr, ...]) -> PhysicalNode:
        """Return a place where rows change shards: an edge of the same kind, fed from outside."""
        edge, names = self.with_columns(edge, by)
        keys = tuple(as_column(edge.schema[n]) for n in names)
        ends = edge.unsigned or edge.partly_signed
        crossing = Crossing(route, keys, ends, weighs=edge.kind is PatternKind.STR)
        return self.rowwise(ExchangeOp(crossing), edge, edge.schema, label="Exchange")

    def rowwise(self, op: Op, edge: PhysicalNode, schema: Schema, *, label: str) -> PhysicalNode:
        """Return an operator that looks at one tuple at a time: an edge of the same kind."""
        return self.add(
            op, (edge,), schema, edge.kind, label=label, partly_signed=edge.partly_signed
        )

    def signed(self, edge: PhysicalNode) -> PhysicalNode:
        """Return the edge as a signed one: as it is, or behind an expirer."""
        if edge.signed:
            return edge
        if edge.kind is PatternKind.MON:
            return self.insertions(edge, PatternKind.STR)
        if self.emits_expirations and (twin := with_expirations(edge)) is not None:
            return twin
        kind = self.expirer(edge)
        return self.add(
            ExpireOp(kind),
            (edge,),
            edge.schema,
            PatternKind.STR,
            label="Expire",
            structure=kind.value,
        )

    def can_emit_expirations(self, edge: PhysicalNode) -> bool:
        """Return whether the edge's own operator can emit expirations, without an expirer."""
        return self.emits_expirations and with_expirations(edge) is not None

    def insertions(self, edge: PhysicalNode, kind: PatternKind | None) -> PhysicalNode:
        """Return a MON edge as a signed one, or the insertions of an unsigned one as a stream."""
        return self.add(InsertionsOp(), (edge,), edge.schema, kind, label="Insertions")

    def expirer(self, edge: PhysicalNode) -> ExpirerKind:
        """Return the structure in which tuples of an unsigned edge wait for their expiration."""
        if edge.partly_signed:
            return ExpirerKind.PARTLY_SIGNED
        assert edge.unsigned, "only tuples of unsigned edges wait for a known end"
        if self.direct:
            return ExpirerKind.LIST
        return ExpirerKind.CALENDAR if edge.kind is PatternKind.WK else ExpirerKind.RING

    def negation(self, plan: SemiJoin | AntiJoin, left: PhysicalNode) -> FormChoice | None:
        """Return the form of a negation by keys over unsigned input; None where there is one."""
        if not isinstance(plan, AntiJoin) or self.strategy not in ("upa", "auto"):
            return None
        on = plan.on
        if plan.null_aware or on.bands or on.residual is not None:
            return None
        if left.kind not in (PatternKind.WKS, PatternKind.WK):
            return None
        choice = choose_form(plan, self.statistics, by_cost=self.strategy == "auto")
        where = next((p.text for p in self.placed if p.is_of(plan)), "")
        return replace(choice, placed=where)

    def with_columns(
        self, edge: PhysicalNode, exprs: tuple[Expr, ...]
    ) -> tuple[PhysicalNode, tuple[str, ...]]:
        """Return the edge with a column for each expression, and the names of those columns."""
        names: list[str] = []
        made: list[Named] = []
        for expr in exprs:
            if isinstance(expr, Column):
                names.append(expr.name)
                continue
            known = next((m for m in made if m.expr == expr), None)
            if known is None:
                known = Named(computed_name(expr), expr)
                if known.name not in edge.schema:
                    made.append(known)
            names.append(known.name)
        if not made:
            return edge, tuple(names)
        columns = (*(Named(f.name, as_column(f)) for f in edge.schema), *made)
        return self.project(edge, columns, label="Compute"), tuple(names)

    def only(self, edge: PhysicalNode, names: tuple[str, ...]) -> PhysicalNode:
        """Return the edge with just the named columns."""
        columns = tuple(Named(n, as_column(edge.schema[n])) for n in dict.fromkeys(names))
        return self.project(edge, columns, label="Compute")

    def project(
        self, edge: PhysicalNode, columns: tuple[Named, ...], *, label: str
    ) -> PhysicalNode:
        """Return π over an edge; what makes its changes net stays so while it is kept."""
        schema = Schema(tuple(c.field for c in columns))
        made = self.rowwise(ProjectOp(columns), edge, schema, label=label)
        return replace(made, netted=edge.net_after(columns))

    def finish(self, edge: PhysicalNode, schema: Schema) -> PhysicalNode:
        """Make the edge the root: exactly the query's columns, in their order."""
        if edge.schema.names == schema.names:
            return edge
        columns = tuple(Named(f.name, as_column(f)) for f in schema)
        return self.project(edge, columns, label="Output")


def with_expirations(edge: PhysicalNode) -> PhysicalNode | None:
    """Return an unsigned edge as a signed one, its expirations emitted by its own operator.

    None if that operator, below projections, has no form that does.
    """
    if isinstance(edge.op, ProjectOp):
        below = with_expirations(edge.inputs[0])
        return None if below is None else replace(edge, inputs=(below,), kind=PatternKind.STR)
    op = _expiring(edge.op)
    if op is None:
        return None
    structure = f"{edge.structure}, expirations emitted"
    return replace(edge, op=op, kind=PatternKind.STR, structure=structure)


def _expiring(op: Op) -> Op | None:
    """Return the form of an operator that emits expirations; None if it has none."""
    match op:
        case FifoJoinOp(condition=condition) if condition.every_candidate_joins:
            return ExpiringJoinOp(condition)
        case HashJoinOp(condition=condition, renews=True) if Form.DIRECT not in (op.left, op.right):
            return ExpiringSemiJoinOp(condition)
        case DistinctOp(algorithm=DistinctKind.DELTA_STAR):
            return DistinctOp(DistinctKind.EXPIRING)
        case _:
            return None


def add_distinct(builder: Builder, edge: PhysicalNode) -> PhysicalNode:
    """Return δ over an edge all of whose columns distinguish rows."""
    if edge.partly_signed:
        edge = builder.signed(edge)
    kind: PatternKind = PatternKind.MON if edge.kind is PatternKind.MON else PatternKind.WK
    if edge.signed:
        algorithm, kind = DistinctKind.STRICT, PatternKind.STR
    else:
        algorithm = DistinctKind.STORED_INPUT if builder.direct else DistinctKind.DELTA_STAR
    made = builder.add(
        DistinctOp(algorithm),
        (edge,),
        edge.schema,
        kind,
        label="Distinct",
        structure=algorithm.value,
    )
    return made if builder.renews else builder.signed(made)
