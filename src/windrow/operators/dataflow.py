"""A physical plan at work: tasks joined by edges, run one after the other, batch by batch.

Each task is run when all tasks below it have been, so a batch goes through the whole plan in one
round. A task whose output lags (it must see an instant closed before it speaks) hands on an older
clock; where such an edge meets a faster one, the faster one's changes wait.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from windrow.core.schema import Schema
from windrow.core.time import BEGINNING
from windrow.operators.delta import Delta
from windrow.operators.state.backlog import BatchesField
from windrow.operators.state.fields import ListField, NestedField, ScalarField, State
from windrow.operators.streams import RefreshTask
from windrow.operators.task import Task
from windrow.plan.nodes import Plan


@runtime_checkable
class Closing(Protocol):
    """A task that speaks of an instant once it is closed; `finish` closes the last one."""

    def finish(self, clock: int) -> Delta:
        """Return what the instant of the clock gives, as nothing will follow."""


class TaskWatch(Protocol):
    """Looks at a task after each step; may change how it works, never what it gives."""

    def look(self, rows: int) -> None:
        """Count the rows of a step."""

    def notes(self) -> list[str]:
        """Return in lines what EXPLAIN shows of the task beside its structure."""

    def facts(self) -> dict[str, object]:
        """Return the same for other programs."""

    def stats(self) -> dict[str, object]:
        """Return what is counted beside the task's own counters."""


@dataclass(slots=True)
class Stage:
    """One task, where its inputs come from, and what its output looks like.

    A source has no task: its changes are given to `Dataflow.step`. `structure` says in what state
    is kept. `node` is the part of the logical plan that the
    stage was made for. `watch` looks at the task after each step, if there is something to watch.
    `begins`: whether a change of a source is an event with which a query can begin. `form`: how
    the operator does its work (`physical/identity.py`).
    """

    label: str
    schema: Schema
    signed: bool
    inputs: tuple[int, ...] = ()
    task: Task | None = None
    lags: bool = False
    partly_signed: bool = False
    structure: str = ""
    node: Plan | None = None
    watch: TaskWatch | None = None
    begins: bool = True
    form: tuple[object, ...] = ()

    @property
    def edge_kind(self) -> tuple[bool, bool]:
        """Which expirations are emitted on the edge above it."""
        return self.signed, self.partly_signed

    def counts(self) -> dict[str, Any]:
        """Return what its task stores, and has counted; {} of a source."""
        task = self.task
        if task is None:
            return {}
        return {
            "operator": self.label,
            "structure": self.structure,
            "state_rows": task.state_rows(),
            "state_bytes": task.state_bytes(),
            **{name: getattr(task.counters, name) for name in task.counters.__slots__},
        }


