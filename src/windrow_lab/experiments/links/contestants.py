"""A query over links under several strategies, with full windows.

Each stretch is one batch a link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import compute

import windrow
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle
from windrow_lab.contest.agreement import Agreement
from windrow_lab.contest.clock import timed
from windrow_lab.contest.contestant import Contestant, Run
from windrow_lab.contest.pushing import push_parts
from windrow_lab.contest.truth import against_duckdb

WORK = {
    "changes_taken": "tuples_in",
    "negatives_told": "negatives_out",
    "probes": "probes",
    "comparisons": "comparisons",
    "early_ends": "premature",
}
"""Counters of all operators together, by our names."""


class WindowedFeed(Protocol):
    """Streams of an integer clock, and the windows that a query has over them."""

    @property
    def statements(self) -> Sequence[str]:
        """What declares the streams."""

    def part(self, low: int, high: int) -> dict[str, pa.Table]:
        """Return what the query reads of the ticks ``[low, high)``."""

    def alive(self, now: int) -> dict[str, pa.Table]:
        """Return the tuples that are in the windows at an instant."""


@dataclass(slots=True)
class LinkArena:
    """What contestants share: the feed, when windows are full, and what the first one emitted."""

    feed: WindowedFeed
    start: int
    stretch: int
    runs: int
    agreement: Agreement = field(default_factory=Agreement)


@dataclass(slots=True)
class LinkContestant(Contestant[pa.Table]):
    """A query with its windows full; `truth` is the same as a one-time query over alive tuples."""

    arena: LinkArena
    db: Database
    query: QueryHandle
    truth: str

    @classmethod
    def filled(
        cls, arena: LinkArena, text: str, truth: str, strategy: str = "auto"
    ) -> LinkContestant:
        """Start a query and fill its windows."""
        db = windrow.connect()
        assert isinstance(db, Database), "connect() opens the engine in this process"
        for statement in arena.feed.statements:
            db.execute(statement)
        query = db.query(text, strategy=strategy)
        for low in range(0, arena.start, arena.stretch):
            for name, piece in arena.feed.part(low, min(low + arena.stretch, arena.start)).items():
                db.push(name, piece)
            query.changes()
        return cls(arena, db, query, truth)

    def stretch(self) -> Run[pa.Table]:
        """Push the tuples of the next stretch, and read the changes."""
        low = self.arena.start + self.turns * self.arena.stretch
        high = low + self.arena.stretch
        part = self.arena.feed.part(low, high)
        seconds, changes = timed(lambda: push_parts(self.db, self.query, part, high - 1))
        return Run(low, high, seconds, sum(map(len, part.values())), changes)

    def counters(self) -> dict[str, float]:
        """Return the work of all operators so far, and what joins alone have taken in."""
        operators: Any = self.query.stats()["operators"]
        done = {ours: float(sum(op[name] for op in operators)) for ours, name in WORK.items()}
        joins = [op["tuples_in"] for op in operators if op["operator"] == "Join"]
        return {**done, "join_rows": float(sum(joins))} if joins else done

    def clocks(self, done: Run[pa.Table]) -> dict[str, float]:
        """Return milliseconds per thousand tuples."""
        return {"ms_per_1000": done.seconds * 1e6 / done.tuples}

    def counts(self, done: Run[pa.Table], more: Mapping[str, float]) -> dict[str, float]:
        """Return work and results per thousand tuples, and the state."""
        ends = compute.sum(compute.less(done.output["_sign"], 0)).as_py() or 0
        work = {**more, "births": len(done.output) - ends, "ends": ends}
        counts = {name: n * 1e3 / done.tuples for name, n in work.items()}
        stats: Mapping[str, Any] = self.query.stats()
        return counts | {name: int(stats[name]) for name in ("state_rows", "state_bytes")}

    def check(self, done: Run[pa.Table], counts: dict[str, float]) -> str:
        """Compare the changes with the first contestant's; after the last run, also with DuckDB.

        The whole answer is asked for after the last run only: asking makes it, which would take
        that work out of the next run's clock.
        """
        wrong = self.arena.agreement.changes_differ(self.turns, done.output)
        if wrong or self.turns < self.arena.runs - 1:
            return wrong
        answer = self.query.answer()
        counts["answer_rows"] = len(answer)
        view: Any = self.query.stats()["view_bytes"]
        counts["space_bytes"] = counts["state_bytes"] + int(view)
        return against_duckdb(answer, self.truth, self.arena.feed.alive(done.high - 1))
