"""The same answers from Polars: each workload's best form over the whole, finite data.

Polars sees all tuples at once, in memory as frames, and may use every core. Rows come out in any
order, and changes of one instant need not be netted: what it need not do, it is not asked to.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from windrow_lab.bench.data import MILLISECOND, START, Scale

Frames = dict[str, pl.DataFrame]
TIME = pl.Datetime("us", "UTC")
SLICE = 20_000
"""Tuples of `a` that are joined at a time: of 5, 10, 20, 30, 60 and 120 thousand the fastest."""

FOLDS = (
    pl.len().cast(pl.Int64).alias("n"),
    pl.col("v").sum().alias("s"),
    pl.col("v").max().alias("m"),
)


def join(frames: Frames, scale: Scale) -> Iterator[pl.DataFrame]:
    """Join slices of `a` with the stretch of `b` around them; keep the pairs that are near."""
    a, b = frames["a"], frames["b"].rename({"ts": "bts", "src": "bsrc", "v": "bv"})
    width = pl.duration(microseconds=scale.width)
    for low in range(0, a.height, SLICE):
        around = b[max(0, low - scale.window) : low + SLICE + scale.window]
        pairs = a[low : low + SLICE].lazy().join(around.lazy(), on="k")
        yield pairs.filter((pl.col("ts") - pl.col("bts")).abs() < width).collect()


def group(frames: Frames, scale: Scale) -> Iterator[pl.DataFrame]:
    """Count, sum and maximum of each tuple's group as of its arrival: `rolling`."""
    period = f"{scale.window}ms"
    yield frames["a"].rolling(index_column="ts", period=period, group_by="src").agg(*FOLDS)


def group_by_columns(frames: Frames, scale: Scale) -> Iterator[pl.DataFrame]:
    """The same from three rolling columns `over` the group: faster than `rolling`."""
    period = f"{scale.window}ms"
    ones = frames["a"].lazy().with_columns(one=pl.lit(1, pl.Int64))
    yield ones.select(
        "ts",
        "src",
        n=pl.col("one").rolling_sum_by("ts", period).over("src"),
        s=pl.col("v").rolling_sum_by("ts", period).over("src"),
        m=pl.col("v").rolling_max_by("ts", period).over("src"),
    ).collect()


def group_slide(frames: Frames, scale: Scale) -> Iterator[pl.DataFrame]:
    """Each group at each refresh: `group_by_dynamic`, from the first window that has a tuple."""
    yield sliding(frames, scale, *FOLDS)


def sliding(frames: Frames, scale: Scale, *folds: pl.Expr) -> pl.DataFrame:
    """Return aggregates of `a` a source at each refresh."""
    windows = frames["a"].group_by_dynamic(
        "ts",
        every=f"{scale.slide}ms",
        period=f"{scale.window}ms",
        offset=f"-{scale.window}ms",
        closed="right",
        label="right",
        group_by="src",
    )
    return windows.agg(*folds)


def distinct(frames: Frames, scale: Scale) -> Iterator[pl.DataFrame]:
    """Changes of the set of keys: k comes if its last tuple is over a window ago, or never was.

    It leaves a window after a tuple that no tuple of the same k follows by then. A gap of exactly
    a window changes nothing: the key leaves and comes at one instant.
    """
    width = pl.duration(microseconds=scale.width)
    ts = pl.col("ts")
    gaps = (
        frames["a"]
        .lazy()
        .select("ts", "k", back=ts.shift(1).over("k"), ahead=ts.shift(-1).over("k"))
        .collect()
        .lazy()
    )
    born = gaps.filter(pl.col("back").is_null() | (ts - pl.col("back") > width))
    gone = gaps.filter(pl.col("ahead").is_null() | (pl.col("ahead") - ts > width))
    yield signed(born.select("ts", "k"), gone.select(ts + width, "k"), scale).collect()


def distinct_packed(frames: Frames, scale: Scale) -> Iterator[pl.DataFrame]:
    """The same by one sort of k and ts packed in a word: only if keys are small whole numbers."""
    words = pl.DataFrame({"w": packed(frames["a"]).sort()}).lazy()
    word = pl.col("w")
    marked = words.with_columns(new=(word - word.shift(1) > scale.width).fill_null(value=True))
    born = marked.filter("new").select("w")
    gone = marked.filter(pl.col("new").shift(-1, fill_value=True)).select(word + scale.width)
    yield signed(unpacked(born), unpacked(gone), scale).collect()


def negation(frames: Frames, scale: Scale) -> Iterator[pl.DataFrame]:
    """Changes of the tuples of `a` that have no match: the whole changelog, by intervals.

    While `b` has a key is a set of intervals at least a window long. So the stretch in which a
    tuple of `a` lives and `b` does not is one interval at most: from the end of the last interval
    that began before it, to the start of the next.
    """
    width = pl.duration(microseconds=scale.width)
    ts = pl.col("ts")
    busy = busy_intervals(frames["b"], scale)
    nexts = busy.select("k", ahead="start")
    free = (
        frames["a"]
        .lazy()
        .select("ts", "k")
        .join_asof(busy.lazy(), left_on="ts", right_on="start", by="k", check_sortedness=False)
        .join_asof(
            nexts.lazy(),
            left_on="ts",
            right_on="ahead",
            by="k",
            strategy="forward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .select(
            "k",
            begin=pl.max_horizontal("ts", "end"),
            end=pl.min_horizontal(ts + width, "ahead"),
        )
        .filter(pl.col("begin") < pl.col("end"))
        .collect()
        .lazy()
    )
    yield signed(free.select("begin", "k"), free.select("end", "k"), scale).collect()


