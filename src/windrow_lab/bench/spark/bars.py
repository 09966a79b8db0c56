"""The bars of the pipeline: what is run against what, and what is made of the clocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from windrow_lab.bench.data import Scale
from windrow_lab.bench.internal import BAR as INTERNAL_BAR
from windrow_lab.bench.internal import COLUMNS as INTERNAL_COLUMNS
from windrow_lab.bench.internal import texts as internal_texts
from windrow_lab.bench.spark import baselines
from windrow_lab.bench.spark.data import FULL, SMALLER, Feed, add_empty, make_feed, shape
from windrow_lab.bench.spark.idle import idle_expiry
from windrow_lab.bench.spark.restart import restart, snapshot
from windrow_lab.bench.spark.runs import (
    Batches,
    Shot,
    changelog_of,
    checked,
    run_frame,
    run_windrow,
)
from windrow_lab.bench.spark.startup import startup
from windrow_lab.bench.workloads import WORKLOADS, Workload
from windrow_lab.contest.report import Bar, Facts, verdict_of

JOIN, SLIDE = (next(w for w in WORKLOADS if w.name == n) for n in ("join", "group_slide"))

WARM = 2
"""Micro-batches that are not counted: Spark compiles, processes start, windows fill."""
OURS, THEIRS = 5, 2
"""Micro-batches that are counted. Spark's own join takes most of the time: of it fewer."""
EMPTY = 20
LONGER = 100
SHORT = 9_960
"""The short window in ms and tuples: the long one is full after a million tuples a side."""

JOIN_BARS = {1: 12.0, SMALLER: 3.5}
"""Times Spark's own join, by what share of a large trigger a trigger has."""
SLIDE_BAR = 15.0
BARE_BAR = 1 / 1.25
LONG_BAR = 0.7
EMPTY_BAR = 1 / 1.5
TWO_BAR = 1 / 1.3
PARTIALS_BAR = 0.8
PARTIALS_IO_BAR = 10.0


@dataclass(frozen=True, slots=True)
class Bench:
    """A session, a folder, and the rows of a large trigger."""

    session: Any
    folder: Path
    rows: int = FULL
    shards: ClassVar[int] = 2

    @property
    def shape(self) -> Scale:
        """Windows, keys and sources: those of the kernel bars, or as much less as rows are."""
        return shape(min(1.0, self.rows / FULL))

    def feed(self, name: str, streams: tuple[str, ...], part: int, batches: int) -> Feed:
        """Write streams whose triggers have one `part`-th of a large one's rows."""
        folder = self.folder / f"{name}-{part}"
        rows = self.rows // part
        return make_feed(folder, self.shape, streams, per_trigger=rows, batches=batches)

    def checkpoint(self, name: str) -> Path:
        """Return a folder of its own for a run."""
        return self.folder / "checkpoints" / name


def size(bench: Bench, part: int) -> str:
    """Return the rows of a trigger as part of a bar's name."""
    rows = bench.rows // part
    return f"{rows // 1_000_000}m" if rows >= 1_000_000 else f"{max(1, rows // 1000)}k"


def shot(bench: Bench, feed: Feed, name: str, **queries: str) -> Shot:
    """Return a run of windrow that is ready to be started."""
    return Shot(bench.session, feed, queries, bench.checkpoint(name), bench.shards)


def spark_alone(bench: Bench, frame: Any, name: str, *, warm: int) -> Batches:
    """Run what Spark does without windrow, its checkpoint written as Spark does by default."""
    with baselines.as_it_comes(bench.session):
        return run_frame(frame, bench.checkpoint(name), warm=warm)


def bar_of(
    name: str, bar: float | None, ours: Batches, theirs: Batches, difference: str, facts: Facts
) -> Bar:
    """Return the ratio of the median micro-batches."""
    per_row = (theirs.seconds / theirs.rows) / (ours.seconds / ours.rows)
    shown: Facts = {
        "seconds_a_batch": [b.seconds for b in ours.counted],
        "against_seconds_a_batch": [b.seconds for b in theirs.counted],
    }
    verdict = verdict_of(difference)
    return Bar(name, per_row, bar, ours.seconds, ours.rows_per_second, verdict, shown, facts)


