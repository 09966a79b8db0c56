"""The engines: how each is asked for a workload, and how its answer is read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from windrow_lab.bench.spark import HEAP
from windrow_lab.bench.spark.baselines import HDFS
from windrow_lab.bench.spark.data import Feed
from windrow_lab.peers import environments
from windrow_lab.peers.environments import Environment
from windrow_lab.peers.files import WARM, Files, Size, csv_folder
from windrow_lab.peers.forms import Cannot, bytewax, duckdb, flink, pathway, spark
from windrow_lab.peers.process import PATIENCE
from windrow_lab.peers.tasks import Task

CHECK, TIMED, READ = "check", "timed", "read"
CORES = 2
SPARK_TRIGGERS = 2
"""Micro-batches of Spark's own operators, the first of which is not counted."""
HEADED = "rows.csv"
"""The file of an answer whose first line has the names of its columns."""
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

Request = dict[str, Any]
Kind = Literal["changes", "form", "rows"]
"""What an answer is: windrow's changelog, Polars' form of it, or the rows that peers emit."""


@dataclass(frozen=True, slots=True)
class Job:
    """One engine's work: a workload over its files, the answer to be left in `answer`."""

    task: Task
    files: Files
    size: Size
    answer: Path

    def run(self, kind: str) -> str:
        """Return the name of a run; a process may do those of several workloads."""
        return f"{self.task.name} {kind}"

    def checkpoint(self, kind: str) -> str:
        """Return a folder for the state of a run."""
        return str(self.answer.with_name(f"{self.answer.name}-{kind}-checkpoint"))


@dataclass(frozen=True, slots=True)
class Engine:
    """A peer: the script that drives it, how to ask it, and what it must be known by.

    `shares`: one process can do the runs of several requests, which differ in their runs only.
    `hurried`: it gets no more than `Size.patience`.
    """

    name: str
    title: str
    driver: str
    request: Callable[[Job], Request | Cannot]
    kind: Kind
    note: str
    environment: Environment | None = None
    pace: Literal["fast", "usual", "slow"] = "usual"
    shares: bool = False
    hurried: bool = False
    lags: Callable[[str], int] = lambda _: 0

    def feed(self, files: Files) -> Feed:
        """Return what it is timed on."""
        match self.pace:
            case "fast":
                return files.ours
            case "usual":
                return files.peers
            case "slow":
                return files.check

    def patience(self, size: Size) -> float:
        """Return the seconds that it gets for a workload."""
        return size.patience if self.hurried else PATIENCE


def in_process(job: Job) -> Request:
    """Ask windrow in its own process."""
    runs: list[Request] = [
        {"name": job.run(CHECK), "folder": str(job.files.check.folder), "answer": str(job.answer)}
    ]
    timed = {"name": job.run(TIMED), "folder": str(job.files.ours.folder), "answer": None}
    runs += [timed] * job.size.repeats
    return {
        "reads": job.task.reads,
        "text": job.task.sql(job.files.ours.scale),
        "runs": runs,
    }


def on_spark(job: Job, feed: Feed, warm: int, text: str) -> Request:
    """Ask for micro-batches on a session of Spark's own."""
    check, timed = (
        {
            "name": job.run(kind),
            "reads": job.task.reads,
            "text": text,
            "folder": str(read.folder),
            "checkpoint": job.checkpoint(kind),
            "answer": str(job.answer) if kind == CHECK else None,
            "warm": warm,
        }
        for kind, read in ((CHECK, job.files.check), (TIMED, feed))
    )
    return {
        "master": f"local[{CORES}]",
        "shards": CORES,
        "submit": f"--driver-memory {HEAP} pyspark-shell",
        "runs": [check, timed],
    }


def windrow_on_spark(job: Job) -> Request:
    """Ask windrow on Spark."""
    return on_spark(job, job.files.ours, WARM, job.task.sql(job.files.ours.scale))


def spark_with(store: str) -> Callable[[Job], Request | Cannot]:
    """Ask Spark's own operators, with a state store, for the first of the peers' triggers."""

    def ask(job: Job) -> Request | Cannot:
        text = spark.select(job.task.name, job.files.peers.scale)
        if isinstance(text, Cannot):
            return text
        feed = job.files.peers.first(SPARK_TRIGGERS)
        return on_spark(job, feed, 1, text) | {"store": store}

    return ask


def flink_sql(job: Job) -> Request:
    """Ask Flink."""
    task, columns = job.task, flink.columns(job.task.name, job.task.output)
    runs = []
    for kind, feed in ((CHECK, job.files.check), (TIMED, job.files.peers)):
        text = f"INSERT INTO emitted {flink.select(task.name, feed.scale)}"
        sources = [flink.source(stream, csv_folder(feed)) for stream in task.reads]
        answer = job.answer if kind == CHECK else None
        runs.append(flink.run(job.run(kind), text, sources, columns, answer))
    if task.name == "W1":
        runs.append(flink.reading(job.run(READ), csv_folder(job.files.peers), task.reads))
    return {"settings": flink.SETTINGS, "runs": runs}


def duckdb_sql(job: Job) -> Request:
    """Ask DuckDB."""
    check, timed = (
        {
            "name": job.run(kind),
            "statements": duckdb.views(feed.folder, job.task.reads),
            "query": duckdb.select(job.task.name, feed.scale),
            "answer": str(job.answer) if kind == CHECK else None,
        }
        for kind, feed in ((CHECK, job.files.check), (TIMED, job.files.ours))
    )
    return {"threads": CORES, "runs": [check, *[timed] * job.size.repeats]}


