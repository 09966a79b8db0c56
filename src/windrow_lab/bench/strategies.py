"""upa, negative and direct on the thesis' Query 1 and Query 2 [THESIS 3.6]: time and space."""

from __future__ import annotations

import gc
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import polars as pl
import pyarrow as pa

import windrow
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle
from windrow_lab.bench.answers import SameNet
from windrow_lab.bench.data import LINKS, Tables, links
from windrow_lab.contest.pushing import batches, counted
from windrow_lab.contest.report import Bar, Facts, verdict_of

WINDOW = 200_000
"""Ticks, and tuples of each link."""
SOURCES = 2_000
STRETCH = 2_000
"""Ticks that all strategies are timed on and compared by; `direct` is slow."""
LONGER = 5
"""Stretches that the fast strategies are timed on in one go."""
TIMES = 12
"""How often they are, of which the best counts."""
DIRECT_BAR = 10.0
NEGATIVE_BAR = 1.5
STATE_BAR = 50.0

QUERIES = {
    "query1": "SELECT link1.src, link1.dst AS one, link2.dst AS two "
    "FROM link1 [RANGE {window}], link2 [RANGE {window}] "
    "WHERE link1.src = link2.src AND link1.proto = 'telnet' AND link2.proto = 'telnet'",
    "query2_src": "SELECT DISTINCT src FROM link1 [RANGE {window}]",
    "query2_pairs": "SELECT DISTINCT src, dst FROM link1 [RANGE {window}]",
}
READS = {"query1": ("link1", "link2"), "query2_src": ("link1",), "query2_pairs": ("link1",)}
STRATEGIES = ("upa", "negative", "direct")


@dataclass(slots=True)
class Run:
    """What one strategy took for a tuple, emitted on the stretch, and stores."""

    micros: float
    work: Facts
    stats: dict[str, Any]
    changes: pa.Table


@dataclass(slots=True)
class FilledQuery:
    """A query under one strategy, its windows filled."""

    db: Database
    query: QueryHandle
    reads: tuple[str, ...]
    micros: list[float] = field(default_factory=list)

    def run(self, part: Tables) -> pa.Table:
        """Push some ticks; return the changes, and note the µs that a tuple took."""
        start = perf_counter()
        for name in self.reads:
            self.db.push(name, part[name])
        changes = self.query.changes()
        seconds = perf_counter() - start
        self.micros.append(seconds * 1e6 / sum(len(part[name]) for name in self.reads))
        return changes


def measure(share: float) -> list[Bar]:
    """Time all strategies on all queries, and compare the state of DISTINCT."""
    window = max(200, round(WINDOW * share))
    stretch = max(50, round(STRETCH * min(1.0, share * 10)))
    tables = links(window + stretch * (1 + LONGER * TIMES), max(2, window // (WINDOW // SOURCES)))
    bars: list[Bar] = []
    for name in QUERIES:
        runs = compete(name, tables, window, stretch)
        bars += [slower(name, other, runs) for other in ("direct", "negative")]
        if name == "query2_src":
            bars.append(smaller(runs))
    return bars


def compete(name: str, tables: Tables, window: int, stretch: int) -> dict[str, Run]:
    """Time each strategy on the stretch; then the fast ones on longer ones, by turns.

    What else the machine does meets both of them then.
    """
    with ExitStack() as opened:
        found = {
            strategy: filled(name, strategy, slices(tables, 0, window), opened)
            for strategy in STRATEGIES
        }
        gc.collect()
        part = slices(tables, window, stretch)
        emitted = {strategy: one.run(part) for strategy, one in found.items()}
        stats = {strategy: one.query.stats() for strategy, one in found.items()}
        fast = [one for strategy, one in found.items() if strategy != "direct"]
        for one in fast:
            one.micros.clear()
        for low in range(window + stretch, len(tables["link1"]), stretch * LONGER):
            part = slices(tables, low, stretch * LONGER)
            for one in fast:
                one.run(part)
    return {
        s: Run(min(one.micros), counted(stats[s]), stats[s], emitted[s]) for s, one in found.items()
    }


def filled(name: str, strategy: str, tables: Tables, opened: ExitStack) -> FilledQuery:
    """Start a query and fill its windows."""
    db = opened.enter_context(windrow.connect())
    for statement in LINKS:
        db.execute(statement)
    window = len(tables["link1"])
    query = db.query(QUERIES[name].format(window=window), strategy=strategy)
    for link, piece in batches(tables, READS[name], 100_000):
        db.push(link, piece)
        query.changes()
    return FilledQuery(db, query, READS[name])


def slices(tables: Tables, low: int, rows: int) -> Tables:
    """Return a stretch of each link."""
    return {name: table.slice(low, rows) for name, table in tables.items()}


def slower(name: str, other: str, runs: dict[str, Run]) -> Bar:
    """Return how many times longer another strategy takes than upa.

    Results are many in Query 1; of DISTINCT they are few, so `direct` has no bar there.
    """
    upa, their = runs["upa"], runs[other]
    bar = NEGATIVE_BAR if other == "negative" else DIRECT_BAR if name == "query1" else None
    return Bar(
        f"strategies_{name}_{other}",
        their.micros / upa.micros,
        bar,
        upa.micros / 1e6,
        1e6 / upa.micros,
        verdict_of(net_difference(upa, their)),
        upa.work,
        {
            "against": f"{other} {their.micros:.3g} µs a tuple",
            "upa_micros": upa.micros,
            f"{other}_micros": their.micros,
            f"{other}_work": their.work,
        },
    )


def net_difference(one: Run, other: Run) -> str:
    """Compare the net changelogs of the stretch."""
    names = one.changes.column_names
    check = SameNet(tuple(n for n in names if n not in ("_ts", "_sign")))
    check.take_changes(one.changes)
    check.take_other(pl.DataFrame(other.changes))
    return check.difference()


def smaller(runs: dict[str, Run]) -> Bar:
    """Return how many times more DISTINCT stores if it stores its input."""
    mine, theirs = distinct_bytes(runs["upa"]), distinct_bytes(runs["direct"])
    upa = runs["upa"]
    return Bar(
        "strategies_distinct_state",
        theirs / mine,
        STATE_BAR,
        upa.micros / 1e6,
        1e6 / upa.micros,
        verdict_of(net_difference(upa, runs["direct"])),
        upa.work,
        {
            "against": f"stored input {theirs:,} bytes, delta-star {mine:,}",
            "upa_bytes": mine,
            "direct_bytes": theirs,
        },
    )


def distinct_bytes(found: Run) -> int:
    """Return the bytes that the operators of DISTINCT store."""
    operators = [op for op in found.stats["operators"] if "istinct" in str(op["operator"])]
    assert operators, "no operator is called Distinct"
    return sum(int(op["state_bytes"]) for op in operators)
