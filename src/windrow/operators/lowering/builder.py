"""The stages made so far, and the choice of a structure for an edge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from windrow.core.schema import Schema
from windrow.operators.dataflow import Stage
from windrow.operators.distinct import DeltaStarDistinct, ExpiringDistinct
from windrow.operators.expire import ExpireTask, InsertionsTask
from windrow.operators.interner import Interner
from windrow.operators.join import (
    ExpiringJoin,
    ExpiringSemiJoin,
    FifoJoin,
    HashJoin,
    can_emit_expirations,
)
from windrow.operators.rowwise import ProjectTask
from windrow.operators.source import SourceScan
from windrow.operators.state.expirer import (
    CalendarExpirer,
    Expirer,
    FifoExpirer,
    ScanningExpirer,
)
from windrow.operators.state.partly_signed_expirer import PartlySignedExpirer
from windrow.operators.task import Task
from windrow.optimize.choose_form import FormChoice, choose_form
from windrow.optimize.early_costs import EarlyConstants
from windrow.optimize.place_negation import NegationPlace
from windrow.optimize.preaggregate_panes import Partials
from windrow.optimize.statistics import UNKNOWN, Statistics
from windrow.plan.expressions import Column, Expr
from windrow.plan.format import format_expr
from windrow.plan.nodes import AntiJoin, Named, Plan, Route, SemiJoin, as_column
from windrow.plan.patterns import PatternKind

MakeExpirer = Callable[[Schema], Expirer]


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
class Edge:
    """A stage's output: its number, columns, kind, and for unsigned edges the update pattern.

    `kind` is MON, WKS or WK for an unsigned edge; a signed edge is STR; None for a stream.
    `netted` names columns that, while they are kept, make each instant's changes net already.
    `partly_signed`: of an edge of kind STR, whether only early retractions travel (see
    `delta.py`).
    """

    stage: int
    schema: Schema
    kind: PatternKind | None
    netted: frozenset[str] | None = None
    partly_signed: bool = False

    def net_after(self, columns: tuple[Named, ...]) -> frozenset[str] | None:
        """Return `netted` of a projection of this edge: renamed, or lost."""
        if self.netted is None:
            return None
        kept = {c.expr.name: c.name for c in columns if isinstance(c.expr, Column)}
        return frozenset(kept[n] for n in self.netted) if self.netted <= kept.keys() else None

    @property
    def signed(self) -> bool:
        """Return whether a retraction travels for every tuple that expires or is deleted."""
        return self.kind is PatternKind.STR and not self.partly_signed

    @property
    def unsigned(self) -> bool:
        """Return whether every tuple carries its `exp`, and none ends earlier."""
        return self.kind not in (None, PatternKind.STR)


@dataclass(frozen=True, slots=True)
class Crossing:
    """Whom the rows of an exchange go to. Keys read the columns of its input.

    `ends`: rows carry when they expire; `weighs`: they carry a weight.
    """

    route: Route
    keys: tuple[Expr, ...] = ()
    ends: bool = False
    weighs: bool = False


@dataclass(slots=True)
class Early:
    """What `SET early_aggregation` asks for, and what became of it.

    Joins under a GROUP BY are keyed by the names of their inputs: `given` are placements that are
    to be taken again, `taken` all that were. `known` are the names that can be asked for; `found`
    says whether some join has those that are. `costed`: whether placements are listed with their
    costs though none is asked for. `shards`: on how many the plan runs, 0 in one process.
    `chooses`: whether `auto` may choose what is not given, which is done once for all shards.
    `moved`: joins whose results would change shards. `constants`: what costs go by, if not those of
    this machine. `versions`: whether joins with NRRs have placements.
    """

    asked: str = "none"
    given: dict[str, str] = field(default_factory=dict)
    taken: dict[str, str] = field(default_factory=dict)
    known: list[str] = field(default_factory=list)
    found: bool = False
    costed: bool = False
    shards: int = 0
    chooses: bool = True
    moved: frozenset[str] = frozenset()
    constants: EarlyConstants | None = None
    versions: bool = False

    def again(self, key: str) -> str:
        """Return what `auto` is to take again for a join; `auto` itself where it may choose."""
        return self.given.get(key, "auto" if self.chooses else "none")


@dataclass(slots=True)
class Builder:
    """Collects stages in running order.

    `renews`: whether a row may be emitted again with a later end. Below an NRR it may not: there it
    would meet another version. `algorithm`: what joins streams (`SET join_algorithm`).
    `emits_expirations`: whether joins and DISTINCT may emit the expirations of their results, which
    no operator above then stores. `shared`: edges that several stages read, by the identity of
    their nodes.
    """

    strategy: str
    interner: Interner
    root: Plan | None = None
    stages: list[Stage] = field(default_factory=list)
    sources: dict[int, SourceScan] = field(default_factory=dict)
    statistics: Statistics = UNKNOWN
    placed: tuple[NegationPlace, ...] = ()
    renews: bool = True
    merging: tuple[Partials, ...] = ()
    entries: dict[int, Crossing] = field(default_factory=dict)
    partials: dict[int, Partials] = field(default_factory=dict)
    exchanges: dict[int, Crossing] = field(default_factory=dict)
    algorithm: str = "auto"
    emits_expirations: bool = True
    early: Early = field(default_factory=Early)
    shared: dict[int, Edge] = field(default_factory=dict)

    @property
    def direct(self) -> bool:
        """Return whether state is kept in plain lists."""
        return self.strategy == "direct"

    @contextmanager
    def unsigned_edges(self) -> Iterator[None]:
        """Lower what follows with unsigned edges wherever ends are known, under every strategy.

        For operators that do not read expirations: under `negative` they would be computed, and
        dropped.
        """
        strategy = self.strategy
        if strategy == "negative":
            self.strategy = "upa"
        try:
            yield
        finally:
            self.strategy = strategy

    def mark(self) -> int:
        """Return where the stages end now, for `rewind`."""
        return len(self.stages)

    def rewind(self, mark: int) -> None:
        """Forget the stages that were added since a mark, to make them otherwise."""
        del self.stages[mark:]
        for noted in (self.sources, self.entries, self.partials, self.exchanges):
            for stage in [n for n in noted if n >= mark]:
                del noted[stage]
        self.shared = {node: e for node, e in self.shared.items() if e.stage < mark}

    def source(self, source: SourceScan, label: str) -> Edge:
        """Add an input."""
        self.sources[len(self.stages)] = source
        self.stages.append(Stage(label, source.schema, signed=True, begins=source.begins))
        return Edge(len(self.stages) - 1, source.schema, None)

    def add(  # noqa: PLR0913 - a stage has that many parts
        self,
        task: Task,
        inputs: tuple[Edge, ...],
        schema: Schema,
        kind: PatternKind | None,
        *,
        label: str,
        structure: str = "",
        partly_signed: bool = False,
    ) -> Edge:
        """Add a task over edges; return its output edge."""
        stage = Stage(
            label,
            schema,
            signed=(kind is PatternKind.STR or kind is None) and not partly_signed,
            partly_signed=partly_signed,
            inputs=tuple(e.stage for e in inputs),
            task=task,
            lags=bool(getattr(task, "lags", False)),
            structure=structure,
        )
        self.stages.append(stage)
        return Edge(len(self.stages) - 1, schema, kind, partly_signed=partly_signed)

    def exchange(self, edge: Edge, route: Route, by: tuple[Expr, ...]) -> Edge:
        """Add a place where rows change shards: an edge of the same kind, fed from outside."""
        edge, names = self.with_columns(edge, by)
        keys = tuple(as_column(edge.schema[n]) for n in names)
        ends = edge.unsigned or edge.partly_signed
        weighs = edge.kind is PatternKind.STR
        self.exchanges[len(self.stages)] = Crossing(route, keys, ends, weighs)
        stage = Stage(
            "Exchange",
            edge.schema,
            signed=not ends,
            partly_signed=edge.partly_signed,
            inputs=(edge.stage,),
        )
        self.stages.append(stage)
        return replace(edge, stage=len(self.stages) - 1, netted=None)

    def owned(self, node: Plan, first: int) -> None:
        """Note that the stages from `first` on are a node's, but for those of nodes below it."""
        for stage in self.stages[first:]:
            stage.node = stage.node or node

    def rowwise(self, task: Task, edge: Edge, schema: Schema, *, label: str) -> Edge:
        """Add a task that looks at one tuple at a time: its output is an edge of the same kind."""
        return self.add(
            task, (edge,), schema, edge.kind, label=label, partly_signed=edge.partly_signed
        )

    def signed(self, edge: Edge) -> Edge:
        """Return the edge as a signed one: as it is, or behind an expirer."""
        if edge.signed:
            return edge
        if edge.kind is PatternKind.MON:
            return self.insertions(edge, PatternKind.STR)
        if self.can_emit_expirations(edge):
            return self.with_expirations(edge)
        expirer, structure = self.expirer(edge)
        return self.add(
            ExpireTask(expirer(edge.schema)),
            (edge,),
            edge.schema,
            PatternKind.STR,
            label="Expire",
            structure=structure,
        )

    def can_emit_expirations(self, edge: Edge) -> bool:
        """Return whether the edge's own operator can emit expirations, without an expirer."""
        return (
            self.emits_expirations
            and _expiring_twin(self.stages[self._over(edge)[-1]].task) is not None
        )

    def with_expirations(self, edge: Edge) -> Edge:
        """Return such an edge as a signed one, its expirations emitted by its own operator."""
        chain = self._over(edge)
        for i in chain:
            self.stages[i].signed = True
        stage = self.stages[chain[-1]]
        stage.task, stage.structure = (
            _expiring_twin(stage.task),
            f"{stage.structure}, expirations emitted",
        )
        return replace(edge, kind=PatternKind.STR)

    def _over(self, edge: Edge) -> list[int]:
        """Return an edge's stages down to the first that does more than project."""
        chain = [edge.stage]
        while isinstance(self.stages[chain[-1]].task, ProjectTask):
            chain += self.stages[chain[-1]].inputs
        return chain

    def insertions(self, edge: Edge, kind: PatternKind | None) -> Edge:
        """Return a MON edge as a signed one, or the insertions of an unsigned one as a stream."""
        return self.add(InsertionsTask(), (edge,), edge.schema, kind, label="Insertions")

    def expirer(self, edge: Edge) -> tuple[MakeExpirer, str]:
        """Return the structure in which tuples of an unsigned edge wait for their expiration."""
        if edge.partly_signed:
            return PartlySignedExpirer, "calendar queue, withdrawals hashed"
        assert edge.unsigned, "only tuples of unsigned edges wait for a known end"
        if self.direct:
            return ScanningExpirer, "plain list"
        if edge.kind is PatternKind.WK:
            return CalendarExpirer, "calendar queue"
        return FifoExpirer, "ring"

    def negation(self, plan: SemiJoin | AntiJoin, left: Edge) -> FormChoice | None:
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

    def with_columns(self, edge: Edge, exprs: tuple[Expr, ...]) -> tuple[Edge, tuple[str, ...]]:
        """Return the edge with a column for each expression, and the names of those columns."""
        names: list[str] = []
        made: list[Named] = []
        for expr in exprs:
            if isinstance(expr, Column):
                names.append(expr.name)
                continue
            known = next((m for m in made if m.expr == expr), None)
            if known is None:
                known = Named(f"#{format_expr(expr)} {expr.type}", expr)
                if known.name not in edge.schema:
                    made.append(known)
            names.append(known.name)
        if not made:
            return edge, tuple(names)
        columns = (*(Named(f.name, as_column(f)) for f in edge.schema), *made)
        schema = Schema(tuple(c.field for c in columns))
        task = ProjectTask(columns, self.interner)
        return self.rowwise(task, edge, schema, label="Compute"), tuple(names)

    def only(self, edge: Edge, names: tuple[str, ...]) -> Edge:
        """Return the edge with just the named columns."""
        columns = tuple(Named(n, as_column(edge.schema[n])) for n in dict.fromkeys(names))
        schema = Schema(tuple(c.field for c in columns))
        return self.rowwise(ProjectTask(columns, self.interner), edge, schema, label="Compute")

    def finish(self, edge: Edge, schema: Schema) -> Edge:
        """Make the edge the root: exactly the query's columns, in their order."""
        names = tuple(f.name for f in edge.schema)
        if names != schema.names or edge.stage != len(self.stages) - 1:
            columns = tuple(Named(f.name, as_column(f)) for f in schema)
            task = ProjectTask(columns, self.interner)
            made = self.rowwise(task, edge, schema, label="Output")
            return replace(made, netted=edge.net_after(columns))
        return edge


def _expiring_twin(task: Task | None) -> Task | None:
    """Return the form of a fresh operator that emits expirations; None if it has none."""
    match task:
        case FifoJoin() if can_emit_expirations(task.match):
            return ExpiringJoin(task.match)
        case HashJoin(renews=True, direct=False):
            return ExpiringSemiJoin(task.match)
        case DeltaStarDistinct():
            return ExpiringDistinct(task.schema)
        case _:
            return None
