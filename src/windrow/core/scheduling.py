"""Which operator runs next: events in, decisions out. No clock, no queue, no operator is touched.

An operator is *ready* if something waits in its queues that it may take now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Protocol

from windrow.core.errors import BindError


@dataclass(frozen=True, slots=True)
class Ready:
    """An operator that could run: its stage, how much waits for it, and since when."""

    stage: int
    waiting: int
    since: int


class Scheduler(Protocol):
    """Chooses among operators that are ready. `slice` is how long the chosen one may run."""

    slice: int

    def choose(self, ready: Sequence[Ready]) -> int:
        """Return the stage that runs next; `ready` is not empty, lower stages come first."""


def require_slice(slice_: object) -> None:
    """Refuse what is no length of time that an operator could run for.

    >>> require_slice(0.0)
    Traceback (most recent call last):
    windrow.core.errors.BindError: error: a slice cannot be 0.0
    detail: An operator runs for a slice at a time, in the unit of the streams' time.
    hint: Give a number above 0; a large one lets an operator read all that waits.
    """
    if not (isinstance(slice_, int | float) and isfinite(slice_) and slice_ > 0):
        raise BindError(
            f"a slice cannot be {slice_}",
            detail="An operator runs for a slice at a time, in the unit of the streams' time.",
            hint="Give a number above 0; a large one lets an operator read all that waits.",
        )


@dataclass(slots=True)
class RoundRobin:
    """One after the other, from the leaves to the root, and again from the leaves."""

    slice: int = 1
    last: int = -1

    def __post_init__(self) -> None:
        require_slice(self.slice)

    def choose(self, ready: Sequence[Ready]) -> int:
        """Return the next one after the last.

        >>> robin = RoundRobin()
        >>> waiting = [Ready(2, 1, 0), Ready(5, 9, 0)]
        >>> [robin.choose(waiting) for _ in range(3)]
        [2, 5, 2]
        """
        self.last = next((r.stage for r in ready if r.stage > self.last), ready[0].stage)
        return self.last


@dataclass(slots=True)
class LongestQueue:
    """The operator for which most waits; of equal ones the one nearest to the root."""

    slice: int = 1

    def __post_init__(self) -> None:
        require_slice(self.slice)

    def choose(self, ready: Sequence[Ready]) -> int:
        """Return it.

        >>> LongestQueue().choose([Ready(2, 1, 0), Ready(5, 9, 0)])
        5
        """
        return max(ready, key=lambda r: (r.waiting, r.stage)).stage


@dataclass(slots=True)
class OldestFirst:
    """The operator whose first entry has waited longest; of equal ones the one nearest the root."""

    slice: int = 1

    def __post_init__(self) -> None:
        require_slice(self.slice)

    def choose(self, ready: Sequence[Ready]) -> int:
        """Return it.

        >>> OldestFirst().choose([Ready(2, 1, 7), Ready(5, 9, 8)])
        2
        """
        return min(ready, key=lambda r: (r.since, -r.stage)).stage
