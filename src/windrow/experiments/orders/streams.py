"""Streams as the papers make them [MULTI 6.1, THESIS 5.4.1], and windrow's query over them.

One tuple an iteration, of stream i with probability λ_i / Σλ, its time the iteration, its value
uniform among the first v_i. A unit of time is thus Σλ ticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.optimize.join_costs import JoinStream, Streams
from windrow.optimize.join_graph import Order

TABLE_5 = (
    JoinStream(10, 100, 500),
    JoinStream(1, 100, 50),
    JoinStream(1, 200, 40),
    JoinStream(3, 100, 5),
)
"""MULTI tables 5 and 9; THESIS table 5.3."""
THESIS_5_5 = (
    JoinStream(10, 100, 40),
    JoinStream(1, 100, 100),
    JoinStream(1, 100, 8),
    JoinStream(1, 100, 5),
)
"""THESIS table 5.5 with λ1 = 10: the costs that the thesis prints hold for that, not for 100."""


def ticks_a_unit(streams: Streams) -> int:
    """Return how many iterations a unit of time has."""
    return round(sum(s.rate for s in streams))


def width(streams: Streams, i: int) -> int:
    """Return a window in ticks."""
    return round(streams[i].window * ticks_a_unit(streams))


def longest(streams: Streams) -> int:
    """Return the longest window in ticks."""
    return max(width(streams, i) for i in range(len(streams)))


def generate(streams: Streams, ticks: int, seed: int) -> dict[str, pa.Table]:
    """Return each stream's tuples of so many ticks: t and k."""
    random = np.random.default_rng(seed)
    rates = np.array([s.rate for s in streams])
    source = random.choice(len(streams), ticks, p=rates / rates.sum())
    values = np.array([s.values for s in streams])[source]
    key = (random.random(ticks) * values).astype(np.int64) + 1
    t = np.arange(ticks)
    return {
        f"s{i + 1}": pa.table({"t": t[source == i], "k": key[source == i]})
        for i in range(len(streams))
    }


def declarations(streams: Streams) -> list[str]:
    """Return the statements that declare the streams."""
    return [
        f"CREATE STREAM s{i + 1} (t BIGINT, k BIGINT) TIMESTAMP BY t" for i in range(len(streams))
    ]


def tree_text(streams: Streams, order: Order, slide: str = "") -> str:
    """Return the join that `tree` runs as a left-deep tree in the order of FROM.

    Its columns do not depend on the order: k, then the times.
    """
    names = [f"s{i + 1}" for i in order]
    windows = [f"s{i + 1} [RANGE {width(streams, i)}{slide}]" for i in order]
    equal = [f"{names[0]}.k = {name}.k" for name in names[1:]]
    return (
        f"SELECT s1.k, {times(len(streams))} FROM {', '.join(windows)} WHERE {' AND '.join(equal)}"
    )


def truth_text(n: int) -> str:
    """Return the same as a one-time query over the alive tuples."""
    joined = " ".join(f"JOIN s{i} ON s{i}.k = s1.k" for i in range(2, n + 1))
    return f"SELECT s1.k, {times(n)} FROM s1 {joined}"


def times(n: int) -> str:
    """Return the columns of the times."""
    return ", ".join(f"s{i}.t AS t{i}" for i in range(1, n + 1))


def between(tables: dict[str, pa.Table], lows: Sequence[int], high: int) -> dict[str, pa.Table]:
    """Return the tuples of ``[low, high)``, with a low for each stream."""
    found = {}
    for (name, table), low in zip(tables.items(), lows, strict=True):
        start, end = np.searchsorted(table["t"].to_numpy(), (low, high)).tolist()
        found[name] = table.slice(start, end - start)
    return found


@dataclass(frozen=True, slots=True)
class JoinFeed:
    """Generated streams with a window each."""

    streams: Streams
    tables: dict[str, pa.Table]

    @property
    def statements(self) -> Sequence[str]:
        """What declares the streams; the order of FROM is that of a tree of binary joins."""
        return [*declarations(self.streams), "SET join_algorithm = 'tree'"]

    def part(self, low: int, high: int) -> dict[str, pa.Table]:
        """Return the tuples of the ticks ``[low, high)``."""
        return between(self.tables, [low] * len(self.streams), high)

    def alive(self, now: int) -> dict[str, pa.Table]:
        """Return the tuples in the windows at an instant."""
        lows = [now - width(self.streams, i) + 1 for i in range(len(self.streams))]
        return between(self.tables, lows, now + 1)
