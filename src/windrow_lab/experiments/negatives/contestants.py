"""A query under one approach, its windows full, stretch by stretch.

On a processor in virtual time the delays count: what approaches have shown by the end of a stretch
differs, so their changes are compared at the end of the input, all of them. Without one the clock
counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle
from windrow_lab.contest.agreement import Agreement
from windrow_lab.contest.clock import timed
from windrow_lab.contest.contestant import Contestant, Run
from windrow_lab.contest.pushing import push_parts
from windrow_lab.contest.truth import against_duckdb
from windrow_lab.experiments.negatives.model import APPROACHES, SECOND, processor
from windrow_lab.experiments.negatives.streams import Setting, Tables, part_of

Batch = tuple[Tables, int]
"""Tuples of each stream, and the time at which they end."""

READERS = ("Join", "Aggregate")
"""Operators of the paper's pipeline, by the first word of their names; those that compute columns,
or end rows, are windrow's own."""


@dataclass(slots=True)
class ExpiryArena:
    """What contestants share: tuples, lengths in seconds, and what the first one emitted."""

    setting: Setting
    stretch: float
    runs: int
    batch: float
    seed: int
    virtual: bool = True
    tables: Tables = field(init=False)
    agreement: Agreement = field(default_factory=Agreement)

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


@dataclass(frozen=True, slots=True)
class DelayStretch:
    """Delays of the changes that a stretch has shown, in ticks: on average, and at most."""

    average: float
    most: float


@dataclass(slots=True)
class ExpiryContestant(Contestant[DelayStretch]):
    """A query under one approach that has come to `at`, a time in ticks."""

    arena: ExpiryArena
    db: Database
    query: QueryHandle
    at: int = 0
    changes: list[pa.Table] = field(default_factory=list)

    @classmethod
    def filled(cls, arena: ExpiryArena, approach: str) -> ExpiryContestant:
        """Start a query and fill its windows."""
        db = Database(processor() if arena.virtual else None)
        for statement in arena.setting.statements:
            db.execute(statement)
        for name, table in arena.setting.relations().items():
            db.push(name, table)
        query = db.query(arena.setting.text, **APPROACHES[approach])
        contestant = cls(arena, db, query)
        contestant._push_batches(contestant._batches(arena.setting.window * SECOND))
        return contestant

    def _batches(self, until: int) -> list[Batch]:
        """Return the tuples up to a time, batch by batch, each with the time that it ends at."""
        found = []
        low = self.at
        while low < until:
            high = min(until, low + round(self.arena.batch * SECOND))
            parts = {n: part_of(t, low, high) for n, t in self.arena.tables.items()}
            found.append((parts, high))
            low = high
        return found

    def _push_batches(self, batches: list[Batch]) -> None:
        for parts, high in batches:
            self.changes.append(push_parts(self.db, self.query, parts, high - 1))
            self.at = high

    def stretch(self) -> Run[DelayStretch]:
        """Push the batches of the next stretch."""
        low = self.at
        batches = self._batches(low + round(self.arena.stretch * SECOND))
        delays = self.db.running(self.query.name).delays.begin()
        seconds, _ = timed(lambda: self._push_batches(batches))
        tuples = sum(len(part) for parts, _ in batches for part in parts.values())
        return Run(low, self.at, seconds, tuples, DelayStretch(delays.average, delays.most))

    def counters(self) -> dict[str, float]:
        """Return what the query has counted so far."""
        return figures(self.query.stats())

    def clocks(self, done: Run[DelayStretch]) -> dict[str, float]:
        """Return delays in virtual time; without a processor the time of a tuple."""
        if not self.arena.virtual:
            return {"us_a_tuple": done.seconds * 1e6 / done.tuples}
        late = done.output
        return {"delay_ms": late.average / 1e3, "max_delay_ms": late.most / 1e3}

    def counts(self, done: Run[DelayStretch], more: Mapping[str, float]) -> dict[str, float]:
        """Return results a second, and what travels in the pipeline for them."""
        counts = {
            "results_a_second": more["positives"] / self.arena.stretch,
            "tuples_in_pipeline": more["entries"] / done.tuples,
            "negatives_per_positive": more["negatives"] / max(more["positives"], 1),
            "purged": more["purged"],
        }
        if not self.arena.virtual:
            counts["max_delay_ms"] = done.output.most / 1e3
        return counts

    def check(self, done: Run[DelayStretch], counts: dict[str, float]) -> str:
        """After the last run compare all changes with the first contestant's, and with DuckDB."""
        if self.turns < self.arena.runs - 1:
            return ""
        now = self.at - 1
        self.db.drain()
        changes = pa.concat_tables([*self.changes, self.query.changes()])
        wrong = self.arena.agreement.changes_differ(self.turns, changes)
        if wrong:
            return wrong
        return against_duckdb(self.query.answer(), self.arena.setting.truth, self.arena.alive(now))


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
