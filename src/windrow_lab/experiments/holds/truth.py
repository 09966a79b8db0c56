"""When a negation's results are valid, worked out one by one, and what a hold makes of that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from windrow_lab.contest.truth import net_difference

Span = tuple[int, int]

NEGATION = """
    SELECT id, begins, ends FROM emitted
"""
JOIN = """
    SELECT t.id, o.port, greatest(t.begins, o.ts) AS begins, least(t.ends, o.ts + {window}) AS ends
    FROM emitted t JOIN link3 o ON t.dst = o.dst
    WHERE greatest(t.begins, o.ts) < least(t.ends, o.ts + {window})
"""


def valid(links: dict[str, pa.Table], window: int) -> pa.Table:
    """Return the stretches ``[begins, ends)`` in which tuples of link 1 are not seen on link 2.

    A tuple may have several: each begins as it comes, or as those that blocked it have left.
    """
    seen = defaultdict(list)
    for ts, src in zip(*(links["link2"][n].to_pylist() for n in ("ts", "src")), strict=True):
        seen[src].append(ts)
    rows = []
    for row in links["link1"].to_pylist():
        begin, end = row["ts"], row["ts"] + window
        for first, after in _free(begin, end, seen[row["src"]], window):
            rows.append((row["id"], row["dst"], first, after))
    names = ("id", "dst", "begins", "ends")
    columns = np.array(rows, np.int64).reshape(len(rows), len(names)).T
    return pa.table(dict(zip(names, columns, strict=True)))


def _free(begin: int, end: int, seen: list[int], window: int) -> Iterator[Span]:
    """Yield the parts of ``[begin, end)`` in which none of the ascending times was less ago."""
    for ts in seen:
        if ts >= end:
            break
        if begin < ts:
            yield begin, ts
        begin = max(begin, ts + window)
    if begin < end:
        yield begin, end


def emitted(stretches: pa.Table, hold: int) -> pa.Table:
    """Return what is emitted of stretches: those that outlast the hold, from then on."""
    begins = stretches["begins"].to_numpy() + hold
    later = stretches.set_column(2, "begins", pa.array(begins))
    return later.filter(pa.array(begins < stretches["ends"].to_numpy()))


def difference(
    changes: pa.Table, select: str, shown: pa.Table, links: dict[str, pa.Table], within: Span
) -> str:
    """Return how changes differ from those of what is `shown`, in some ticks; empty if not."""
    import duckdb  # noqa: PLC0415 - not everybody has it

    low, high = within
    with duckdb.connect() as connection:
        connection.register("emitted", shown)
        connection.register("link3", links["link3"])
        names = ", ".join(f'"{n}"' for n in changes.column_names if not n.startswith("_"))
        truth = connection.sql(f"""
            WITH spans AS ({select}), changes AS (
                SELECT begins AS _ts, 1 AS _sign, {names} FROM spans
                UNION ALL SELECT ends, -1, {names} FROM spans)
            SELECT * FROM changes WHERE _ts >= {low} AND _ts < {high}
        """).to_arrow_table()
    return net_difference(changes, truth.select(changes.column_names).cast(changes.schema))
