"""Answers are compared before a clock is believed: windrow's changes with another's result.

A check takes what comes out piece by piece, as it comes, and at the end returns the difference:
an empty text if there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import polars as pl
import pyarrow as pa

from windrow_lab.bench.data import MILLISECOND, Scale

TOLERANCE = 1e-9
"""Of float sums, relative; absolute below 1, where the other side's sums have drifted too."""
PLACE = ("src", "ts")
TIME = pl.Datetime("us", "UTC")


class Check(Protocol):
    """Holds windrow's changes against another's result."""

    def take_changes(self, changes: pa.Table) -> None:
        """Take a piece of windrow's changelog."""

    def take_other(self, frame: pl.DataFrame) -> None:
        """Take a piece of the other's result."""

    def difference(self) -> str:
        """Return what differs; empty if nothing does."""


@dataclass(slots=True)
class SameRows:
    """The same bag of rows: equal numbers, and equal sums of the rows' 64-bit hashes."""

    columns: tuple[str, ...]
    counts: list[int] = field(default_factory=lambda: [0, 0])
    sums: list[int] = field(default_factory=lambda: [0, 0])

    def take_changes(self, changes: pa.Table) -> None:
        """Collect insertions; a retraction makes the check fail."""
        frame = pl.DataFrame(changes)
        assert frame.get_column("_sign").eq(1).all(), "results of a monotonic query left it"
        self._add(0, frame)

    def take_other(self, frame: pl.DataFrame) -> None:
        """Take the other's rows."""
        self._add(1, frame)

    def _add(self, side: int, frame: pl.DataFrame) -> None:
        hashes = frame.select(self.columns).hash_rows().to_numpy()
        self.counts[side] += frame.height
        self.sums[side] = (self.sums[side] + int(hashes.sum(dtype=np.uint64))) % 2**64

    def difference(self) -> str:
        """Compare numbers, then checksums."""
        if self.counts[0] != self.counts[1]:
            return f"{self.counts[0]:,} results, the other has {self.counts[1]:,}"
        return "" if self.sums[0] == self.sums[1] else "checksums of the results differ"


@dataclass(slots=True)
class SameNet:
    """The same net changelog: per instant and key, insertions minus retractions."""

    key: tuple[str, ...] = ("k",)
    changes: list[pl.DataFrame] = field(default_factory=list)
    others: list[pl.DataFrame] = field(default_factory=list)

    def take_changes(self, changes: pa.Table) -> None:
        """Take a piece of windrow's changelog."""
        self.changes.append(pl.DataFrame(changes))

    def take_other(self, frame: pl.DataFrame) -> None:
        """Take a piece of the other's changelog."""
        self.others.append(frame)

    def difference(self) -> str:
        """Compare the nets."""
        mine, theirs = self._net(self.changes), self._net(self.others)
        if mine.height != theirs.height:
            return f"{mine.height:,} net changes, the other has {theirs.height:,}"
        return "" if mine.equals(theirs) else "net changes differ"

    def _net(self, pieces: list[pl.DataFrame]) -> pl.DataFrame:
        place = ["_ts", *self.key]
        return (
            pl.concat(pieces)
            .lazy()
            .group_by(place)
            .agg(pl.col("_sign").cast(pl.Int64).sum())
            .filter(pl.col("_sign") != 0)
            .sort(place)
            .collect()
        )


@dataclass(slots=True)
class SameAtArrivals:
    """What each arrival changed its group to is the other's row of that arrival."""

    changes: list[pl.DataFrame] = field(default_factory=list)
    others: list[pl.DataFrame] = field(default_factory=list)

    def take_changes(self, changes: pa.Table) -> None:
        """Take a piece of windrow's changelog."""
        self.changes.append(pl.DataFrame(changes))

    def take_other(self, frame: pl.DataFrame) -> None:
        """Take rows (ts, src, n, s, m), one an arrival."""
        self.others.append(frame)

    def difference(self) -> str:
        """Look up each of the other's rows among the insertions."""
        changes, other = pl.concat(self.changes), pl.concat(self.others)
        wrong = wrongly_taken_back(changes)
        if wrong:
            return wrong
        born = changes.lazy().filter(pl.col("_sign") == 1).rename({"_ts": "ts"})
        found = other.lazy().join(born, on=PLACE, suffix="_", how="left")
        different = found.filter(~same_values(other.columns)).select(pl.len()).collect().item()
        return f"{different:,} of {other.height:,} arrivals differ" if different else ""