def busy_intervals(b: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    """Return the stretches [start, end) in which a window over `b` holds each key, in order."""
    width = pl.duration(microseconds=scale.width)
    ts, k = pl.col("ts"), pl.col("k")
    marked = (
        b.lazy()
        .select("k", "ts")
        .sort("k", "ts")
        .with_columns(new=((k != k.shift(1)) | (ts - ts.shift(1) > width)).fill_null(value=True))
    )
    starts = marked.filter("new").select("k", start="ts")
    ends = marked.filter(pl.col("new").shift(-1, fill_value=True)).select(end=ts + width)
    return pl.concat(pl.collect_all([starts, ends]), how="horizontal")


def negation_packed(frames: Frames, scale: Scale) -> Iterator[pl.DataFrame]:
    """The same by one sort of both streams packed in words, `b` first at an instant."""
    both = pl.concat([packed(frames["a"]) * 2 + 1, packed(frames["b"]) * 2]).sort()
    word = pl.col("w") // 2
    before = pl.when(pl.col("w") % 2 == 0).then(word)
    free = (
        pl.DataFrame({"w": both})
        .lazy()
        .with_columns(back=before.forward_fill(), ahead=before.backward_fill())
        .filter(pl.col("w") % 2 == 1)
        .select(
            begin=pl.max_horizontal(word, pl.col("back") + scale.width),
            end=pl.min_horizontal(word + scale.width, "ahead"),
        )
        .filter(pl.col("begin") < pl.col("end"))
        .collect()
        .lazy()
    )
    born, gone = unpacked(free.select(w="begin")), unpacked(free.select(w="end"))
    yield signed(born, gone, scale).collect()


def join_group(frames: Frames, scale: Scale) -> Iterator[pl.DataFrame]:
    """Groups of the join at the refreshes that change them: insertions and retractions, summed up.

    A pair is born at the refresh of its later tuple and dies a window after that of its earlier
    one, so one join by slices and two sums by (group, refresh) do. A join at each refresh takes
    three times as long. An empty group shows as n = 0.
    """
    panes = scale.window // scale.slide
    a = pane_of("a", frames, scale, pl.col("src").cast(pl.Categorical))
    b = pane_of("b", frames, scale, pl.col("v").alias("bv"))
    reach = scale.window + scale.slide
    sums: list[pl.DataFrame] = []
    for low in range(0, a.height, SLICE):
        around = b[max(0, low - reach) : low + SLICE + reach].lazy()
        pairs = (
            a[low : low + SLICE]
            .lazy()
            .join(around.rename({"pane": "other"}), on="k")
            .filter((pl.col("pane") - pl.col("other")).abs() < panes)
        )
        a_is_later = pl.when(pl.col("pane") > pl.col("other"))
        pairs = pairs.select(
            "src",
            "bv",
            born=a_is_later.then("pane").otherwise("other"),
            dies=a_is_later.then("other").otherwise("pane") + panes,
        )
        sums += pl.collect_all([summed(pairs, "born", 1), summed(pairs, "dies", -1)])
    yield running_sums(pl.concat(sums), scale)


def pane_of(name: str, frames: Frames, scale: Scale, column: pl.Expr) -> pl.DataFrame:
    """Return the number of each tuple's refresh, its key and one column."""
    slide = scale.slide * MILLISECOND
    return frames[name].select("k", column, pane=(pl.col("ts").cast(pl.Int64) + slide - 1) // slide)


def summed(pairs: pl.LazyFrame, at: str, sign: int) -> pl.LazyFrame:
    """Return what is born, or dies, in each group at each refresh."""
    n, s = sign * pl.len().cast(pl.Int64), sign * pl.col("bv").sum()
    return pairs.group_by("src", pane=at).agg(n=n, s=s)


def running_sums(changes: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    """Return each group's count and sum as of the refreshes up to the last tuple."""
    slide = scale.slide * MILLISECOND
    n, s = pl.col("n"), pl.col("s")
    ts = (pl.col("pane") * slide).cast(TIME)
    return (
        changes.lazy()
        .group_by("src", "pane")
        .agg(n.sum(), s.sum())
        .sort("src", "pane")
        .with_columns(n.cum_sum().over("src"), s.cum_sum().over("src"))
        .filter(pl.col("pane") <= scale.end // slide)
        .select(ts.alias("ts"), "src", "n", "s")
        .collect()
    )


def signed(born: pl.LazyFrame, gone: pl.LazyFrame, scale: Scale) -> pl.LazyFrame:
    """Return insertions and retractions (ts, k) up to the last tuple's time as one changelog."""
    end = pl.lit(scale.end).cast(TIME)
    plus = born.select(pl.nth(0).alias("_ts"), pl.lit(1, pl.Int8).alias("_sign"), "k")
    minus = gone.select(pl.nth(0).alias("_ts"), pl.lit(-1, pl.Int8).alias("_sign"), "k")
    return pl.concat([plus, minus]).filter(pl.col("_ts") <= end)


WORD = 1 << 42
"""What a key is multiplied by to leave room for the time: µs for 50 days."""


def packed(frame: pl.DataFrame) -> pl.Series:
    """Return k and the time since the start in one word."""
    return frame.select(pl.col("k") * WORD + pl.col("ts").cast(pl.Int64) - START).to_series()


def unpacked(words: pl.LazyFrame) -> pl.LazyFrame:
    """Return (ts, k) of packed words."""
    word = pl.nth(0)
    return words.select((word % WORD + START).cast(TIME).alias("ts"), (word // WORD).alias("k"))
