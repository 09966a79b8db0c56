"""What windrow claims against its peers: ratios of rows a second, inside one run."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from windrow_lab.contest.measurement import EQUAL
from windrow_lab.contest.report import UNMEASURED, Bar
from windrow_lab.peers.contest import Result

IN_PROCESS = 10.0
LIMITS: dict[tuple[str, str], dict[str, float]] = {
    ("windrow-spark", "flink"): {
        "W1": 3.5,
        "W2": 8.0,
        "W3": 10.0,
        "W4": 4.0,
        "W5": 4.0,
        "W6": 6.0,
        "W7": 5.0,
    },
    ("windrow-spark", "spark"): {"W1": 12.0, "W2": 15.0, "W4": 10.0, "W6": 8.0, "W7": 8.0},
    ("windrow", "flink"): {f"W{n}": IN_PROCESS for n in range(1, 8)},
}
"""How many times a peer's rate windrow's must be, by workload."""
INDICATIVE = "indicative"
"""What a bar of `--quick` is, where a peer's start weighs more than its tuples."""
STORES = ("spark", "spark-rocksdb")
"""Spark is as fast as with the better of its state stores."""

Results = dict[tuple[str, str], Result]
"""By engine and workload."""


def bars_of(
    results: Results, peers: Collection[str], tasks: Collection[str], *, quick: bool = False
) -> Iterator[Bar]:
    """Yield a bar for each claim about the peers and workloads that were asked for.

    A side that was skipped, or has left no result, makes a bar that is not measured: no claim
    passes because its peer is not there.
    """
    for (ours, peer), limits in LIMITS.items():
        if asked := [name for name in stores(peer) if name in peers]:
            for task in (name for name in limits if name in tasks):
                mine, theirs = faster(results, [ours], task), faster(results, asked, task)
                yield bar_of(mine, theirs, limits[task], quick=quick and peer == "flink")


def passed(results: Results, bars: Collection[Bar]) -> bool:
    """Return whether no answer is wrong and every bar is met; one that is not measured is not."""
    right = all(result.skipped or result.good for result in results.values())
    return right and all(bar.met for bar in bars)


def stores(peer: str) -> tuple[str, ...]:
    """Return the engines that stand for a peer."""
    return STORES if peer == "spark" else (peer,)


def faster(results: Results, names: list[str], task: str) -> Result:
    """Return the best result of some engines; if there is none, that."""
    found = [results.get((name, task), Result(name, task, skipped="no result")) for name in names]
    return max(found, key=lambda result: (result.good, not result.skipped, result.rows_per_second))


def bar_of(mine: Result, theirs: Result, limit: float, *, quick: bool) -> Bar:
    """Return the ratio of two rates; zero where one side has none.

    `quick`: what a peer's job costs at least weighs more than its tuples; the bar is indicative.
    """
    wrong = [f"{r.engine}: {r.skipped or r.check}" for r in (mine, theirs) if not r.good]
    if mine.skipped or theirs.skipped:
        wrong = [f"{UNMEASURED}: {'; '.join(wrong)}"]
    ratio = 0.0 if wrong else mine.rows_per_second / theirs.rows_per_second
    against = f"{theirs.engine}, {theirs.rows_per_second:,.0f} rows/s"
    return Bar(
        f"{mine.task} {mine.engine} / {theirs.engine}",
        ratio,
        limit,
        mine.seconds,
        mine.rows_per_second,
        "; ".join(wrong) or EQUAL,
        {"rows": mine.rows, "against_rows": theirs.rows, **mine.work},
        {"against": f"{against}, {INDICATIVE}", "quick": INDICATIVE}
        if quick
        else {"against": against},
    )
