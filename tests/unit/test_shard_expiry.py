"""SET expiry on shards: when a batch lets time pass, and that all settings tell the same."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from tests.reference.drive import read
from tests.reference.shards import ShardSet

from windrow.runtime.shards.program import Program

STREAMS = "CREATE STREAM a (ts BIGINT, k BIGINT) TIMESTAMP BY ts;"
SETTINGS = ("auto", "piggyback", "negative", "input_triggered")


def shards_of(expiry: str, query: str) -> ShardSet:
    script = f"SET expiry = '{expiry}'; {STREAMS} CREATE QUERY q AS {query};"
    return ShardSet(Program(script, ("q",), shards=2))


def tuples(*times: int) -> pa.Table:
    return pa.table({"_ts": pa.array(times, pa.int64()), "k": pa.array(times, pa.int64())})


def told(tables: list[pa.Table]) -> Counter[tuple[int, tuple[object, ...]]]:
    found: Counter[tuple[int, tuple[object, ...]]] = Counter()
    for table in tables:
        for ts, sign, row in read(table):
            found[ts, row] += sign
    return Counter({change: n for change, n in found.items() if n})


@pytest.mark.parametrize("expiry", SETTINGS)
def test_a_batch_without_rows_lets_time_pass_unless_only_input_does(expiry: str) -> None:
    shards = shards_of(expiry, "SELECT k FROM a [RANGE 10]")
    shards.batch({0: tuples(1, 2)}, {})
    shown = told(shards.batch({}, {"a": 50}))
    waiting = expiry == "input_triggered"
    assert shown == ({} if waiting else {(11, (1,)): -1, (12, (2,)): -1})
    later = told(shards.batch({0: tuples(60)}, {}))
    due = {(11, (1,)): -1, (12, (2,)): -1} if waiting else {}
    assert later == {(60, (60,)): 1, **due}


def test_all_settings_tell_the_same_in_the_end() -> None:
    found = []
    for expiry in SETTINGS:
        text = "SELECT k % 3 AS m, COUNT(*) AS n FROM a [RANGE 7] GROUP BY k % 3"
        shards = shards_of(expiry, text)
        tables = shards.batch({0: tuples(1, 3, 4)}, {}) + shards.batch({}, {"a": 9})
        tables += shards.batch({0: tuples(20, 21)}, {}) + shards.batch({}, {}, drain=True)
        found.append(told(tables))
    assert all(changes == found[0] for changes in found)
    assert found[0]
