"""Joins of many streams on Spark: one operator a shard where a key is common, else a chain."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from tests.spark.running import Runner, locally, program_of
from windrow.generate.files import write_piece
from windrow.operators.join.multi.task import MultiJoin
from windrow.runtime.shards.layout import wired
from windrow.runtime.spark.explain import explain_spark

pytestmark = pytest.mark.spark

MOMENT = pa.timestamp("us", tz="UTC")
SECOND = 1_000_000
WINDOWS = "a [RANGE 20 SECONDS], b [RANGE 30 SECONDS], c [RANGE 10 SECONDS]"
QUERIES = {
    "star": f"SELECT a.k, a.j, b.j AS bj, c.j AS cj FROM {WINDOWS} WHERE a.k = b.k AND b.k = c.k",
    "chain": f"SELECT a.k, b.j, c.k AS ck FROM {WINDOWS} WHERE a.k = b.k AND b.j = c.j",
}


def write_minutes(folder: Path, seed: int) -> list[pa.Table]:
    """Write two files of a minute each; return them."""
    rng = random.Random(seed)
    tables = []
    for minute in range(2):
        ts = sorted((minute * 60 * SECOND) + rng.randrange(60 * SECOND) for _ in range(60))
        keys = {name: [rng.randrange(12) for _ in ts] for name in ("k", "j")}
        table = pa.table({"ts": pa.array(ts, MOMENT), **keys})
        write_piece(folder / f"{minute}.parquet", table, minute + 1)
        tables.append(table)
    return tables


def declared(where: Path) -> str:
    streams = (
        f"CREATE STREAM {name} (ts TIMESTAMP, k BIGINT, j BIGINT) USING parquet OPTIONS "
        f"(path '{where}/{name}', maxFilesPerTrigger '1') TIMESTAMP BY ts;"
        for name in "abc"
    )
    return "SET join_algorithm = 'hash';" + "".join(streams)


def test_a_join_of_three_is_right_by_one_key_and_by_two(runner: Runner, tmp_path: Path) -> None:
    tables = {name: write_minutes(tmp_path / name, seed) for seed, name in enumerate("abc")}
    program = program_of(declared(tmp_path), QUERIES)
    star, chain = (w.physical for w in wired(program)[1])
    assert [len(s.inputs) for s in star.stages if isinstance(s.task, MultiJoin)] == [3]
    assert [len(s.inputs) for s in chain.stages if isinstance(s.task, MultiJoin)] == [2, 2]
    pushes = [(name, tables[name][minute]) for minute in range(2) for name in "abc"]
    wanted = locally(declared(tmp_path), QUERIES, pushes)
    got = runner.run(program)
    for name in QUERIES:
        assert len(wanted[name]) > 20
        assert got[name] == wanted[name], name


def test_explain_tells_whether_rows_meet_once_or_in_a_chain(tmp_path: Path) -> None:
    told = explain_spark(program_of(declared(tmp_path), QUERIES))
    assert "star: all inputs are joined on one level" in told
    assert "chain: inputs are joined in a chain of exchanges, at levels 0, 1" in told
    assert "join of a, b, c by hash" in told
