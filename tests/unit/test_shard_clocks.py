"""Clocks of streams: what moves them, what they hold back, and what is late."""

import pyarrow as pa
import pytest

from windrow.core.errors import BindError
from windrow.core.time import BEGINNING, FOREVER, wall_time
from windrow.plan.session import Session
from windrow.runtime.shards.clocks import UNUSABLE, BatchClock, Clocks, InputTimes, StreamClock
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.shard import Shard

DECLARED = """
CREATE STREAM a (ts BIGINT, k BIGINT) TIMESTAMP BY ts SLACK 5;
CREATE STREAM b (ts BIGINT, k BIGINT) USING rate OPTIONS (idle '10 seconds') TIMESTAMP BY ts;
"""


def clocks() -> Clocks:
    session = Session()
    session.execute(DECLARED)
    return Clocks({e.name: StreamClock(e) for e in session.catalog.entries.values()})  # type: ignore[arg-type]


def seconds(number: int) -> int:
    return number * 1_000_000


def test_a_query_waits_for_its_slowest_stream() -> None:
    both = clocks()
    both.advance(BatchClock({"a": InputTimes(1, 20, 2)}))
    assert both.of(("a", "b")) == BEGINNING
    assert both.held_back_by(("a", "b")) == "b"
    both.advance(BatchClock({"b": InputTimes(3, 17, 1)}))
    assert both.of(("a", "b")) == 15  # 20 less the slack
    assert both.held_back_by(("a", "b")) == "a"


def test_an_idle_stream_goes_with_the_others_until_it_speaks() -> None:
    both = clocks()
    both.advance(BatchClock({"a": InputTimes(1, 20, 2), "b": InputTimes(1, 4, 1)}, wall=seconds(0)))
    both.advance(BatchClock({"a": InputTimes(21, 30, 2)}, wall=seconds(9)))
    assert both.of(("a", "b")) == 4
    both.advance(BatchClock({"a": InputTimes(31, 40, 2)}, wall=seconds(11)))
    assert both.of(("a", "b")) == 35
    both.advance(BatchClock({"b": InputTimes(37, 38, 1)}, wall=seconds(12)))
    assert both.of(("b",)) == 38


def test_a_drain_brings_all_streams_to_the_newest_time() -> None:
    both = clocks()
    both.advance(BatchClock({"a": InputTimes(1, 20, 2), "b": InputTimes(1, 4, 1)}))
    both.advance(BatchClock({}, drain=True))
    assert both.of(("a", "b")) == 20


def beating(*more: str) -> Clocks:
    """Clocks of a stream that is two seconds late at most, and of others beside it."""
    session = Session()
    session.execute(
        "CREATE STREAM s (ts TIMESTAMP, k BIGINT) OPTIONS (heartbeat '2 seconds') TIMESTAMP BY ts"
    )
    for text in more:
        session.execute(text)
    return Clocks({e.name: StreamClock(e) for e in session.catalog.entries.values()})  # type: ignore[arg-type]


def test_a_stream_with_a_heartbeat_goes_on_by_itself() -> None:
    clock = beating()
    clock.advance(BatchClock({"s": InputTimes(seconds(99), seconds(100), 2)}, wall=seconds(101)))
    assert clock.of(("s",)) == seconds(100)
    clock.advance(BatchClock({}, wall=seconds(101)))
    assert clock.of(("s",)) == seconds(100), "time does not go back"
    clock.advance(BatchClock({}, wall=seconds(109)))
    assert clock.of(("s",)) == seconds(107)


def test_a_backlog_is_read_before_the_wall_clock_counts() -> None:
    """A source that is limited by the batch may have more of the same: what came says how far."""
    clock = beating()
    for hour in range(3):
        rows = InputTimes(seconds(hour), seconds(hour + 1), 9)
        clock.advance(BatchClock({"s": rows}, wall=seconds(9_000 + hour)))
        assert clock.of(("s",)) == seconds(hour + 1)
    clock.advance(BatchClock({"s": UNUSABLE}, wall=seconds(9_004)))
    assert clock.of(("s",)) == seconds(3), "late tuples and dead letters are a part of it"
    clock.advance(BatchClock({}, wall=seconds(9_005)))
    assert clock.of(("s",)) == seconds(9_003)


def test_an_end_of_input_stands_where_its_tuples_do() -> None:
    clock = beating()
    clock.advance(BatchClock({"s": InputTimes(seconds(1), seconds(5), 2)}, wall=seconds(900)))
    clock.advance(BatchClock({}, wall=seconds(901), drain=True))
    assert clock.of(("s",)) == seconds(5)


