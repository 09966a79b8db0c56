"""Declared sources through Spark and the shards give the changes of the in-process engine."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.spark.running import Runner, locally, program_of
from windrow.core.errors import InputError
from windrow.generate.files import write_piece
from windrow.runtime.shards.client import Shards
from windrow.runtime.spark.dead import count_dead, read_dead
from windrow.runtime.spark.frame import build_frame

pytestmark = pytest.mark.spark

MOMENT = pa.timestamp("us", tz="UTC")
SECOND = 1_000_000


def write_minutes(
    folder: Path, seed: int, columns: Callable[..., dict[str, Any]]
) -> list[pa.Table]:
    """Write three files of a minute each; return them."""
    rng = random.Random(seed)
    tables = []
    for minute in range(3):
        ts = sorted((minute * 60 * SECOND) + rng.randrange(60 * SECOND) for _ in range(60))
        table = pa.table({"ts": pa.array(ts, MOMENT), **columns(rng, len(ts))})
        write_piece(folder / f"{minute}.parquet", table, minute + 1)  # Spark goes by these times
        tables.append(table)
    return tables


def test_joins_and_groups_over_two_streams_and_a_relation(runner: Runner, tmp_path: Path) -> None:
    a = write_minutes(
        tmp_path / "a",
        1,
        lambda rng, n: {
            "k": pa.array([rng.choice([*range(12), None]) for _ in range(n)], pa.int64()),
            "v": [rng.choice([1.5, 4.0, -0.0, 0.0, float("nan")]) for _ in range(n)],
            "unread": ["x" * 10] * n,
        },
    )
    b = write_minutes(
        tmp_path / "b",
        2,
        lambda rng, n: {
            "k": pa.array([rng.randrange(12) for _ in range(n)], pa.int32()),
            "u": [rng.choice("abcd") for _ in range(n)],
        },
    )
    (tmp_path / "owners.csv").write_text("U,owner\na,eve\nb,bob\nc,\na,ann\n")
    declarations = f"""
        CREATE STREAM a (ts TIMESTAMP, k BIGINT, v DOUBLE, unread STRING)
          USING parquet OPTIONS (path '{tmp_path}/a', maxFilesPerTrigger '1') TIMESTAMP BY ts;
        CREATE STREAM b (ts TIMESTAMP, k INT, u STRING)
          USING parquet OPTIONS (path '{tmp_path}/b', maxFilesPerTrigger '1') TIMESTAMP BY ts;
        CREATE RELATION owners (u STRING, owner STRING, PRIMARY KEY (u))
          USING csv OPTIONS (path '{tmp_path}/owners.csv', header 'true');
    """
    queries = {
        "pairs": "SELECT a.k, v, u FROM a [RANGE 20 SECONDS], b [RANGE 20 SECONDS] "
        "WHERE a.k = b.k AND v > 1",
        "counts": "SELECT v, COUNT(*) AS n, MAX(ts) AS newest FROM a [RANGE 1 MINUTE] GROUP BY v",
        "named": "SELECT owner, COUNT(*) AS n "
        "FROM a [RANGE 20 SECONDS], b [RANGE 20 SECONDS], owners"
        " WHERE a.k = b.k AND b.u = owners.u GROUP BY owner",
        "last": "SELECT k, u FROM b [ROWS 5]",
    }
    owners = pa.table({"u": ["a", "b", "c"], "owner": ["ann", "bob", None]})
    pushes = [
        ("owners", owners),
        *((n, t) for pair in zip(a, b, strict=True) for n, t in zip("ab", pair, strict=True)),
    ]
    wanted = locally(declarations, queries, pushes)
    got = runner.run(program_of(declarations, queries))
    for name in queries:
        assert got[name] == wanted[name], name


def test_poison_and_late_rows_are_kept_with_their_reason(runner: Runner, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [
        '{"ts": "1970-01-01T00:00:10Z", "k": 1}',
        '{"ts": "1970-01-01 00:00:11", "k": 2, "more": [1]}',
        '{"ts": "1970-01-01T00:00:12Z", "k": "x"}',
        '{"k": 3}',
        "no json",
        '{"ts": "1970-01-01T00:00:13Z"}',
    ]
    (tmp_path / "in" / "0.json").write_text("\n".join(lines))
    declarations = f"""CREATE STREAM s (ts TIMESTAMP, k BIGINT) USING json
        OPTIONS (path '{tmp_path}/in', maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 1 SECOND;"""
    program = program_of(declarations, {"q": "SELECT k FROM s [RANGE 5 SECONDS]"})
    got = runner.run(program)["q"]
    assert got == {
        ("1970-01-01 00:00:10+00:00", "1"): 1,
        ("1970-01-01 00:00:11+00:00", "2"): 1,
    }
    (tmp_path / "in" / "1.json").write_text('{"ts": "1970-01-01T00:00:01Z", "k": 9}')
    assert runner.run(program)["q"] == {}
    checkpoint = str(tmp_path / "checkpoint")
    held = ("1970-01-01 00:00:13+00:00", "None")
    assert runner.drain(program, batch=1) == {"q": {held: 1}}
    assert count_dead(checkpoint) == {"s": {"poison": 3, "late": 1}}
    letters = {row["_reason"]: row["_row"] for row in read_dead(checkpoint, "s").to_pylist()}
    assert letters["it does not parse; ts is NULL"] == "no json"
    assert json.loads(letters["late"]) == {"ts": "1970-01-01 00:00:01+00:00", "k": 9}
    assert json.loads(letters["ts is NULL"])["k"] == 3


def test_values_that_do_not_fit_their_declaration_are_poison(
    runner: Runner, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(
        pa.table(
            {
                "AT": pa.array([1, 2, 3, 4, 2**62 + 1, None], pa.int64()),
                "small": pa.array([1, 300, 3, 4, 5, 6], pa.int64()),
                "exact": pa.array([1.0, 2.0, 2.5, 4.0, 5.0, 6.0]),
                "day": pa.array(["1970-01-02", "1970-01-02", "1970-01-02", "soon", None, None]),
            }
        ),
        tmp_path / "in" / "0.parquet",
    )
    declarations = f"""CREATE STREAM s (at BIGINT, small TINYINT, exact BIGINT, day DATE)
        USING parquet OPTIONS (path '{tmp_path}/in') TIMESTAMP BY at;"""
    got = runner.run(program_of(declarations, {"q": "SELECT small, exact, day FROM s [UNBOUNDED]"}))
    assert got["q"] == {("1", "1", "1", "1970-01-02"): 1}
    reasons = read_dead(str(tmp_path / "checkpoint"), "s")["_reason"].to_pylist()
    assert sorted(reasons) == [
        "at is NULL",
        "at is out of range",
        "day is not DATE",
        "exact is not BIGINT",
        "small is not TINYINT",
    ]


def test_a_dataframe_of_messages_is_taken_apart(
    runner: Runner, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.txt").write_text('{"k": 1, "t": 5}\n{"k": 2, "t": 6}\n{"k": \n')
    frame = spark.readStream.text(str(tmp_path / "in"))
    declarations = "CREATE STREAM s (t BIGINT, k INT) OPTIONS (value 'json') TIMESTAMP BY t;"
    program = program_of(declarations, {"q": "SELECT k FROM s [RANGE 10]"}, shards=1)
    got = runner.run(program, frames={"S": frame})
    assert got["q"] == {("5", "1"): 1, ("6", "2"): 1}
    assert count_dead(str(tmp_path / "checkpoint")) == {"s": {"poison": 1, "late": 0}}


def test_only_the_columns_that_are_read_leave_the_file(spark: SparkSession, tmp_path: Path) -> None:
    write_minutes(tmp_path / "a", 1, lambda _, n: {"k": [1] * n, "v": [1.0] * n, "w": ["w"] * n})
    declarations = f"""CREATE STREAM a (ts TIMESTAMP, k BIGINT, v DOUBLE, w STRING)
        USING parquet OPTIONS (path '{tmp_path}/a') TIMESTAMP BY ts;"""
    program = program_of(declarations, {"q": "SELECT k, COUNT(*) AS n FROM a [RANGE 9] GROUP BY k"})
    frame = build_frame(spark, program, str(tmp_path / "checkpoint"))
    query = frame.writeStream.format("noop").trigger(availableNow=True)
    started = query.option("checkpointLocation", str(tmp_path / "spark")).start()
    started.awaitTermination()
    plan = started._jsq.explainInternal(False)
    assert "ReadSchema: struct<ts:timestamp,k:bigint>" in plan
    Shards(str(tmp_path / "checkpoint"), program).shutdown()


@pytest.mark.parametrize(
    "declaration, message",
    [
        ("(ts TIMESTAMP, missing BIGINT) USING parquet", 'has no column "missing"'),
        ("(ts TIMESTAMP, w BIGINT) USING parquet", "is declared BIGINT, and its source has STRING"),
        ("(ts TIMESTAMP, k BIGINT)", "has no source"),
        ("(ts TIMESTAMP, k BIGINT) USING nosuchformat", "cannot be opened"),
    ],
)
def test_a_source_that_cannot_be_read_is_refused_at_the_start(
    spark: SparkSession, tmp_path: Path, declaration: str, message: str
) -> None:
    write_minutes(tmp_path / "a", 1, lambda _, n: {"k": [1] * n, "w": ["w"] * n})
    using = f" OPTIONS (path '{tmp_path}/a')" if "USING" in declaration else ""
    declarations = f"CREATE STREAM s {declaration}{using} TIMESTAMP BY ts;"
    program = program_of(declarations, {"q": "SELECT * FROM s [RANGE 9]"})
    with pytest.raises(InputError, match=message):
        build_frame(spark, program, str(tmp_path / "checkpoint"))


TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "BOOLEAN": (pa.bool_(), [True, False, None]),
    "TINYINT": (pa.int8(), [-128, 127, None]),
    "SMALLINT": (pa.int16(), [-(2**15), 2**15 - 1, None]),
    "INT": (pa.int32(), [-(2**31), 2**31 - 1, None]),
    "BIGINT": (pa.int64(), [-(2**63), 2**63 - 1, None]),
    "FLOAT": (pa.float32(), [0.1, float("-inf"), None]),
    "DOUBLE": (pa.float64(), [0.1, float("nan"), None]),
    "STRING": (pa.string(), ["", "é😀\n'\"", None]),
    "BINARY": (pa.binary(), [b"", b"\x00\xff", None]),
    "DATE": (pa.date32(), [-719162, 2932896, None]),
    "TIMESTAMP": (MOMENT, [-62135596800000000, 253402300799999999, None]),
    "DECIMAL(9, 2)": (pa.decimal128(9, 2), [Decimal("-9999999.99"), Decimal("0.01"), None]),
    "DECIMAL(38, 10)": (pa.decimal128(38, 10), [Decimal("1e27"), Decimal("-1e-10"), None]),
    "ARRAY<BIGINT>": (pa.list_(pa.int64()), [[], [1, None], None]),
    "ARRAY<TIMESTAMP>": (pa.list_(MOMENT), [[0], [None], None]),
}


def test_values_of_every_type_cross_unchanged_in_any_time_zone(
    runner: Runner, tmp_path: Path
) -> None:
    names = [f"c{n}" for n in range(len(TYPES))]
    columns = {n: pa.array(v, t) for n, (t, v) in zip(names, TYPES.values(), strict=True)}
    times = pa.array([1, 2, 3], pa.timestamp("us"))  # a wall clock, which is UTC
    table = pa.table({"ts": times, **columns})
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "0.parquet")
    pq.write_table(table.slice(0, 0), tmp_path / "in" / "1.parquet")
    declared = ", ".join(f"{n} {t}" for n, t in zip(names, TYPES, strict=True))
    declarations = f"""CREATE STREAM s (ts TIMESTAMP, {declared}) USING parquet
        OPTIONS (path '{tmp_path}/in', maxFilesPerTrigger '1') TIMESTAMP BY ts;"""
    queries = {"q": "SELECT * FROM s [UNBOUNDED]", "n": "SELECT NULL AS nothing FROM s [NOW]"}
    runner.spark.conf.set("spark.sql.session.timeZone", "America/St_Johns")
    try:
        got = runner.run(program_of(declarations, queries))
    finally:
        runner.spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert got == locally(declarations, queries, [("s", table)])
