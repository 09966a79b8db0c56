"""Wide rows: slots are shared by type, and what goes in comes out."""

from __future__ import annotations

import pickle
import random
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa

from windrow.core.schema import Field, Schema
from windrow.core.types import BOOLEAN, DATE, INTERVAL, NULL, STRING, TIMESTAMP
from windrow.runtime.spark.dead import (
    LATE,
    POISON,
    DeadLetters,
    count_dead,
    late_letters,
    read_dead,
)
from windrow.runtime.spark.rows import narrow, split_rows, widened
from windrow.runtime.spark.slots import (
    GOAL,
    PORT,
    SHARD,
    TICK,
    TIME,
    goal_sql,
    silent_port,
    spark_type,
    wide_row,
)
from windrow.runtime.spark.slots import POISON as POISONED

HEAD = ((SHARD, "INT"), (PORT, "INT"), (TIME, "BIGINT"), ("_exp", "BIGINT"))

VALUES: dict[pa.DataType, list[object]] = {
    pa.int8(): [1, None, -128],
    pa.int64(): [2**63 - 1, None, -(2**63)],
    pa.float64(): [0.5, None, float("inf")],
    STRING: ["", None, "é😀"],
    BOOLEAN: [True, None, False],
    DATE: [0, None, -719162],
    TIMESTAMP: [0, None, 253402300799999999],
    INTERVAL: [5, None, -5],
    pa.decimal128(9, 2): [Decimal("1.25"), None, Decimal("-9999999.99")],
    pa.list_(pa.int64()): [[1, None], None, []],
    NULL: [None, None, None],
}


def some_table(rng: random.Random, names: str) -> tuple[Schema, pa.RecordBatch]:
    types = [rng.choice(list(VALUES)) for _ in names]
    schema = Schema(tuple(Field(n, t) for n, t in zip(names, types, strict=True)))
    arrays = [pa.array([0, 1, 2]), pa.array([5, 6, 7])]
    arrays += [pa.array(VALUES[t], t) for t in types]
    return schema, pa.RecordBatch.from_arrays(arrays, names=[TIME, "_exp", *names])


def test_rows_of_many_ports_come_out_as_they_went_in() -> None:
    rng = random.Random(7)
    for _ in range(30):
        ports = {n: some_table(rng, "abcd"[: rng.randrange(5)]) for n in range(3)}
        wide = wide_row(HEAD, {n: schema for n, (schema, _) in ports.items()})
        rows = [
            widened(batch, wide, n, schema, {SHARD: -1, PORT: n})
            for n, (schema, batch) in ports.items()
        ]
        assert all(r.schema == rows[0].schema for r in rows)
        together = pa.Table.from_batches(rows).combine_chunks().to_batches()
        for n, part in split_rows(together, PORT):
            schema, batch = ports[n]
            got = narrow(part, wide, n, schema, (TIME, "_exp"))
            assert got.equals(batch), schema


def test_goals_tell_ports_and_shards_also_of_rows_that_no_query_reads() -> None:
    ports = [POISONED, TICK, silent_port(0), silent_port(7), 0, 1, 12]
    for shards in (1, 2, 5):
        for shard in range(shards):
            numbers = ", ".join(f"({port})" for port in ports)
            found = duckdb.sql(
                f"SELECT {goal_sql(str(shard), shards)} AS goal FROM (VALUES {numbers}) AS t(_port)"
            ).fetchall()
            goals = [goal for (goal,) in found]
            assert [goal % shards for goal in goals] == [shard] * len(ports)
            batch = pa.RecordBatch.from_arrays([pa.array(goals, pa.int32())], names=[GOAL])
            parts = {number: rows.num_rows for number, rows in split_rows([batch], GOAL, shards)}
            assert parts == dict.fromkeys(ports, 1)


def test_a_row_is_as_wide_as_the_widest_port() -> None:
    one = Schema((Field("a", STRING), Field("b", pa.int64()), Field("at", TIMESTAMP)))
    other = Schema((Field("x", pa.int64()), Field("y", STRING), Field("z", NULL)))
    wide = wide_row(HEAD, {0: one, 1: other})
    assert [str(s.type) for s in wide.slots] == ["string", "int64", "int64"]
    assert wide.places == {0: ("s0", "s1", "s2"), 1: ("s1", "s0", None)}
    assert wide_row(HEAD, {0: Schema(())}, text=True).text_slot == "s0"
    assert pickle.loads(pickle.dumps(wide)) == wide


def test_types_are_written_as_spark_reads_them() -> None:
    nested = pa.struct([("odd`name", pa.list_(INTERVAL))])
    assert spark_type(nested) == "STRUCT<`odd``name`: ARRAY<INTERVAL DAY TO SECOND>>"


def test_dead_letters_are_counted_once_however_often_they_are_written(tmp_path: Path) -> None:
    where = str(tmp_path)
    for _ in range(2):
        DeadLetters(where, 2, 0).write(
            "odd/name", POISON, [("k is NULL", "{}"), ("k is NULL", "[]")]
        )
    late = pa.table({"_ts": [1], "_seq": [0], "k": ["x"]})
    DeadLetters(where, 4, 1).write("odd/name", LATE, late_letters(late, "ts", moments=True))
    assert count_dead(where) == {"odd/name": {"poison": 2, "late": 1}}
    assert read_dead(where, "odd/name").to_pylist()[-1] == {
        "_reason": "late",
        "_row": '{"ts": "1970-01-01 00:00:00.000001+00:00", "k": "x"}',
        "_version": 4,
    }
    assert len(read_dead(where, "unheard")) == 0
