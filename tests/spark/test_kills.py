"""A run that is killed again and again, everywhere, tells each change once.

One job over two streams, file by file, is killed with SIGKILL: its driver with its JVM, its Python
workers, and its shards' processes at each of their named places. What is in the Parquet folders at
the end is what the engine in one process tells.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from tests.spark.nursery import surroundings
from windrow.cli.main import windrow
from windrow.generate.files import write_piece
from windrow.runtime.shards.faults import POINTS

pytestmark = pytest.mark.spark

SEED = 20261116
FILES = 16
ROWS = 40
DRIVER_KILLS = 3
ENOUGH = 30
INTERRUPTED = 1
"""The life that ends by Ctrl-C."""
MASTER = "local[2,16]"
"""A task may meet many deaths in one batch here, and is tried again each time."""
START = datetime(2026, 1, 1, tzinfo=UTC)
RARE = {"before-snapshot", "half-snapshot", "before-snapshot-rename", "after-snapshot"}
"""Places that a small state never comes to: no snapshot is worth its writing."""
NEVER = {"server-start", "during-removal", "half-replay", *RARE}
NEVER |= {point for point in POINTS if point.startswith("driver-")}

LARGE_FILES = 6
LARGE_ROWS = 200_000
"""With a text of sixty characters: enough for a snapshot after every batch."""
LARGE_QUERIES = """
CREATE QUERY present AS SELECT DISTINCT k FROM a [RANGE 10 SECONDS];
CREATE QUERY marked AS SELECT k, COUNT(*) AS n FROM a [RANGE 10 SECONDS]
  WHERE v LIKE '000%' GROUP BY k;
"""

QUERIES = """
CREATE QUERY counts AS SELECT k, COUNT(*) AS n FROM a [RANGE 20 SECONDS] GROUP BY k;
CREATE QUERY quiet AS SELECT DISTINCT a.k FROM a [RANGE 10 SECONDS]
  WHERE NOT EXISTS (SELECT * FROM b [RANGE 10 SECONDS] WHERE b.k = a.k);
CREATE QUERY both AS SELECT a.k, COUNT(*) AS n
  FROM a [RANGE 5 SECONDS] JOIN b [RANGE 5 SECONDS] ON a.v = b.v GROUP BY a.k;
"""


ONE_STAGE = """
CREATE QUERY counts AS SELECT k, COUNT(*) AS n FROM a [RANGE 20 SECONDS] GROUP BY k;
"""
"""All of it is done by tasks that run at once: Spark repeats none of them."""


def write_script(folder: Path, queries: str = QUERIES, files: int = FILES) -> Path:
    rng = random.Random(SEED)
    types = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("k", pa.int64()), ("v", pa.string())])
    lines = []
    for stream in "ab":
        (folder / stream).mkdir()
        for number in range(files):
            seconds = sorted(rng.uniform(number * 5, number * 5 + 5) for _ in range(ROWS))
            rows = [
                {"ts": START + timedelta(seconds=s), "k": rng.randrange(9), "v": rng.choice("xyz")}
                for s in seconds
            ]
            path = folder / stream / f"{number:03}.parquet"
            pq.write_table(pa.Table.from_pylist(rows, types), path)
            os.utime(path, (number + 1, number + 1))
        lines.append(
            f"CREATE STREAM {stream} (ts TIMESTAMP, k BIGINT, v STRING) USING parquet"
            f" OPTIONS (path '{folder}/{stream}', maxFilesPerTrigger '1') TIMESTAMP BY ts;"
        )
    script = folder / "job.cql"
    script.write_text("\n".join(lines) + queries)
    return script


def write_large_script(folder: Path) -> Path:
    """Write many rows of which few are told."""
    rng = np.random.default_rng(SEED)
    words = pa.array([f"{n:03}{'x' * 60}" for n in range(1000)])
    for number in range(LARGE_FILES):
        seconds = np.sort(
            rng.integers(number * 5_000_000, number * 5_000_000 + 5_000_000, LARGE_ROWS)
        )
        ts = pa.array(seconds + int(START.timestamp()) * 1_000_000)
        keys = rng.integers(0, 5, LARGE_ROWS) + np.where(rng.random(LARGE_ROWS) < 1e-4, 10, 0)
        text = words.take(pa.array(rng.integers(0, 1000, LARGE_ROWS)))
        table = pa.table({"ts": ts.cast(pa.timestamp("us", tz="UTC")), "k": keys, "v": text})
        write_piece(folder / "a" / f"{number:03}.parquet", table, number + 1)
    script = folder / "job.cql"
    script.write_text(
        "CREATE STREAM a (ts TIMESTAMP, k BIGINT, v STRING) USING parquet"
        f" OPTIONS (path '{folder}/a', maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 3 SECONDS;"
        + LARGE_QUERIES
    )
    return script


def told(folder: Path) -> dict[str, Counter[tuple[object, ...]]]:
    """Each query's changes, netted per instant: rows by how often they come or go then."""
    found = {}
    for name in sorted(path.name for path in folder.glob("[a-z]*")):
        net: Counter[tuple[object, ...]] = Counter()
        for row in pq.read_table(folder / name).to_pylist():
            sign = int(row.pop("_sign"))
            net[tuple(row.values())] += sign
        found[name] = Counter({row: n for row, n in net.items() if n})
    return found


