"""Runs on Spark: one pass for many queries and sinks; going on, stopping, failing, watched."""

import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

import windrow as wr
from tests.postgres import server
from windrow.cli.main import windrow
from windrow.core.errors import BindError, InputError, RunError, SemanticError, StateError
from windrow.runtime.spark.database import SparkDatabase
from windrow.runtime.spark.metrics import MetricsServer
from windrow.runtime.spark.session import FILE_MANAGER, TOGETHER, checked, improve, run_at_once

pytestmark = pytest.mark.spark

STREAMS = ("a", "b")
QUERIES = {
    "counts": "SELECT k, COUNT(*) AS n FROM a [RANGE 10] GROUP BY k",
    "pairs": "SELECT a.k, b.v FROM a [RANGE 5] JOIN b [RANGE 5] ON a.k = b.k",
    "only_a": "SELECT DISTINCT k FROM a [RANGE 10] WHERE k NOT IN (SELECT k FROM b [RANGE 10])",
    "fresh": "ISTREAM (SELECT k, v FROM b [RANGE 3])",
}


def rows(stream: str, part: int) -> list[dict[str, int]]:
    """Tuples of a part: times `20 * part` to `20 * part + 19`."""
    salt = 3 if stream == "a" else 7
    times = range(20 * part, 20 * part + 20)
    return [{"ts": t, "k": t * salt % 6, "v": t % 4} for t in times for _ in range(2)]


