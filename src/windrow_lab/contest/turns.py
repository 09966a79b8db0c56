"""Contestants take turns: what else the machine does meets all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from windrow_lab.contest.measurement import EQUAL, Measurement

T = TypeVar("T")
Turns = Sequence[Sequence[T]]
"""For each turn the run of each side."""


class Timed(Protocol):
    """A run with its time."""

    @property
    def seconds(self) -> float:
        """The seconds that it took."""


TimedT = TypeVar("TimedT", bound=Timed)


def by_turns(sides: Sequence[Callable[[], T]], turns: int) -> list[list[T]]:
    """Run every side once a turn; return the runs of each turn.

    >>> by_turns([lambda: "a", lambda: "b"], 2)
    [['a', 'b'], ['a', 'b']]
    """
    return [[side() for side in sides] for _ in range(turns)]


def fastest(turns: Turns[TimedT]) -> list[TimedT]:
    """Return the fastest run of each side."""
    return [min(runs, key=lambda run: run.seconds) for runs in zip(*turns, strict=True)]


def fastest_clocks(turns: Turns[Measurement], clock: str) -> list[float]:
    """Return the least that a clock has shown for each side."""
    return [min(m.clocks[clock] for m in runs) for runs in zip(*turns, strict=True)]


def first_wrong(turns: Turns[Measurement]) -> str:
    """Return the first check that found a difference; empty if none did."""
    return next((m.check for turn in turns for m in turn if m.check != EQUAL), "")