@dataclass
class Job:
    """The command under test, and who is killed in it."""

    folder: Path
    script: Path
    rng: random.Random
    environ: dict[str, str] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)

    def start(self, faults: list[str]) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "windrow", "run", str(self.script), "--shards", "2"]
        words += ["--checkpoint", str(self.folder / "state"), "--master", MASTER]
        words += ["--sink", f"parquet:{self.folder / 'out'}", "--drain"]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                words,
                env={**os.environ, **self.environ, "WINDROW_FAULT": ",".join(faults)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def faults(self, life: int, points: list[str]) -> list[str]:
        """Return places to die at, each once: early in this life, and not all at once."""
        return [
            f"{point}:{self.rng.randint(1, 2)}:{self.folder}/died-{life}-{point}"
            for point in points
        ]

    def committed(self) -> int:
        commits = self.folder / "state" / "spark" / "commits"
        names = [p.name for p in commits.glob("*") if p.name.isdecimal()]
        return max(map(int, names), default=-1)

    def follow(self, process: subprocess.Popen[bytes], until: int) -> None:
        """Let it work up to a batch, and a random while into the next; kill a worker on the way."""
        victim = self.committed() + self.rng.randint(1, 2)
        spared = False
        while process.poll() is None and self.committed() < until:
            if not spared and self.committed() >= victim:
                spared = self.kill_worker(process.pid)
            time.sleep(0.05)
        time.sleep(self.rng.uniform(0, 0.6))

    def kill_worker(self, driver: int) -> bool:
        """Kill one Python worker that is a descendant of the driver."""
        workers = [p for p in descendants(driver) if "pyspark.worker" in command_of(p)]
        leaves = [p for p in workers if not children_of(p)]
        if not leaves:
            return False
        kill(self.rng.choice(sorted(leaves)))
        self.kills["worker"] += 1
        return True

    def interrupt(self, process: subprocess.Popen[bytes]) -> None:
        """Stop it as Ctrl-C does."""
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert "the same command goes on" in (self.folder / "log").read_text()

    def kill_driver(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the driver and its JVM at the same moment."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            self.kills["driver"] += 1
        process.wait()


def children_of(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(c) for task in tasks for c in (task / "children").read_text().split()]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    found = children_of(pid)
    return found + [deeper for child in found for deeper in descendants(child)]


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def run_locally(script: Path, folder: Path) -> None:
    words = ["run", str(script), "--engine", "local", "--sink", f"parquet:{folder}"]
    assert CliRunner().invoke(windrow, words, catch_exceptions=False).exit_code == 0


def test_a_batch_that_spark_gives_up_for_one_task_is_run_again(tmp_path: Path) -> None:
    script = write_script(tmp_path, ONE_STAGE, files=4)
    run_locally(script, tmp_path / "expected")
    job = Job(tmp_path, script, random.Random(SEED))
    process = job.start(job.faults(0, ["client-sent", "after-step"]))
    try:
        assert process.wait(300) == 0, (tmp_path / "log").read_text()[-4000:]
    finally:
        job.kill_driver(process)
    assert len(list(tmp_path.glob("died-*"))) == 2
    assert "its batch is run again" in (tmp_path / "log").read_text()
    assert told(tmp_path / "out") == told(tmp_path / "expected")


def test_thirty_kills_change_nothing(tmp_path: Path) -> None:
    """Who is started again is forked: after a kill that is what takes longest otherwise."""
    script = write_script(tmp_path)
    run_locally(script, tmp_path / "expected")
    job = Job(tmp_path, script, random.Random(SEED), surroundings())
    points = [p for p in POINTS if p not in NEVER]
    job.rng.shuffle(points)
    share = -(-len(points) * 2 // (DRIVER_KILLS + 1))
    plenty = points * 2
    for life in range(DRIVER_KILLS + 1):
        faults = job.faults(life, list(dict.fromkeys(plenty[life * share : (life + 1) * share])))
        last = life == DRIVER_KILLS
        until = FILES * 9 if last else (life + 1) * FILES // (DRIVER_KILLS + 1)
        process = job.start(faults)
        try:
            job.follow(process, until)
            if life == INTERRUPTED:
                job.interrupt(process)
        finally:
            job.kill_driver(process)
    assert process.returncode == 0, (tmp_path / "log").read_text()[-4000:]
    job.kills["shard or client"] = len(list(tmp_path.glob("died-*")))
    assert told(tmp_path / "out") == told(tmp_path / "expected")
    assert sum(job.kills.values()) >= ENOUGH, dict(job.kills)


SNAPSHOTS = [*sorted(RARE), "during-removal", "half-replay", "between-slices"]
IN_DRAIN = ["server-start", "before-step", "after-step", "before-sync", "half-answer"]
"""Places that a shard meets first in the drain, if its life begins with one."""
LIVES = (
    [*SNAPSHOTS, "driver-drain-noted"],
    [*IN_DRAIN, "driver-drain-given"],
    ["after-answer"],
)
"""Where to die in each life. The second and the third begin with what the one before left."""


@pytest.mark.slow
def test_kills_in_snapshots_and_in_the_drain_change_nothing(tmp_path: Path) -> None:
    script = write_large_script(tmp_path)
    run_locally(script, tmp_path / "expected")
    job = Job(tmp_path, script, random.Random(SEED), {"WINDROW_SNAPSHOT_ROWS": "1"})
    ends = []
    for life, points in enumerate(LIVES):
        process = job.start([f"{p}:1:{tmp_path}/died-{life}-{p}" for p in points])
        try:
            ends.append(process.wait(300))
        finally:
            job.kill_driver(process)
    log = (tmp_path / "log").read_text()[-4000:]
    assert ends == [-signal.SIGKILL, -signal.SIGKILL, 0], log
    died = {path.name for path in tmp_path.glob("died-*")}
    assert died == {f"died-{life}-{p}" for life, points in enumerate(LIVES) for p in points}, log
    assert told(tmp_path / "out") == told(tmp_path / "expected")