def join(bench: Bench) -> Iterator[Bar]:
    """The window join with 3 results a tuple: against Spark's join, and against a bare pass."""
    for part, limit in JOIN_BARS.items():
        feed = bench.feed("join", ("a", "b"), part, WARM + OURS)
        name = size(bench, part)
        text = JOIN.sql(feed.scale)
        difference = checked(JOIN, shot(bench, feed.first(WARM), f"join-{part}-check", q=text))
        ours = run_windrow(shot(bench, feed, f"join-{part}", q=text), warm=WARM)
        few = feed.first(WARM + THEIRS - (part == 1))
        own = baselines.own_join(bench.session, few)
        theirs = spark_alone(bench, own, f"own-join-{part}", warm=few.batches - THEIRS)
        against = f"Spark's join, {theirs.rows_per_second:,.0f} rows/s"
        difference = difference or more_results(theirs, ours)
        yield bar_of(f"join_{name}", limit, ours, theirs, difference, {"against": against})
        yield bare(bench, feed, part, difference)


def bare(bench: Bench, feed: Feed, part: int, difference: str) -> Bar:
    """The window join, by turns with a bare pass over the same rows with the same output."""
    text, copies = JOIN.sql(feed.scale), feed.scale.window // feed.scale.keys

    def ours(turn: str) -> Batches:
        return run_windrow(shot(bench, feed, f"bare-{part}-ours-{turn}", q=text), warm=WARM)

    def passed(turn: str) -> Batches:
        frame = baselines.bare_pass(bench.session, feed, copies)
        return run_frame(frame, bench.checkpoint(f"bare-{part}-{turn}"), warm=WARM)

    mine, theirs = by_turns(ours, passed)
    facts: Facts = {"against": f"a bare pass, {theirs.rows_per_second:,.0f} rows/s"}
    return bar_of(f"bare_{size(bench, part)}", BARE_BAR, mine, theirs, difference, facts)


def by_turns(
    ours: Callable[[str], Batches], theirs: Callable[[str], Batches]
) -> tuple[Batches, Batches]:
    """Run both three times, one before the other and then the other before the one.

    Each is given the name of its turn. The first run of each warms Spark's compiled code, and is
    not counted.
    """
    runs: tuple[list[Batches], list[Batches]] = ([], [])
    for turn, i in enumerate((0, 1, 1, 0, 0, 1)):
        runs[i].append((ours, theirs)[i](f"turn-{turn}"))
    first, second = (Batches(tuple(b for r in found[1:] for b in r.counted), 0) for found in runs)
    return first, second


def internal(bench: Bench) -> Iterator[Bar]:
    """A join of INTERNAL windows, against ISTREAM of the same join bounded by WINDOW(a, b)."""
    feed = bench.feed("internal", ("a", "b"), SMALLER, WARM + OURS)
    texts = internal_texts(INTERNAL_COLUMNS["internal_join_narrow"], feed.scale)
    small = feed.first(WARM)
    shots = [shot(bench, small, f"internal-{i}-check", q=t) for i, t in enumerate(texts)]
    difference = (
        "" if changelog_of(shots[0]) == changelog_of(shots[1]) else "other results than ISTREAM"
    )

    def run(text: str) -> Callable[[str], Batches]:
        return lambda turn: run_windrow(shot(bench, feed, f"internal-{turn}", q=text), warm=WARM)

    ours, theirs = by_turns(*map(run, texts))
    facts: Facts = {"against": f"ISTREAM of the bounded join, {theirs.rows_per_second:,.0f} rows/s"}
    yield bar_of(f"internal_{size(bench, SMALLER)}", INTERNAL_BAR, ours, theirs, difference, facts)


def more_results(theirs: Batches, ours: Batches) -> str:
    """Compare how many results the first micro-batches have: each ends where the files do."""
    same = len(theirs.all)
    counts = [sum(b.results for b in batches.all[:same]) for batches in (theirs, ours)]
    return "" if counts[0] == counts[1] else f"Spark has {counts[0]:,} results, not {counts[1]:,}"


