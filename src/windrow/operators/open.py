"""From a physical plan to tasks: each node's operator, opened with its own state.

Nothing is decided here: what runs, and in which form, is what the plan says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from windrow.core.schema import Schema
from windrow.operators import distinct, streams, window
from windrow.operators import join as joins
from windrow.operators.aggregate import GroupByTask
from windrow.operators.aggregate.contributions import ContributeTask
from windrow.operators.dataflow import Stage, TaskWatch
from windrow.operators.delta import Delta
from windrow.operators.early_watching import EarlyWatch
from windrow.operators.endless import endless
from windrow.operators.expire import ExpireTask, InsertionsTask
from windrow.operators.hold import HoldTask
from windrow.operators.interner import Interner
from windrow.operators.join.aggregation.contributing import ContributingJoinTask
from windrow.operators.join.aggregation.op import AggregationJoin, Compute
from windrow.operators.join.aggregation.task import AggregationJoinTask
from windrow.operators.join.match import MultiMatch, Residual
from windrow.operators.join.multi.task import MultiJoin, MultiZSetJoin
from windrow.operators.join.versions import StampTask, VersionsTask
from windrow.operators.join.wjoin import HashWJoin, MergeWJoin, NestedWJoin, WJoin
from windrow.operators.row_store import RowStoreTask
from windrow.operators.rowwise import FilterTask, OwnTimeTask, ProjectTask, compile_condition
from windrow.operators.setops import BagOperator, MergeUnion
from windrow.operators.state.expirer import (
    CalendarExpirer,
    Expirer,
    FifoExpirer,
    ScanningExpirer,
)
from windrow.operators.state.partly_signed_expirer import PartlySignedExpirer
from windrow.operators.task import Task
from windrow.operators.topn import TopNTask
from windrow.operators.vector import Vector
from windrow.operators.watching import OrderWatch
from windrow.optimize.notes import EarlyNotes, JoinNotes, OrderNotes
from windrow.physical import operators as ops
from windrow.physical.conditions import JoinCondition, JoinSide, MultiCondition
from windrow.physical.identity import form_of
from windrow.physical.node import PhysicalNode
from windrow.physical.plan import PhysicalPlan
from windrow.physical.sources import Crossing, Partials, SourceScan
from windrow.plan.expressions import Expr
from windrow.plan.nodes import Named
from windrow.plan.patterns import PatternKind
from windrow.plan.windows import PartitionRows, Range, Rows, Since, Unbounded, Until

EXPIRERS: dict[ops.ExpirerKind, Callable[[Schema], Expirer]] = {
    ops.ExpirerKind.RING: FifoExpirer,
    ops.ExpirerKind.CALENDAR: CalendarExpirer,
    ops.ExpirerKind.LIST: ScanningExpirer,
    ops.ExpirerKind.PARTLY_SIGNED: PartlySignedExpirer,
}

DISTINCTS: dict[ops.DistinctKind, Callable[[Schema], Task]] = {
    ops.DistinctKind.STRICT: distinct.StrictDistinct,
    ops.DistinctKind.STORED_INPUT: distinct.StoredInputDistinct,
    ops.DistinctKind.DELTA_STAR: distinct.DeltaStarDistinct,
    ops.DistinctKind.EXPIRING: distinct.ExpiringDistinct,
}

W_JOINS: dict[ops.WJoinKind, type[WJoin]] = {
    ops.WJoinKind.NESTED: NestedWJoin,
    ops.WJoinKind.HASH: HashWJoin,
    ops.WJoinKind.MERGE: MergeWJoin,
}

Open = Callable[[Any, PhysicalNode, Interner], Task]
"""Takes the parameters of an operator, its node, and the table of texts; returns its task."""

FACTORIES: dict[type[ops.Op], Open] = {}
"""How each kind of operator is opened."""

Kind = TypeVar("Kind", bound=ops.Op)


def opens(
    kind: type[Kind],
) -> Callable[[Callable[[Kind, PhysicalNode, Interner], Task]], Open]:
    """Note a function as the one that opens a kind of operator."""

    def noted(factory: Callable[[Kind, PhysicalNode, Interner], Task]) -> Open:
        FACTORIES[kind] = factory
        return factory

    return noted


@runtime_checkable
class Showing(Protocol):
    """A task that knows which rows it has emitted and not retracted."""

    def current(self) -> Delta:
        """Return those rows."""


@dataclass(frozen=True, slots=True)
class OpenPlan:
    """A physical plan with a task for each of its operators.

    `shown`: a stage that knows the rows it has shown, and those without memory above it up to the
    root; none if there is none.
    """

    plan: PhysicalPlan
    stages: list[Stage]
    shown: tuple[int, ...]

    @property
    def netted(self) -> bool:
        """Whether the root's changes of an instant are net already."""
        return self.plan.netted

    @property
    def sources(self) -> dict[int, SourceScan]:
        """What enters the plan, by stage."""
        return self.plan.sources

    @property
    def entries(self) -> dict[int, Crossing]:
        """On shards, whom the rows of an input go to, by stage."""
        return self.plan.entries

    @property
    def exchanges(self) -> dict[int, Crossing]:
        """On shards, the stages whose changes come from other shards."""
        return self.plan.exchanges

    @property
    def partials(self) -> dict[int, Partials]:
        """On shards, the inputs whose rows may be merged before they enter, by stage."""
        return self.plan.partials

    @property
    def signature(self) -> str:
        """What a saved state must agree with to be taken over."""
        return self.plan.identity


