"""Streams whose tuples are counted: numbers for them, or when a count window over them slides.

Number          tuples  a  b  c        numbers  1  2  3     on shard i: 1 + i·2⁴⁸ ...
SlideInstants   step 2: a  b┊c  d┊     instants of b and d, once each
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from windrow.core.schema import Field, Schema
from windrow.core.time import BEGINNING
from windrow.core.types import BIGINT
from windrow.operators.delta import Delta
from windrow.operators.state.fields import ScalarField, StateField
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.operators.vector import Vector

SHARD_NUMBERS = 1 << 48
"""Numbers that a shard has for itself: a year of eight million tuples a second."""


class CountingTask(StatefulTask):
    """The common part: how many tuples of the stream have arrived."""

    state_fields: ClassVar[tuple[StateField, ...]] = (ScalarField("arrived"),)

    def __init__(self) -> None:
        self.counters = Counters()
        self.arrived = 0

    def _counted(self, given: Delta, made: Delta) -> Delta:
        self._count(given, made)
        return made

    def state_rows(self) -> int:
        """No tuple is kept."""
        return 0

    def invariants(self) -> None:
        """Assert that the count has not gone back."""
        assert self.arrived >= 0, "tuples arrive, and do not return"


class NumberTask(CountingTask):
    """Each tuple with its number: stream in, stream out. O(tuples); keeps one number."""

    def __init__(self, column: str) -> None:
        super().__init__()
        self.column = column
        self.shard = 0

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Number the tuples in the order of their arrival."""
        (delta,) = inputs
        first = self.shard * SHARD_NUMBERS + self.arrived + 1
        self.arrived += len(delta)
        numbers = np.arange(first, first + len(delta), dtype=np.int64)
        out = delta.replace_columns({**delta.columns, self.column: Vector(BIGINT, numbers)})
        return self._counted(delta, out)


class SlideInstantsTask(CountingTask):
    """The instants at which ``[ROWS n SLIDE step]`` slides: stream in, stream out.

    O(tuples); keeps the count, and the last instant that was emitted.
    """

    state_fields = (*CountingTask.state_fields, ScalarField("last"))

    def __init__(self, column: str, step: int) -> None:
        super().__init__()
        self.schema = Schema((Field(column, BIGINT, nullable=False),))
        self.slide = step
        self.last = BEGINNING

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Emit each instant whose tuples pass a multiple of the slide."""
        (delta,) = inputs
        numbers = np.arange(self.arrived + 1, self.arrived + 1 + len(delta))
        self.arrived += len(delta)
        slides = np.unique(delta.ts[numbers % self.slide == 0])
        slides = slides[slides > self.last]
        if len(slides):
            self.last = int(slides[-1])
        out = Delta(slides, {self.schema.names[0]: Vector(BIGINT, slides)})
        return self._counted(delta, out)
