"""From the state of one physical plan to that of another, at one instant.

    old plan   what each operator holds ── less what lies below it ─► deposits, by place
    new plan   deposits ─► lowest operators ─► silently up to the highest

An operator of the same form goes on from its state as it is. One of another form is filled with
the live rows of its inputs. Where a row's departure would have to come from below, but no
operator there can be given the row (what it had before a projection is lost), the departure
waits on the edge itself, in `Dataflow.ends`.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from windrow.core.errors import StateError
from windrow.operators.aggregate import GroupByTask
from windrow.operators.dataflow import Dataflow, Stage
from windrow.operators.delta import Delta
from windrow.operators.distinct import DeltaStarDistinct, StoredInputDistinct
from windrow.operators.endless import endless
from windrow.operators.handover.contents import (
    Deposit,
    alive,
    departures,
    fitted,
    in_order,
    merged,
    minus,
    nothing,
    returned,
)
from windrow.operators.handover.departing import in_order_of_leaving
from windrow.operators.handover.matching import PlanMatching
from windrow.operators.handover.places import origins
from windrow.operators.join.aggregation.contributing import ContributingJoinTask
from windrow.operators.join.aggregation.task import AggregationJoinTask
from windrow.operators.join.multi.stores import RingOfRows
from windrow.operators.join.multi.task import MultiZSetJoin
from windrow.operators.join.versions import VersionsTask
from windrow.operators.stateless import Stateless
from windrow.operators.task import Task
from windrow.plan.nodes import Join

FOLDING = (GroupByTask, AggregationJoinTask)
"""Operators that have groups: rows are folded into them, and groups' rows are emitted again."""

RENEWING = (DeltaStarDistinct, StoredInputDistinct)
"""Operators that may emit a row again with a later end: rows already emitted must not change."""


@runtime_checkable
class Holding(Protocol):
    """A task that can return, for each input, the live rows from which another form goes on.

    These are all that its future answers depend on, each with its end if it knows that; the rows
    that it has emitted first come first. Rows of which it keeps nothing are not among them.
    """

    def held(self, clock: int) -> tuple[Delta, ...]:
        """Return the rows. Where the time of entry is not kept, it may be any up to `clock`."""


def transfer(old: Dataflow, twin: list[Stage], new: Dataflow) -> None:
    """Fill a fresh plan with the state of another plan of the same query.

    `twin` are fresh stages of the old plan; they are used up. Raises `StateError` where the old
    plan does not hold what the new one needs. O(state). What the old plan still has to emit, and
    the new one will not, is in `contents.pending_insertions`.
    """
    matching = PlanMatching(old.stages, new.stages)
    new.begun, new.clocks = old.begun, _clocks(old, new)
    if not old.begun:
        return
    if matching.identical:
        new.load(old.save())
        return
    if not _versions_stay(old, new, matching):
        raise StateError(
            "results keep the versions of a NON RETROACTIVE RELATION that they met",
            detail="Inputs aggregated early are distinguished by versions, others by results.",
            hint="Keep early_aggregation and the strategy, or start the query anew.",
        )
    if old.aligns or new.aligns:
        raise StateError(
            "a plan in which a derived stream meets another input cannot be exchanged",
            detail="Its parts have come to different instants.",
            hint="Keep the strategy, or start the query anew.",
        )
    _fill(old, new, matching, _taken(old, twin, matching))


def _versions_stay(old: Dataflow, new: Dataflow, matching: PlanMatching) -> bool:
    """Return whether all stages that number versions or read the numbers are kept."""
    mine, theirs = matching.kept.keys(), set(matching.kept.values())
    return _by_version(new.stages) <= mine and _by_version(old.stages) <= theirs


def _by_version(stages: list[Stage]) -> set[int]:
    own = {i for i, s in enumerate(stages) if isinstance(s.task, VersionsTask)}
    return own | {i for i, s in enumerate(stages) if own & set(s.inputs)}


def _clocks(old: Dataflow, new: Dataflow) -> list[int]:
    """Return how far each stage of the new plan has come."""
    clocks: list[int] = []
    for stage in new.stages:
        at = min((clocks[i] for i in stage.inputs), default=max(old.clocks))
        clocks.append(at - 1 if stage.lags and old.begun else at)
    return clocks


