"""Streams as AGGJOIN makes them [7.1.2], and the query over them.

Tuples come evenly, λ a second; join, grouping and aggregation attributes are uniform and
independent, and 1/σ join values there are. A window of w tuples is one of w/λ seconds. The paper's
join and grouping attributes are strings; here all are integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from windrow.optimize.aggregation_costs import AggregationStream
from windrow.optimize.early_costs import EarlyFacts, EarlyInput
from windrow.optimize.early_grouping import Placement
from windrow.optimize.join_graph import GraphInput, JoinGraph

SECOND = 1_000
"""Ticks of a second: milliseconds, as the prototype's clock has them."""
VALUES = 1_000
"""Values of the aggregation attribute."""


@dataclass(frozen=True)
class StreamSetting:
    """Streams of an aggregation join, and how often its answer is asked for.

    `slide`: the answer is brought up to date every so many ticks; 0: at every change. Of each
    stream the sums of some columns are asked for.
    """

    streams: tuple[AggregationStream, ...]
    slide: int = 0
    columns: tuple[str, ...] = ("x",)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The streams' names: a, b, c."""
        return tuple("abcdefgh"[: len(self.streams)])

    @property
    def statements(self) -> list[str]:
        """What declares the streams."""
        columns = "(t BIGINT, k BIGINT, g BIGINT, x BIGINT) TIMESTAMP BY t"
        return [f"CREATE STREAM {name} {columns}" for name in self.names]

    def width(self, i: int) -> int:
        """Return a stream's window in ticks."""
        stream = self.streams[i]
        return max(1, round(stream.window / stream.rate * SECOND))

    @property
    def text(self) -> str:
        """The query: sums over each stream, by the grouping attributes of those that have one."""
        slide = f" SLIDE {self.slide}" if self.slide else ""
        windows = [
            f"{name} [RANGE {self.width(i)}{slide}] AS {name}" for i, name in enumerate(self.names)
        ]
        return self._query(windows)

    @property
    def truth(self) -> str:
        """The same over the tuples that are alive."""
        return self._query(list(self.names))

    def _query(self, sources: Sequence[str]) -> str:
        grouped = [f"{n}.g" for n, s in zip(self.names, self.streams, strict=True) if s.groups > 1]
        keys = [f"{column} AS g_{column[0]}" for column in grouped]
        sums = [f"SUM({n}.{c}) AS sum_{n}_{c}" for n in self.names for c in self.columns]
        tests = [f"{name}.k = {self.names[0]}.k" for name in self.names[1:]]
        text = f"SELECT {', '.join(keys + sums)} FROM {', '.join(sources)}"
        text += f" WHERE {' AND '.join(tests)}"
        return text + (f" GROUP BY {', '.join(grouped)}" if grouped else "")


@dataclass
class Feed:
    """The tuples of a setting, made as far as they are asked for."""

    setting: StreamSetting
    seconds: float
    seed: int
    tables: tuple[pa.Table, ...] = field(init=False)

    def __post_init__(self) -> None:
        random = np.random.default_rng(self.seed)
        self.tables = tuple(made(stream, self.seconds, random) for stream in self.setting.streams)

    def part(self, low: int, high: int) -> dict[str, pa.Table]:
        """Return the tuples of the ticks ``[low, high)``."""
        found = {}
        for name, table in zip(self.setting.names, self.tables, strict=True):
            start, stop = np.searchsorted(table["t"].to_numpy(), (low, high)).tolist()
            found[name] = table.slice(start, stop - start)
        return found

    def alive(self, now: int) -> dict[str, pa.Table]:
        """Return the tuples that are in the windows at an instant, which refreshes them."""
        found = {}
        for i, name in enumerate(self.setting.names):
            width = self.setting.width(i)
            found[name] = self.part(max(0, now - width + 1), now + 1)[name]
        return found

    def facts(self, now: int) -> EarlyFacts:
        """Return what could be counted at an instant: rows, join values, entries and groups."""
        graph, inputs = [], []
        tables = self.alive(now)
        for name, stream in zip(self.setting.names, self.setting.streams, strict=True):
            k, g = (tables[name][c].to_numpy() for c in "kg")
            both = len(np.unique(k * (g.max(initial=0) + 1) + g))
            graph.append(GraphInput(stream.rate, float(len(k)), (float(len(np.unique(k))),)))
            groups = float(len(np.unique(g)))
            inputs.append(EarlyInput(name, float(both), groups, len(self.setting.columns)))
        instants = 1.0 * SECOND / self.setting.slide if self.setting.slide else None
        calls = sum(i.calls for i in inputs)
        return EarlyFacts(JoinGraph(tuple(graph)), tuple(inputs), calls, instants)


def made(stream: AggregationStream, seconds: float, random: np.random.Generator) -> pa.Table:
    """Return the tuples of so many seconds of a stream."""
    count = int(seconds * stream.rate)
    values = max(1, round(1 / stream.selectivity))
    return pa.table(
        {
            "t": (np.arange(count) * (SECOND / stream.rate)).astype(np.int64),
            "k": random.integers(0, values, count),
            "g": random.integers(0, round(stream.groups), count),
            "x": random.integers(0, VALUES, count),
        }
    )


def two(
    rates: tuple[float, float] = (300, 300),
    windows: tuple[float, float] = (5_000, 5_000),
    groups: tuple[float, float] = (150, 1),
    share: float = 0.1,
) -> tuple[AggregationStream, ...]:
    """Return two streams; those of figures 6 and 7 by default."""
    sides = zip(rates, windows, groups, strict=True)
    return tuple(AggregationStream(rate, w, g, share) for rate, w, g in sides)


def three(
    rate: float = 200, window: float = 300, groups: float = 20, share: float = 0.1
) -> tuple[AggregationStream, ...]:
    """Return three streams, of which the first is given; those of figures 8 and 9 by default."""
    other = AggregationStream(200, 300, 1, share)
    return (AggregationStream(rate, window, groups, share), other, replace(other))


def asked(placement: Placement, names: tuple[str, ...]) -> str:
    """Return a placement as `early_aggregation` takes it.

    >>> asked((True, False), ("a", "b")), asked((False, False), ("a", "b"))
    ('{a}', 'none')
    """
    taken = [name for name, early in zip(names, placement, strict=True) if early]
    return "{" + ",".join(taken) + "}" if taken else "none"