def slide(bench: Bench) -> Iterator[Bar]:
    """COUNT, SUM and MAX a source over sliding windows, against Spark's `window`."""
    for part in (1, SMALLER):
        feed = bench.feed("slide", ("a",), part, WARM + OURS)
        text = SLIDE.sql(feed.scale)
        difference = checked(SLIDE, shot(bench, feed.first(WARM), f"slide-{part}-check", q=text))
        ours = run_windrow(shot(bench, feed, f"slide-{part}", q=text), warm=WARM)
        few = feed.first(WARM + THEIRS - (part == 1))
        own = baselines.own_window(bench.session, few)
        theirs = spark_alone(bench, own, f"own-slide-{part}", warm=few.batches - THEIRS)
        facts: Facts = {"against": f"Spark's window, {theirs.rows_per_second:,.0f} rows/s"}
        yield bar_of(f"slide_{size(bench, part)}", SLIDE_BAR, ours, theirs, difference, facts)


def long_window(bench: Bench) -> Iterator[Bar]:
    """The join with a window a hundred times longer, and as many matches: time and state I/O."""
    share = min(1.0, bench.rows / FULL)
    short = max(1, round(SHORT * share / 60)) * 60
    found = []
    for window in (short, short * LONGER):
        made = Scale(2 * window, window, window // 3, max(2, short // 5), 1)
        filling = -(-2 * short * LONGER // bench.rows)
        batches = filling + WARM + OURS
        folder = bench.folder / f"long-{window}"
        feed = make_feed(folder, made, ("a", "b"), per_trigger=bench.rows, batches=batches)
        text = JOIN.sql(feed.scale)
        run = run_windrow(shot(bench, feed, f"long-{window}", q=text), warm=filling + WARM)
        found.append((run, expected_pairs(JOIN, feed)))
    (fast, few), (slow, many) = found
    wrong = [run.results != pairs for run, pairs in ((fast, few), (slow, many))]
    difference = "another number of results than Polars" if any(wrong) else ""
    facts: Facts = {"against": f"a {short / 1000:g} s window", "factor": LONGER}
    yield bar_of("long_window", LONG_BAR, slow, fast, difference, facts)
    ratio = fast.state_io / slow.state_io
    io: Facts = {"against": f"a {short / 1000:g} s window: {fast.state_io:,.0f} bytes a batch"}
    work: Facts = {"state_bytes_written_a_batch": slow.state_io}
    rate = slow.rows_per_second
    verdict = verdict_of(difference)
    yield Bar("long_window_io", ratio, LONG_BAR, slow.seconds, rate, verdict, work, io)


def expected_pairs(workload: Workload, feed: Feed) -> int:
    """Return how many results Polars finds."""
    import polars as pl  # noqa: PLC0415 - it need not be there

    frames = {name: pl.DataFrame(table) for name, table in feed.tables.items()}
    return sum(piece.height for piece in workload.forms[0](frames, feed.scale))


def empty(bench: Bench) -> Iterator[Bar]:
    """A micro-batch without a row, against one of Spark that reads and writes nothing."""
    feed = bench.feed("empty", ("a", "b"), 10 * SMALLER, WARM)
    add_empty(feed, WARM + EMPTY)
    text = JOIN.sql(feed.scale)
    warm = 2 * WARM
    ours = run_windrow(shot(bench, feed, "empty", q=text), warm=warm)
    bare = baselines.bare_batch(bench.session, feed)
    theirs = spark_alone(bench, bare, "empty-bare", warm=warm)
    same = run_frame(bare, bench.checkpoint("empty-same"), warm=warm)
    wrong = ours.results != expected_pairs(JOIN, feed)
    ratio = theirs.seconds / ours.seconds
    verdict = verdict_of("another number of results than Polars" if wrong else "")
    work: Facts = {"batches": len(ours.counted)}
    facts: Facts = {"against": f"a bare micro-batch, {theirs.seconds:.3f} s"}
    yield Bar("empty", ratio, EMPTY_BAR, ours.seconds, 0.0, verdict, work, facts)
    facts = {"against": f"the same with windrow's settings, {same.seconds:.3f} s"}
    ratio = same.seconds / ours.seconds
    yield Bar("empty_alike", ratio, None, ours.seconds, 0.0, verdict, work, facts)


def two_queries(bench: Bench) -> Iterator[Bar]:
    """Two dashboards over one stream, against the dearer of them alone."""
    feed = bench.feed("two", ("a",), 1, WARM + OURS)
    text = SLIDE.sql(feed.scale)
    half = Scale(feed.scale.rows, max(60, feed.scale.window // 120 * 60), 1, 1, 1)
    other = SLIDE.text.format(
        window=f"{half.window} MILLISECONDS", slide=f"SLIDE {feed.scale.slide} MILLISECONDS"
    )
    small = feed.first(WARM)
    difference = checked(SLIDE, shot(bench, small, "two-check", q=text, other=other))

    def run(**queries: str) -> Callable[[str], Batches]:
        return lambda turn: run_windrow(shot(bench, feed, f"two-{turn}", **queries), warm=WARM)

    two, one = by_turns(run(q=text, other=other), run(q=text))
    against = f"one query, {one.rows_per_second:,.0f} rows/s"
    yield bar_of("two_queries", TWO_BAR, two, one, difference, {"against": against})


def partials(bench: Bench) -> Iterator[Bar]:
    """Tuples merged by pane and group in Catalyst, against the same query with them as they are."""
    feed = bench.feed("partials", ("a",), 1, WARM + OURS)
    pane = feed.scale.window
    text = (
        "SELECT src, COUNT(*) AS n, SUM(k) AS s, MAX(k) AS m "
        f"FROM a [RANGE {10 * pane} MILLISECONDS SLIDE {pane} MILLISECONDS] GROUP BY src"
    )
    modes = ("on", "off")
    shots = {
        mode: replace(
            shot(bench, feed, f"partials-{mode}", q=text), settings=f"SET partials = '{mode}'"
        )
        for mode in modes
    }
    merged, single = (run_windrow(shots[mode], warm=WARM) for mode in modes)
    few = {
        mode: replace(
            shots[mode],
            feed=feed.first(WARM),
            checkpoint=bench.checkpoint(f"partials-{mode}-check"),
        )
        for mode in modes
    }
    difference = (
        "" if changelog_of(few["on"]) == changelog_of(few["off"]) else "other changes than without"
    )
    facts: Facts = {"against": f"single tuples, {single.rows_per_second:,.0f} rows/s"}
    yield bar_of("partials", PARTIALS_BAR, merged, single, difference, facts)
    io: Facts = {"against": f"single tuples: {single.state_io:,.0f} bytes a batch"}
    work: Facts = {"state_bytes_written_a_batch": merged.state_io}
    ratio = single.state_io / max(1.0, merged.state_io)
    rate, verdict = merged.rows_per_second, verdict_of(difference)
    yield Bar("partials_io", ratio, PARTIALS_IO_BAR, merged.seconds, rate, verdict, work, io)


MANY = 60
"""Partners that a tuple has in the other window where inputs are worth aggregating early."""


def early(bench: Bench) -> Iterator[Bar]:
    """Shards that come to aggregate inputs early by themselves, against joining first."""
    scale = replace(bench.shape, keys=max(1, bench.shape.window // MANY))
    rows, folder = bench.rows // SMALLER, bench.folder / "early"
    feed = make_feed(folder, scale, ("a", "b"), per_trigger=rows, batches=WARM + OURS)
    width, slide = f"RANGE {scale.window} MILLISECONDS", f"SLIDE {scale.slide} MILLISECONDS"
    text = (
        f"SELECT a.k, COUNT(*) AS n, SUM(b.k) AS s FROM a [{width} {slide}], b [{width}] "
        "WHERE a.k = b.k GROUP BY a.k"
    )
    modes = ("auto", "none")
    shots = {
        mode: replace(
            shot(bench, feed, f"early-{mode}", q=text),
            settings=f"SET early_aggregation = '{mode}'",
        )
        for mode in modes
    }
    followed, late = (run_windrow(shots[mode], warm=WARM) for mode in modes)
    again = (
        replace(shots[mode], checkpoint=bench.checkpoint(f"early-{mode}-check")) for mode in modes
    )
    mine, theirs = map(changelog_of, again)
    difference = "" if mine == theirs else "other changes than joining first"
    facts: Facts = {"against": f"join, then GROUP BY, {late.rows_per_second:,.0f} rows/s"}
    yield bar_of(f"early_{size(bench, SMALLER)}", None, followed, late, difference, facts)


PARTS: dict[str, Callable[[Bench], Iterator[Bar]]] = {
    "join": join,
    "internal": internal,
    "slide": slide,
    "long_window": long_window,
    "empty": empty,
    "two_queries": two_queries,
    "partials": partials,
    "early": early,
    "idle_expiry": idle_expiry,
    "startup": startup,
    "restart": restart,
    "snapshot": snapshot,
}