def _stages_to_move(flow: Dataflow, matching: PlanMatching) -> list[Stage]:
    """Return the stages of either plan whose state depends on that of the other plan.

    All but a root that makes ISTREAM otherwise than the other: it begins with nothing
    (`istream_differs`).
    """
    return flow.stages[:-1] if matching.istream_differs else flow.stages


def _taken(old: Dataflow, twin: list[Stage], matching: PlanMatching) -> list[Deposit]:
    """Return the rows that operators of the old plan hold and that none below can emit again."""
    deposits: list[Deposit] = []
    contents: list[Delta] = []
    kept = set(matching.kept.values())
    for j, stage in enumerate(_stages_to_move(old, matching)):
        task, below = twin[j].task, tuple(contents[i] for i in stage.inputs)
        clock = min((old.clocks[i] for i in stage.inputs), default=old.clocks[j])
        made = nothing(stage)
        # Stateless: its rows follow from those below.
        if isinstance(task, Stateless):
            made = task.step(below, clock)
        # Rows that the operator holds beyond what is known below are deposited on its input edges.
        elif task is not None and j not in kept:
            held = _held(old.stages, j, clock)
            for i, rows, known in zip(stage.inputs, held, below, strict=False):
                rest = minus(rows, known, old.stages[i].schema)
                place = matching.old_places[i]
                spare = _spare(rest, origins(old.stages, matching.old_places, place))
                deposits.append(Deposit(place, rest, spare))
            if not isinstance(task, FOLDING):
                made = task.step(held, clock)
        # Rows whose expirations wait on the edge above.
        if j in old.ends:
            waiting = returned(old.ends[j], clock)
            deposits.append(Deposit(matching.old_places[j], waiting))
            made = merged(made, fitted(waiting, stage))
        contents.append(made)
    return [d for d in deposits if len(d.rows)]


def _spare(rows: Delta, made_of: dict[str, frozenset[str]]) -> frozenset[str]:
    """Return the columns of rows that can be computed from their other columns."""
    names = rows.columns.keys()
    return frozenset(n for n in names if n in made_of and made_of[n] <= names)


def _held(stages: list[Stage], at: int, clock: int) -> tuple[Delta, ...]:
    stage = stages[at]
    if isinstance(stage.task, AggregationJoinTask) and any(
        endless(stages, i) for i in stage.inputs
    ):
        raise StateError(
            "tuples that never expire are folded, and cannot be distinguished again",
            detail="An input without end is stored only as what its tuples add up to.",
            hint="Keep early_aggregation, or start the query anew.",
        )
    if not isinstance(stage.task, Holding):
        raise StateError(
            f"{stage.label} cannot be carried over to another plan",
            detail="It does not hold the rows from which its other form could go on.",
            hint="Keep the strategy, or start the query anew.",
        )
    held = (alive(rows, clock) for rows in stage.task.held(clock))
    return tuple(held) if isinstance(stage.task, RENEWING) else tuple(map(in_order, held))


def _fill(old: Dataflow, new: Dataflow, matching: PlanMatching, deposits: list[Deposit]) -> None:
    """Fill the operators of the new plan, lowest first."""
    at = [_edge_for(deposit, new.stages, matching) for deposit in deposits]
    contents: list[Delta] = []
    for i, stage in enumerate(_stages_to_move(new, matching)):
        below = tuple(contents[k] for k in stage.inputs)
        clock = min((new.clocks[k] for k in stage.inputs), default=new.clocks[i])
        # The old operator with the same meaning, if there is one.
        known = matching.same.get(i)
        before = None if known is None else old.stages[known].task
        if before is None and isinstance(stage.task, FOLDING):
            before = _folding(old.stages, matching, i)
        made = nothing(stage)
        # The same form: its state as it is. Another form: the rows of its inputs, again.
        if i in matching.kept:
            assert stage.task is not None
            assert before is not None
            stage.task.load(before.save())
        elif stage.task is not None:
            below = _ordered(new, stage, below, clock)
            made = _entered(stage, before, below, clock)
        # What the old plan held on this edge is there for all operators above.
        for deposit in (d for d, place in zip(deposits, at, strict=True) if place == i):
            made = merged(made, fitted(deposit.rows, stage))
            if stage.edge_kind == (True, False) and deposit.rows.exp is not None:
                _let_go(new, i, departures(deposit.rows, stage))
        contents.append(made)


