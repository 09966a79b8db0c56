"""The row that each key has: the newest, however its rows are cut into batches."""

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st
from tests.generate.effort import examples

from windrow.core.time import BEGINNING
from windrow.runtime.shards.layout import layout_of
from windrow.runtime.shards.ports import Port
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.shard import Upserts

SCRIPT = """
CREATE STREAM s (ts BIGINT, k DOUBLE) TIMESTAMP BY ts;
CREATE RELATION r (k DOUBLE PRIMARY KEY, n BIGINT) USING parquet OPTIONS (updates 'stream');
CREATE QUERY q AS SELECT n FROM s [RANGE 10] JOIN r ON s.k = r.k;
"""

Row = tuple[int, float, int]
"""Time, key, weight. Its `n` is its time, by which it is known again."""


def port() -> Port:
    (found,) = (p for p in layout_of(Program(SCRIPT, ("q",), shards=1)).ports if p.upserts)
    return found


def table(rows: list[Row]) -> pa.Table:
    return pa.table(
        {
            "_ts": pa.array([ts for ts, _, _ in rows], pa.int64()),
            "_weight": pa.array([weight for *_, weight in rows], pa.int64()),
            "k": pa.array([key for _, key, _ in rows], pa.float64()),
            "n": pa.array([ts for ts, _, _ in rows], pa.int64()),
        }
    )


def newest(rows: list[Row]) -> set[int]:
    """The definition: of each key the last row, if it does not end it."""
    last = {key: (ts, weight) for ts, key, weight in sorted(rows)}
    return {ts for ts, weight in last.values() if weight > 0}


def rows_at_the_end(batches: list[list[Row]]) -> tuple[set[int], int]:
    """Return the rows that are there at the end, and how many were late."""
    upserts, there, late = Upserts(port()), set[int](), 0
    for batch in batches:
        changes, behind = upserts.changes(table(batch))
        for n, weight in zip(changes["n"].to_pylist(), changes["_weight"].to_pylist(), strict=True):
            (there.add if weight > 0 else there.remove)(n)
        late += len(behind)
        upserts.check()
        saved, upserts = upserts.save(), Upserts(port())
        upserts.load(saved)
        upserts.check()
    return there, late


ROWS = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from([0.0, -0.0, 1.0]), st.sampled_from([1, 1, -1])),
    unique_by=lambda row: row[0],
    max_size=12,
)


@given(ROWS, st.integers(1, 5))
@example([(1, 1.0, 1), (9, 1.0, -1), (5, 1.0, 1)], 2)
@example([(9, 1.0, -1), (5, 1.0, 1)], 1)
@example([(1, 0.0, 1), (2, -0.0, 1)], 2)
@examples(50)
def test_the_newest_row_of_a_key_stays_however_rows_are_cut(rows: list[Row], cut: int) -> None:
    batches = [rows[i : i + cut] for i in range(0, len(rows), cut)]
    assert rows_at_the_end(batches)[0] == newest(rows)


def test_a_row_of_before_the_end_of_its_key_is_late() -> None:
    assert rows_at_the_end([[(1, 1.0, 1), (9, 1.0, -1)], [(5, 1.0, 1)]]) == (set(), 1)
    assert rows_at_the_end([[(1, 1.0, 1), (9, 1.0, -1)], [(10, 1.0, 1)]]) == ({10}, 0)


def test_only_deletions_with_a_time_are_kept() -> None:
    upserts = Upserts(port())
    upserts.changes(table([(BEGINNING, 1.0, 1), (BEGINNING, 1.0, -1)]))
    assert len(upserts.keyed.current()[0]) == len(upserts.keyed.ended()[0]) == 0
    upserts.changes(table([(3, 1.0, -1)]))
    assert upserts.keyed.ended()[1].tolist() == [3]
    upserts.changes(table([(4, 1.0, 1)]))
    assert len(upserts.keyed.ended()[0]) == 0
