"""From `windrow run` to the first answer, against a bare PySpark job that copies the same file.

Each is a process of its own, by turns. What counts is the fastest of some: a machine that does
something else can only make them slower. The CPU time is that of all processes that were started.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from windrow_lab.bench.looking import Looking
from windrow_lab.contest.report import Bar, Facts, verdict_of

if TYPE_CHECKING:
    from windrow_lab.bench.spark.bars import Bench

STARTUP_BAR = 1 / 1.5
COLD_SECONDS = 15.0
"""What the first start on a machine, which compiles kernels, may take longer."""
REPEATS = 3
PATIENCE = 600.0
MARK = "WINDROW_BENCH_MARK"
ROWS, SOURCES = 1_000, 7

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, src STRING, bytes BIGINT)
  USING parquet OPTIONS (path '{data}') TIMESTAMP BY ts;
CREATE QUERY q AS SELECT src, SUM(bytes) AS bytes FROM s [RANGE 1 HOUR] GROUP BY src;
"""
BARE = """
import sys
from pyspark.sql import SparkSession
data, out, checkpoint, master = sys.argv[1:]
spark = SparkSession.builder.master(master).getOrCreate()
rows = spark.readStream.schema("ts timestamp, src string, bytes bigint").parquet(data)
writer = rows.writeStream.format("parquet").option("path", out)
query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
query.awaitTermination()
"""


@dataclass(frozen=True, slots=True)
class Start:
    """One start: seconds until the answer was there, CPU seconds until the end."""

    seconds: float
    cpu: float
    difference: str


def startup(bench: Bench) -> Iterator[Bar]:
    """A tiny script with warm kernels, then with none compiled."""
    folder = bench.folder / "startup"
    expected = write_rows(folder / "data")
    (folder / "q.cql").write_text(SCRIPT.format(data=folder / "data"))
    ours, bare = [], []
    start_windrow(bench, "warm-up", expected)  # kernels are compiled, files are in memory
    for number in range(REPEATS):
        bare.append(start_bare(bench, f"bare-{number}"))
        ours.append(start_windrow(bench, f"run-{number}", expected))
    best, least = (min(starts, key=lambda s: s.seconds) for starts in (ours, bare))
    yield startup_bar("startup", STARTUP_BAR, best, least, ours)
    cold = start_windrow(bench, "cold", expected, cache=str(folder / "kernels"))
    more = cold.seconds - best.seconds
    facts: Facts = {
        "against": f"{more:.1f} s more than with warm kernels; at most {COLD_SECONDS:g} s",
        "cpu_seconds": cold.cpu,
    }
    ratio = COLD_SECONDS / max(more, 1e-3)
    verdict = verdict_of(cold.difference)
    yield Bar("startup_cold", ratio, 1.0, cold.seconds, 0.0, verdict, {}, facts)


def startup_bar(name: str, bar: float, best: Start, least: Start, ours: list[Start]) -> Bar:
    """Return the bar of the fastest starts."""
    facts: Facts = {
        "against": f"a bare PySpark job, {least.seconds:.1f} s",
        "cpu_seconds": min(s.cpu for s in ours),
        "against_cpu_seconds": least.cpu,
    }
    difference = next((s.difference for s in ours if s.difference), "")
    ratio = least.seconds / best.seconds
    work: Facts = {"seconds_a_start": [s.seconds for s in ours]}
    return Bar(name, ratio, bar, best.seconds, 0.0, verdict_of(difference), work, facts)


def write_rows(folder: Path) -> dict[str, int]:
    """Write the input; return the last answer."""
    folder.mkdir(parents=True)
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    ts = [noon + timedelta(seconds=n) for n in range(ROWS)]
    src = [f"host {n % SOURCES}" for n in range(ROWS)]
    times = pa.array(ts, pa.timestamp("us", tz="UTC"))
    table = pa.table({"ts": times, "src": src, "bytes": pa.array(range(ROWS), pa.int64())})
    pq.write_table(table, folder / "1.parquet")
    return {f"host {k}": sum(range(k, ROWS, SOURCES)) for k in range(SOURCES)}


def start_windrow(
    bench: Bench, name: str, expected: dict[str, int], cache: str | None = None
) -> Start:
    """Run the script; check the answer that its files fold to."""
    folder = bench.folder / "startup"
    out = folder / f"{name}-out"
    master = bench.session.sparkContext.master
    command = [sys.executable, "-m", "windrow", "run", str(folder / "q.cql"), "--master", master]
    command += ["--checkpoint", str(folder / f"{name}-checkpoint"), "--sink", f"parquet:{out}"]
    settings = {} if cache is None else {"NUMBA_CACHE_DIR": cache}
    seconds, cpu = timed(command, out / "q", settings)
    changes = pq.read_table(out / "q").group_by(["src", "bytes"]).aggregate([("_sign", "sum")])
    answer = {r["src"]: r["bytes"] for r in changes.to_pylist() if r["_sign_sum"] > 0}
    return Start(seconds, cpu, "" if answer == expected else f"the answer is {answer}")


def start_bare(bench: Bench, name: str) -> Start:
    """Run the bare job."""
    folder = bench.folder / "startup"
    master = bench.session.sparkContext.master
    out = folder / f"{name}-out"
    arguments = [str(folder / "data"), str(out), str(folder / f"{name}-checkpoint"), master]
    seconds, cpu = timed([sys.executable, "-c", BARE, *arguments], out, {})
    return Start(seconds, cpu, "" if pq.read_table(out).num_rows == ROWS else "rows are missing")


def timed(command: list[str], out: Path, settings: dict[str, str]) -> tuple[float, float]:
    """Run a command; return the seconds until it has written a file, and its CPU seconds."""
    mark = uuid4().hex
    environment = {k: v for k, v in os.environ.items() if k != "PYSPARK_SUBMIT_ARGS"}
    environment |= {MARK: mark, **settings}
    began = time.monotonic()
    with Processes(mark) as watched:
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        seconds = until_written(out, process, began)
        said, _ = process.communicate(timeout=PATIENCE)
    if process.returncode:
        raise RuntimeError(said.decode(errors="replace"))
    return seconds, watched.cpu


def until_written(out: Path, process: subprocess.Popen[bytes], began: float) -> float:
    """Return the seconds until the first visible file is there."""
    while time.monotonic() - began < PATIENCE:
        if any(out.glob("[!._]*.parquet")):
            break
        if process.poll() is not None and not any(out.glob("[!._]*.parquet")):
            break
        time.sleep(0.01)
    return time.monotonic() - began


@dataclass
class Processes(Looking):
    """Adds up the CPU time of all processes with a mark in their environment."""

    mark: str
    seen: dict[str, float] = field(default_factory=dict)
    seconds = 0.2

    @property
    def cpu(self) -> float:
        """Seconds of all that were seen, up to when they were seen last."""
        return sum(self.seen.values())

    def look(self) -> None:
        """Note what each process has used."""
        tick, wanted = os.sysconf("SC_CLK_TCK"), f"{MARK}={self.mark}".encode()
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (place / "environ").read_bytes():
                    fields = (place / "stat").read_text().rpartition(")")[2].split()
                    self.seen[place.name] = (int(fields[11]) + int(fields[12])) / tick
            except OSError:
                continue