@dataclass(slots=True)
class SameGroups:
    """Each group has the same values at the same instants, all the time.

    Both sides become *states*: where a group changes, its new values, or nulls if it is gone.
    """

    read_other: Callable[[pl.DataFrame], pl.DataFrame]
    read_changes: Callable[[pl.DataFrame], pl.DataFrame] = field(
        default_factory=lambda: states_of_changes
    )
    changes: list[pl.DataFrame] = field(default_factory=list)
    others: list[pl.DataFrame] = field(default_factory=list)

    def take_changes(self, changes: pa.Table) -> None:
        """Take a piece of windrow's changelog."""
        self.changes.append(pl.DataFrame(changes))

    def take_other(self, frame: pl.DataFrame) -> None:
        """Take a piece of the other's result."""
        self.others.append(frame)

    def difference(self) -> str:
        """Compare the states."""
        changes = pl.concat(self.changes)
        wrong = wrongly_taken_back(changes)
        if wrong:
            return wrong
        mine = without_repeats(self.read_changes(changes))
        theirs = without_repeats(self.read_other(pl.concat(self.others)))
        if mine.height != theirs.height:
            return f"groups change {mine.height:,} times, the other's {theirs.height:,}"
        both = pl.concat([mine, theirs.rename(lambda name: f"{name}_")], how="horizontal")
        place = pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{name}_")) for name in PLACE)
        different = both.filter(~(place & same_values(mine.columns))).height
        return f"{different:,} of {mine.height:,} states differ" if different else ""


def same_values(columns: list[str]) -> pl.Expr:
    """Return whether the values of a group equal those with a `_`, where both may be gone."""
    equal = pl.col("n").eq_missing(pl.col("n_"))
    if "m" in columns:
        equal &= pl.col("m").eq_missing(pl.col("m_"))
    return equal & near("s", "s_").fill_null(pl.col("n").is_null() & pl.col("n_").is_null())


def near(one: str, other: str) -> pl.Expr:
    """Return whether two sums are equal but for rounding."""
    room = TOLERANCE * pl.max_horizontal(pl.col(one).abs(), pl.lit(1.0))
    return (pl.col(one) - pl.col(other)).abs() <= room


def wrongly_taken_back(changes: pl.DataFrame) -> str:
    """Return a complaint unless each retraction is of the group's row before, where it changed."""
    values = [name for name in changes.columns if name not in ("_ts", "_sign", "src")]
    before = [pl.col(name).shift(1) for name in values]
    there = (pl.col("src") == pl.col("src").shift(1)) & pl.col("n").shift(1).is_not_null()
    states = states_of_changes(changes).lazy().select(*PLACE, *before, there=there)
    due = states.filter("there").drop("there").collect()
    deaths = changes.lazy().filter(pl.col("_sign") == -1).rename({"_ts": "ts"})
    emitted = deaths.select(*PLACE, *values).sort(PLACE).collect()
    if emitted.height != due.height:
        return f"{emitted.height:,} rows are retracted where {due.height:,} were replaced"
    return "" if emitted.equals(due) else "rows are retracted that were not there"


def states_of_changes(changes: pl.DataFrame) -> pl.DataFrame:
    """Return the states that a changelog describes."""
    named = changes.lazy().rename({"_ts": "ts"})
    born = named.filter(pl.col("_sign") == 1).drop("_sign")
    gone = named.filter(pl.col("_sign") == -1).join(born, on=PLACE, how="anti")
    return pl.concat([born, gone.select(*PLACE)], how="diagonal").sort(PLACE).collect()


@dataclass(frozen=True, slots=True)
class AtRefreshes:
    """Reads a changelog that is emitted per tuple as it stands at refreshes."""

    scale: Scale

    def __call__(self, changes: pl.DataFrame) -> pl.DataFrame:
        """Return the last state of each group in each slide, at the slide's end."""
        slide = self.scale.slide * MILLISECOND
        ts = pl.col("ts").cast(pl.Int64)
        refresh = (ts + slide - 1) // slide * slide
        states = states_of_changes(changes).lazy().with_columns(refresh.cast(TIME))
        last = states.group_by("src", "ts", maintain_order=True).last()
        return last.filter(ts <= self.scale.end).sort(PLACE).collect()


def states_of_refreshes(rows: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    """Return the states of rows emitted at every refresh at which their group is not empty."""
    slide = pl.duration(microseconds=scale.slide * MILLISECOND)
    end = pl.lit(scale.end).cast(TIME)
    after = pl.col("ts") + slide
    emitted = rows.lazy().filter(pl.col("ts") <= end).sort(PLACE)
    last = (pl.col("src") != pl.col("src").shift(-1)) | (pl.col("ts").shift(-1) != after)
    gone = (
        emitted.filter(last.fill_null(value=True)).select("src", after).filter(pl.col("ts") <= end)
    )
    return pl.concat([emitted, gone], how="diagonal").sort(PLACE).collect()


def states_of_sparse(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the states of rows emitted where their group may have changed; n = 0 is gone."""
    there = pl.col("n") != 0
    values = [pl.when(there).then(name).alias(name) for name in ("n", "s")]
    return rows.with_columns(pl.col("src").cast(pl.String), *values).sort(PLACE)


def without_repeats(states: pl.DataFrame) -> pl.DataFrame:
    """Return the states that differ from the one before of the same group; gone comes after some.

    Sums repeat within the tolerance: what changes a sum changes it by a value.
    """
    earlier = [pl.col(name).shift(1).alias(f"{name}_") for name in states.columns]
    same_group = (pl.col("src") == pl.col("src_")).fill_null(value=False)
    repeats = pl.when(same_group).then(same_values(states.columns)).otherwise(pl.col("n").is_null())
    order = sorted(states.columns)
    return states.lazy().with_columns(earlier).filter(~repeats).select(order).collect()