def open_plan(plan: PhysicalPlan, interner: Interner) -> OpenPlan:
    """Return a plan with fresh tasks."""
    stages = [_stage(plan, node, interner) for node in plan.nodes]
    for stage, node in zip(stages, plan.nodes, strict=True):
        stage.watch = _watch(node, stage, stages, interner)
    return OpenPlan(plan, stages, _shown(stages))


def _stage(plan: PhysicalPlan, node: PhysicalNode, interner: Interner) -> Stage:
    factory = FACTORIES.get(type(node.op))
    task = None if factory is None else factory(node.op, node, interner)
    begins = not isinstance(node.op, ops.SourceOp) or node.op.scan.begins
    return Stage(
        node.label,
        node.schema,
        signed=(node.kind in (None, PatternKind.STR)) and not node.partly_signed,
        inputs=plan.inputs_of(node),
        task=task,
        lags=bool(getattr(task, "lags", False)),
        partly_signed=node.partly_signed,
        structure=node.structure,
        node=node.logical,
        begins=begins,
        form=form_of(node.op),
    )


def _watch(
    node: PhysicalNode, stage: Stage, stages: list[Stage], interner: Interner
) -> TaskWatch | None:
    """Return what watches a task while it runs, if there is something to watch."""
    match node.notes:
        case OrderNotes(choice=choice, streams=streams, adapts=adapts):
            assert isinstance(stage.task, MultiJoin | MultiZSetJoin | WJoin)
            return OrderWatch(stage.task, choice, streams, adapts=adapts)
        case EarlyNotes() as notes:
            inputs = {id(plan) for plan in notes.joined.flat.inputs}
            feeds = {id(s.node): s.task for s in stages if id(s.node) in inputs}  # the topmost
            tasks = tuple(task for task in feeds.values() if task is not None)
            return EarlyWatch.of(notes, interner, tasks)
        case JoinNotes() as notes:
            return notes
        case _:
            return None


def _shown(stages: list[Stage]) -> tuple[int, ...]:
    """Return the stages, lowest first, from which the current answer can be had."""
    chain: list[int] = []
    at = len(stages) - 1
    while isinstance(stages[at].task, FilterTask | ProjectTask):
        chain.append(at)
        (at,) = stages[at].inputs
    task = stages[at].task
    if not isinstance(task, Showing) or (isinstance(task, ExpireTask) and endless(stages, at)):
        return ()
    return (at, *reversed(chain))


def _below(node: PhysicalNode) -> Schema:
    return node.inputs[0].schema


@opens(ops.FilterOp)
def _filter(op: ops.FilterOp, node: PhysicalNode, interner: Interner) -> Task:
    return FilterTask(op.predicate, interner)


@opens(ops.ProjectOp)
def _project(op: ops.ProjectOp, node: PhysicalNode, interner: Interner) -> Task:
    return ProjectTask(op.columns, interner)


@opens(ops.OwnTimeOp)
def _own_time(op: ops.OwnTimeOp, node: PhysicalNode, interner: Interner) -> Task:
    return OwnTimeTask(op.column)


@opens(ops.InsertionsOp)
def _insertions(op: ops.InsertionsOp, node: PhysicalNode, interner: Interner) -> Task:
    return InsertionsTask()


@opens(ops.UnionOp)
def _union(op: ops.UnionOp, node: PhysicalNode, interner: Interner) -> Task:
    return MergeUnion([below.schema for below in node.inputs])


