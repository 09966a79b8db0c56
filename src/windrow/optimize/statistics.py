"""What is known of a query's streams: measured, or the defaults that stand for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

WINDOW_ROWS = 1_000.0
"""Tuples of a stream in the widest window of a plan, if its rate is unknown."""

KEYS = 1_000.0
"""Distinct keys, if unknown: a tuple then has one partner in a window, on average."""

COMMON_KEYS = 0.1
"""Share of tuples on the right of a negation whose key is also on its left, if unknown."""


class NegationCounters(Protocol):
    """What a negation at work has counted (`operators.task.Counters`)."""

    emitted: int
    premature: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Tuples a unit of time by stream, distinct keys, and how negations' results ended.

    `premature` is the share of a negation's results that were retracted before their tuples
    ended; None where nothing was measured. `swings` has how many times its lowest rate a stream's
    highest is, where joins have watched it.
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    keys: float = KEYS
    premature: float | None = None
    swings: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.keys >= 1, "there is a key at least"
        assert self.premature is None or 0 <= self.premature <= 1, "a share is in [0, 1]"
        assert all(rate > 0 for rate in self.rates.values()), "a stream that is known has tuples"

    def save(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "rates": dict(self.rates),
            "keys": self.keys,
            "premature": self.premature,
            "swings": dict(self.swings),
        }

    @classmethod
    def load(cls, saved: dict[str, object]) -> Statistics:
        """Return what was saved."""
        return cls(**saved)  # type: ignore[arg-type]


UNKNOWN = Statistics()
"""Nothing was measured yet."""


def measured(
    tuples: Mapping[str, int],
    elapsed: int,
    negations: tuple[NegationCounters, ...] = (),
    keys: tuple[int, ...] = (),
) -> Statistics:
    """Return the statistics of a running query.

    `tuples` that came by stream in `elapsed` units of time, what its negations counted, and how
    many keys are alive in each operator that has any.

    >>> measured({"bids": 50, "asks": 0}, 100).rates
    {'bids': 0.5}
    """
    rates = {name: count / elapsed for name, count in tuples.items() if count and elapsed > 0}
    emitted = sum(n.emitted for n in negations)
    early = sum(n.premature for n in negations)
    common = sum(keys) / len(keys) if keys else KEYS
    return Statistics(rates, common, min(1.0, early / emitted) if emitted else None)
