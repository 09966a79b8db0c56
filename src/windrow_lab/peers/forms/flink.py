"""Flink SQL. Windows begin a millisecond late, so that ``[start, end)`` holds the same tuples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from windrow_lab.bench.data import Scale
from windrow_lab.peers.rows import Rows

SETTINGS = {
    "parallelism.default": "2",
    "taskmanager.numberOfTaskSlots": "2",
    "pipeline.object-reuse": "true",
    "state.backend.type": "hashmap",
    "table.exec.mini-batch.enabled": "false",
    "table.local-time-zone": "UTC",
}
"""Two slots, state as objects on the heap, no checkpoints, no copies between operators.

Mini-batches serve aggregations without a window only, of which there are none here. Distinct
counts are not split in two steps: W4 was 5.6 times slower with that.
"""

HOP = "TABLE(HOP(TABLE {table}, DESCRIPTOR(ts), {{slide}}, {{window}}, {{tick}}))"
JOIN = "a JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts - {last} AND b.ts + {last}"
AT = "window_end - {tick} AS ts"

SELECTS = {
    "W1": f"SELECT a.ms, a.k, a.src, a.v, b.ms, b.src, b.v FROM {JOIN}",
    "W2": f"SELECT {AT}, src, COUNT(*), MAX(v), SUM(v) FROM {HOP.format(table='a')} "
    "GROUP BY window_start, window_end, src",
    "W3": "SELECT ms, src, COUNT(*) OVER w, MAX(v) OVER w, SUM(v) OVER w FROM a WINDOW w AS "
    "(PARTITION BY src ORDER BY ts RANGE BETWEEN {last} PRECEDING AND CURRENT ROW)",
    "W4": f"SELECT {AT}, src, COUNT(DISTINCT k) FROM {HOP.format(table='a')} "
    "GROUP BY window_start, window_end, src",
    "W5": "SELECT a.ms, a.k FROM a LEFT JOIN b ON a.k = b.k "
    "AND b.ts BETWEEN a.ts - {last} AND a.ts WHERE b.k IS NULL",
    "W6": f"WITH pairs AS (SELECT a.ts AS ts, a.src AS src, b.v AS v FROM {JOIN}) "
    f"SELECT {AT}, src, COUNT(*), SUM(v) FROM {HOP.format(table='pairs')} "
    "GROUP BY window_start, window_end, src",
    "W7": "SELECT p.ams, p.bms, c.ms, p.k, p.av, p.bv, c.v FROM "
    "(SELECT a.k AS k, a.ts AS ts, a.ms AS ams, b.ms AS bms, a.v AS av, b.v AS bv "
    f"FROM {JOIN}) AS p JOIN c ON p.k = c.k "
    "AND p.ts BETWEEN c.ts - {last} AND c.ts + {last} AND ABS(p.bms - c.ms) < {reach}",
}

TYPES = {"k": "BIGINT", "n": "BIGINT", "src": "STRING", "bsrc": "STRING"}


def type_of(name: str, workload: str) -> str:
    """Return the type of an answer's column."""
    if name == "ts" and workload in ("W2", "W4", "W6"):
        return "TIMESTAMP(3)"
    return TYPES.get(name, "BIGINT" if name.endswith("ts") else "DOUBLE")


def seconds(ms: int) -> str:
    """Return milliseconds, under 100 seconds of them, as an interval.

    >>> seconds(59_999)
    "INTERVAL '59.999' SECOND"
    """
    return f"INTERVAL '{ms / 1000:.3f}' SECOND"


def select(workload: str, scale: Scale) -> str:
    """Return a workload's query with the windows of a scale."""
    return SELECTS[workload].format(
        window=seconds(scale.window),
        slide=seconds(scale.slide),
        last=seconds(scale.window - 1),
        tick=seconds(1),
        reach=scale.window,
    )


def source(name: str, folder: Path) -> str:
    """Return the statement for a stream in CSV files, each in order of time."""
    return (
        f"CREATE TABLE {name} (ms BIGINT, k BIGINT, src STRING, v DOUBLE, "
        "ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts) "
        f"WITH ('connector' = 'filesystem', 'path' = '{folder / name}', 'format' = 'csv')"
    )


def run(
    name: str, text: str, sources: list[str], columns: str, answer: Path | None
) -> dict[str, Any]:
    """Return a run: into CSV files, or into nothing."""
    target = (
        "'connector' = 'blackhole'"
        if answer is None
        else f"'connector' = 'filesystem', 'path' = '{answer}', 'format' = 'csv'"
    )
    dropped = [f"DROP TABLE IF EXISTS {table}" for table in ("a", "b", "c", "emitted")]
    made = f"CREATE TABLE emitted ({columns}) WITH ({target})"
    return {"name": name, "statements": [*dropped, *sources, made], "insert": text}


def columns(workload: str, emitted: Rows) -> str:
    """Return the columns of an answer with their types."""
    return ", ".join(f"`{name}` {type_of(name, workload)}" for name in emitted.columns)


def reading(name: str, folder: Path, reads: tuple[str, ...]) -> dict[str, Any]:
    """Return a run that only reads streams: what of a figure is due to the files."""
    sources = [source(stream, folder) for stream in reads]
    text = " UNION ALL ".join(f"SELECT ms, k, src, v FROM {stream}" for stream in reads)
    columns = "ms BIGINT, k BIGINT, src STRING, v DOUBLE"
    return run(name, f"INSERT INTO emitted {text}", sources, columns, None)