@opens(ops.WindowOp)
def _window(op: ops.WindowOp, node: PhysicalNode, interner: Interner) -> Task:
    schema, slide = _below(node), op.slide
    match op.spec:
        case Range(width=width):
            return window.RangeWindow(schema, width, slide, op.expiry_column)
        case Unbounded():
            return window.UnboundedWindow(schema, slide)
        case Since(start=start):
            return window.SinceWindow(schema, start, slide)
        case Until(columns=columns):
            return window.UntilWindow(schema, columns, slide)
        case Rows(count=count, step=step):
            return window.RowsWindow(schema, count, step, slide)
        case PartitionRows(keys=keys, count=count):
            return window.PartitionRowsWindow(schema, keys, count, slide)


@opens(ops.ExpireOp)
def _expire(op: ops.ExpireOp, node: PhysicalNode, interner: Interner) -> Task:
    return ExpireTask(EXPIRERS[op.expirer](_below(node)))


@opens(ops.RowStoreOp)
def _row_store(op: ops.RowStoreOp, node: PhysicalNode, interner: Interner) -> Task:
    return RowStoreTask(_below(node))


@opens(ops.DistinctOp)
def _distinct(op: ops.DistinctOp, node: PhysicalNode, interner: Interner) -> Task:
    return DISTINCTS[op.algorithm](_below(node))


@opens(ops.FifoJoinOp)
def _fifo_join(op: ops.FifoJoinOp, node: PhysicalNode, interner: Interner) -> Task:
    return joins.FifoJoin(_match(op.condition, interner), endless=op.endless)


@opens(ops.ExpiringJoinOp)
def _expiring_join(op: ops.ExpiringJoinOp, node: PhysicalNode, interner: Interner) -> Task:
    return joins.ExpiringJoin(_match(op.condition, interner))


@opens(ops.HashJoinOp)
def _hash_join(op: ops.HashJoinOp, node: PhysicalNode, interner: Interner) -> Task:
    return joins.HashJoin(_match(op.condition, interner), op.left, op.right, renews=op.renews)


@opens(ops.ExpiringSemiJoinOp)
def _expiring_semi(op: ops.ExpiringSemiJoinOp, node: PhysicalNode, interner: Interner) -> Task:
    return joins.ExpiringSemiJoin(_match(op.condition, interner))


@opens(ops.ZSetJoinOp)
def _zset_join(op: ops.ZSetJoinOp, node: PhysicalNode, interner: Interner) -> Task:
    return joins.ZSetJoin(_match(op.condition, interner))


@opens(ops.SemiJoinOp)
def _semi_join(op: ops.SemiJoinOp, node: PhysicalNode, interner: Interner) -> Task:
    return joins.SemiJoinTask(_match(op.condition, interner))


@opens(ops.AntiJoinOp)
def _anti_join(op: ops.AntiJoinOp, node: PhysicalNode, interner: Interner) -> Task:
    return joins.AntiJoinTask(_match(op.condition, interner), null_aware=op.null_aware)


@opens(ops.PartlySignedAntiJoinOp)
def _partly_signed(op: ops.PartlySignedAntiJoinOp, node: PhysicalNode, interner: Interner) -> Task:
    return joins.PartlySignedAntiJoin(_match(op.condition, interner), op.form)


@opens(ops.NrrJoinOp)
def _nrr_join(op: ops.NrrJoinOp, node: PhysicalNode, interner: Interner) -> Task:
    return joins.NrrJoinTask(_match(op.condition, interner), signed=op.signed)


@opens(ops.MultiJoinOp)
def _multi_join(op: ops.MultiJoinOp, node: PhysicalNode, interner: Interner) -> Task:
    return MultiJoin(_multi_match(op.condition, interner), op.forms, op.orders, op.method)


@opens(ops.MultiZSetJoinOp)
def _multi_zset(op: ops.MultiZSetJoinOp, node: PhysicalNode, interner: Interner) -> Task:
    match = _multi_match(op.condition, interner)
    return MultiZSetJoin(match, op.orders, op.method, ordered=op.rings)


@opens(ops.WJoinOp)
def _w_join(op: ops.WJoinOp, node: PhysicalNode, interner: Interner) -> Task:
    return W_JOINS[op.algorithm](_multi_match(op.condition, interner), op.orders)


@opens(ops.VersionsOp)
def _versions(op: ops.VersionsOp, node: PhysicalNode, interner: Interner) -> Task:
    return VersionsTask(node.schema, op.life)


@opens(ops.StampOp)
def _stamp(op: ops.StampOp, node: PhysicalNode, interner: Interner) -> Task:
    return StampTask(op.met, op.versions)


@opens(ops.BagOp)
def _bag(op: ops.BagOp, node: PhysicalNode, interner: Interner) -> Task:
    left, right = node.inputs
    return BagOperator(left.schema, right.schema, op.kind)


