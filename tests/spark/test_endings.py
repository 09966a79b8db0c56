"""How runs end and begin: drained or not, refused, several sinks, one run at a time."""

import json
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

import windrow as wr
from tests.spark.test_runs import bag, net
from windrow.cli.main import windrow
from windrow.core.errors import BindError, LimitError, RunError
from windrow.runtime.shards.checkpoint import placed_by
from windrow.runtime.shards.client import Shards
from windrow.runtime.shards.lease import take_lease
from windrow.runtime.spark.database import SparkDatabase
from windrow.runtime.spark.dead import read_dead

pytestmark = pytest.mark.spark

JOIN = "SELECT a.k, b.v FROM a [RANGE 50] JOIN b [RANGE 50] ON a.k = b.k"


def arrive(folder: Path, stream: str, number: int, times: range) -> None:
    """Put a file of tuples into the folder of a stream."""
    table = pa.table({"ts": times, "k": [t % 3 for t in times], "v": [t % 5 for t in times]})
    (folder / stream).mkdir(parents=True, exist_ok=True)
    path = folder / stream / f"{number}.parquet"
    pq.write_table(table, path.with_suffix(".tmp"))
    os.utime(path.with_suffix(".tmp"), (number + 1, number + 1))
    path.with_suffix(".tmp").rename(path)


def declared(folder: Path, slack: str = "") -> str:
    return "".join(
        f"CREATE STREAM {name} (ts BIGINT, k BIGINT, v BIGINT) USING parquet OPTIONS"
        f" (path '{folder}/{name}', maxFilesPerTrigger '1') TIMESTAMP BY ts {slack};\n"
        for name in "ab"
    )


@pytest.fixture
def db(spark: SparkSession, tmp_path: Path) -> Iterator[SparkDatabase]:
    with wr.connect(engine="spark", checkpoint=str(tmp_path / "state"), spark=spark) as db:
        db.execute(declared(tmp_path, "SLACK 3"))
        db.execute(f"CREATE QUERY pairs AS {JOIN};")
        yield db


def truth(*pushes: tuple[str, range]) -> pa.Table:
    """Return the changes that the engine in one process emits when nothing else follows."""
    with wr.connect() as local:
        for name in "ab":
            local.execute(f"CREATE STREAM {name} (ts BIGINT, k BIGINT, v BIGINT) SLACK 3")
        query = local.query(JOIN)
        for name, times in pushes:
            local.push(name, [{"ts": t, "k": t % 3, "v": t % 5} for t in times])
        local.drain()
        return query.changes()


