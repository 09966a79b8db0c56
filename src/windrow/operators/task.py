"""What an operator at work promises to whoever runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from windrow.operators.delta import Delta
from windrow.operators.vector import I64

Saved = dict[str, object]
"""State as plain values: NumPy arrays, bytes, numbers, strings, None; lists and dicts of them."""


@dataclass(slots=True)
class Counters:
    """Work that was done, counted. `negatives` are rows of negative weight.

    Of a negation, `emitted` counts the results that it gave, and `premature` those that it
    retracted before their tuples expired; of a hold, `held` counts the results that waited to be
    emitted, and `suppressed` those of them that were retracted in time. All of them count each copy
    of a row.
    """

    tuples_in: int = 0
    tuples_out: int = 0
    negatives_in: int = 0
    negatives_out: int = 0
    probes: int = 0
    comparisons: int = 0
    expiries: int = 0
    emitted: int = 0
    premature: int = 0
    held: int = 0
    suppressed: int = 0

    def save(self) -> list[int]:
        """Return all counts."""
        return [int(getattr(self, name)) for name in self.__slots__]

    def load(self, saved: list[int]) -> None:
        """Go on from saved counts."""
        for name, count in zip(self.__slots__, saved, strict=True):
            setattr(self, name, count)

    def reset(self) -> None:
        """Count from nothing."""
        for name in self.__slots__:
            setattr(self, name, 0)


class Task(Protocol):
    """An operator at work on one partition.

    `step` gets, for each input, all changes after the last step's clock, or still at it, up to
    and at `clock`, in time order; it returns its own changes up to and at `clock`. Between steps
    the clock never goes back. More changes at the very instant of the last clock may follow.
    """

    counters: Counters

    def begin(self, start: int) -> Delta | None:
        """The query has seen its first event, at `start`. Called once, before the first `step`.

        Return what is there before any tuple is (the row of an aggregate without GROUP BY).
        """

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Take the inputs' changes up to `clock`; return this operator's."""

    def state_rows(self) -> int:
        """Return how many tuples or entries are stored."""

    def state_bytes(self) -> int:
        """Return the exact size of the state."""

    def save(self) -> Saved:
        """Return the state for `load` of a fresh task of the same operator."""

    def load(self, saved: Saved) -> None:
        """Take over a saved state."""

    def check(self) -> None:
        """Assert the invariants of the state."""

    def live_codes(self) -> list[I64]:
        """Return the interned codes that the state refers to."""


@runtime_checkable
class Leaving(Protocol):
    """A task with a signed output that may know in which order rows leave it."""

    def leaving(self) -> Delta | None:
        """Return the rows that it has emitted and will retract, in the order of retraction.

        With their ends, if these are known; None if rows do not expire in order of arrival.
        """
