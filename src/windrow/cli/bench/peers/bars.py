"""What windrow claims against its peers: ratios of rows a second, inside one run."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.cli.bench.peers.contest import Result
from windrow.cli.bench.report import EQUAL, Bar

IN_PROCESS = 10.0
LIMITS: dict[tuple[str, str], dict[str, float]] = {
    ("windrow-spark", "flink"): {
        "W1": 3.5,
        "W2": 8.0,
        "W3": 10.0,
        "W4": 4.0,
        "W5": 4.0,
        "W6": 5.0,
        "W7": 5.0,
    },
    ("windrow-spark", "spark"): {"W1": 12.0, "W2": 15.0, "W4": 10.0, "W6": 8.0, "W7": 8.0},
    ("windrow", "flink"): {f"W{n}": IN_PROCESS for n in range(1, 8)},
}
"""How many times a peer's rate windrow's must be, by workload."""
STORES = ("spark", "spark-rocksdb")
"""Spark is as fast as with the better of its state stores."""

Results = dict[tuple[str, str], Result]
"""By engine and workload."""


def bars_of(results: Results) -> Iterator[Bar]:
    """Yield a bar for each claim of which both sides have been run."""
    for (ours, peer), limits in LIMITS.items():
        for task, limit in limits.items():
            mine, theirs = results.get((ours, task)), faster(results, peer, task)
            if mine and theirs and not theirs.skipped:
                yield bar_of(mine, theirs, limit)


def faster(results: Results, peer: str, task: str) -> Result | None:
    """Return the result of a peer; of Spark the better one."""
    names = STORES if peer == "spark" else (peer,)
    found = [results[name, task] for name in names if (name, task) in results]
    return max(found, key=lambda result: (result.good, result.rows_per_second), default=None)


def bar_of(mine: Result, theirs: Result, limit: float) -> Bar:
    """Return the ratio of two rates; zero where one side has none."""
    wrong = [f"{r.engine}: {r.skipped or r.check}" for r in (mine, theirs) if not r.good]
    ratio = 0.0 if wrong else mine.rows_per_second / theirs.rows_per_second
    return Bar(
        f"{mine.task} {mine.engine} / {theirs.engine}",
        ratio,
        limit,
        mine.seconds,
        mine.rows_per_second,
        "; ".join(wrong) or EQUAL,
        {"rows": mine.rows, "against_rows": theirs.rows, **mine.work},
        {"against": f"{theirs.engine}, {theirs.rows_per_second:,.0f} rows/s"},
    )
