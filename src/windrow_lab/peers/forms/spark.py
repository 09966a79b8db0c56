"""Spark SQL on streams. Windows begin a millisecond late, as for Flink."""

from __future__ import annotations

from windrow_lab.bench.data import Scale
from windrow_lab.peers.forms import Cannot

JOIN = "a JOIN b ON a.k = b.k AND a.ts < b.ts + {near} AND b.ts < a.ts + {near}"
HOP = "window({ts}, '{window} milliseconds', '{slide} milliseconds', '1 millisecond')"
AT = "unix_millis(window.end) - 1 AS ts"

SELECTS: dict[str, str | Cannot] = {
    "W1": "SELECT unix_millis(a.ts) AS ts, a.k, a.src, a.v, unix_millis(b.ts) AS bts, "
    f"b.src AS bsrc, b.v AS bv FROM {JOIN}",
    "W2": f"SELECT {AT}, src, COUNT(*) AS n, MAX(v) AS m, SUM(v) AS s FROM a GROUP BY {HOP}, src",
    "W3": Cannot("Spark has no OVER by time on streams"),
    "W4": f"SELECT {AT}, src, CAST(size(collect_set(k)) AS BIGINT) AS n FROM a GROUP BY {HOP}, src",
    "W5": "SELECT unix_millis(a.ts) AS ts, a.k FROM a LEFT JOIN b ON a.k = b.k "
    "AND b.ts > a.ts - {near} AND b.ts <= a.ts WHERE b.k IS NULL",
    "W6": f"SELECT {AT}, src, COUNT(*) AS n, SUM(v) AS s FROM "
    f"(SELECT a.ts, a.src, b.v FROM {JOIN}) AS pairs GROUP BY {HOP}, src",
    "W7": "SELECT unix_millis(p.ts) AS ats, p.bts, unix_millis(c.ts) AS cts, "
    "p.k, p.av, p.bv, c.v AS cv FROM "
    f"(SELECT a.k, a.ts, a.v AS av, unix_millis(b.ts) AS bts, b.v AS bv FROM {JOIN}) AS p "
    "JOIN c ON p.k = c.k AND p.ts < c.ts + {near} AND c.ts < p.ts + {near} "
    "AND abs(p.bts - unix_millis(c.ts)) < {window}",
}

LAGS = {"W5": 1, "W6": 1}
"""Windows before the last tuple from which on an answer is not emitted: watermarks hold it back."""


def select(workload: str, scale: Scale) -> str | Cannot:
    """Return a workload's query with the windows of a scale."""
    text = SELECTS[workload]
    if isinstance(text, Cannot):
        return text
    near = f"INTERVAL {scale.width} MICROSECONDS"
    return text.format(near=near, window=scale.window, slide=scale.slide, ts="ts")
