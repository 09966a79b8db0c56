"""MEDIAN and QUANTILE per group against COUNT per group: the same rows, in the same run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import duckdb
import pyarrow as pa

import windrow
from windrow_lab.bench.data import START, STREAMS, Scale, Tables, streams
from windrow_lab.bench.measure import run_windrow
from windrow_lab.contest.pushing import batches
from windrow_lab.contest.report import Bar, verdict_of
from windrow_lab.contest.turns import by_turns, fastest

BAR = 0.15
COUNT = "COUNT(*)"
WARM = Scale(rows=1_200, window=120, keys=40, sources=8, batch=300)


@dataclass(frozen=True, slots=True)
class Ordered:
    """An aggregate that needs its values in order, its form in DuckDB, and the grouping column."""

    name: str
    call: str
    in_duckdb: str
    key: str

    def sql(self, scale: Scale, call: str = "") -> str:
        """Return the query, perhaps with another aggregate."""
        return (
            f"SELECT {self.key}, {call or self.call} AS m FROM a [RANGE {scale.window} "
            f"MILLISECONDS] GROUP BY {self.key}"
        )


CASES = (
    Ordered("median_large_groups", "MEDIAN(v)", "median(v)", "src"),
    Ordered("median_small_groups", "MEDIAN(v)", "median(v)", "k"),
    Ordered("quantile", "QUANTILE(v, 0.95)", "quantile_cont(v, 0.95)", "src"),
)
"""`src` is skewed: few groups hold most of the window. A group of `k` holds three tuples."""


def measure(rows: int, repeats: int) -> list[Bar]:
    """Check the answer after every batch, then compare the best times."""
    scale = Scale.of(rows)
    tables = {"a": streams(scale)["a"]}
    return [bar_of(case, scale, tables, repeats) for case in CASES]


def bar_of(case: Ordered, scale: Scale, tables: Tables, repeats: int) -> Bar:
    """Return the bar of one aggregate."""
    warm = {"a": streams(WARM)["a"]}
    for call in (COUNT, case.call):
        run_windrow(case.sql(WARM, call), ("a",), warm, WARM.batch)
    found = difference(case, scale, tables)
    texts = [case.sql(scale, call) for call in (COUNT, "")]
    sides = [partial(run_windrow, text, ("a",), tables, scale.batch) for text in texts]
    count, best = fastest(by_turns(sides, repeats))
    return Bar(
        case.name,
        count.seconds / best.seconds,
        BAR,
        best.seconds,
        best.rows / best.seconds,
        verdict_of(found),
        best.work,
        {"against": f"COUNT(*) by {case.key} {count.seconds:.3f} s", "query": case.sql(scale)},
    )


def difference(case: Ordered, scale: Scale, tables: Tables) -> str:
    """Hold the answer after every batch against DuckDB's over the rows that are alive then."""
    with windrow.connect() as db, duckdb.connect() as other:
        for statement in STREAMS:
            db.execute(statement)
        query = db.query(case.sql(scale))
        other.register("a", tables["a"])
        pushed = 0
        for name, piece in batches(tables, ("a",), scale.batch):
            db.push(name, piece)
            pushed += len(piece)
            alive = f"make_timestamp({START + (pushed - scale.window) * 1_000}::BIGINT)"
            last = f"make_timestamp({START + pushed * 1_000}::BIGINT)"
            wanted = other.sql(
                f"SELECT {case.key}, {case.in_duckdb} AS m FROM a "
                f"WHERE timezone('UTC', ts) >= {alive} AND timezone('UTC', ts) < {last} "
                f"GROUP BY {case.key}"
            ).to_arrow_table()
            if (wrong := unlike(query.answer(), wanted, case.key)) != "":
                return f"after {pushed:,} rows {wrong}"
    return ""


def unlike(answer: pa.Table, wanted: pa.Table, key: str) -> str:
    """Return how many groups differ by more than rounding; empty if none does."""
    ours, theirs = (
        dict(zip(*t.select([key, "m"]).to_pydict().values(), strict=True)) for t in (answer, wanted)
    )
    wrong = [k for k in ours.keys() | theirs.keys() if not _close(ours.get(k), theirs.get(k))]
    return f"{len(wrong)} groups differ, {min(wrong, key=str)!r} first" if wrong else ""


def _close(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= 1e-9 * max(1.0, abs(other))
