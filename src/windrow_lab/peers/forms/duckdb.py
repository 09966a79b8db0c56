"""DuckDB: each workload once over the finished files, as a batch. The limit, not a stream.

Joins look a window back and ahead by buckets of a window's length, which is several times
faster than all pairs of a key. Windows at refreshes are sums over panes on a full grid.
"""

from __future__ import annotations

from pathlib import Path

from windrow_lab.bench.data import Scale

BUCKETS = (
    "SELECT *, unnest([ms // {window} - 1, ms // {window}, ms // {window} + 1]) AS bucket FROM {t}"
)
PAIRS = (
    "SELECT a.ms, a.k, a.src, a.v, b.ms AS bms, b.src AS bsrc, b.v AS bv "
    f"FROM a JOIN ({BUCKETS.replace('{t}', 'b')}) AS b "
    "ON a.k = b.k AND a.ms // {window} = b.bucket AND abs(a.ms - b.ms) < {window}"
)
PANE = "(ms + {slide} - 1) // {slide} AS pane"
GRID = (
    "grid AS (SELECT src, unnest(range(low, high + 1)) AS pane FROM (SELECT DISTINCT src FROM p), "
    "(SELECT min(pane) AS low, max(pane) AS high FROM p))"
)
OVER = (
    "WINDOW w AS (PARTITION BY src ORDER BY pane ROWS BETWEEN {before} PRECEDING AND CURRENT ROW)"
)

SELECTS = {
    "W1": "SELECT ms AS ts, k, src, v, bms AS bts, bsrc, bv FROM (" + PAIRS + ")",
    "W2": f"WITH p AS (SELECT src, {PANE}, count(*) AS n, max(v) AS m, sum(v) AS s FROM a "
    f"GROUP BY ALL), {GRID} SELECT * FROM (SELECT pane * {{slide}} AS ts, src, "
    "CAST(sum(n) OVER w AS BIGINT) AS n, max(m) OVER w AS m, sum(s) OVER w AS s "
    f"FROM grid LEFT JOIN p USING (src, pane) {OVER}) WHERE n > 0",
    "W3": "SELECT ms AS ts, src, count(*) OVER w AS n, max(v) OVER w AS m, sum(v) OVER w AS s "
    "FROM a WINDOW w AS "
    "(PARTITION BY src ORDER BY ms RANGE BETWEEN {last} PRECEDING AND CURRENT ROW)",
    "W4": f"WITH d AS (SELECT DISTINCT src, k, {PANE} FROM a), "
    "e AS (SELECT src, pane, least(pane + {panes}, lead(pane, 1, pane + {panes}) "
    "OVER (PARTITION BY src, k ORDER BY pane)) AS gone FROM d), "
    "p AS (SELECT src, pane, sum(n) AS n FROM (SELECT src, pane, 1 AS n FROM e "
    "UNION ALL SELECT src, gone, -1 FROM e) GROUP BY ALL), "
    f"{GRID} SELECT * FROM (SELECT pane * {{slide}} AS ts, src, "
    "CAST(sum(n) OVER (PARTITION BY src ORDER BY pane) AS BIGINT) AS n "
    "FROM grid LEFT JOIN p USING (src, pane)) WHERE n > 0",
    "W5": "SELECT a.ms AS ts, a.k FROM a ASOF LEFT JOIN b ON a.k = b.k AND a.ms >= b.ms "
    "WHERE b.ms IS NULL OR a.ms - b.ms >= {window}",
    "W6": f"WITH p AS (SELECT src, {PANE}, count(*) AS n, sum(bv) AS s FROM ({PAIRS}) "
    f"GROUP BY ALL), {GRID} SELECT * FROM (SELECT pane * {{slide}} AS ts, src, "
    "CAST(sum(n) OVER w AS BIGINT) AS n, sum(s) OVER w AS s "
    f"FROM grid LEFT JOIN p USING (src, pane) {OVER}) WHERE n > 0",
    "W7": "SELECT p.ms AS ats, p.bms AS bts, c.ms AS cts, p.k, p.v AS av, p.bv, c.v AS cv "
    f"FROM ({PAIRS}) AS p JOIN ({BUCKETS.replace('{t}', 'c')}) AS c "
    "ON p.k = c.k AND p.ms // {window} = c.bucket "
    "AND abs(p.ms - c.ms) < {window} AND abs(p.bms - c.ms) < {window}",
}


def select(workload: str, scale: Scale) -> str:
    """Return a workload's query with the windows of a scale."""
    panes = scale.window // scale.slide
    return SELECTS[workload].format(
        window=scale.window,
        slide=scale.slide,
        last=scale.window - 1,
        panes=panes,
        before=panes - 1,
    )


def views(folder: Path, reads: tuple[str, ...]) -> list[str]:
    """Return the statements that name the streams' files."""
    return [
        f"CREATE OR REPLACE VIEW {name} AS SELECT epoch_us(ts) // 1000 AS ms, k, src, v "
        f"FROM read_parquet('{folder / name}/*.parquet')"
        for name in reads
    ]
