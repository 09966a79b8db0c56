"""Sources of many kinds in one program; streams that fall silent; relations that change."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

from tests.spark.running import Runner, add, locally, program_of
from windrow.core.errors import InputError
from windrow.generate.files import write_piece
from windrow.plan.session import Session
from windrow.runtime.spark.dead import read_dead
from windrow.runtime.spark.frame import build_frame, changes_of
from windrow.runtime.spark.sources import CORRUPT, Opened, parsed_value

pytestmark = pytest.mark.spark


class CountingReader(SimpleDataSourceStreamReader):
    """Ten tuples, once."""

    def initialOffset(self) -> dict[str, int]:
        return {"at": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[int, str]], dict[str, int]]:
        rows = [(t, "even" if t % 2 == 0 else "odd") for t in range(start["at"], 10)]
        return iter(rows), {"at": 10}

    def readBetweenOffsets(
        self, start: dict[str, int], end: dict[str, int]
    ) -> Iterator[tuple[int, str]]:
        return iter([(t, "even" if t % 2 == 0 else "odd") for t in range(start["at"], end["at"])])


class Counting(DataSource):
    """A source that a user has written in Python."""

    @classmethod
    def name(cls) -> str:
        return "counting"

    def schema(self) -> str:
        return "T BIGINT, kind STRING"

    def simpleStreamReader(self, schema: object) -> CountingReader:
        return CountingReader()


def test_csv_and_python_sources_and_a_changing_relation(
    runner: Runner, spark: SparkSession, tmp_path: Path
) -> None:
    spark.dataSource.register(Counting)
    for name in ("in", "changes"):
        (tmp_path / name).mkdir()
    # A header in another order and case; the last rows fail every filter, yet time passes.
    (tmp_path / "in" / "0.csv").write_text("V,T,more\n5,1,x\n7,2,y\n1,20,z\n0,30,z\n")
    (tmp_path / "changes" / "0.json").write_text(
        '{"kind": "odd", "word": "one", "_ts": 0}\n'
        '{"kind": "odd", "word": "uno", "_ts": 4}\n'
        '{"kind": "odd", "word": "one", "_ts": 6, "_sign": -1}\n'
    )
    declarations = f"""
        CREATE STREAM c (t BIGINT, v BIGINT) USING csv
          OPTIONS (path '{tmp_path}/in', header 'true') TIMESTAMP BY t;
        CREATE STREAM p (t BIGINT, kind STRING) USING counting TIMESTAMP BY t;
        CREATE RELATION words (kind STRING, word STRING);
    """
    queries = {
        "high": "SELECT v FROM c [RANGE 10] WHERE v > 3",
        "named": "SELECT t, word FROM p [RANGE 3], words WHERE p.kind = words.kind",
    }
    changes = spark.readStream.schema("kind STRING, word STRING, _ts BIGINT, _sign INT").json(
        str(tmp_path / "changes")
    )
    pushes = [
        ("words", [{"kind": "odd", "word": "one", "_ts": 0}]),
        ("words", [{"kind": "odd", "word": "uno", "_ts": 4}]),
        ("words", [{"kind": "odd", "word": "one", "_ts": 6, "_sign": -1}]),
        ("c", [{"t": t, "v": v} for t, v in ((1, 5), (2, 7), (20, 1), (30, 0))]),
        ("p", [{"t": t, "kind": "even" if t % 2 == 0 else "odd"} for t in range(10)]),
    ]
    wanted = locally(declarations.replace("USING counting", ""), queries, pushes)
    assert wanted["high"][("11", "5")] == -1, "the filtered rows move the clock"
    got = runner.run(program_of(declarations, queries), frames={"words": changes})
    assert got == wanted


def test_a_row_of_a_keyed_relation_replaces_the_one_of_its_key(
    runner: Runner, spark: SparkSession, tmp_path: Path
) -> None:
    """Without `_sign`: the newest counts, whichever shard and batch it comes in."""
    first = [{"k": k, "owner": name, "_ts": t} for t, k, name in ((1, 1, "ada"), (2, 2, "bob"))]
    then = [{"k": k, "owner": name, "_ts": t} for t, k, name in ((7, 1, "eve"), (4, 2, "joe"))]
    batches = [(first, range(1, 5)), (then, range(5, 12))]
    for n, (rows, times) in enumerate(batches):
        tuples = pa.table({"t": times, "k": [t % 3 for t in times]})
        write_piece(tmp_path / "s" / f"{n}.parquet", tuples, 1_700_000_000 + n)
        write_piece(tmp_path / "r" / f"{n}.parquet", pa.Table.from_pylist(rows), 1_700_000_000 + n)
    using = f"USING parquet OPTIONS (maxFilesPerTrigger '1', path '{tmp_path}"
    declarations = f"""
        CREATE STREAM s (t BIGINT, k BIGINT) {using}/s') TIMESTAMP BY t;
        CREATE RELATION hosts (k BIGINT, owner STRING, PRIMARY KEY (k))
          {using}/r', updates 'stream');
    """
    queries = {"owned": "SELECT t, owner FROM s [RANGE 5] JOIN hosts ON s.k = hosts.k"}
    pushes: list[tuple[str, Any]] = []
    for rows, times in batches:
        pushes += [("hosts", rows), ("s", [{"t": t, "k": t % 3} for t in times])]
    wanted = locally(declarations, queries, pushes)
    assert wanted["owned"][("7", "7", "eve")] == 1
    assert runner.run(program_of(declarations, queries), frames={}) == wanted
    by_owner = program_of(
        declarations, {"q": "SELECT owner, COUNT(*) AS n FROM hosts GROUP BY owner"}
    )
    with pytest.raises(InputError, match='changes of "hosts" need a column _sign'):
        build_frame(spark, by_owner, str(tmp_path / "other"))


def test_messages_of_kafka_and_lines_of_csv_are_taken_apart(spark: SparkSession) -> None:
    session = Session()
    session.execute(
        "CREATE STREAM s (topic STRING, t TIMESTAMP, k INT, key STRING) TIMESTAMP BY t;"
    )
    entry = session.entry("s")
    messages = [
        (bytearray(b"a"), bytearray(b'{"k": 1, "t": "1970-01-01 00:00:01"}'), "x"),
        (None, bytearray(b"no json"), "y"),
        (None, None, "z"),
    ]
    frame = spark.createDataFrame(messages, "key BINARY, value BINARY, topic STRING")
    parsed = parsed_value(frame, entry, "json")
    fitted = Opened(entry, parsed).fitted(entry.schema.names)
    rows = parsed.selectExpr(*(f"{f.sql} AS {name}" for name, f in fitted.items()), CORRUPT)
    first = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert [tuple(row.values()) for row in rows.toArrow().to_pylist()] == [
        ("x", first, 1, "a", None),
        ("y", None, None, None, "no json"),
        ("z", None, None, None, None),
    ]
    lines = spark.createDataFrame([("x,1970-01-01T00:00:01Z,7,b",), ("odd",)], "value STRING")
    read = parsed_value(lines, entry, "csv").select(*entry.schema.names, CORRUPT).toArrow()
    assert tuple(read.to_pylist()[0].values()) == ("x", first, 7, "b", None)
    assert read[CORRUPT][1].as_py() == "odd"
    with pytest.raises(InputError, match="cannot be read with value 'avro'"):
        parsed_value(lines, entry, "avro")


def test_a_stream_that_falls_silent_lets_the_others_go_on(
    runner: Runner, spark: SparkSession, tmp_path: Path
) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.json").write_text('{"t": 1, "k": 1}\n')
    (tmp_path / "a" / "1.json").write_text('{"t": 5, "k": 2}\n')
    declarations = "".join(
        f"""CREATE STREAM {name} (t BIGINT, k BIGINT) USING json
        OPTIONS (path '{tmp_path}/{name}'{idle}) TIMESTAMP BY t;"""
        for name, idle in (("a", ""), ("b", ", idle '1 second'"))
    )
    text = "SELECT k FROM a [RANGE 100] UNION ALL SELECT k FROM b [RANGE 100]"
    program = program_of(declarations, {"q": text})
    frame = build_frame(spark, program, runner.checkpoint)
    runner.started.append(program)
    found: Counter[tuple[str, ...]] = Counter()

    def sink(batch: DataFrame, _: int) -> None:
        add(found, changes_of(batch, program, "q").toArrow())

    writer = frame.writeStream.foreachBatch(sink).trigger(processingTime="1 second")
    query = writer.option("checkpointLocation", f"{runner.checkpoint}/spark").start()
    until = time.monotonic() + 120
    while ("5", "2") not in found and query.isActive and time.monotonic() < until:
        time.sleep(0.2)
    query.stop()
    assert found == {("1", "1"): 2, ("5", "2"): 1}


def test_a_change_of_a_relation_behind_the_clock_is_a_dead_letter(
    runner: Runner, tmp_path: Path
) -> None:
    """It changes nothing; those without a time are never late."""
    first = [{"k": 1, "owner": "ada", "_ts": 1}]
    then = [{"k": 1, "owner": name, "_ts": t} for t, name in ((2, "late"), (4, "eve"), (None, "x"))]
    batches = [(first, range(1, 5)), (then, range(5, 9))]
    columns = pa.schema({"k": pa.int64(), "owner": pa.string(), "_ts": pa.int64()}.items())
    for n, (rows, times) in enumerate(batches):
        tuples = pa.table({"t": times, "k": [1] * len(times)})
        changes = pa.Table.from_pylist(rows, columns)
        write_piece(tmp_path / "s" / f"{n}.parquet", tuples, 1_700_000_000 + n)
        write_piece(tmp_path / "r" / f"{n}.parquet", changes, 1_700_000_000 + n)
    using = f"USING parquet OPTIONS (maxFilesPerTrigger '1', path '{tmp_path}"
    declarations = f"""
        CREATE STREAM s (t BIGINT, k BIGINT) {using}/s') TIMESTAMP BY t;
        CREATE RELATION hosts (k BIGINT, owner STRING) {using}/r', updates 'stream');
    """
    queries = {"owned": "SELECT t, owner FROM s [RANGE 5] JOIN hosts ON s.k = hosts.k"}
    pushes: list[tuple[str, Any]] = []
    for rows, times in batches:
        pushes += [("hosts", rows), ("s", [{"t": t, "k": 1} for t in times])]
    wanted = locally(declarations, queries, pushes)
    got = runner.run(program_of(declarations, queries), frames={})
    assert got == wanted
    assert {owner for _, _, owner in got["owned"]} == {"ada", "eve", "x"}
    (letter,) = read_dead(runner.checkpoint, "hosts").to_pylist()
    assert (letter["_reason"], json.loads(letter["_row"])["owner"]) == ("late", "late")