def test_two_runs_answer_as_one_that_goes_on(
    db: SparkDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The stream that is slower in the first run is not cut off at its end."""
    arrive(tmp_path, "a", 0, range(60))
    arrive(tmp_path, "b", 0, range(20))
    first = db.start([f"parquet:{tmp_path}/out", "memory"])
    assert first.wait()
    assert not first.is_drained
    assert first.progress().queries["pairs"].clock == 16
    arrive(tmp_path, "b", 1, range(20, 60))
    second = db.start([f"parquet:{tmp_path}/out", "memory"])
    assert second.wait()
    assert second.progress().late == {"a": 0, "b": 0}
    assert not any("was drained" in message for message in caplog.messages)

    third = db.start([f"parquet:{tmp_path}/out", "memory"], drain=True)
    assert third.wait()
    assert third.is_drained
    assert third.progress().batches == 0, "there was nothing new to read, and it drained"
    whole = truth(("a", range(60)), ("b", range(20)), ("b", range(20, 60)))
    assert net(pq.read_table(tmp_path / "out" / "pairs")) == net(whole)
    assert net(db.query("pairs").changes()) == net(whole)

    arrive(tmp_path, "b", 2, range(55, 62))
    with caplog.at_level(logging.WARNING):
        fourth = db.start([f"parquet:{tmp_path}/out", "memory"])
    assert fourth.wait()
    warned = "\n".join(caplog.messages)
    assert f"the checkpoint {tmp_path}/state was drained when it ended last." in warned
    assert '"a" at 59, "b" at 59' in warned
    assert "Rows before that are late" in warned
    assert fourth.progress().late == {"a": 0, "b": 4}
    assert len(read_dead(f"{tmp_path}/state", "b")) == 4


def test_without_a_checkpoint_nothing_can_follow(spark: SparkSession, tmp_path: Path) -> None:
    arrive(tmp_path, "a", 0, range(60))
    arrive(tmp_path, "b", 0, range(20))
    with wr.connect(engine="spark", spark=spark) as db:
        db.execute(declared(tmp_path, "SLACK 3"))
        query = db.query(JOIN, name="pairs")
        run = query.start("memory")
        assert run.wait()
        assert run.is_drained
        assert net(query.changes()) == net(truth(("a", range(60)), ("b", range(20))))
        with pytest.raises(RunError, match="has no end at which it could drain"):
            query.start("memory", trigger="1 second", drain=True)


def test_the_command_says_how_it_ended(spark: SparkSession, tmp_path: Path) -> None:
    assert spark is not None
    for name in "ab":
        arrive(tmp_path, name, 0, range(20))
    script = tmp_path / "job.cql"
    script.write_text(declared(tmp_path) + f"CREATE QUERY pairs AS {JOIN};")
    words = ["run", str(script), "--sink", f"parquet:{tmp_path}/out"]
    words += ["--sink", f"json:{tmp_path}/text", "--conf", "spark.sql.shuffle.partitions=2"]
    done = CliRunner().invoke(windrow, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    place = tmp_path / "job.checkpoint"
    assert f"not drained: the same command goes on from {place}; --drain closes" in done.output
    assert f"answers: json:{tmp_path}/text" in done.output
    done = CliRunner().invoke(windrow, [*words, "--drain"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "drained: every answer up to the newest time is out" in done.output
    lines = (tmp_path / "text" / "pairs").glob("*.json")
    changes = [json.loads(line) for path in lines for line in path.read_text().splitlines()]
    assert len(changes) == len(pq.read_table(tmp_path / "out" / "pairs")) > 0


def test_every_sink_of_a_query_has_every_change(
    db: SparkDatabase, tmp_path: Path, spark: SparkSession
) -> None:
    """Also if one of them fails in between: the others do not take the batch twice."""
    for number in range(3):
        for name in "ab":
            arrive(tmp_path, name, number, range(20 * number, 20 * number + 20))
    given: dict[int, pa.Table] = {}
    failed: list[int] = []

    def moody(table: pa.Table, batch: int) -> None:
        if batch == 4 and not failed:
            failed.append(batch)
            raise OSError("the shelf is full")
        given[batch] = table

    sinks = [f"parquet:{tmp_path}/out", f"json:{tmp_path}/text", "memory", "noop"]
    sinks = [*sinks, f"duckdb:{tmp_path}/answers.duckdb", moody]
    with pytest.raises(RunError, match="the shelf is full"):
        db.start(sinks={"pairs": sinks}).wait()
    run = db.start(sink=sinks, drain=True)
    assert run.wait()
    pushes = [(s, range(20 * n, 20 * n + 20)) for n in range(3) for s in "ab"]
    whole = truth(*pushes)
    for sink in run.sinks("pairs"):
        if hasattr(sink, "changes"):
            assert net(sink.changes()) == net(whole), sink
        if hasattr(sink, "answer"):
            assert bag(sink.answer()) == bag(run.sinks("pairs")[0].answer()), sink
    assert net(pa.concat_tables(given.values())) == net(whole)

    for twice in ([f"json:{tmp_path}/x", f"parquet:{tmp_path}/x"], ["memory", "memory"]):
        with pytest.raises(RunError, match='two sinks of "pairs" write to one place') as refused:
            db.start(sink=twice)
        assert "Each change would be there twice" in refused.value.detail
    with pytest.raises(RunError, match=r'does not hold what "pairs" answered before') as refused:
        db.start(sink=f"parquet:{tmp_path}/new")
    assert "the checkpoint has reached batch 2" in refused.value.detail
    assert "Start with a new checkpoint" in refused.value.hint


def test_a_second_run_on_a_checkpoint_is_refused(
    db: SparkDatabase, spark: SparkSession, tmp_path: Path
) -> None:
    for name in "ab":
        arrive(tmp_path, name, 0, range(20))
    run = db.start("memory", trigger="1 second")
    with wr.connect(engine="spark", checkpoint=str(tmp_path / "state"), spark=spark) as other:
        other.execute(declared(tmp_path, "SLACK 3") + f"CREATE QUERY pairs AS {JOIN};")
        with pytest.raises(RunError) as refused:
            other.start("memory")
        assert "state is in use by this process" in refused.value.message
        assert "Stop that run first" in refused.value.hint
        deadline = time.monotonic() + 60
        while run.progress().batch is None and time.monotonic() < deadline:
            time.sleep(0.1)
        state = CliRunner().invoke(windrow, ["state", str(tmp_path / "state")])
        assert state.exit_code == 0, "readers need no lease"
        assert f"in use by process {os.getpid()}" in state.output
        assert run.stop(within=30)
        other.start("noop").wait()
        assert take_lease(str(tmp_path / "state")).number == 3


def test_places_that_are_no_checkpoint_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.csv").write_text("1")
    for place, fact in {"file": "is a file", "in": "is no checkpoint, and it is not empty"}.items():
        with wr.connect(engine="spark", checkpoint=str(tmp_path / place), spark=spark) as db:
            db.execute(declared(tmp_path))
            query = db.query(JOIN, name="pairs")
            with pytest.raises(RunError, match=fact):
                db.start("noop")
            if place == "file":
                with pytest.raises(RunError, match=fact):
                    query.start("noop")
    assert [p.name for p in (tmp_path / "in").iterdir()] == ["rows.csv"]
    with pytest.raises(BindError, match="conf is for a session that windrow starts"):
        wr.connect(engine="spark", spark=spark, conf={"spark.ui.enabled": "false"})
    with pytest.raises(RunError, match=r"spark\.driver\.memory cannot be set: Spark is running"):
        _ = wr.connect(engine="spark", conf={"spark.driver.memory": "3g"}).spark


def test_a_query_in_somebodys_own_job_tells_how_far_it_is(
    db: SparkDatabase, tmp_path: Path
) -> None:
    for name in "ab":
        arrive(tmp_path, name, 0, range(20))
    query = db.query("pairs")
    changes = query.to_spark()
    assert query.progress()["clock"] is None
    writer = changes.writeStream.format("noop").option("checkpointLocation", f"{tmp_path}/own")
    job = writer.trigger(processingTime="200 milliseconds").start()
    try:
        deadline = time.monotonic() + 60
        while query.progress()["batch"] is None and time.monotonic() < deadline:
            time.sleep(0.1)
        seen = query.progress()
        assert (seen["clock"], seen["active"], seen["total_rows"]) == (16, True, 40)
        assert query.stats()["clock"] == 16
    finally:
        job.stop()
    assert query.progress()["active"] is False
    with pytest.raises(RunError, match="in use by this process"):
        query.start("noop")


def test_what_has_no_room_is_not_tried_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrive(tmp_path, "a", 0, range(20))
    arrive(tmp_path, "b", 0, range(20))
    monkeypatch.setenv("WINDROW_SHARD_MEMORY", "1")
    with wr.connect(engine="spark", checkpoint=str(tmp_path / "state"), spark=spark) as db:
        db.execute(declared(tmp_path))
        query = db.query(JOIN, name="pairs")
        folder = f"{tmp_path}/state/pairs"
        Shards(folder, placed_by(folder, db.program("pairs"))).warm()  # they have the limit
        began = time.monotonic()
        run = query.start("noop")
        with pytest.raises(LimitError, match="needs more memory than it may have"):
            run.wait()
        assert run.progress().failures == {"retried": 0, "fatal": 1}
        assert time.monotonic() - began < 30
