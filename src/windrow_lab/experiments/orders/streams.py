"""Streams as the papers make them [MULTI 6.1, THESIS 5.4.1], and their join by definition.

One tuple an iteration, of stream i with probability λ_i / Σλ, its time the iteration, its value
uniform among the first v_i. A unit of time is thus Σλ ticks.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.optimize.join_costs import JoinStream, Streams

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


def truth_text(streams: Streams) -> str:
    """Return the join as a one-time query; tuples that never were alive together are left out."""
    near = (
        f"JOIN s{i + 1} ON s{i + 1}.k = s1.k AND s{i + 1}.t > s1.t - {width(streams, i)} "
        f"AND s{i + 1}.t < s1.t + {width(streams, 0)}"
        for i in range(1, len(streams))
    )
    return f"SELECT {times(len(streams))} FROM s1 {' '.join(near)}"


def times(n: int) -> str:
    """Return the columns of the times."""
    return ", ".join(f"s{i}.t AS t{i}" for i in range(1, n + 1))


def part(tables: dict[str, pa.Table], low: int, high: int) -> dict[str, pa.Table]:
    """Return the tuples of the ticks ``[low, high)``."""
    found = {}
    for name, table in tables.items():
        start, end = np.searchsorted(table["t"].to_numpy(), (low, high)).tolist()
        found[name] = table.slice(start, end - start)
    return found
