"""How long after the clock has passed an expiry it shows, while nothing arrives.

    tuple ──── window ────► expiry ── heartbeat ──► the clock passes ── delay ──► the sink has it

Tuples come once to warm up and once more, of times that are spread over some triggers; then
nothing. The delay should be one interval of the trigger at most, and the time of the batch that
emits it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.generate.files import write_piece
from windrow_lab.bench.spark.runs import batch_of, started
from windrow_lab.contest.report import Bar, Facts, verdict_of

if TYPE_CHECKING:
    from windrow_lab.bench.spark.bars import Bench

INTERVAL = 1.0
"""Seconds between two triggers."""
WINDOW = 5.0
"""Seconds for which a tuple is alive: longer than from the first to the last of them."""
HEARTBEAT = 5.0
"""Seconds by which a tuple is late at most."""
SPREAD = 0.8
"""Of the shorter of these, over how much the times of the tuples are spread."""
TUPLES = 40
PATIENCE = 60.0
"""Seconds after which the rest is not waited for."""

Seen = dict[datetime, float]
"""When each tuple left the answer, by its own time; in seconds since 1970."""


def idle_expiry(bench: Bench) -> Iterator[Bar]:
    """Expiries without any input, against an interval of the trigger and the batch's own time."""
    folder = bench.folder / "idle" / "s"
    folder.mkdir(parents=True)
    script = (
        "CREATE STREAM s (ts TIMESTAMP, k BIGINT) USING parquet OPTIONS"
        f" (path '{folder}', heartbeat '{HEARTBEAT} seconds') TIMESTAMP BY ts;"
        f"CREATE QUERY q AS SELECT k, ts FROM s [RANGE {round(WINDOW * 1000)} MILLISECONDS]"
    )
    seen: Seen = {}
    trigger = f"{round(INTERVAL * 1000)} milliseconds"
    place = bench.checkpoint("idle")
    with started(bench.session, script, place, bench.shards, noting(seen), trigger) as (run, query):
        wait_until(lambda: run.progress().batches > 1)
        warm = arrive(folder, "warm.parquet")
        wait_until(lambda: len(seen) == len(warm))
        times = arrive(folder, "measured.parquet")
        wait_until(lambda: len(seen) == 2 * len(times))
        batches = [batch_of(report) for report in query.recentProgress]
        late = sum(run.progress().late.values())
        run.stop()
    first = max(n for n, batch in enumerate(batches) if batch.rows >= TUPLES)
    yield bar_of_delays(seen, times, [b.seconds for b in batches[first:]], late)


def noting(seen: Seen) -> Callable[[pa.Table, int], None]:
    """Return a sink that notes when tuples leave."""

    def take(table: pa.Table, _: int) -> None:
        now = time.time()
        gone = [row["ts"] for row in table.to_pylist() if row["_sign"] < 0]
        seen.update(dict.fromkeys(gone, now))

    return take


def arrive(folder: Path, name: str) -> list[datetime]:
    """Let all tuples come, at once and whole; return their times."""
    step = timedelta(seconds=SPREAD * min(WINDOW, HEARTBEAT) / TUPLES)
    now = datetime.now(UTC)
    times = [now - step * n for n in range(TUPLES)]
    rows = pa.table({"ts": pa.array(times, pa.timestamp("us", tz="UTC")), "k": range(TUPLES)})
    written = write_piece(folder.with_name(name), rows, int(now.timestamp()))
    written.rename(folder / name)
    return times


def wait_until(done: Callable[[], bool]) -> None:
    """Wait until something is so, with patience."""
    end = time.monotonic() + PATIENCE
    while not done() and time.monotonic() < end:
        time.sleep(0.02)


def bar_of_delays(seen: Seen, times: list[datetime], batches: list[float], late: int) -> Bar:
    """Return the longest delay against what may be: an interval, and the slowest batch."""
    passed = {at: at.timestamp() + WINDOW + HEARTBEAT for at in times}
    delays = [seen[at] - passed[at] for at in times if at in seen]
    difference = ""
    if late or len(delays) < len(times):
        difference = f"{late} late, {len(times) - len(delays)} never left"
    elif min(delays) < 0:
        difference = "a tuple left before its time"
    worst, allowed = max(delays, default=PATIENCE), INTERVAL + max(batches, default=0.0)
    work: Facts = {
        "median_delay_in_intervals": median(delays or [PATIENCE]) / INTERVAL,
        "longest_delay_in_intervals": worst / INTERVAL,
    }
    facts: Facts = {
        "against": f"an interval of {INTERVAL:g} s, and a batch of {max(batches):.2f} s"
    }
    return Bar("idle_expiry", allowed / worst, 1.0, worst, 0.0, verdict_of(difference), work, facts)
