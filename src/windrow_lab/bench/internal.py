"""A join of INTERNAL windows, against ISTREAM of the same join bounded by WINDOW(a, b)."""

from __future__ import annotations

from functools import partial

import polars as pl

from windrow_lab.bench.data import Scale, Tables
from windrow_lab.bench.measure import run_windrow, warm
from windrow_lab.bench.workloads import WORKLOADS
from windrow_lab.contest.report import Bar, verdict_of
from windrow_lab.contest.turns import by_turns, fastest

BAR = 1 / 1.1
JOIN = WORKLOADS[0]
COLUMNS = {
    "internal_join": "a.ts, a.k, a.src, a.v, b.ts AS bts, b.src AS bsrc, b.v AS bv",
    "internal_join_narrow": "a.k, b.src",
}
"""With the times of both tuples no two results are equal; without them many are."""


def texts(columns: str, scale: Scale) -> tuple[str, str]:
    """Return the join of INTERNAL windows, and ISTREAM of the bounded one."""
    window = f"{scale.window} MILLISECONDS"
    internal = f"SELECT {columns} FROM a [RANGE {window} INTERNAL], b [RANGE {window} INTERNAL]"
    bounded = f"SELECT {columns} FROM a, b WHERE a.k = b.k AND WINDOW(a, b) = {window}"
    return f"{internal} WHERE a.k = b.k", f"ISTREAM({bounded})"


def measure(tables: Tables, scale: Scale, repeats: int) -> list[Bar]:
    """Compare both answers on the first windows, then the best times of runs by turns."""
    warm(JOIN)
    found = []
    for name, columns in COLUMNS.items():
        pair = texts(columns, scale)
        first = {n: t.slice(0, 3 * scale.window) for n, t in tables.items()}
        mine, theirs = (changes_of(text, first, scale) for text in pair)
        difference = "" if mine.equals(theirs) else f"{len(mine):,} results, not {len(theirs):,}"
        sides = [partial(run_windrow, text, JOIN.reads, tables, scale.batch) for text in pair]
        ours, other = fastest(by_turns(sides, repeats))
        against = f"ISTREAM of the bounded join, {other.seconds:.3f} s"
        rate, ratio = ours.rows / ours.seconds, other.seconds / ours.seconds
        found.append(
            Bar(
                name,
                ratio,
                BAR,
                ours.seconds,
                rate,
                verdict_of(difference),
                ours.work,
                {"against": against},
            )
        )
    return found


def changes_of(text: str, tables: Tables, scale: Scale) -> pl.DataFrame:
    """Return the changelog of a query in an order of its own."""
    pieces: list[pl.DataFrame] = []
    run_windrow(
        text, JOIN.reads, tables, scale.batch, lambda piece: pieces.append(pl.DataFrame(piece))
    )
    return pl.concat(pieces).sort(pl.all())
