"""Three links of a network: what is seen on the first is soon seen on the second, mostly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.operators.vector import I64

SECOND = 1_000
"""Ticks in a second: the clock counts milliseconds."""
STATEMENTS = (
    "CREATE STREAM link1 (ts BIGINT, id BIGINT, src BIGINT, dst BIGINT) TIMESTAMP BY ts",
    "CREATE STREAM link2 (ts BIGINT, src BIGINT) TIMESTAMP BY ts",
    "CREATE STREAM link3 (ts BIGINT, port BIGINT, dst BIGINT) TIMESTAMP BY ts",
)


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the links are made of: rates a second, sources and destinations, and who follows.

    A tuple of link 1 is followed, with the chance `followed`, by one of its source on link 2, after
    a time that is exponentially distributed with the mean `delay`, in seconds.
    """

    rate: float = 20_000.0
    sources: int = 1_000_000
    destinations: int = 200
    followed: float = 0.8
    delay: float = 0.4
    others: float = 60.0  # tuples of link 3

    def made(self, ticks: int, seed: int) -> dict[str, pa.Table]:
        """Return all tuples of some ticks, by link, in time order."""
        rng = np.random.default_rng(seed)
        ts = _times(rng, self.rate, ticks)
        src = rng.integers(self.sources, size=len(ts))
        dst = rng.integers(self.destinations, size=len(ts))
        follows = np.flatnonzero(rng.random(len(ts)) < self.followed)
        later = ts[follows] + rng.exponential(self.delay * SECOND, len(follows)).astype(np.int64)
        order = np.argsort(later, kind="stable")
        order = order[later[order] < ticks]
        seen = _times(rng, self.others, ticks)
        return {
            "link1": pa.table({"ts": ts, "id": np.arange(len(ts)), "src": src, "dst": dst}),
            "link2": pa.table({"ts": later[order], "src": src[follows][order]}),
            "link3": pa.table(
                {
                    "ts": seen,
                    "port": np.arange(len(seen)),
                    "dst": rng.integers(self.destinations, size=len(seen)),
                }
            ),
        }


def _times(rng: np.random.Generator, rate: float, ticks: int) -> I64:
    """Return when tuples of a rate come, at random."""
    return np.sort(rng.integers(ticks, size=round(rate * ticks / SECOND)))


def part(links: dict[str, pa.Table], low: int, high: int) -> dict[str, pa.Table]:
    """Return the tuples of the ticks ``[low, high)``."""
    found = {}
    for name, table in links.items():
        first, after = np.searchsorted(table["ts"].to_numpy(), [low, high])
        found[name] = table.slice(first, after - first)
    return found