class Source:
    """Folders of Parquet files that grow part by part."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.parts = 0
        for stream in STREAMS:
            (folder / stream).mkdir()

    def grow(self, parts: int = 1) -> None:
        for _ in range(parts):
            for stream in STREAMS:
                table = pa.Table.from_pylist(rows(stream, self.parts))
                pq.write_table(table, self.folder / stream / f"{self.parts}.parquet")
            self.parts += 1
            time.sleep(0.01)  # Spark reads files in the order of their times

    def script(self) -> str:
        streams = [
            f"CREATE STREAM {s} (ts BIGINT, k BIGINT, v BIGINT) USING parquet OPTIONS"
            f" (path '{self.folder}/{s}', maxFilesPerTrigger '1') TIMESTAMP BY ts;\n"
            for s in STREAMS
        ]
        queries = [f"CREATE QUERY {name} AS {text};\n" for name, text in QUERIES.items()]
        return "".join(streams + queries)

    def truth(self, name: str) -> tuple[Counter, Counter | None]:
        """What the engine in one process tells and answers, of what is there so far."""
        with wr.connect() as db:
            for stream in STREAMS:
                db.execute(f"CREATE STREAM {stream} (ts BIGINT, k BIGINT, v BIGINT)")
            query = db.query(QUERIES[name])
            for part in range(self.parts):
                for stream in STREAMS:
                    db.push(stream, rows(stream, part))
            db.drain()
            answer = None if name == "fresh" else bag(query.answer())
            return net(query.changes()), answer


def bag(table: pa.Table) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def net(changes: pa.Table) -> Counter[tuple[object, ...]]:
    total: Counter[tuple[object, ...]] = Counter()
    for ts, sign, *row in (r.values() for r in changes.to_pylist()):
        total[ts, *row] += int(sign)
    return Counter({key: n for key, n in total.items() if n})


@pytest.fixture
def source(tmp_path: Path) -> Source:
    (tmp_path / "in").mkdir()
    return Source(tmp_path / "in")


@pytest.fixture
def db(spark: SparkSession, source: Source, tmp_path: Path) -> Iterator[SparkDatabase]:
    with wr.connect(engine="spark", checkpoint=str(tmp_path / "state"), spark=spark) as db:
        db.execute(source.script())
        yield db


def test_one_pass_serves_all_queries_and_goes_on_where_it_was(
    db: SparkDatabase, source: Source, tmp_path: Path, spark: SparkSession
) -> None:
    source.grow(2)
    given: dict[int, pa.Table] = {}
    sinks = {
        "counts": f"duckdb:{tmp_path}/answers.duckdb",
        "pairs": f"parquet:{tmp_path}/out",
        "only_a": "memory",
        "fresh": lambda table, batch: given.__setitem__(batch, table),
    }
    run = db.start(sinks, drain=True)
    assert run.wait()
    progress = run.progress()
    assert progress.total_rows == 4 * 40, "each stream is read once, for all queries"
    assert (progress.active, progress.batches) == (False, 2)
    assert {q.clock for q in progress.queries.values()} == {39}
    check(db, source)
    assert net(pa.concat_tables(given.values())) == source.truth("fresh")[0]

    source.grow(1)
    db.start(sinks, drain=True).wait()
    check(db, source)
    assert net(db.query("pairs").changes()) == source.truth("pairs")[0]
    assert net(pa.concat_tables(given.values())) == source.truth("fresh")[0]
    with pytest.raises(SemanticError, match="stream"):
        db.query("fresh").answer()

    db.start(sinks, drain=True).wait()
    check(db, source)

    with wr.connect(engine="spark", checkpoint=str(tmp_path / "state"), spark=spark) as other:
        other.execute(source.script().replace("[RANGE 10] GROUP", "[RANGE 11] GROUP"))
        with pytest.raises(StateError, match="another program"):
            other.start(sinks)
    with wr.connect(engine="spark", checkpoint=str(tmp_path / "anew"), spark=spark) as other:
        other.execute(source.script())
        with pytest.raises(RunError, match="another run"):
            other.start(sinks)


def check(db: SparkDatabase, source: Source) -> None:
    for name in ("counts", "pairs", "only_a"):
        assert bag(db.query(name).answer()) == source.truth(name)[1], name


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with server() as url:
        yield url


def test_a_sink_that_fails_is_told_in_its_own_words_and_nothing_is_lost(
    db: SparkDatabase, source: Source, tmp_path: Path, postgres: str
) -> None:
    source.grow(3)
    healthy: list[int] = []

    def moody(table: pa.Table, batch: int) -> None:
        if len(healthy) == 1:
            healthy.append(batch)
            raise OSError("the shelf is full")
        healthy.append(batch)

    sinks = {
        "counts": f"json:{tmp_path}/out",
        "pairs": postgres,
        "fresh": moody,
    }
    with pytest.raises(RunError, match="the shelf is full") as caught:
        db.start(sinks, drain=True).wait()
    assert "\tat " not in str(caught.value)
    db.start(sinks, drain=True).wait()
    assert healthy[1] == healthy[2], "a batch that failed comes again under its number"
    assert net(db.query("counts").changes()) == source.truth("counts")[0]
    assert bag(db.query("pairs").answer()) == source.truth("pairs")[1]


def test_a_run_with_an_interval_is_watched_and_stopped(db: SparkDatabase, source: Source) -> None:
    source.grow(1)
    query = db.query("counts")
    run = query.start(sink="memory", trigger="200 milliseconds")
    with pytest.raises(RunError, match="running already"):
        query.start()
    deadline = time.monotonic() + 120
    while run.progress().batch is None:
        assert run.active or run.wait()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    server = MetricsServer(0, run.progress)
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
        text = answer.read().decode()
    server.close()
    assert "windrow_input_rows_total 40" in text
    assert 'windrow_clock_ticks{query="counts"} 19' in text
    told = query.progress()
    assert told["clock"] == 19
    assert set(told["seconds"]) == {"spark", "transfer", "kernel", "state"}  # type: ignore[arg-type]
    run.stop()
    assert not run.active
    source.grow(1)
    query.start(sink="memory", drain=True).wait()
    assert bag(query.answer()) == source.truth("counts")[1]


def test_a_query_is_a_step_in_somebodys_own_job(
    spark: SparkSession, source: Source, tmp_path: Path
) -> None:
    source.grow(2)
    with wr.connect(engine="spark", checkpoint=str(tmp_path / "state"), spark=spark) as db:
        for stream in STREAMS:
            frame = spark.readStream.schema("ts bigint, k bigint, v bigint")
            db.stream(stream, frame.parquet(str(source.folder / stream)), ts="ts")
        changes = db.query(QUERIES["pairs"]).to_spark()
        assert changes.columns == ["_ts", "_sign", "k", "v"]
        kept = changes.where("_sign > 0").writeStream.format("parquet")
        kept = kept.option("path", str(tmp_path / "out"))
        kept = kept.option("checkpointLocation", str(tmp_path / "spark"))
        kept.trigger(availableNow=True).start().awaitTermination()
        wanted = sum(n for n in source.truth("pairs")[0].values() if n > 0)
        assert 0 < spark.read.parquet(str(tmp_path / "out")).count() <= wanted
        with pytest.raises(InputError, match="not streaming"):
            db.stream("c", spark.range(3))
        with pytest.raises(BindError, match="TIMESTAMP BY"):
            db.stream("a", frame.parquet(str(source.folder / "a")), ts="k")


def test_any_sink_of_spark_takes_changes(
    db: SparkDatabase, source: Source, tmp_path: Path, spark: SparkSession
) -> None:
    source.grow(1)
    options = {"path": str(tmp_path / "out")}
    sinks = {"pairs": "spark:orc", "counts": "memory", "only_a": "noop", "fresh": "noop"}
    db.start(sinks, options=options, drain=True).wait()
    told = spark.read.orc(str(tmp_path / "out")).toArrow()
    assert net(told) == source.truth("pairs")[0]
    assert bag(db.query("counts").answer()) == source.truth("counts")[1]
    with pytest.raises(RunError, match="does not keep"):
        db.query("only_a").answer()
    alone = db.query("only_a").start("spark:parquet", options={"path": str(tmp_path / "alone")})
    alone.wait()
    assert spark.read.parquet(str(tmp_path / "alone")).count() > 0


def test_the_command_runs_a_script_and_goes_on(
    spark: SparkSession, source: Source, tmp_path: Path
) -> None:
    assert spark is not None
    source.grow(2)
    script = tmp_path / "job.cql"
    script.write_text(source.script())
    words = ["run", str(script), "--sink", f"parquet:{tmp_path}/out", "--sink", "fresh=console"]
    words += ["--drain"]
    for parts in (0, 1):
        source.grow(parts)
        done = CliRunner().invoke(windrow, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert "done: " in done.output
        told = net(pq.read_table(tmp_path / "out" / "pairs"))
        assert told == source.truth("pairs")[0]
    assert "fresh: " in done.output
    folder = tmp_path / "out" / "counts"
    assert duckdb.sql(f"SELECT sum(_sign) FROM '{folder}/*.parquet'").fetchall() == [
        (sum(source.truth("counts")[1].values()),)  # type: ignore[union-attr]
    ]


def test_tasks_run_at_once_only_where_each_has_a_slot(spark: SparkSession) -> None:
    assert [run_at_once(spark, tasks) for tasks in (1, 2, 3)] == [True, True, False]
    spark.conf.set(TOGETHER, "false")
    try:
        assert not run_at_once(spark, 1)
    finally:
        spark.conf.unset(TOGETHER)


def test_a_session_of_ours_keeps_what_spark_is_configured_with(spark: SparkSession) -> None:
    given = spark.conf.get("spark.app.name")
    improve(spark, {"spark.app.name": "other", "spark.sql.unheard.of": "1"})
    assert spark.conf.get("spark.app.name") == given
    assert spark.conf.get("spark.sql.unheard.of") == "1"
    assert spark.conf.get(FILE_MANAGER, "").endswith("FileSystemBasedCheckpointFileManager")


def test_a_session_in_another_zone_is_refused(spark: SparkSession) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    with pytest.raises(RunError, match="Europe/Berlin"):
        checked(other)
