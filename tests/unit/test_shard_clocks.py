"""Clocks of streams: what moves them, what they hold back, and what is late."""

import pyarrow as pa
import pytest

from windrow.core.errors import BindError
from windrow.core.time import BEGINNING, FOREVER
from windrow.plan.session import Session
from windrow.runtime.shards.clocks import Clocks, Heard, Moment, StreamClock, wall_time
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
    both.hear(Moment({"a": Heard(1, 20, 2)}))
    assert both.of(("a", "b")) == BEGINNING
    assert both.held_back_by(("a", "b")) == "b"
    both.hear(Moment({"b": Heard(3, 17, 1)}))
    assert both.of(("a", "b")) == 15  # 20 less the slack
    assert both.held_back_by(("a", "b")) == "a"


def test_an_idle_stream_goes_with_the_others_until_it_speaks() -> None:
    both = clocks()
    both.hear(Moment({"a": Heard(1, 20, 2), "b": Heard(1, 4, 1)}, wall=seconds(0)))
    both.hear(Moment({"a": Heard(21, 30, 2)}, wall=seconds(9)))
    assert both.of(("a", "b")) == 4
    both.hear(Moment({"a": Heard(31, 40, 2)}, wall=seconds(11)))
    assert both.of(("a", "b")) == 35
    both.hear(Moment({"b": Heard(37, 38, 1)}, wall=seconds(12)))
    assert both.of(("b",)) == 38


def test_a_drain_brings_all_streams_to_the_newest_time() -> None:
    both = clocks()
    both.hear(Moment({"a": Heard(1, 20, 2), "b": Heard(1, 4, 1)}))
    both.hear(Moment({}, drain=True))
    assert both.of(("a", "b")) == 20


def test_clocks_survive_saving() -> None:
    both, again = clocks(), clocks()
    both.hear(Moment({"a": Heard(1, 20, 2)}, wall=7))
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
    shard.step(0, Moment(shard.heard()))
    shard.ingest(0, rows(8, 9, 12))
    stepped = shard.step(0, Moment(shard.heard()))
    assert stepped.late["b"]["_ts"].to_pylist() == [8]
    assert stepped.changes[0]["_ts"].to_pylist() == [9, 12]
    assert shard.stats()["late"] == {"b": 1}


def test_a_heartbeat_has_no_rows() -> None:
    script = f"{DECLARED} CREATE QUERY q AS SELECT k FROM b [RANGE 3];"
    shard = Shard(Program(script, ("q",), shards=1), 0)
    shard.ingest(0, rows(5))
    shard.step(0, Moment(shard.heard()))
    stepped = shard.step(0, Moment({"b": Heard(FOREVER, 8, 0)}))
    assert stepped.changes[0]["_sign"].to_pylist() == [-1]


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
        late = shard.step(0, Moment(shard.heard())).late
    assert late["s"]["_ts"].to_pylist() == [3]
    assert shard.stats()["late"] == {"s": 1}