def test_an_idle_stream_goes_with_one_that_has_a_heartbeat() -> None:
    other = "CREATE STREAM t (ts TIMESTAMP) OPTIONS (idle '3 seconds') TIMESTAMP BY ts"
    both = beating(other)
    times = {name: InputTimes(seconds(100), seconds(100), 1) for name in "st"}
    both.advance(BatchClock(times, wall=seconds(100)))
    both.advance(BatchClock({}, wall=seconds(103)))
    assert both.held_back_by(("s", "t")) == "t"
    both.advance(BatchClock({}, wall=seconds(104)))
    assert both.of(("s", "t")) == seconds(102)


@pytest.mark.parametrize(
    ("column", "option", "said"),
    [
        ("ts BIGINT", "heartbeat '2 seconds'", "its time counts ticks"),
        ("ts TIMESTAMP", "heartbeat 'often'", "no length of time"),
    ],
)
def test_a_heartbeat_is_looked_at_when_it_is_declared(column: str, option: str, said: str) -> None:
    with pytest.raises(BindError, match=said):
        Session().execute(f"CREATE STREAM s ({column}) OPTIONS ({option}) TIMESTAMP BY ts")


def test_clocks_survive_saving() -> None:
    both, again = clocks(), clocks()
    both.advance(BatchClock({"a": InputTimes(1, 20, 2)}, wall=7))
    again.load(both.save())
    assert again.save() == both.save()


@pytest.mark.parametrize("text", ["soon", "5 parsecs", "-1 second", ""])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(BindError, match="no length of time"):
        wall_time(text, "idle")


def test_rows_behind_the_frontier_of_earlier_batches_are_late_and_kept() -> None:
    script = f"{DECLARED} CREATE QUERY q AS SELECT k FROM b [RANGE 100];"
    shard = Shard(Program(script, ("q",), shards=1), 0)
    shard.ingest(0, rows(5, 9, 7))  # one batch has no order of arrival
    shard.step(0, BatchClock(shard.times()))
    shard.ingest(0, rows(8, 9, 12))
    stepped = shard.step(0, BatchClock(shard.times()))
    assert stepped.late["b"]["_ts"].to_pylist() == [8]
    assert stepped.changes[0]["_ts"].to_pylist() == [9, 12]
    assert shard.stats()["late"] == {"b": 1}


def test_a_heartbeat_has_no_rows() -> None:
    script = f"{DECLARED} CREATE QUERY q AS SELECT k FROM b [RANGE 3];"
    shard = Shard(Program(script, ("q",), shards=1), 0)
    shard.ingest(0, rows(5))
    shard.step(0, BatchClock(shard.times()))
    stepped = shard.step(0, BatchClock({"b": InputTimes(FOREVER, 8, 0)}))
    assert stepped.changes[0]["_sign"].to_pylist() == [-1]


def test_late_rows_and_dead_ones_keep_a_stream_from_being_silent() -> None:
    """Else a backlog that begins with late rows would be late as a whole."""
    script = """CREATE STREAM s (ts TIMESTAMP, k BIGINT) OPTIONS (heartbeat '1 second')
        TIMESTAMP BY ts; CREATE QUERY q AS SELECT k FROM s [RANGE 1 MINUTE];"""
    shard = Shard(Program(script, ("q",), shards=1), 0)
    shard.ingest(0, rows(seconds(50)))
    shard.step(0, BatchClock(shard.times(), seconds(900)))
    shard.ingest(0, rows(seconds(40)))
    assert shard.times() == {"s": UNUSABLE}
    assert shard.step(0, BatchClock(shard.times(), seconds(901))).late["s"].num_rows == 1
    assert shard.clocks.of(("s",)) == seconds(50)


def rows(*times: int) -> pa.Table:
    return pa.table({"_ts": pa.array(times, pa.int64()), "k": pa.array(times, pa.int64())})


def test_late_rows_are_kept_also_if_one_of_the_queries_filters_them() -> None:
    script = """CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts;
        CREATE QUERY few AS SELECT k, COUNT(*) AS n FROM s [RANGE 5] WHERE v > 9 GROUP BY k;
        CREATE QUERY all_of_them AS SELECT v, COUNT(*) AS n FROM s [RANGE 5] GROUP BY v;"""
    shard = Shard(Program(script, ("few", "all_of_them"), shards=1), 0)
    filtered, whole = sorted(shard.layout.ports, key=lambda p: p.predicate is None)
    assert (filtered.predicate is None, whole.predicate is None) == (False, True)
    for version, ts in enumerate((10, 3)):
        rows = pa.table({"_ts": [ts], **{name: [version] for name in whole.schema.names}})
        shard.ingest(whole.number, rows)
        late = shard.step(0, BatchClock(shard.times())).late
    assert late["s"]["_ts"].to_pylist() == [3]
    assert shard.stats()["late"] == {"s": 1}
