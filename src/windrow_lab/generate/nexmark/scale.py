"""How much of everything, and what time and which ids an event has.

Kinds of events go round a cycle of 50:

    event % 50     0        1 2 3      4 5 6 ... 49
                 person    auction         bid              2 %, 6 %, 92 %
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.core.errors import InputError
from windrow_lab.generate.nexmark.draws import I64

START = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z in µs."""
SECOND = 1_000_000
MILLISECOND = 1_000
CYCLE, PERSONS, AUCTIONS = 50, 1, 3
"""Events a cycle, and how many of them are persons and auctions; the rest are bids."""
FIRST_ID = 1_000
"""Of persons and of auctions."""
IN_FLIGHT = 100
"""Auctions that bids choose from; an auction lives while so many others open, on average."""
STORED_FOR = 20 * SECOND
"""How long q4, q6 and q9 store auctions for the bids to come."""
STRIDE = 953
"""Steps by which events of a group come out of order."""
LARGEST_STEP = 1 << 62


@dataclass(frozen=True, slots=True)
class Nexmark:
    """Events, their rate, their seed, and how much they are skewed and out of order.

    A ratio r lets a share of 1 - 1/r go to the hot key. `group` lets so many consecutive events
    come in an order of their own.
    """

    events: int = 1_000_000
    rate: int = 10_000  # events a second
    seed: int = 7
    group: int = 1
    hot_auctions: int = 2
    hot_bidders: int = 4
    hot_sellers: int = 4

    def __post_init__(self) -> None:
        least = ("events", "rate", "group", "hot_auctions", "hot_bidders", "hot_sellers")
        for name in least:
            if getattr(self, name) < 1:
                raise InputError(f"{name} is at least 1, got {getattr(self, name)}")
        if self.events * SECOND >= LARGEST_STEP:
            raise InputError(f"events are at most {LARGEST_STEP // SECOND:,}, got {self.events:,}")
        if self.group % STRIDE == 0:
            raise InputError(
                f"group is not a multiple of {STRIDE}, got {self.group}",
                detail=f"Events come in steps of {STRIDE}: each would come more than once.",
                hint=f"Take {self.group + 1}.",
            )

    def numbers(self, low: int, high: int) -> I64:
        """Return the numbers of the events that come at places low .. high-1.

        >>> Nexmark(events=10, group=4).numbers(0, 8)
        array([0, 1, 2, 3, 4, 5, 6, 7])
        >>> Nexmark(events=10, group=5).numbers(0, 5)
        array([0, 3, 1, 4, 2])
        """
        place = np.arange(low, high)
        start = place // self.group * self.group
        length = np.minimum(self.group, self.events - start)  # the last group may be short
        step = np.where(length % STRIDE, STRIDE, 1)
        return start + (place - start) * step % length

    def times(self, events: I64) -> I64:
        """Return when events happen, in µs: whole milliseconds, as Nexmark has them."""
        micros = events // self.rate * SECOND + events % self.rate * SECOND // self.rate
        return START + micros // MILLISECOND * MILLISECOND

    @property
    def slack(self) -> int:
        """The time, in µs, by which an event can come too late."""
        return 0 if self.group == 1 else self.group * SECOND // self.rate + MILLISECOND

    @property
    def longest_auction(self) -> int:
        """The time, in µs, that no auction's life exceeds."""
        return 2 * IN_FLIGHT * CYCLE // AUCTIONS * SECOND // self.rate + 2 * MILLISECOND


def forgetting(scale: Nexmark) -> str:
    """Return that queries forget auctions that still run; empty if none runs so long.

    >>> forgetting(Nexmark(rate=100))
    'auctions run for up to 34 seconds at this rate; q4, q6 and q9 store them for 20'
    >>> forgetting(Nexmark())
    ''
    """
    if scale.longest_auction < STORED_FOR:
        return ""
    longest, kept = -(-scale.longest_auction // SECOND), STORED_FOR // SECOND
    return (
        f"auctions run for up to {longest} seconds at this rate; "
        f"q4, q6 and q9 store them for {kept}"
    )


def newest_person(events: I64) -> I64:
    """Return the number of persons before and at each event, less one."""
    return events // CYCLE


def newest_auction(events: I64) -> I64:
    """Return the number of auctions before and at each event, less one."""
    within = np.clip(events % CYCLE - PERSONS, -1, AUCTIONS - 1)
    return events // CYCLE * AUCTIONS + within


def timestamps(micros: I64) -> pa.Array:
    """Return µs since 1970 as timestamps in UTC."""
    return pa.array(micros).view(pa.timestamp("us", "UTC"))
