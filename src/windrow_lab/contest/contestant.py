"""A contestant: something with full windows that is measured stretch by stretch.

ticks  0 ......... start │ stretch │ stretch │ ...
       fill              warm-ups, then repeats
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from windrow_lab.contest.measurement import EQUAL, Measurement

OutputT = TypeVar("OutputT")


@dataclass(frozen=True, slots=True)
class Run(Generic[OutputT]):
    """One stretch: the ticks ``[low, high)``, its seconds, the tuples in, and the output."""

    low: int
    high: int
    seconds: float
    tuples: int
    output: OutputT


@dataclass(slots=True)
class Contestant(ABC, Generic[OutputT]):
    """One side of a contest; `turns` stretches are behind it.

    Subclasses say how a stretch is run, what is counted, and what a right output is.
    """

    turns: int = field(default=0, kw_only=True)

    def run(self) -> Measurement:
        """Run the next stretch; its clocks count only if its output is right."""
        before = self.counters()
        done = self.stretch()
        more = {name: now - before.get(name, 0) for name, now in self.counters().items()}
        counts = self.counts(done, more)
        wrong = self.check(done, counts)
        self.turns += 1
        return Measurement(self.clocks(done), counts, wrong or EQUAL)

    @abstractmethod
    def stretch(self) -> Run[OutputT]:
        """Run the next stretch; its input is ready before the clock starts."""

    @abstractmethod
    def counters(self) -> Mapping[str, float]:
        """Return the work that has been counted so far."""

    @abstractmethod
    def clocks(self, done: Run[OutputT]) -> dict[str, float]:
        """Return the times of a stretch by their names."""

    @abstractmethod
    def counts(self, done: Run[OutputT], more: Mapping[str, float]) -> dict[str, float]:
        """Return work and state after a stretch; `more` is what its counters have grown by."""

    @abstractmethod
    def check(self, done: Run[OutputT], counts: dict[str, float]) -> str:
        """Return how the output differs from what it should be; empty if it does not.

        What only the check gets to know may be added to `counts`.
        """
