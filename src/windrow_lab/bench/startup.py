"""How long one tuple takes, and how long until the first answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from time import perf_counter_ns

import numpy as np

import windrow
from windrow_lab.bench.data import MILLISECOND, STREAMS, Scale, streams
from windrow_lab.contest.pushing import counted
from windrow_lab.contest.report import Bar, verdict_of

LATENCY_LIMIT = 200.0
"""µs for the median push of one tuple."""
COLD_LIMIT = 15.0
WARM_LIMIT = 1.5
"""Seconds from import to the first answer."""

QUERY = (
    "SELECT a.src, COUNT(*) AS n FROM a [RANGE {window} MILLISECONDS], "
    "b [RANGE {window} MILLISECONDS] WHERE a.k = b.k GROUP BY a.src"
)


def latency(share: float) -> Bar:
    """Push single tuples into the two streams by turns, two windows before the clock starts."""
    pushes = max(200, round(5_000 * share))
    window = max(1, round(20 * share)) * 60
    scale = Scale(2 * window + pushes // 2, window, window // 3, max(2, window // 30))
    tables = streams(scale)
    rows = {name: table.to_pylist() for name, table in tables.items()}
    warmed = scale.rows - pushes // 2
    pushing, reading = [], []
    with windrow.connect() as db:
        for statement in STREAMS:
            db.execute(statement)
        query = db.query(QUERY.format(window=scale.window))
        for i in range(scale.rows):
            for name in ("a", "b"):
                start = perf_counter_ns()
                db.push(name, [rows[name][i]])
                middle = perf_counter_ns()
                query.changes()
                if i >= warmed:
                    pushing.append(middle - start)
                    reading.append(perf_counter_ns() - middle)
        answer = {row["src"]: row["n"] for row in query.answer().to_pylist()}
        work = counted(query.stats())
    p50, p99 = (float(np.percentile(pushing, p)) / 1e3 for p in (50, 99))
    return Bar(
        "latency",
        LATENCY_LIMIT / p50,
        1.0,
        sum(pushing) / 1e9,
        len(pushing) / (sum(pushing) / 1e9),
        "equal" if answer == counted_by_hand(rows, scale) else "the last answer differs",
        work,
        {
            "against": f"p50 {p50:.0f} µs, p99 {p99:.0f} µs; at most {LATENCY_LIMIT:.0f} µs",
            "p50_us": p50,
            "p99_us": p99,
            "changes_p50_us": float(np.percentile(reading, 50)) / 1e3,
        },
    )


def counted_by_hand(rows: dict[str, list[dict[str, object]]], scale: Scale) -> dict[object, int]:
    """Return the last answer from the tuples that are alive at the end."""
    alive = {name: kept[-scale.window :] for name, kept in rows.items()}
    matches = Counter(row["k"] for row in alive["b"])
    found: Counter[object] = Counter()
    for row in alive["a"]:
        found[row["src"]] += matches[row["k"]]
    return {src: n for src, n in found.items() if n}


SCRIPT = f"""
import json, time
start = time.perf_counter()
import windrow
db = windrow.connect()
for statement in {STREAMS!r}:
    db.execute(statement)
q = db.query({QUERY.format(window=60_000)!r})
for i in range(4):
    db.push("a", [{{"ts": i * {MILLISECOND}, "k": i % 2, "src": "x", "v": 1.0}}])
    db.push("b", [{{"ts": i * {MILLISECOND}, "k": i % 2, "src": "y", "v": 2.0}}])
answer = q.answer().to_pylist()
print(json.dumps([time.perf_counter() - start, answer]))
"""
ANSWER = [{"src": "x", "n": 8}]


def starts() -> list[Bar]:
    """Start twice with the same compile cache: empty at first, full the next time."""
    with tempfile.TemporaryDirectory() as cache:
        cold = start_bar("start_cold", cache, COLD_LIMIT)
        return [cold, start_bar("start_warm", cache, WARM_LIMIT)]


def start_bar(name: str, cache: str | None, limit: float) -> Bar:
    """Return the bar of one start in a process of its own; without `cache`, with the usual one."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache} if cache else None
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, answer = json.loads(done.stdout)
    difference = "" if answer == ANSWER else f"the answer is {answer}"
    against = f"{seconds:.2f} s from import to answer; at most {limit:g} s"
    facts = {"against": against, "limit_seconds": limit}
    return Bar(name, limit / seconds, 1.0, seconds, 8 / seconds, verdict_of(difference), {}, facts)
