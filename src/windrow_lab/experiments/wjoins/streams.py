"""Streams as WJOIN makes them [4.2, 4.3, 5.3], and joins of them.

Gaps between tuples are exponential, values uniform. A stream may swing between two rates, after so
many tuples each. The paper's real data, the sales of stores, cannot be had: stores are streams
that are silent at night, with values of which some are much more common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from windrow.core.schema import Field, Schema
from windrow.core.types import BIGINT
from windrow.operators.delta import Delta
from windrow.operators.join.match import MultiMatch
from windrow.operators.vector import I64, Vector
from windrow.physical.conditions import Equality, JoinInput, PairBand, TimeBand

SECOND = 1_000_000
"""Ticks of a second: µs."""
HOUR = 3_600 * SECOND
OPENS, CLOSES = 7.5 * HOUR, 20.0 * HOUR
"""When stores are open [WJOIN 4.3]."""


@dataclass(frozen=True, slots=True)
class Source:
    """A stream: tuples a second, and what it swings to after `hold` tuples, and back."""

    rate: float
    other: float = 0.0
    hold: int = 0
    other_hold: int = 0


@dataclass(frozen=True, slots=True)
class Streams:
    """Generated tuples of each stream: times and keys; a tuple's id is its place."""

    times: tuple[I64, ...]
    keys: tuple[I64, ...]

    def part(self, i: int, low: int, high: int) -> Delta:
        """Return the tuples of a stream in the ticks ``[low, high)``."""
        start, stop = np.searchsorted(self.times[i], (low, high)).tolist()
        kind = schema(i)
        columns = (self.times[i][start:stop], self.keys[i][start:stop], np.arange(start, stop))
        vectors = {f.name: Vector(f.type, c) for f, c in zip(kind, columns, strict=True)}
        return Delta(self.times[i][start:stop], vectors, np.full(stop - start, 2**63 - 1))


def schema(i: int) -> Schema:
    """Return the columns of a stream: t, k, id."""
    return Schema(tuple(Field(f"s{i}.{c}", BIGINT, nullable=False) for c in ("t", "k", "id")))


def generate(sources: Sequence[Source], seconds: float, values: int, seed: int) -> Streams:
    """Return so many seconds of streams with uniform values."""
    random = np.random.default_rng(seed)
    times = tuple(arrivals(random, source, seconds) for source in sources)
    return Streams(times, tuple(random.integers(0, values, len(t)) for t in times))


def arrivals(random: np.random.Generator, source: Source, seconds: float) -> I64:
    """Return the times of a stream's tuples."""
    most = int(1.2 * seconds * max(source.rate, source.other)) + 100
    rates = np.full(most, source.rate)
    if source.hold:
        place = (np.arange(most) + random.integers(source.hold)) % (source.hold + source.other_hold)
        rates[place >= source.hold] = source.other
    times = np.cumsum(random.exponential(1.0, most) / rates * SECOND).astype(np.int64)
    return times[times < seconds * SECOND]


def stores(count: int, an_hour: float, days: int, items: int, seed: int) -> Streams:
    """Return the sales of stores: by day only, common items more often than rare ones."""
    random = np.random.default_rng(seed)
    length = CLOSES - OPENS
    times = []
    for _ in range(count):
        sold = random.poisson(an_hour * length / HOUR * days)
        when = np.sort(random.random(sold)) * days
        day = np.floor(when)
        times.append((day * 24 * HOUR + OPENS + (when - day) * length).astype(np.int64))
    weights = np.arange(1, items + 1) ** -0.25
    common = weights / weights.sum()
    return Streams(tuple(times), tuple(random.choice(items, len(t), p=common) for t in times))


def joined(count: int, windows: Sequence[tuple[int, int, int, int]]) -> MultiMatch:
    """Return the join of streams of one key; windows are (first, second, low, high)."""
    inputs = tuple(JoinInput(schema(i), (f"s{i}.id",)) for i in range(count))
    keys = Equality(tuple((f"s{i}.k",) for i in range(count)))
    bands = tuple(
        PairBand(i, j, TimeBand(f"s{i}.t", f"s{j}.t", low, high, 0, 0))
        for i, j, low, high in windows
    )
    return MultiMatch(inputs, (keys,), bands)


def one_window(count: int, width: float) -> MultiMatch:
    """Return the join ``WINDOW = width``, in ticks."""
    most = round(width) - 1
    return joined(count, [(i, j, -most, most) for j in range(count) for i in range(j)])


def path(order: Sequence[int], widths: Sequence[float]) -> MultiMatch:
    """Return the join along a path: ``DWINDOW(first, second) = ...`` and so on, in ticks."""
    pairs = zip(order, order[1:], widths, strict=False)
    return joined(len(order), [(i, j, 0, round(w) - 1) for i, j, w in pairs])


def truth_text(match: MultiMatch) -> str:
    """Return the join as a one-time query; `newest` is the time of its newest tuple."""
    count = len(match.inputs)
    names = ", ".join(f's{i}.id AS "s{i}.id"' for i in range(count))
    tests = [f"s{i}.k = s0.k" for i in range(1, count)]
    tests += [
        f"s{p.second}.t - s{p.first}.t BETWEEN {p.band.low} AND {p.band.high}" for p in match.bands
    ]
    newest = ", ".join(f"s{i}.t" for i in range(count))
    tables = ", ".join(f"s{i}" for i in range(count))
    where = " AND ".join(tests)
    return f"SELECT {names}, GREATEST({newest}) AS newest FROM {tables} WHERE {where}"
