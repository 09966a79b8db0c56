"""How soon a change of the streams is answered by another placement of early aggregation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.operators.early_watching import CONTENTS, LEAST, PATIENT, EarlyWatch
from windrow.operators.state.saved import from_bytes, to_bytes
from windrow.runtime.local.database import Database
from windrow.runtime.local.early import watched
from windrow.runtime.local.handle import QueryHandle
from windrow.runtime.local.query import RunningQuery

WINDOW, BATCH = 5_000, 5_000
ALIVE = 2 * WINDOW
"""Rows, at a tuple of each stream an instant: so many that they bound the waits."""

TEXT = (
    f"SELECT a.g, SUM(b.x) AS s, COUNT(*) AS n FROM a [RANGE {WINDOW}], b [RANGE {WINDOW}] "
    "WHERE a.k = b.k GROUP BY a.g"
)
FEW, MANY = (100, 2), (100_000, 100_000)
"""Keys and groups: of few, tuples become few entries; of many, each is one of its own."""


class Fed:
    """A query, and its streams so far."""

    def __init__(self) -> None:
        db = wr.connect()
        assert isinstance(db, Database)
        for name in "ab":
            columns = "(t BIGINT, k BIGINT, g BIGINT, x BIGINT)"
            db.execute(f"CREATE STREAM {name} {columns} TIMESTAMP BY t")
        self.db, self.q, self.at = db, db.query(TEXT), 0
        self.drawn = np.random.default_rng(0)

    def push(self, keys: int, groups: int) -> None:
        t = np.arange(self.at, self.at + BATCH)
        for name in "ab":
            k, g = self.drawn.integers(0, keys, BATCH), self.drawn.integers(0, groups, BATCH)
            self.db.push(name, pa.table({"t": t, "k": k, "g": g, "x": t % 7}))
        self.at += BATCH
        self.q.changes()

    def windows_until(self, placement: str, of: tuple[int, int], most: int) -> float:
        """Return after how many windows the placement is another."""
        start = self.at
        while placed(self.db, self.q) != placement:
            assert self.at - start < most * WINDOW, f"still {placed(self.db, self.q)}"
            self.push(*of)
        return (self.at - start) / WINDOW


def placed(db: Database, q: QueryHandle) -> str:
    (found,) = db.running(q.name).placements.values()
    return found


def watch_of(db: Database, q: QueryHandle) -> EarlyWatch:
    (found,) = watched(db.running(q.name))
    return found.watch


@pytest.mark.parametrize("calm", [10, 60])
def test_both_changes_are_answered_within_some_windows_however_long_nothing_changed(
    calm: int,
) -> None:
    fed = Fed()
    for there, back in ((FEW, MANY), (MANY, FEW)):
        for _ in range(calm):
            fed.push(*there)
        now = placed(fed.db, fed.q)
        assert now == ("{a,b}" if there is FEW else "none")
        assert watch_of(fed.db, fed.q).wait <= max(LEAST, CONTENTS * ALIVE)
        other = "none" if now == "{a,b}" else "{a,b}"
        assert fed.windows_until(other, back, CONTENTS + 2) <= CONTENTS + 1
    stats = next(s for s in fed.q.stats()["operators"] if "placements_changed" in s)  # type: ignore[attr-defined]
    assert stats["placements_changed"] == 3


def test_results_are_what_a_look_at_a_late_plan_waits_for() -> None:
    """With few of them nothing could be better; with many it comes within a window or two."""
    fed = Fed()
    for _ in range(40):
        fed.push(*MANY)
    assert placed(fed.db, fed.q) == "none"
    assert fed.windows_until("{a,b}", (20, 2), 4) <= 3


def test_a_resumed_query_looks_when_the_other_would() -> None:
    fed = Fed()
    for _ in range(20):
        fed.push(*FEW)
    running = fed.db.running(fed.q.name)
    saved = from_bytes(to_bytes(running.snapshot()))
    again = RunningQuery.resumed(running.query, saved)
    (theirs,) = watched(again)
    mine = watch_of(fed.db, fed.q)
    assert theirs.watch.save() == mine.save()
    assert mine.seen > 0
    del saved["watches"]  # of states from before it was kept
    (first,) = watched(RunningQuery.resumed(running.query, saved))
    assert first.watch.seen == 0
    fed.db._running[fed.q.name] = again
    twin = Fed()
    for _ in range(20):
        twin.push(*FEW)
    for _ in range(CONTENTS + 2):
        for each in (fed, twin):
            each.push(*MANY)
        assert placed(fed.db, fed.q) == placed(twin.db, twin.q)
        assert watch_of(fed.db, fed.q).save() == watch_of(twin.db, twin.q).save()
    assert placed(fed.db, fed.q) == "none"


def test_a_choice_that_wavers_is_looked_at_less_often_until_it_is_calm() -> None:
    fed = Fed()
    for _ in range(40):
        fed.push(*FEW)
    watch = watch_of(fed.db, fed.q)
    longest = max(LEAST, CONTENTS * ALIVE)
    facts = watched(fed.db.running(fed.q.name))[0].facts(fed.db.running(fed.q.name))
    watch.choice = replace(watch.choice, placement=(False, False))
    waits = []
    for _ in range(5):
        assert watch.looked(facts) is not None
        waits.append(watch.wait)
    assert waits == [longest, 2 * longest, *[PATIENT * longest] * 3]
    watch.choice = replace(watch.choice, placement=(True, True))
    assert watch.looked(facts) is None
    assert watch.wait == longest