@dataclass(slots=True)
class Dataflow(State):
    """Stages in an order in which inputs come first; the last one is the root.

    `ends` are the departures, still to come, of tuples that an earlier plan of the same query has
    let in: on the edge that leaves a stage, whose own task knows nothing of them (`handover`).
    `lag`: how many instants the root may be behind the clock.
    """

    state_fields = (
        ListField("clocks"),
        ScalarField("begun"),
        NestedField("tasks"),
        BatchesField("waiting", schema="schema_before"),
        BatchesField("ends", schema="schema_behind"),
    )

    stages: list[Stage]
    clocks: list[int] = field(init=False)
    waiting: dict[tuple[int, int], Delta] = field(default_factory=dict)
    ends: dict[int, Delta] = field(default_factory=dict)
    begun: bool = False
    lag: int = field(init=False)
    _aligned_stages: set[int] = field(init=False)
    _nothing: dict[int, Delta] = field(init=False)

    def __post_init__(self) -> None:
        self.clocks = [BEGINNING] * len(self.stages)
        lags = [0] * len(self.stages)
        self._aligned_stages = set()
        self._nothing = {
            i: Delta.empty(s.schema, signed=True)
            for i, s in enumerate(self.stages)
            if s.task is None
        }
        # A lag adds up from the leaves; where inputs differ in it, the faster ones wait.
        for i, stage in enumerate(self.stages):
            below = [lags[j] for j in stage.inputs]
            # Only where inputs differ in how far they have come must the faster one wait.
            if len(below) > 1 and any(below):
                self._aligned_stages.add(i)
            lags[i] = stage.lags + max(below, default=0)
        self.lag = lags[-1]

    @property
    def aligns(self) -> bool:
        """Return whether edges that lag meet faster ones, whose changes then wait."""
        return bool(self._aligned_stages)

    @property
    def root(self) -> Stage:
        """The stage whose changes are the query's."""
        return self.stages[-1]

    def step(self, sources: dict[int, Delta], clock: int, *, start: int, ends: bool) -> Delta:
        """Run all tasks up to `clock`; return the root's changes.

        `start` is the time of the query's first event; `ends` says that nothing will follow, so
        that the instant of the clock is closed as well. Rows of relations from before `start`
        are there when it begins.
        """
        if self.begun:
            return self._round(sources, clock, start=start, ends=ends)
        # Rows of relations from before the first event are an answer of their own, at its instant.
        before, sources = parted(sources, start, self.stages)
        first = self.opened(before, start)
        return Delta.concat([first, self._round(sources, clock, start=start, ends=ends)])

    def opened(self, before: dict[int, Delta], start: int) -> Delta:
        """Begin with what is there before the first event, at `start`; return what comes of it."""
        first = self._round(before, start, start=start, ends=False)
        self.begun = True
        return first

    def nothing(self, i: int) -> Delta:
        """Return no changes of a stage."""
        stage = self.stages[i]
        return Delta.empty(stage.schema, signed=stage.signed)

    def _round(self, sources: dict[int, Delta], clock: int, *, start: int, ends: bool) -> Delta:
        """Run every task once. The first round of all is over what is there before any tuple."""
        outputs: list[Delta] = []
        for i, stage in enumerate(self.stages):
            if stage.task is None:
                given = sources.get(i)
                outputs.append(self._nothing[i] if given is None else given)
                self.clocks[i] = clock
                continue
            outputs.append(self.run_stage(i, outputs, start=start, ends=ends))
        return outputs[-1]

    def run_stage(self, i: int, outputs: list[Delta], *, start: int, ends: bool) -> Delta:
        """Run one task over what the stages below it have just given; return its changes."""
        stage = self.stages[i]
        first, *others = stage.inputs
        at = self.clocks[first]
        inputs: tuple[Delta, ...] = (outputs[first],)
        if others:
            at = min(at, *[self.clocks[j] for j in others])
            inputs += tuple([outputs[j] for j in others])
        if not self.begun:
            at = max(at, start)  # all that is there before the first event has come
        elif i in self._aligned_stages:
            inputs = self._aligned(i, inputs, at)
        return self.run_task(i, inputs, at, start=start, ends=ends)

    def run_task(
        self, i: int, inputs: tuple[Delta, ...], at: int, *, start: int, ends: bool
    ) -> Delta:
        """Run one task over changes up to `at`; return its changes."""
        stage = self.stages[i]
        made = self._run(stage, inputs, at, start=start, ends=ends)
        if stage.watch is not None:
            stage.watch.look(sum(map(len, inputs)))
        # A task that lags has closed the instants before the clock's.
        self.clocks[i] = at - 1 if stage.lags and not ends else at
        return self._ended(i, made, at) if i in self.ends else made

    def _run(
        self, stage: Stage, given: tuple[Delta, ...], clock: int, *, start: int, ends: bool
    ) -> Delta:
        task = stage.task
        assert task is not None
        made = task.step(given, clock) if self.begun else _first_step(task, given, clock, start)
        if ends and stage.lags:
            assert isinstance(task, Closing), "only tasks that wait for a closed instant lag"
            made = Delta.concat([made, task.finish(clock)])
        return made

    def _ended(self, i: int, made: Delta, clock: int) -> Delta:
        """Return a stage's changes and the departures on its edge up to `clock`, these first."""
        now, later = self.ends.pop(i).split(clock)
        if len(later):
            self.ends[i] = later
        both = Delta.concat([now, made])
        return both.take(np.argsort(both.ts, kind="stable"))

    def _aligned(self, i: int, given: tuple[Delta, ...], clock: int) -> tuple[Delta, ...]:
        """Return each input's changes up to the slowest input's clock; keep the rest."""
        ready = []
        for port, delta in enumerate(given):
            held = self.waiting.pop((i, port), None)
            whole = delta if held is None else Delta.concat([held, delta])
            now, later = whole.split(clock)
            if len(later):
                self.waiting[i, port] = later
            ready.append(now)
        return tuple(ready)

    @property
    def tasks(self) -> list[Task]:
        """The tasks of all stages that have one."""
        return [stage.task for stage in self.stages if stage.task is not None]

    def schema_before(self, port: tuple[int, int]) -> Schema:
        """Return the columns of what waits at an input of a stage."""
        stage, number = port
        return self.schema_behind(self.stages[stage].inputs[number])

    def schema_behind(self, stage: int) -> Schema:
        """Return the columns of what leaves a stage."""
        return self.stages[stage].schema


def parted(
    sources: dict[int, Delta], start: int, stages: list[Stage]
) -> tuple[dict[int, Delta], dict[int, Delta]]:
    """Return what was there before a query's first event, as of then, and what has come since.

    What was there meets a relation that does not reach back as of the first event, changes of that
    instant included.
    """
    before, since = {}, {}
    for i, delta in sources.items():
        old, since[i] = delta.split(start - 1 if stages[i].begins else start)
        if len(old):
            before[i] = Delta(np.full(len(old), start), old.columns, old.exp, old.weight)
    return before, since


def _first_step(task: Task, given: tuple[Delta, ...], clock: int, start: int) -> Delta:
    first = task.begin(start)
    if isinstance(task, RefreshTask):
        (task.initial,) = given
    made = task.step(given, clock)
    return made if first is None else Delta.concat([first, made])
