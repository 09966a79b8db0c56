"""A query under one approach, its windows full, stretch by stretch.

On a processor in virtual time the delays count: what approaches have shown by the end of a stretch
differs, so their changes are compared at the end of the input, all of them. Without one the clock
counts.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import pyarrow as pa

from windrow.experiments.library.experiment import EQUAL, Measurement
from windrow.experiments.library.truth import answer_difference, net_difference
from windrow.experiments.negatives.model import APPROACHES, SECOND, processor
from windrow.experiments.negatives.streams import Setting, Tables, part_of
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle

READERS = ("Join", "Aggregate")
"""Operators of the paper's pipeline, by the first word of their names; those that compute columns,
or end rows, are windrow's own."""


@dataclass(slots=True)
class Arena:
    """What contestants share: tuples, lengths in seconds, and what the first of them told."""

    setting: Setting
    stretch: float
    runs: int
    batch: float
    seed: int
    virtual: bool = True
    tables: Tables = field(init=False)
    told: pa.Table | None = None

    def __post_init__(self) -> None:
        self.tables = self.setting.tables(self.length, self.seed)

    @property
    def length(self) -> float:
        """Seconds in all: the window fills, then the runs."""
        return self.setting.window + self.stretch * self.runs

    def alive(self, now: int) -> Tables:
        """Return what is in the windows at an instant, and tables."""
        low = now - self.setting.window * SECOND + 1
        found = {name: part_of(table, low, now + 1) for name, table in self.tables.items()}
        return found | self.setting.relations()


@dataclass(slots=True)
class Contestant:
    """A query that has come to `at`, a time in ticks."""

    arena: Arena
    db: Database
    query: QueryHandle
    at: int = 0
    turns: int = 0
    changes: list[pa.Table] = field(default_factory=list)

    @classmethod
    def filled(cls, arena: Arena, approach: str) -> Contestant:
        """Start a query and fill its windows."""
        db = Database(processor() if arena.virtual else None)
        for statement in arena.setting.statements:
            db.execute(statement)
        for name, table in arena.setting.relations().items():
            db.push(name, table)
        query = db.query(arena.setting.text, **APPROACHES[approach])
        contestant = cls(arena, db, query)
        contestant._go(arena.setting.window * SECOND)
        return contestant

    def _go(self, until: int) -> tuple[int, float]:
        """Push all up to a time, batch by batch; return how many tuples, and the seconds."""
        tuples, seconds = 0, 0.0
        while self.at < until:
            high = min(until, self.at + round(self.arena.batch * SECOND))
            parts = {n: part_of(t, self.at, high) for n, t in self.arena.tables.items()}
            start = perf_counter()
            for name, part in parts.items():
                self.db.push(name, part)
            self.db.advance(high - 1)
            self.changes.append(self.query.changes())
            seconds += perf_counter() - start
            tuples += sum(map(len, parts.values()))
            self.at = high
        return tuples, seconds

    def run(self) -> Measurement:
        """Run the next stretch."""
        before = figures(self.query.stats())
        delays = self.db.running(self.query.name).delays.begin()
        gc.collect()
        tuples, seconds = self._go(self.at + round(self.arena.stretch * SECOND))
        after = figures(self.query.stats())
        more = {name: after[name] - before[name] for name in after}
        late = {"delay_ms": delays.average / 1e3, "max_delay_ms": delays.most / 1e3}
        self.turns += 1
        check = self._checked() if self.turns == self.arena.runs else EQUAL
        counts = {
            "results_a_second": more["positives"] / self.arena.stretch,
            "tuples_in_pipeline": more["entries"] / tuples,
            "negatives_per_positive": more["negatives"] / max(more["positives"], 1),
            "purged": more["purged"],
        }
        if self.arena.virtual:
            return Measurement(late, counts, check)
        counts["max_delay_ms"] = late["max_delay_ms"]
        return Measurement({"us_a_tuple": seconds * 1e6 / tuples}, counts, check)

    def _checked(self) -> str:
        """Let all be told; compare it with the first contestant's, and the answer with DuckDB's."""
        now = self.at - 1
        self.db.drain()
        changes = pa.concat_tables([*self.changes, self.query.changes()])
        if self.arena.told is None:
            self.arena.told = changes
        wrong = net_difference(changes, self.arena.told)
        if wrong:
            return f"the changes differ from those of the first contestant: {wrong}"
        wrong = answer_difference(
            self.query.answer(), self.arena.setting.truth, self.arena.alive(now)
        )
        return f"the answer differs from DuckDB's: {wrong}" if wrong else EQUAL


def figures(stats: Mapping[str, Any]) -> dict[str, float]:
    """Return what a query has counted so far.

    Of the aggregate: positives are results of the join that it has read, negatives are messages
    and negative rows. Entries are what join and aggregate have read or have still to read.
    """
    readers = [op for op in stats["operators"] if op["operator"].split()[0] in READERS]
    (top,) = (op for op in readers if op["operator"] == "Aggregate")
    gone = top["negatives_in"]
    return {
        "positives": top["rows_read"] - gone,
        "negatives": top["messages_read"] + gone,
        "entries": sum(op["rows_read"] + op["messages_read"] + op["waiting"] for op in readers),
        "purged": sum(op["messages_purged"] for op in readers),
    }
