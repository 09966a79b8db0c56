"""A physical plan with exchanges, run level by level on one shard.

Level 0 are the stages up to the first exchanges; level n those above the n-th. Between two levels
rows change shards: what a stage below an exchange gives here goes out, and what the same stages
gave on all shards comes in. A stage may also read one of a lower level on the same shard: rows that
entered by the key are where they belong already.

    level 1      γ[src]
                   │ exchange by src
    level 0      ⋈[k] ─── a, b entered by k

A level may be run in several steps, each up to a later instant: what it gives is then given in
parts. What a higher level reads here waits for it, and is read by it up to the same instants.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.time import BEGINNING
from windrow.operators.dataflow import Dataflow, parted
from windrow.operators.delta import Delta
from windrow.operators.open import OpenPlan
from windrow.operators.state.fields import NestedField, ScalarField, State
from windrow.operators.streams import NumberTask
from windrow.operators.view import net_per_instant
from windrow.physical.operators import UnionOp
from windrow.physical.plan import PhysicalPlan
from windrow.plan.nodes import Route


def levels_of(plan: PhysicalPlan) -> list[int]:
    """Return the level of each node."""
    levels: list[int] = []
    for i, node in enumerate(plan.nodes):
        below = max((levels[j] for j in plan.inputs_of(node)), default=0)
        levels.append(below + 1 if i in plan.exchanges else below)
    return levels


def lone_stages(plan: PhysicalPlan) -> frozenset[int]:
    """Return the nodes that only the first shard runs: all their rows are brought there.

    A union of such rows with others has some on every shard; others meet only relations, which
    every shard has.
    """
    lone: set[int] = set()
    for i, node in enumerate(plan.nodes):
        crossing = plan.exchanges.get(i) or plan.entries.get(i)
        if crossing is not None:
            if crossing.route is Route.ONE:
                lone.add(i)
            continue
        brought = [j in lone for j in plan.inputs_of(node)]
        if all(brought) if isinstance(node.op, UnionOp) else any(brought):
            lone.add(i)
    return frozenset(lone)


@dataclass(frozen=True, slots=True)
class StepRange:
    """How far a step goes: from the query's first event at `start` up to `clock`.

    `ends`: nothing follows. `more`: it is not the last step of its level in this batch, so what
    came in of the instant of the clock is whole.
    """

    clock: int
    start: int
    ends: bool = False
    more: bool = False


@dataclass(slots=True)
class LeveledFlow(State):
    """A dataflow at work on one shard. Each batch runs all its levels, lowest first.

    `_before` is what stages gave before the first tuple of all, `_outputs` what they gave in the
    last step. `_kept` waits for a higher level: by level and stage.
    """

    state_fields = (NestedField("flow"), ScalarField("begun"))

    physical: OpenPlan
    shard: int = 0  # the first one does what only one does
    flow: Dataflow = field(init=False)
    levels: list[int] = field(init=False)
    lone: frozenset[int] = field(init=False)
    begun: int = 0  # levels that have seen the query's start
    _before: list[Delta] = field(init=False)
    _outputs: list[Delta] = field(init=False)
    _first: bool = False  # whether the last step was a level's first of all
    _readers: dict[int, tuple[int, ...]] = field(init=False)
    _kept: dict[tuple[int, int], list[Delta]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.flow = Dataflow(self.physical.stages)
        self.levels = levels_of(self.physical.plan)
        self.lone = frozenset() if self.shard == 0 else lone_stages(self.physical.plan)
        for stage in self.physical.stages:
            if isinstance(stage.task, NumberTask):
                stage.task.shard = self.shard
        self._readers = self._higher_readers()
        self._forget()

    def _higher_readers(self) -> dict[int, tuple[int, ...]]:
        """Return, for each stage that a higher level reads on the same shard, those levels."""
        found: dict[int, set[int]] = {}
        for i, stage in enumerate(self.physical.stages):
            for j in stage.inputs:
                if i not in self.physical.exchanges and self.levels[j] < self.levels[i]:
                    found.setdefault(j, set()).add(self.levels[i])
        return {j: tuple(sorted(levels)) for j, levels in found.items()}

    def _forget(self) -> None:
        empty = [Delta.empty(s.schema, signed=s.signed) for s in self.physical.stages]
        self._before, self._outputs = empty, list(empty)
        self._first = False

    @property
    def height(self) -> int:
        """The number of levels."""
        return max(self.levels) + 1

    def step(self, level: int, given: dict[int, Delta], reach: StepRange) -> None:
        """Run one level up to a clock; `given` are changes of sources, or those that came in."""
        start = reach.start
        self._first = self.begun <= level
        # A level's first step: what relations have before the first event comes first.
        # A level sees what relations had before the first event once, and apart from the rest.
        if self._first:
            before, given = parted(given, start, self.physical.stages)
            self.flow.begun = False
            self._before = self._round(level, before, self._before, StepRange(start, start))
            self.flow.begun = True
            self.begun = level + 1
        elif level == 0 and self.begun == self.height:
            self._forget()
        self._outputs = self._round(level, given, self._from_below(level, reach.clock), reach)
        # What a higher level reads on the same shard waits for that level's step.
        for j, levels in self._readers.items():
            if self.levels[j] == level and len(self._outputs[j]):
                for above in levels:
                    self._kept.setdefault((above, j), []).append(self._outputs[j])

    def _from_below(self, level: int, clock: int) -> list[Delta]:
        """Return what a level reads of lower ones, up to `clock`; the rest waits on."""
        made = [self._nothing(i) for i in range(len(self.levels))]
        for j in [j for above, j in self._kept if above == level]:
            # What a lower level has given of later instants waits for the step that reaches them.
            made[j], later = Delta.concat(self._kept.pop((level, j))).split(clock)
            if len(later):
                self._kept[level, j] = [later]
        return made

    def _round(
        self, level: int, given: dict[int, Delta], outputs: list[Delta], reach: StepRange
    ) -> list[Delta]:
        made = list(outputs)
        for i, stage in enumerate(self.physical.stages):
            if self.levels[i] != level:
                continue
            if stage.task is None:
                made[i] = given.get(i, self._nothing(i))
                closed = reach.ends or reach.more or not self._lags(i)
                self.flow.clocks[i] = reach.clock if closed else reach.clock - 1
            elif i not in self.lone:
                made[i] = self.flow.run_stage(i, made, start=reach.start, ends=reach.ends)
            else:  # nothing comes of it here, and all of that has come
                at = min(self.flow.clocks[j] for j in stage.inputs)
                self.flow.clocks[i] = at - 1 if stage.lags and not reach.ends else at
        return made

    def _nothing(self, i: int) -> Delta:
        stage = self.physical.stages[i]
        return Delta.empty(stage.schema, signed=stage.signed)

    def _lags(self, i: int) -> bool:
        """Return whether changes of an exchange come one instant after those of the sources."""
        stage = self.physical.stages[i]
        return stage.lags or any(self._lags(j) for j in stage.inputs)

    def output(self, i: int) -> Delta:
        """Return what a stage gave in the last step."""
        if not self._first:
            return self._outputs[i]
        return Delta.concat([self._before[i], self._outputs[i]])

    def leaving(self, i: int) -> Delta:
        """Return the same for another shard, where rows from before any tuple are marked so."""
        if not self._first:
            return self._outputs[i]
        old = self._before[i]
        before = Delta(np.full(len(old), BEGINNING), old.columns, old.exp, old.weight)
        return Delta.concat([before, self._outputs[i]])

    def changes(self) -> Delta:
        """Return the root's changes of the last step."""
        root = self.output(len(self.physical.stages) - 1)
        return net_per_instant(root) if self._first and len(self._before[-1]) else root

    def rest(self) -> None:
        """Let go of what the batch gave: it has been taken."""
        assert not self._kept, "what a level has given to a higher one has been read"
        self._forget()

    def rebuild(self) -> None:
        """Nothing has been given since."""
        self._forget()
