"""A physical plan with exchanges, run level by level on one shard.

Level 0 are the stages up to the first exchanges; level n those above the n-th. Between two levels
rows change shards: what a stage below an exchange gives here goes out, and what the same stages
gave on all shards comes in. A stage may also read one of a lower level on the same shard: rows that
entered by the key are where they belong already.

    level 1      γ[src]
                   │ exchange by src
    level 0      ⋈[k] ─── a, b entered by k
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from windrow.core.time import BEGINNING
from windrow.operators.dataflow import Dataflow, parted
from windrow.operators.delta import Delta
from windrow.operators.lower import Physical
from windrow.operators.task import Saved
from windrow.operators.view import net_per_instant
from windrow.plan.nodes import Route


def levels_of(physical: Physical) -> list[int]:
    """Return the level of each stage."""
    levels: list[int] = []
    for i, stage in enumerate(physical.stages):
        below = max((levels[j] for j in stage.inputs), default=0)
        levels.append(below + 1 if i in physical.exchanges else below)
    return levels


def lone_stages(physical: Physical) -> frozenset[int]:
    """Return the stages that only the first shard runs: all their rows are brought there."""
    lone: set[int] = set()
    for i, stage in enumerate(physical.stages):
        crossing = physical.exchanges.get(i) or physical.entries.get(i)
        if crossing is not None:
            if crossing.route is Route.ONE:
                lone.add(i)
        elif any(j in lone for j in stage.inputs):
            lone.add(i)
    return frozenset(lone)


@dataclass(slots=True)
class LeveledFlow:
    """A dataflow at work on one shard. Each batch runs all its levels, lowest first."""

    physical: Physical
    first: bool  # whether this is the shard that does what only one does
    flow: Dataflow = field(init=False)
    levels: list[int] = field(init=False)
    lone: frozenset[int] = field(init=False)
    begun: int = 0  # levels that have seen the query's start
    _before: list[Delta] = field(init=False)
    _outputs: list[Delta] = field(init=False)

    def __post_init__(self) -> None:
        self.flow = Dataflow(self.physical.stages)
        self.levels = levels_of(self.physical)
        self.lone = frozenset() if self.first else lone_stages(self.physical)
        self._forget()

    def _forget(self) -> None:
        empty = [Delta.empty(s.schema, signed=s.signed) for s in self.physical.stages]
        self._before, self._outputs = empty, list(empty)

    @property
    def height(self) -> int:
        """The number of levels."""
        return max(self.levels) + 1

    def step(
        self, level: int, given: dict[int, Delta], clock: int, *, start: int, ends: bool
    ) -> None:
        """Run one level up to `clock`; `given` are changes of sources, or those that came in."""
        if self.begun <= level:
            before, given = parted(given, start)
            self.flow.begun = False
            self._before = self._round(level, before, start, self._before, start=start, ends=False)
            self.flow.begun = True
            self.begun = level + 1
        elif level == 0:
            self._forget()
        self._outputs = self._round(level, given, clock, self._outputs, start=start, ends=ends)

    def _round(
        self,
        level: int,
        given: dict[int, Delta],
        clock: int,
        outputs: list[Delta],
        *,
        start: int,
        ends: bool,
    ) -> list[Delta]:
        made = list(outputs)
        for i, stage in enumerate(self.physical.stages):
            if self.levels[i] != level:
                continue
            if stage.task is None:
                made[i] = given.get(i, self._nothing(i))
                self.flow.clocks[i] = clock if ends or not self._lags(i) else clock - 1
            elif i not in self.lone:
                made[i] = self.flow.run_stage(i, made, start=start, ends=ends)
        return made

    def _nothing(self, i: int) -> Delta:
        stage = self.physical.stages[i]
        return Delta.empty(stage.schema, signed=stage.signed)

    def _lags(self, i: int) -> bool:
        """Tell whether changes of an exchange come one instant after those of the sources."""
        stage = self.physical.stages[i]
        return stage.lags or any(self._lags(j) for j in stage.inputs)

    def output(self, i: int) -> Delta:
        """Return what a stage gave in this batch."""
        return Delta.concat([self._before[i], self._outputs[i]])

    def leaving(self, i: int) -> Delta:
        """Return the same for another shard, where what was there before any tuple is told so."""
        old = self._before[i]
        before = Delta(np.full(len(old), BEGINNING), old.columns, old.exp, old.weight)
        return Delta.concat([before, self._outputs[i]])

    def changes(self) -> Delta:
        """Return the root's changes of this batch."""
        root = self.output(len(self.physical.stages) - 1)
        return net_per_instant(root) if len(self._before[-1]) else root

    def rest(self) -> None:
        """Let go of what the batch gave: it has been taken."""
        self._forget()

    def save(self) -> Saved:
        """Return the state of all tasks and edges; only between batches."""
        return {"flow": self.flow.save(), "begun": self.begun}

    def load(self, saved: Saved) -> None:
        """Take over a saved state of the same physical plan."""
        self.flow.load(saved["flow"])  # type: ignore[arg-type]
        self.begun = int(saved["begun"])  # type: ignore[call-overload]
        self._forget()