@opens(ops.HoldOp)
def _hold(op: ops.HoldOp, node: PhysicalNode, interner: Interner) -> Task:
    return HoldTask(_below(node), op.length)


@opens(ops.TopNOp)
def _top_n(op: ops.TopNOp, node: PhysicalNode, interner: Interner) -> Task:
    return TopNTask(_below(node), op.keys, op.limit, op.offset, interner)


@opens(ops.RefreshOp)
def _refresh(op: ops.RefreshOp, node: PhysicalNode, interner: Interner) -> Task:
    return streams.RefreshTask(_below(node), op.slide, op.restore)


@opens(ops.NumberOp)
def _number(op: ops.NumberOp, node: PhysicalNode, interner: Interner) -> Task:
    return streams.NumberTask(op.column)


@opens(ops.SlideInstantsOp)
def _slide_instants(op: ops.SlideInstantsOp, node: PhysicalNode, interner: Interner) -> Task:
    return streams.SlideInstantsTask(op.column, op.step)


@opens(ops.ProducedOp)
def _produced(op: ops.ProducedOp, node: PhysicalNode, interner: Interner) -> Task:
    return streams.ProducedTask(_below(node), interner)


@opens(ops.IstreamOp)
def _istream(op: ops.IstreamOp, node: PhysicalNode, interner: Interner) -> Task:
    return streams.IstreamTask(_below(node), interner, ordered=op.ordered)


@opens(ops.DstreamOp)
def _dstream(op: ops.DstreamOp, node: PhysicalNode, interner: Interner) -> Task:
    return streams.DstreamTask(_below(node), interner, ordered=op.ordered)


@opens(ops.DelayOp)
def _delay(op: ops.DelayOp, node: PhysicalNode, interner: Interner) -> Task:
    return streams.DelayTask(_below(node), op.slide, interner)


@opens(ops.RstreamOp)
def _rstream(op: ops.RstreamOp, node: PhysicalNode, interner: Interner) -> Task:
    return streams.RstreamTask(_below(node), op.slide, interner, op.seen, op.by)


@opens(ops.RecentAnswersOp)
def _recent_answers(op: ops.RecentAnswersOp, node: PhysicalNode, interner: Interner) -> Task:
    return streams.RecentAnswersTask(_below(node), op.slide, op.width)


@opens(ops.GroupByOp)
def _group_by(op: ops.GroupByOp, node: PhysicalNode, interner: Interner) -> Task:
    expirer = None if op.expirer is None else EXPIRERS[op.expirer]
    return GroupByTask(op.group_by, interner, expirer)


@opens(ops.ContributeOp)
def _contribute(op: ops.ContributeOp, node: PhysicalNode, interner: Interner) -> Task:
    return ContributeTask(op.contribute, interner)


@opens(ops.AggregationJoinOp)
def _aggregation_join(op: ops.AggregationJoinOp, node: PhysicalNode, interner: Interner) -> Task:
    return AggregationJoinTask(_aggregation(op, interner), op.orders, interner, op.method)


@opens(ops.ContributingJoinOp)
def _contributing_join(op: ops.ContributingJoinOp, node: PhysicalNode, interner: Interner) -> Task:
    join = op.join
    opened = _aggregation(join, interner)
    return ContributingJoinTask(opened, op.parts, join.orders, interner, join.method)


def _aggregation(op: ops.AggregationJoinOp, interner: Interner) -> AggregationJoin:
    match, compute = _multi_match(op.condition, interner), _compute(op.computed, interner)
    return AggregationJoin(match, op.early, op.keys, op.folds, compute, op.copies)


def _match(condition: JoinCondition, interner: Interner) -> joins.Match:
    residual = _residual(condition.residual, interner)
    return joins.Match(_side(condition.left), _side(condition.right), condition.bands, residual)


def _side(side: JoinSide) -> joins.Side:
    return joins.Side(side.schema, side.keys, side.output, side.reads)


def _multi_match(condition: MultiCondition, interner: Interner) -> MultiMatch:
    return MultiMatch(
        condition.inputs,
        condition.equalities,
        condition.bands,
        condition.compares,
        _residual(condition.residual, interner),
    )


def _residual(residual: Expr | None, interner: Interner) -> Residual | None:
    return None if residual is None else compile_condition(residual, interner)


def _compute(columns: tuple[Named, ...], interner: Interner) -> Compute | None:
    """Return what makes computed columns of those of contributions; None if there are none."""
    if not columns:
        return None
    task = ProjectTask(columns, interner)

    def compute(read: dict[str, Vector], rows: int) -> dict[str, Vector]:
        given = Delta(np.zeros(rows, np.int64), read)
        return read | task.step((given,), 0).columns

    return compute