def polars_form(job: Job) -> Request:
    """Ask Polars."""
    check, timed = (
        {
            "name": job.run(kind),
            "folder": str(feed.folder),
            "scale": asdict(feed.scale),
            "answer": str(job.answer) if kind == CHECK else None,
        }
        for kind, feed in ((CHECK, job.files.check), (TIMED, job.files.ours))
    )
    runs = [check, *[timed] * job.size.repeats]
    return {"task": job.task.name, "reads": job.task.reads, "runs": runs}


def in_flows(
    cannot: dict[str, Cannot], folder: Callable[[Feed], Path]
) -> Callable[[Job], Request | Cannot]:
    """Ask an engine whose driver holds the workloads, on few tuples."""

    def ask(job: Job) -> Request | Cannot:
        if job.task.name in cannot:
            return cannot[job.task.name]
        feed = job.files.check
        each = {
            "folder": str(folder(feed)),
            "window": feed.scale.window,
            "slide": feed.scale.slide,
        }
        check = {"name": job.run(CHECK), "answer": str(job.answer), **each}
        timed = {"name": job.run(TIMED), "answer": None, **each}
        return {"task": job.task.name, "threads": CORES, "runs": [check, timed]}

    return ask


def headed_csv(feed: Feed) -> Path:
    """Return the folder of CSV files with headers."""
    return csv_folder(feed, header=True)


def parquet(feed: Feed) -> Path:
    """Return the folder of Parquet files."""
    return feed.folder


def spark_lag(workload: str) -> int:
    """Return how many windows Spark's watermarks hold an answer back."""
    return spark.LAGS.get(workload, 0)


WINDROW = Engine(
    "windrow",
    "windrow, in process",
    "run_windrow.py",
    in_process,
    "changes",
    "one core, but to write results of W7; batches of 100,000 tuples from Parquet",
    pace="fast",
)
ON_SPARK = Engine(
    "windrow-spark",
    "windrow on Spark",
    "run_windrow_spark.py",
    windrow_on_spark,
    "changes",
    "local[2], two shards, Parquet; the median micro-batch after the first two, state durable",
    pace="fast",
    shares=True,
)
PEERS = (
    Engine(
        "spark",
        "Spark",
        "run_spark.py",
        spark_with(HDFS),
        "rows",
        "its own operators, local[2], HDFS state store, Parquet; "
        "the second of two micro-batches, state durable",
        shares=True,
        lags=spark_lag,
    ),
    Engine(
        "spark-rocksdb",
        "Spark, RocksDB",
        "run_spark.py",
        spark_with(ROCKSDB),
        "rows",
        "the same with RocksDB as state store",
        shares=True,
        hurried=True,
        lags=spark_lag,
    ),
    Engine(
        "flink",
        "Flink",
        "run_flink.py",
        flink_sql,
        "rows",
        "SQL in streaming mode, parallelism 2, state on the heap, object reuse, no checkpoints; "
        "two CSV files a stream, as its Python package reads no Parquet",
        environments.FLINK,
        shares=True,
    ),
    Engine(
        "pathway",
        "Pathway",
        "run_pathway.py",
        in_flows(pathway.CANNOT, headed_csv),
        "rows",
        "two threads; the few tuples of the check, CSV files read as one finished batch",
        environments.PATHWAY,
        pace="slow",
        hurried=True,
    ),
    Engine(
        "bytewax",
        "Bytewax",
        "run_bytewax.py",
        in_flows(bytewax.CANNOT, parquet),
        "rows",
        "one worker, folds in Python; the few tuples of the check",
        environments.BYTEWAX,
        pace="slow",
        hurried=True,
    ),
    Engine(
        "duckdb",
        "DuckDB (batch)",
        "run_duckdb.py",
        duckdb_sql,
        "rows",
        "the whole of the Parquet files at once, two threads: not a stream",
        pace="fast",
    ),
    Engine(
        "polars",
        "Polars (batch)",
        "run_polars.py",
        polars_form,
        "form",
        "the whole of the Parquet files at once, all cores: not a stream",
        pace="fast",
    ),
)
ENGINES = {engine.name: engine for engine in (WINDROW, ON_SPARK, *PEERS)}


def python_of(engine: Engine) -> str:
    """Return the Python that runs an engine: its own, or ours."""
    return str(engine.environment.python) if engine.environment else sys.executable


def difference(engine: Engine, job: Job, changes: Path) -> str:
    """Return how the answer of the check run differs; `changes` is windrow's of the same."""
    feed = job.files.check
    frames = {name: pl.DataFrame(table) for name, table in feed.tables.items()}
    if engine.kind == "rows":
        found = read_rows(job.answer, job.task.output.columns)
        lag = engine.lags(job.task.name) * feed.scale.window
        return job.task.output.difference(found, frames, feed.scale, lag)
    check = job.task.check(feed.scale)
    own = job.answer if engine.kind == "changes" else changes
    check.take_changes(pl.read_parquet(own / "**/*.parquet").sort("_ts").to_arrow())
    pieces = job.task.form(frames, feed.scale)
    if engine.kind == "form":
        pieces = iter([pl.read_parquet(job.answer / "*.parquet")])
    for piece in pieces:
        check.take_other(piece)
    return check.difference()


def read_rows(folder: Path, columns: tuple[str, ...]) -> pl.DataFrame:
    """Return an answer that was left as Parquet, as one CSV file with names, or as CSV without."""
    if any(folder.glob("*.parquet")):
        return pl.read_parquet(folder / "*.parquet")
    if (folder / HEADED).exists():
        return pl.read_csv(folder / HEADED)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    frame = pl.concat([pl.read_csv(path, has_header=False, new_columns=columns) for path in files])
    if frame.schema[columns[0]] == pl.String:
        time = pl.col(columns[0]).str.to_datetime(time_unit="ms").cast(pl.Int64)
        return frame.with_columns(time)
    return frame
