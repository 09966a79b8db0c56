"""Sales as NEG makes them: arrivals are Poisson, items are drawn [NEG 8.1].

Windows are scaled down from 30 minutes. Rates and the results that a join has a second are the
paper's: by its own reckoning (0.006 of 8100 K pairs are 48.6 K results in 30 minutes, 27 a second)
those of Q2 are 1.8 · selectivity · rate². So there are 2 · window / (1.8 · selectivity) items,
whatever the rate. The paper's selectivity of 0 has no results, and no delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from windrow.operators.vector import I64
from windrow_lab.experiments.negatives.model import SECOND

ITEMS = 1_000
"""Items of Q1, of which some are favourites."""
PRICES = 1_000
RESULTS = 1.8
"""Results of Q2 a second, at selectivity 1 and a tuple a second."""
COLUMNS = "(t BIGINT, item BIGINT, price BIGINT) TIMESTAMP BY t"

Tables = dict[str, pa.Table]


@dataclass(frozen=True)
class Setting:
    """Q1 or Q2: tuples a second of each stream, the paper's selectivity, the window in seconds."""

    rate: float
    selectivity: float
    window: int

    @property
    def results(self) -> float:
        """Results of the join a second."""
        return RESULTS * self.selectivity * self.rate**2

    @property
    def statements(self) -> list[str]:
        """What declares the streams."""
        return [f"CREATE STREAM {name} {COLUMNS}" for name in ("s1", "s2")]

    @property
    def text(self) -> str:
        """The query."""
        return self._query(f" [RANGE {self.window * SECOND}]")

    @property
    def truth(self) -> str:
        """The same over the tuples that are alive."""
        return self._query("")

    def _query(self, window: str) -> str:
        return (
            f"SELECT MAX(s2.price) AS top, COUNT(*) AS n FROM s1{window}, s2{window} "
            "WHERE s1.item = s2.item"
        )

    def tables(self, seconds: float, seed: int) -> Tables:
        """Return so many seconds of the streams."""
        random = np.random.default_rng(seed)
        items = max(1, round(2 * self.window / (RESULTS * self.selectivity)))
        found = {}
        for name in ("s1", "s2"):
            t = poisson(self.rate, seconds, random)
            found[name] = sales(t, random.integers(0, items, len(t)), random)
        return found

    def relations(self) -> Tables:
        """Return what is there before the streams begin."""
        return {}


@dataclass(frozen=True)
class TableSetting(Setting):
    """Q1: how many favourites were sold; `selectivity` is the share of items that are."""

    @property
    def results(self) -> float:
        """Results of the join a second."""
        return self.selectivity * self.rate

    @property
    def statements(self) -> list[str]:
        """What declares stream and table; the table's changes do not reach earlier tuples."""
        table = "CREATE NON RETROACTIVE RELATION favorites (item BIGINT, PRIMARY KEY (item))"
        return [f"CREATE STREAM s1 {COLUMNS}", table]

    def _query(self, window: str) -> str:
        return f"SELECT COUNT(*) AS n FROM s1{window}, favorites WHERE s1.item = favorites.item"

    def tables(self, seconds: float, seed: int) -> Tables:
        """Return so many seconds of the stream."""
        random = np.random.default_rng(seed)
        t = poisson(self.rate, seconds, random)
        return {"s1": sales(t, random.integers(0, ITEMS, len(t)), random)}

    def relations(self) -> Tables:
        """Return the table."""
        return {"favorites": pa.table({"item": np.arange(round(self.selectivity * ITEMS))})}


@dataclass(frozen=True)
class Multiplied(Setting):
    """Q2 with as many results, of tuples of `s1` that join `multiplicity` tuples of `s2` each.

    The partners come after it, within half a window: all its results end with it.
    """

    multiplicity: int = 1

    @cached_property
    def joining(self) -> float:
        """Tuples of `s1` a second that join."""
        return self.results / self.multiplicity

    def tables(self, seconds: float, seed: int) -> Tables:
        """Return so many seconds of the streams."""
        random = np.random.default_rng(seed)
        first = poisson(self.joining, seconds, random)
        items = np.arange(len(first))
        late = random.integers(1, self.window * SECOND // 2, (len(first), self.multiplicity))
        second = (first[:, None] + late).ravel()
        there = second < seconds * SECOND
        partners = np.repeat(items, self.multiplicity)[there]
        return {
            "s1": self._filled(first, items, self.joining, -1, seconds, random),
            "s2": self._filled(second[there], partners, self.results, -2, seconds, random),
        }

    def _filled(
        self,
        t: I64,
        items: I64,
        having: float,
        unlike: int,
        seconds: float,
        random: np.random.Generator,
    ) -> pa.Table:
        """Return a stream with tuples that join nothing, up to its rate."""
        more = poisson(self.rate - having, seconds, random)
        times = np.concatenate([t, more])
        order = np.argsort(times, kind="stable")
        known = np.concatenate([items, unlike - 2 * np.arange(len(more))])
        return sales(times[order], known[order], random)


def poisson(rate: float, seconds: float, random: np.random.Generator) -> I64:
    """Return the times of arrivals, each once, up to so many seconds."""
    count = int(rate * seconds + 8 * (rate * seconds) ** 0.5) + 8
    times = np.cumsum(random.exponential(SECOND / rate, count)).astype(np.int64)
    return np.unique(times[times < seconds * SECOND])


def sales(t: I64, items: I64, random: np.random.Generator) -> pa.Table:
    """Return the sales of items at these times."""
    return pa.table({"t": t, "item": items, "price": random.integers(0, PRICES, len(t))})


def part_of(table: pa.Table, low: int, high: int) -> pa.Table:
    """Return the tuples of the ticks ``[low, high)``."""
    start, stop = np.searchsorted(table["t"].to_numpy(), (low, high)).tolist()
    return table.slice(start, stop - start)
