"""What peers emit, computed plainly by Polars: the rows that their answers are held against.

Times are whole milliseconds. A window at τ holds ``τ - width < ts <= τ``, as windrow's does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from windrow_lab.bench import polars_forms as forms
from windrow_lab.bench.answers import near
from windrow_lab.bench.data import MILLISECOND, Scale
from windrow_lab.bench.polars_forms import Frames

SAME = "the same rows"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that a peer emits: exact columns first, then float sums. `meaning`: against windrow."""

    exact: tuple[str, ...]
    sums: tuple[str, ...]
    expected: Callable[[Frames, Scale], pl.DataFrame]
    meaning: str

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, in the order in which answers have them."""
        return (*self.exact, *self.sums)

    def difference(self, found: pl.DataFrame, frames: Frames, scale: Scale, lag: int) -> str:
        """Return how an answer differs from what is expected; empty if it does not.

        `lag`: milliseconds before the last tuple from which on a peer has not emitted everything.
        """
        last = scale.end // MILLISECOND - lag
        mine = self._ordered(self.expected(frames, scale), last)
        theirs = self._ordered(found, last)
        if mine.is_empty():
            return "nothing was expected: the streams are too short"
        if mine.height != theirs.height:
            return f"{theirs.height:,} rows, expected are {mine.height:,}"
        both = pl.concat([theirs, mine.rename(lambda name: f"{name}_")], how="horizontal")
        same = [pl.col(name).eq_missing(pl.col(f"{name}_")) for name in self.exact]
        same += [near_missing(name, f"{name}_") for name in self.sums]
        different = both.filter(~pl.all_horizontal(same)).height
        return f"{different:,} of {mine.height:,} rows differ" if different else ""

    def _ordered(self, frame: pl.DataFrame, last: int) -> pl.DataFrame:
        time = pl.col(self.exact[0])
        kept = frame.filter(time.is_null() | (time <= last))
        return kept.select(self.columns).sort(self.exact)


def near_missing(one: str, other: str) -> pl.Expr:
    """Return whether two sums are equal but for rounding, or both are NULL."""
    both_missing = pl.col(one).is_null() & pl.col(other).is_null()
    return near(one, other).fill_null(value=False) | both_missing


def in_ms(frame: pl.DataFrame) -> pl.DataFrame:
    """Return times as milliseconds."""
    times = pl.selectors.datetime()
    return frame.with_columns(times.cast(pl.Int64) // MILLISECOND)


def pairs(frames: Frames, scale: Scale) -> pl.DataFrame:
    """Return the window join."""
    return in_ms(pl.concat(forms.join(frames, scale)))


def refreshes(frames: Frames, scale: Scale) -> pl.DataFrame:
    """Return each group at each refresh at which it is not empty."""
    return in_ms(pl.concat(forms.group_slide(frames, scale)))


def arrivals(frames: Frames, scale: Scale) -> pl.DataFrame:
    """Return each tuple's group as of its arrival."""
    return in_ms(pl.concat(forms.group(frames, scale)))


def count_distinct(frames: Frames, scale: Scale) -> Iterator[pl.DataFrame]:
    """Return how many keys each group has at each refresh: `group_by_dynamic`."""
    yield forms.sliding(frames, scale, pl.col("k").n_unique().cast(pl.Int64).alias("n"))


def counts(frames: Frames, scale: Scale) -> pl.DataFrame:
    """Return the same in milliseconds."""
    return in_ms(pl.concat(count_distinct(frames, scale)))


def free(frames: Frames, scale: Scale) -> pl.DataFrame:
    """Return the tuples of `a` for which the window over `b` has no match when they arrive."""
    last = frames["b"].lazy().select("k", back="ts")
    width = pl.duration(microseconds=scale.width)
    found = frames["a"].lazy().select("ts", "k")
    found = found.join_asof(
        last, left_on="ts", right_on="back", by="k", check_sortedness=False, coalesce=False
    )
    gone = pl.col("back").is_null() | (pl.col("ts") - pl.col("back") >= width)
    return in_ms(found.filter(gone).select("ts", "k").collect())


def pair_groups(frames: Frames, scale: Scale) -> pl.DataFrame:
    """Return the pairs counted and summed per src, in windows over the times of `a`."""
    made = pl.concat(forms.join(frames, scale)).select("ts", "src", v="bv").sort("ts")
    return in_ms(pl.concat(forms.group_slide({"a": made}, scale)))


def three_way(frames: Frames, scale: Scale) -> Iterator[pl.DataFrame]:
    """Join slices of `a` with the stretches of `b` and `c` around them; keep triples that are near.

    All three tuples are less than a window apart.
    """
    a, b, c = (
        frames[name].select("k", pl.col("ts").alias(f"{name}ts"), pl.col("v").alias(f"{name}v"))
        for name in "abc"
    )
    width = pl.duration(microseconds=scale.width)
    for low in range(0, a.height, forms.SLICE):
        around = slice(max(0, low - scale.window), low + forms.SLICE + scale.window)
        two = a[low : low + forms.SLICE].lazy().join(b[around].lazy(), on="k")
        two = two.filter((pl.col("ats") - pl.col("bts")).abs() < width)
        three = two.join(c[around].lazy(), on="k")
        near_c = [(pl.col(name) - pl.col("cts")).abs() < width for name in ("ats", "bts")]
        yield three.filter(*near_c).collect()


def triples(frames: Frames, scale: Scale) -> pl.DataFrame:
    """Return the same in milliseconds."""
    return in_ms(pl.concat(three_way(frames, scale)))


PAIRS = Rows(("ts", "k", "src", "v", "bts", "bsrc", "bv"), (), pairs, SAME)
REFRESHES = Rows(
    ("ts", "src", "n", "m"),
    ("s",),
    refreshes,
    "the same groups; each is emitted at every refresh, by windrow only when it changes",
)
ARRIVALS = Rows(
    ("ts", "src", "n", "m"),
    ("s",),
    arrivals,
    "a row when a tuple arrives; windrow also emits when one expires",
)
COUNTS = Rows(
    ("ts", "src", "n"),
    (),
    counts,
    "the same groups; each is emitted at every refresh, by windrow only when it changes",
)
FREE = Rows(
    ("ts", "k"),
    (),
    free,
    "a tuple of a without a match when it arrives, emitted once; "
    "windrow keeps the answer true as tuples of b come and go",
)
PAIR_GROUPS = Rows(
    ("ts", "src", "n"),
    ("s",),
    pair_groups,
    "pairs at most a window apart, counted while their tuple of a is in the window; "
    "windrow counts them while both tuples are",
)
TRIPLES = Rows(("ats", "bts", "cts", "k", "av", "bv", "cv"), (), triples, SAME)
