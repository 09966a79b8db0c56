"""A pace: a backlog of expiries goes batch by batch, on all shards alike, whatever the order."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.drive import read
from tests.reference.shards import ShardSet

from windrow.core.errors import BindError
from windrow.core.time import FOREVER
from windrow.plan.session import Session
from windrow.runtime.shards.clocks import BatchClock, InputTimes
from windrow.runtime.shards.pace import Pace, pace_name
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.shard import Shard

STREAMS = """
CREATE STREAM s (ts TIMESTAMP, k BIGINT) OPTIONS (heartbeat '1 second') TIMESTAMP BY ts;
CREATE STREAM t (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
CREATE RELATION r (k BIGINT, name STRING);
"""
SECOND = 1_000_000


def program(query: str, pace: int | str, shards: int = 2) -> Program:
    return Program(
        f"SET expiry_pace = {pace}; {STREAMS} CREATE QUERY q AS {query};", ("q",), shards=shards
    )


def tuples(times: range | list[int]) -> pa.Table:
    return pa.table({"_ts": pa.array(times, pa.int64()), "k": pa.array(times, pa.int64())})


# -- marks ---------------------------------------------------------------------------------------


def test_a_clock_stops_where_enough_have_left() -> None:
    pace = Pace(100)
    pace.note(0, np.arange(1000), (10,))
    pace.stop(0)  # of the batch that brings them: it may let go of as many
    stops = [pace.stop(clock) for clock in (0, 109, 909)]
    assert stops == [109, 209, FOREVER]


def test_marks_do_not_depend_on_the_order_of_rows_or_tables() -> None:
    times = np.random.default_rng(7).integers(0, 10**6, 50_000)
    found = set()
    for seed in range(3):
        pace, order = Pace(1_000), np.random.default_rng(seed).permutation(times)
        for part in np.array_split(order, seed + 1):
            pace.note(1, part, (60, 5))
        pace.note(0, times[:77], (1,))
        pace.stop(0)
        found.add((pace.stop(0), pace.stop(500_000), pace.seen))
    assert len(found) == 1


def test_a_batch_lets_go_of_no_fewer_than_it_brings() -> None:
    pace = Pace(10)
    pace.note(0, np.arange(100), (1_000,))
    pace.stop(0)
    pace.note(0, np.arange(200, 260), (1_000,))
    assert pace.stop(0) == 1_059


def test_one_instant_is_never_cut() -> None:
    pace = Pace(3)
    pace.note(0, np.array([5] * 50 + [6] * 50), (10,))
    pace.stop(0)
    assert pace.stop(0) == 15
    assert pace.stop(15) == 16


def test_marks_survive_saving() -> None:
    pace, again = Pace(5), Pace(5)
    pace.note(0, np.arange(40), (9,))
    pace.stop(0)
    again.load(pace.save())
    assert again.stop(12) == pace.stop(12)


@pytest.mark.parametrize("text", ["0", "-1", "soon", "1.5"])
def test_what_is_no_pace_is_refused(text: str) -> None:
    with pytest.raises(BindError, match="expiry_pace cannot be"):
        Session().execute(f"SET expiry_pace = '{text}'")


# -- shards --------------------------------------------------------------------------------------


def gone(tables: list[pa.Table]) -> int:
    """How many rows have left."""
    return sum(1 for table in tables for _, sign, _ in read(table) if sign < 0)


def test_no_batch_carries_a_whole_backlog_and_all_of_it_goes() -> None:
    shards = ShardSet(program("SELECT k FROM t [RANGE 100]", 50))
    shards.batch({0: tuples(range(1_000))}, {})
    told = [gone(shards.batch({}, {"t": 5_000}))]
    assert shards.behind > 0
    assert shards.shards[0].stats()["frontiers"] == {"t": 5_000}, "streams are not held back"
    while shards.behind:
        told.append(gone(shards.batch({}, {})))
    assert sum(told) + 900 == 1_000
    assert max(told) <= 2 * (50 + 1), "so many on each of two shards"
    assert len(told) == 2


def test_without_rows_or_input_shards_let_their_tuples_go_as_the_wall_clock_passes() -> None:
    shards = ShardSet(program("SELECT k FROM s [RANGE 5 SECONDS]", "off", shards=5))
    shards.batch({0: tuples([100 * SECOND, 101 * SECOND])}, {}, wall=101 * SECOND)
    assert not shards.batch({}, {}, wall=105 * SECOND)
    assert gone(shards.batch({}, {}, wall=106 * SECOND)) == 1
    assert gone(shards.batch({}, {}, wall=107 * SECOND)) == 1


def test_the_wall_clock_too_is_followed_at_a_pace() -> None:
    shards = ShardSet(program("SELECT k FROM s [RANGE 5 SECONDS]", 10, shards=1))
    times = [100 * SECOND + n for n in range(40)]
    shards.batch({0: tuples(times)}, {}, wall=101 * SECOND)
    told = [gone(shards.batch({}, {}, wall=(900 + n) * SECOND)) for n in range(5)]
    assert told == [10, 10, 10, 10, 0]
    assert shards.behind == 0


def test_a_change_of_a_relation_is_told_when_it_would_be_without_a_pace() -> None:
    """What has no time of its own happens when it is heard of: where the streams are, not later."""
    query = "SELECT t.k, name FROM t [RANGE 1000], r WHERE t.k = r.k"
    found = []
    for pace in ("off", 3):
        shards, told = ShardSet(program(query, pace, shards=1)), []
        ports = {p.entry.name: p.number for p in shards.layout.ports if p.entry is not None}
        name = pa.table({"_ts": [-(2**63)], "_w": [1], "k": [995], "name": ["late"]})
        weight = shards.layout.ports[ports["r"]].carries[0]
        name = name.rename_columns(["_ts", weight, "k", "name"])
        told += shards.batch({ports["t"]: tuples(range(1_000))}, {})
        told += shards.batch({}, {"t": 1_900})
        told += shards.batch({ports["r"]: name}, {"t": 1_950})
        while shards.behind:
            told += shards.batch({}, {})
        found.append(sorted(change for table in told for change in read(table)))
    assert found[0] == found[1]
    assert [change[0] for change in found[0]] == [1_900]


def test_a_batch_that_is_run_again_stops_at_the_same_instant() -> None:
    """Rows come in another order then, and from a state that was read from the disk."""
    rows = list(range(3_000))
    stops = set()
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        shard = Shard(program("SELECT k FROM t [RANGE 10]", 100, shards=1), 0)
        for part in (rows[:1_000], rows[1_000:]):
            shard.ingest(0, tuples(part))
        shard.step(0, BatchClock({**shard.times(), "t": InputTimes(0, 0, 0)}))
        again = Shard(shard.program, 0)
        again.load(shard.save())
        stops.add(again.times()[pace_name(0)].first)
    assert len(stops) == 1
    assert min(stops) < FOREVER


def test_a_state_that_was_kept_without_a_pace_goes_on_with_one() -> None:
    query = "SELECT k FROM t [RANGE 10]"
    shard = Shard(program(query, "off", shards=1), 0)
    shard.ingest(0, tuples(range(100)))
    shard.step(0, BatchClock(shard.times()))
    again = Shard(program(query, 5, shards=1), 0)
    again.load(shard.save())
    assert again.times()[pace_name(0)].first == FOREVER


def test_a_checkpoint_knows_whether_its_batches_need_input() -> None:
    """Spark knows sources by their place: one more, or one less, is another program."""
    query = "SELECT k FROM t [RANGE 10]"
    plain, slow, fast = (program(query, pace).fingerprint for pace in ("off", 5, 7))
    assert slow == fast != plain
    beating = program("SELECT k FROM s [RANGE 10]", "off")
    assert beating.ticks()
    script = beating.script.replace("OPTIONS (heartbeat '1 second')", "")
    assert beating.fingerprint != Program(script, ("q",)).fingerprint
