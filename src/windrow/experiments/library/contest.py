"""A query under several plans or strategies by turns, after its windows have filled.

ticks  0 ......... start │ stretch │ stretch │ ...
fill            warm-ups, then repeats; each stretch is one batch a stream
"""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import compute

import windrow
from windrow.experiments.library.experiment import EQUAL, Measurement
from windrow.experiments.library.truth import answer_difference, net_difference
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle

WORK = {
    "changes_taken": "tuples_in",
    "negatives_told": "negatives_out",
    "probes": "probes",
    "comparisons": "comparisons",
    "early_ends": "premature",
}
"""Counters of all operators together, by our names."""


class Feed(Protocol):
    """Streams of an integer clock, and the windows that a query has over them."""

    @property
    def statements(self) -> Sequence[str]:
        """What declares the streams."""

    def part(self, low: int, high: int) -> dict[str, pa.Table]:
        """Return what the query reads of the ticks ``[low, high)``."""

    def alive(self, now: int) -> dict[str, pa.Table]:
        """Return the tuples that are in the windows at an instant."""


@dataclass(slots=True)
class Arena:
    """What contestants share: the feed, when windows are full, and what the first of them told."""

    feed: Feed
    start: int
    stretch: int
    runs: int
    told: dict[int, pa.Table] = field(default_factory=dict)


@dataclass(slots=True)
class Contestant:
    """A query with its windows full; `turns` runs are behind it."""

    arena: Arena
    db: Database
    query: QueryHandle
    truth: str
    turns: int = 0

    @classmethod
    def filled(cls, arena: Arena, text: str, truth: str, strategy: str = "auto") -> Contestant:
        """Start a query and fill its windows."""
        db = windrow.connect()
        for statement in arena.feed.statements:
            db.execute(statement)
        query = db.query(text, strategy=strategy)
        for low in range(0, arena.start, arena.stretch):
            for name, piece in arena.feed.part(low, min(low + arena.stretch, arena.start)).items():
                db.push(name, piece)
            query.changes()
        return cls(arena, db, query, truth)

    def run(self) -> Measurement:
        """Run the next stretch; what it told must be right."""
        low = self.arena.start + self.turns * self.arena.stretch
        high = low + self.arena.stretch
        part = self.arena.feed.part(low, high)
        tuples = sum(map(len, part.values()))
        before = work_of(self.query.stats())
        gc.collect()
        start = perf_counter()
        for name, piece in part.items():
            self.db.push(name, piece)
        self.db.advance(high - 1)
        changes = self.query.changes()
        seconds = perf_counter() - start
        stats: Mapping[str, Any] = self.query.stats()
        counts = {name: (n - before[name]) * 1e3 / tuples for name, n in work_of(stats).items()}
        ends = compute.sum(compute.less(changes["_sign"], 0)).as_py() or 0
        counts |= {"births": (len(changes) - ends) * 1e3 / tuples, "ends": ends * 1e3 / tuples}
        counts["state_rows"] = int(stats["state_rows"])
        counts["state_bytes"] = int(stats["state_bytes"])
        check = self.check(changes, high - 1, counts)
        self.turns += 1
        return Measurement({"ms_per_1000": seconds * 1e6 / tuples}, counts, check)

    def check(self, changes: pa.Table, now: int, counts: dict[str, float]) -> str:
        """Compare what the stretch told with the first contestant; at the end, with DuckDB.

        The whole answer is asked for after the last run only: asking makes it, which would take
        that work out of the next run's clock.
        """
        first = self.arena.told.setdefault(self.turns, changes)
        wrong = net_difference(changes, first) if first is not changes else ""
        if wrong:
            return f"the changes differ from those of the first contestant: {wrong}"
        if self.turns == self.arena.runs - 1:
            answer = self.query.answer()
            counts["answer_rows"] = len(answer)
            view: Any = self.query.stats()["view_bytes"]
            counts["space_bytes"] = counts["state_bytes"] + int(view)
            wrong = answer_difference(answer, self.truth, self.arena.feed.alive(now))
        return f"the answer differs from DuckDB's: {wrong}" if wrong else EQUAL


def work_of(stats: Mapping[str, Any]) -> dict[str, float]:
    """Return what all operators have done so far, and what joins alone have taken in."""
    operators = stats["operators"]
    done = {ours: float(sum(op[name] for op in operators)) for ours, name in WORK.items()}
    joins = [op["tuples_in"] for op in operators if op["operator"] == "Join"]
    return {**done, "join_rows": float(sum(joins))} if joins else done
