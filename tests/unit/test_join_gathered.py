"""Room for the results of a join: enough, seldom made anew, and never for what may not come."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.join_reference import a_match

import windrow as wr
from windrow.kernels.chains import LEFT, RIGHT
from windrow.operators.join.results import FORESIGHT, GatheredPairs
from windrow.operators.join.rows import SPARSE, JoinRows
from windrow.operators.join.sides import StoredSides
from windrow.physical.conditions import Form
from windrow.runtime.local.database import Database


def gathered() -> GatheredPairs:
    match = a_match(odd=False)
    left, right = (JoinRows(Form.FIFO, match, number) for number in (LEFT, RIGHT))
    return GatheredPairs(match, (left.payload, right.payload))


def test_one_dense_slice_makes_no_room_for_a_dense_rest() -> None:
    out = gathered()
    out.more(1000, share=1e-6)
    assert out.room <= FORESIGHT * 1000


def test_room_for_even_slices_is_made_a_few_times() -> None:
    out, rooms = gathered(), set()
    for number in range(1000):
        ts, exp = out.more(10, share=1 / (1000 - number))
        assert len(ts) == len(exp) == 10
        out.made += 10
        rooms.add(out.room)
    assert len(rooms) < 12
    assert out.room <= 1.2 * 10 * 1000


def test_what_was_gathered_stays_when_room_is_made() -> None:
    out = gathered()
    for first in range(0, 300, 3):
        ts, exp = out.more(3, share=0.01)
        ts[:], exp[:] = np.arange(first, first + 3), 500
        out.made += 3
    assert out.times[0, :300].tolist() == list(range(300))


@pytest.mark.parametrize("window", ["RANGE 9", "RANGE 9 INTERNAL"])
@pytest.mark.parametrize("restarts", [False, True], ids=["goes on", "restarts"])
def test_a_ring_gives_the_room_of_a_burst_back(window: str, restarts: bool) -> None:
    db = wr.connect(engine="local")
    assert isinstance(db, Database)
    for name in ("a", "b"):
        db.execute(f"CREATE STREAM {name} (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts")
    join = f"SELECT a.x, b.x AS y FROM a [{window}], b [{window}] WHERE a.k = b.k"
    query = db.query(join, strategy="upa")
    come: dict[str, list[tuple[int, int, int]]] = {"a": [], "b": []}

    def push(ts: int, rows: int) -> None:
        for name in come:
            new = [(ts, (ts + i) % 5000, ts * 10_000 + i) for i in range(rows)]
            come[name] += new
            names = ("ts", "k", "x")
            db.push(name, pa.table({n: [r[c] for r in new] for c, n in enumerate(names)}))
        db.advance(ts)

    def rings() -> list[JoinRows]:
        tasks = [stage.task for stage in db.running(query.name).flow.stages]
        (task,) = (task for task in tasks if isinstance(task, StoredSides))
        task.check()
        return [task.left, task.right]

    def partners(row: tuple[int, int, int], other: str) -> list[int]:
        return [x for ts, k, x in come[other] if k == row[1] and row[0] - 9 < ts <= row[0]]

    push(1, 8000)
    assert all(ring.ring and ring.capacity >= 8000 for ring in rings())
    for ts in range(12, 40):
        push(ts, 40)
        if restarts:
            query.restore(query.snapshot())
        # The burst has ended by 12, but leaves only after those rows have come.
        assert ts == 12 or all(ring.capacity <= SPARSE * (len(ring) + 40) for ring in rings())
        if restarts:
            assert all(ring.capacity <= max(64, 1.25 * len(ring)) for ring in rings())
    made = query.changes().to_pylist()
    found = sorted((r["x"], r["y"]) for r in made if r["_sign"] == 1 and r["_ts"] > 11)
    wanted = {(row[2], y) for row in come["a"] if row[0] > 11 for y in partners(row, "b")}
    wanted |= {(x, row[2]) for row in come["b"] if row[0] > 11 for x in partners(row, "a")}
    assert found == sorted(wanted)
    assert len(found) > 1000