def _folding(stages: list[Stage], matching: PlanMatching, i: int) -> Task | None:
    """Return the old operator that folds the same groups, with or without the joins below."""
    same = (
        s for s, p in zip(stages, matching.old_places, strict=True) if p == matching.new_places[i]
    )
    return next((s.task for s in same if isinstance(s.task, FOLDING)), None)


def _ordered(
    new: Dataflow, stage: Stage, below: tuple[Delta, ...], clock: int
) -> tuple[Delta, ...]:
    """Return the rows of a stage's inputs, in order of expiration where it stores them so."""
    if not isinstance(stage.task, MultiZSetJoin):
        return below
    return tuple(
        in_order_of_leaving(new, i, copies.read(rows), clock)
        if isinstance(copies, RingOfRows)
        else rows
        for i, rows, copies in zip(stage.inputs, below, stage.task.inputs.copies, strict=True)
    )


def _entered(stage: Stage, before: Task | None, below: tuple[Delta, ...], clock: int) -> Delta:
    """Fill a task with the rows of its inputs; return the rows that it emits."""
    task = stage.task
    assert task is not None
    made = nothing(stage)
    if isinstance(task, GroupByTask) and isinstance(before, GroupByTask):
        task.adopt(before, below[0], clock)
    elif isinstance(task, FOLDING):
        if before is None and not isinstance(task, ContributingJoinTask):  # it has no groups
            raise _unknown(stage)
        task.begin(clock)
        task.step(below, clock)
    elif isinstance(task, Stateless):
        made = task.step(below, clock)
    elif isinstance(task, Holding):
        if isinstance(task, RENEWING) and isinstance(before, RENEWING):
            below = tuple(alive(rows, clock) for rows in before.held(clock))
        made = task.step(below, clock)
    else:
        raise _unknown(stage)
    task.counters.reset()
    return made


def _edge_for(deposit: Deposit, stages: list[Stage], matching: PlanMatching) -> int:
    """Return the stage on whose edge rows enter the new plan.

    With all columns known: the lowest that has just these, so that operators see the rows out.
    Else the highest that has them: there the others are not read any more, but for those that
    the plan computes below it. Never below an expirer that is kept: it has let the rows pass
    already. A plan that computes other columns, or elsewhere, is given those that they are made of.
    """
    names = set(deposit.rows.columns)
    highest = len(stages) - matching.istream_differs
    chain = [i for i in range(highest) if matching.new_places[i] == deposit.place]
    first = max((i for i in chain if i in matching.kept), default=0)
    computed = origins(stages, matching.new_places, deposit.place).keys() - names
    for known in (names, names - deposit.spare):
        edges = [i for i in chain if i >= first and known <= set(stages[i].schema.names)]
        if edges:
            whole = [i for i in edges if known == set(stages[i].schema.names)]
            given = [i for i in edges if not computed & set(stages[i].schema.names)]
            return whole[0] if whole else (given or edges)[-1]
    raise _no_place(deposit, known=bool(chain))


def _no_place(deposit: Deposit, *, known: bool) -> StateError:
    """Return why rows cannot enter; `known`: whether the other plan has their place at all."""
    if not known and isinstance(deposit.place.meaning, Join):
        return StateError(
            "results of a join outlive the tuples that they were made of",
            detail="The plan that runs has kept the results and let go of the tuples; the other "
            "plan goes on from the tuples alone.",
            hint="Keep join_algorithm, try again once such results have expired, or start it anew.",
        )
    return StateError(
        "the other plan has no place for rows that are alive",
        detail=f"They have the columns {', '.join(sorted(deposit.rows.columns))}.",
        hint="Keep the strategy, or start the query anew.",
    )


def _let_go(new: Dataflow, i: int, leaving: Delta) -> None:
    """Schedule expirations of rows on the edge above a stage, besides those scheduled already."""
    if len(leaving):
        new.ends[i] = merged(new.ends[i], leaving) if i in new.ends else leaving


def _unknown(stage: Stage) -> StateError:
    return StateError(
        f"{stage.label} has no counterpart in the plan that runs",
        detail="What it stores cannot be had from the rows that are alive.",
        hint="Keep the strategy, or start the query anew.",
    )
