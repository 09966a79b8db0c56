"""Random histories of runs, every sink compared with DuckDB over the rows that count.

    python -m tests.spark.histories --count 200 --seed 1

A history is a list of actions on one checkpoint: files arrive, in time, late, drifted or mended;
runs read them and end, are stopped, interrupted, terminated, killed, or find the disk full; a
second run is refused. After every run that came to its end, and at the end of the history, each
sink must hold the answer that DuckDB gives, and each drifted file must be among the dead letters.

To add an action, write a function of the `World` and put it into `ACTIONS` with its weight. A file
that no query may use is written with a `damage`.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import click
import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow as wr
from tests.postgres import server
from tests.spark.damage import Damage, cut, empty, garbage, reals, texts, torn_page
from tests.spark.nursery import surroundings
from windrow.core.errors import RunError
from windrow.runtime.shards.client import Shards
from windrow.runtime.spark.database import SparkDatabase
from windrow.runtime.spark.dead import read_dead
from windrow.runtime.spark.folder import RunFolder
from windrow.runtime.spark.run import Run
from windrow.runtime.spark.session import open_session

Rows = Counter[tuple[object, ...]]

STREAMS = ("a", "b")
SLACK = 3
KEYS = 4
BEFORE = -(1 << 40)
PATIENCE = 240.0
DISK_SIZE = "256m"
FULL = re.compile("disk is full|No space left on device|database or disk is full", re.I)
TYPES = pa.schema([("ts", pa.int64()), ("k", pa.int64()), ("v", pa.int64())])

QUERIES = {
    "counts": "SELECT k, COUNT(*) AS n FROM a [RANGE 10] GROUP BY k",
    "pairs": "SELECT a.k, b.v FROM a [RANGE 5] JOIN b [RANGE 5] ON a.k = b.k",
    "only_a": "SELECT DISTINCT k FROM a [RANGE 10] WHERE k NOT IN (SELECT k FROM b [RANGE 10])",
    "fresh": "ISTREAM (SELECT ts AS born, k, v FROM b [RANGE 3])",
}
READS = {"counts": "a", "pairs": "ab", "only_a": "ab", "fresh": "b"}
TRUTH = {
    "counts": "SELECT k, count(*) FROM a WHERE ts <= {now} AND {now} < ts + 10 GROUP BY k",
    "pairs": "SELECT a.k, b.v FROM a JOIN b ON a.k = b.k WHERE a.ts <= {now} AND {now} < a.ts + 5"
    " AND b.ts <= {now} AND {now} < b.ts + 5",
    "only_a": "SELECT DISTINCT k FROM a WHERE ts <= {now} AND {now} < ts + 10 AND k NOT IN"
    " (SELECT k FROM b WHERE ts <= {now} AND {now} < ts + 10)",
    "fresh": "SELECT ts, ts, k, v FROM b WHERE ts <= {now}",
}
"""What each query answers at an instant, as DuckDB reads it. A stream has all its rows and _ts."""


@dataclass(slots=True)
class World:
    """One checkpoint with its input and its sinks, and what has happened to them.

    Input, checkpoint and sinks are on one `disk`, which has a size of its own where it could be
    mounted.
    """

    folder: Path
    rng: random.Random
    spark: SparkSession
    postgres: str
    files: dict[str, bool] = field(default_factory=dict)  # path: whether its rows count
    drifted: dict[str, pa.Table] = field(default_factory=dict)  # path: what it should have held
    can_fill: bool = False
    newest: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STREAMS, 0))
    drained: set[int] = field(default_factory=set)  # batches after which streams were closed
    given: dict[tuple[str, int], pa.Table] = field(default_factory=dict)
    happened: list[str] = field(default_factory=list)

    @property
    def disk(self) -> Path:
        """Where everything is that a run reads and writes."""
        return self.folder / "disk"

    @property
    def state(self) -> Path:
        """The checkpoint."""
        return self.disk / "state"

    @property
    def run_folder(self) -> RunFolder:
        """The checkpoint as a run sees it."""
        return RunFolder(str(self.state))

    def script(self) -> str:
        """Return the declarations and queries."""
        streams = [
            f"CREATE STREAM {s} (ts BIGINT, k BIGINT, v BIGINT) USING parquet OPTIONS"
            f" (path '{self.disk}/in/{s}', maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK {SLACK};"
            for s in STREAMS
        ]
        queries = [f"CREATE QUERY {name} AS {text};" for name, text in QUERIES.items()]
        return "\n".join(streams + queries)

    def write(self, stream: str, times: list[int], damage: Damage | None = None) -> None:
        """Let a file of random rows arrive, damaged or not."""
        rows = [{"ts": t, "k": self.rng.randrange(KEYS), "v": self.rng.randrange(9)} for t in times]
        self.write_table(stream, pa.Table.from_pylist(rows, TYPES), damage)

    def write_table(self, stream: str, table: pa.Table, damage: Damage | None = None) -> None:
        """Let a file arrive; Spark reads files in the order of their times."""
        number = len(self.files)
        path = self.disk / "in" / stream / f"{number:04}.parquet"
        hidden = path.with_name(f".{path.name}")
        pq.write_table(table, hidden)
        if damage is not None:
            damage(hidden)
            self.drifted[str(path)] = table
        os.utime(hidden, (1_700_000_000 + number, 1_700_000_000 + number))
        hidden.rename(path)
        self.files[str(path)] = damage is None

    def sinks(self) -> list[str]:
        """Return the sinks that every query has in every run."""
        out = self.disk
        files = [f"parquet:{out}/parquet", f"json:{out}/json", f"duckdb:{out}/answers.duckdb"]
        return [*files, self.postgres]

    @contextmanager
    def database(self) -> Iterator[SparkDatabase]:
        """Open a database as a new process would."""
        with wr.connect(engine="spark", checkpoint=str(self.state), spark=self.spark) as db:
            db.execute(self.script())
            yield db

    def start(self, db: SparkDatabase, **options: Any) -> Run:
        """Start all queries into all sinks, and a function."""

        def take(name: str) -> Callable[[pa.Table, int], None]:
            return lambda table, version: self.given.__setitem__((name, version), table)

        return db.start(sinks={n: [*self.sinks(), take(n)] for n in QUERIES}, **options)

    @contextmanager
    def command(self, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run the command in a process group of its own, which does not outlive the block."""
        script = self.folder / "job.cql"
        script.write_text(self.script())
        line = [sys.executable, "-m", "windrow", "run", str(script), "--master", "local[2]"]
        line += ["--checkpoint", str(self.state), *words]
        line += [word for sink in self.sinks() for word in ("--sink", sink)]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                line,
                env={**os.environ, **surroundings()},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def log(self) -> str:
        """Return what the commands have printed."""
        path = self.folder / "log"
        return path.read_text() if path.exists() else ""

    def wait_for_batch(self, number: int, alive: Callable[[], bool]) -> None:
        """Wait until a batch is committed, or nobody is there to do it."""
        deadline = time.monotonic() + PATIENCE
        while alive() and self.run_folder.last_batch() < number:
            assert time.monotonic() < deadline, f"no batch {number}: {self.log()[-2000:]}"
            time.sleep(0.05)

    def note_drain(self) -> None:
        """Remember the last end of input; a run finishes what a killed one has begun."""
        drain = self.run_folder.drain()
        if drain is not None and drain.done:
            self.drained.add((drain.version - 3) // 2)


# -- what may happen ------------------------------------------------------------------------------


def files_arrive(world: World) -> None:
    """Let some files come in time: out of order by no more than SLACK."""
    for _ in range(world.rng.randint(1, 3)):
        stream = world.rng.choice(STREAMS)
        first = world.newest[stream]
        times = [first + world.rng.randint(0, 12) for _ in range(world.rng.randint(1, 12))]
        world.newest[stream] = max(times)
        world.write(stream, times)


def first_files_arrive(world: World) -> None:
    """Let a file come in each stream: a first start reads there what the stream's files hold."""
    for stream in STREAMS:
        world.write(stream, [world.newest[stream] + world.rng.randint(0, 12) for _ in range(4)])
        world.newest[stream] += 12


def late_file(world: World) -> None:
    """Let a file come of which some rows, or all, are behind the clock."""
    stream = world.rng.choice(STREAMS)
    newest = world.newest[stream]
    world.write(stream, [newest - world.rng.randint(0, 20) for _ in range(6)])


def drifted_file(world: World) -> None:
    """Let a file come that cannot be read, or has another type: no query uses a row of it."""
    stream = world.rng.choice(STREAMS)
    damage = world.rng.choice([garbage, cut, empty, torn_page, texts, reals])
    world.write(stream, [world.newest[stream] + world.rng.randint(0, 12) for _ in range(6)], damage)


def mended_file(world: World) -> None:
    """Let a drifted file come back under a new name, whole: its rows count, unless late."""
    if not world.drifted:
        drifted_file(world)
        return
    path = world.rng.choice(sorted(world.drifted))
    stream = Path(path).parent.name
    table = world.drifted[path]
    world.newest[stream] = max(world.newest[stream], *table.column("ts").to_pylist())
    world.write_table(stream, table)


def full_disk(world: World) -> None:
    """Run the command on a disk without room: it fails, says so, and nothing is lost."""
    if not world.can_fill:
        return
    files_arrive(world)
    before = len(world.log())
    filler = world.disk / "filler"
    free = shutil.disk_usage(world.disk).free
    with filler.open("wb") as file:
        file.write(b"\0" * max(0, free - world.rng.randrange(0, 256 << 10)))
    with world.command() as process:
        code = process.wait(PATIENCE)
    filler.unlink()
    text = world.log()[before:]
    world.happened.append(f"code {code}")
    if code != 0:
        assert FULL.search(text), text[-3000:]
        assert "hint: " in text, text[-3000:]
        assert "Traceback" not in text, text[-6000:]


def run_to_end(world: World) -> None:
    """Read all that is there."""
    with world.database() as db:
        assert world.start(db).wait(PATIENCE)
    check(world)


def run_and_drain(world: World) -> None:
    """Read all that is there, and close the streams."""
    with world.database() as db:
        assert world.start(db, drain=True).wait(PATIENCE)
    check(world)


def go_on_and_stop(world: World) -> None:
    """Run with an interval, stop after a batch or in it; shards may be killed meanwhile."""
    with world.database() as db:
        run = world.start(db, trigger="100 milliseconds")
        until = world.run_folder.last_batch() + world.rng.randint(0, 2)
        deadline = time.monotonic() + world.rng.uniform(1, 6)
        world.wait_for_batch(until, lambda: run.active and time.monotonic() < deadline)
        if world.rng.random() < 0.4:
            kill_shards(world, run)
        second_run_is_refused(world, f"in use by process {os.getpid()}|in use by this process")
        time.sleep(world.rng.uniform(0, 0.5))
        run.stop(within=world.rng.choice([0.0, 60.0]))


def kill_shards(world: World, run: Run) -> None:
    """Kill the processes of some shards, in whatever they do."""
    shards = Shards(str(world.state), run.job.program)
    for number in range(shards.count):
        note = shards.place(number).path("alive")
        if world.rng.random() < 0.7 and note.exists() and note.read_text():
            with suppress(ProcessLookupError):
                os.kill(int(note.read_text()), signal.SIGKILL)


def second_run_is_refused(world: World, who: str) -> None:
    """Start a run beside the one at work."""
    with world.database() as db, pytest.raises(RunError, match=who) as refused:
        world.start(db)
    assert "Stop that run first" in refused.value.hint


def interrupted(world: World) -> None:
    """Run the command; Ctrl-C stops it after its batch."""
    before = len(world.log())
    with world.command("--trigger", "200 milliseconds") as process:
        at_work(world, process)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0, world.log()[-3000:]
    text = world.log()[before:]
    assert "Ctrl-C: stops after" in text, text
    assert "the same command goes on from" in text, text
    assert "Traceback" not in text, text


def interrupted_while_it_starts(world: World) -> None:
    """Press Ctrl-C before anything is read."""
    before = len(world.log())
    with world.command() as process:
        time.sleep(world.rng.uniform(2, 8))
        process.send_signal(signal.SIGINT)
        code = process.wait(PATIENCE)
    text = world.log()[before:]
    assert code in (0, 130), f"code {code}: {text[-3000:]}"
    assert code == 0 or "stopped" in text, text
    assert "Traceback" not in text, text


def terminated(world: World) -> None:
    """Run the command; SIGTERM stops it after its batch."""
    words = world.rng.choice([("--trigger", "200 milliseconds"), ()])
    before = len(world.log())
    with world.command(*words) as process:
        at_work(world, process)
        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE)
    text = world.log()[before:]
    assert code in ((0,) if words else (0, 143)), f"code {code}: {text[-3000:]}"
    assert "SIGTERM: stops after" in text or "done: " in text, text
    assert "Traceback" not in text, text
    world.happened.append(f"code {code}")


def killed(world: World) -> None:
    """Run the command; kill it with its JVM, wherever it is."""
    words = world.rng.choice([("--trigger", "200 milliseconds"), (), ("--drain",)])
    with world.command(*words) as process:
        at_work(world, process)
        time.sleep(world.rng.uniform(0, 1.0))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def at_work(world: World, process: subprocess.Popen[bytes]) -> None:
    """Wait until the command has done a batch, and for a second one, if there is one soon."""
    before = world.run_folder.last_batch()
    files_arrive(world)
    world.wait_for_batch(before + 1, lambda: process.poll() is None)
    waits = time.monotonic() + world.rng.uniform(0, 5)
    world.wait_for_batch(before + 2, lambda: process.poll() is None and time.monotonic() < waits)
    if process.poll() is None and world.rng.random() < 0.5:
        with suppress(pytest.fail.Exception):  # it may have come to its end by now
            second_run_is_refused(world, f"in use by process {process.pid} on ")


Action = Callable[[World], None]

ACTIONS: dict[Action, int] = {
    files_arrive: 6,
    late_file: 3,
    drifted_file: 2,
    mended_file: 2,
    run_to_end: 5,
    go_on_and_stop: 5,
    run_and_drain: 1,
    interrupted: 1,
    interrupted_while_it_starts: 1,
    terminated: 1,
    killed: 2,
    full_disk: 1,
}
"""What may happen, and how often."""

PROCESSES = (interrupted, interrupted_while_it_starts, terminated, killed, full_disk)
"""Actions that start a JVM of their own: a history has at most two."""


# -- what must be so ------------------------------------------------------------------------------


def batches(world: World) -> list[dict[str, list[str]]]:
    """Return the files that each batch has read of each stream, as Spark has logged them.

    A kill between two of its logs makes Spark put files of two batches into one.
    """
    spark = world.state / "spark"
    logged: dict[str, dict[str, int]] = {}
    for number in range(len(STREAMS)):
        files: dict[str, int] = {}
        for log in (spark / "sources" / str(number)).glob("[0-9]*"):
            for line in log.read_text().splitlines()[1:]:
                entry = json.loads(line)
                files[entry["path"].removeprefix("file://")] = int(entry["batchId"])
        stream = Path(next(iter(files))).parent.name if files else STREAMS[number]
        logged[stream] = files
    found = []
    reached = dict.fromkeys(logged, -1)
    for batch in range(world.run_folder.last_batch() + 1):
        lines = (spark / "offsets" / str(batch)).read_text().splitlines()[2:]
        read: dict[str, list[str]] = {}
        for (stream, files), line in zip(logged.items(), lines, strict=True):
            upto = reached[stream] if line == "-" else int(json.loads(line)["logOffset"])
            read[stream] = [p for p, n in files.items() if reached[stream] < n <= upto]
            reached[stream] = upto
        found.append(read)
    return found


def used(world: World) -> tuple[dict[str, pa.Table], dict[str, int], int]:
    """Return the rows that count, how far each stream is, and how many rows are late."""
    rows: dict[str, list[dict[str, int]]] = {s: [] for s in STREAMS}
    frontier, newest = dict.fromkeys(STREAMS, BEFORE), dict.fromkeys(STREAMS, BEFORE)
    late = 0
    for number, batch in enumerate(batches(world)):
        for stream, paths in batch.items():
            arrived = [r for p in paths if world.files[p] for r in pq.read_table(p).to_pylist()]
            kept = [row for row in arrived if row["ts"] >= frontier[stream]]
            late += len(arrived) - len(kept)
            rows[stream] += kept
            newest[stream] = max([newest[stream], *(row["ts"] for row in kept)])
            frontier[stream] = max(frontier[stream], newest[stream] - SLACK)
        if number in world.drained:
            last = max(newest.values())
            frontier = {s: max(at, last) for s, at in frontier.items()}
    tables = {stream: pa.Table.from_pylist(found, TYPES) for stream, found in rows.items()}
    return tables, frontier, late


def check(world: World) -> None:
    """Compare every sink of every query with DuckDB."""
    world.note_drain()
    tables, frontier, _ = used(world)
    with duckdb.connect() as oracle:
        for stream, table in tables.items():
            oracle.register(stream, table)
        for name, text in TRUTH.items():
            now = min(frontier[stream] for stream in READS[name])
            expected = Counter(oracle.execute(text.format(now=now)).fetchall())
            for sink, found in held(world, name).items():
                assert found == expected, (
                    f"{sink} of {name} at {now}: {found - expected} too much, "
                    f"{expected - found} missing"
                )
            compare_function(world, name)
    compare_dead_letters(world)


def compare_dead_letters(world: World) -> None:
    """Each drifted file that was read is a dead letter, once; no other file is."""
    for stream in STREAMS:
        read = {p for batch in batches(world) for p in batch.get(stream, ())}
        letters = map(json.loads, read_dead(str(world.state), stream).column("_row").to_pylist())
        files = [letter["file"] for letter in letters if "file" in letter]
        named = [unquote(urlparse(file).path) for file in files]
        expected = sorted(read & set(world.drifted))
        assert sorted(named) == expected, f"dead letters of {stream}: {named}, not {expected}"


def held(world: World, name: str) -> dict[str, Rows]:
    """Return what each sink holds of a query: its answer, or all rows of a stream."""
    stream = name == "fresh"
    columns = {"counts": "k, n", "pairs": "k, v", "only_a": "k", "fresh": "_ts, born, k, v"}[name]
    found: dict[str, Rows] = {}
    with duckdb.connect() as db:
        for kind, ending in (("parquet", "parquet"), ("json", "json")):
            if not list((world.disk / kind / name).glob(f"*.{ending}")):
                found[kind] = Counter()
                continue
            place = f"'{world.disk}/{kind}/{name}/*.{ending}'"
            net = f"SELECT {columns}, sum(_sign) AS n_ FROM {place} GROUP BY ALL HAVING n_ <> 0"
            found[kind] = counted(db.execute(net).fetchall())
    kept = columns if name in ("counts", "only_a") or stream else f"{columns}, _count"
    with duckdb.connect(str(world.disk / "answers.duckdb"), read_only=True) as db:
        rows = db.execute(f"SELECT {kept} FROM {name}").fetchall()
        found["duckdb"] = counted(rows) if kept != columns else Counter(rows)
    with psycopg.connect(world.postgres) as connection:
        rows = connection.execute(f"SELECT {kept} FROM {name}").fetchall()
        found["postgres"] = counted(rows) if kept != columns else Counter(map(tuple, rows))
    return found


def counted(rows: list[tuple[Any, ...]]) -> Rows:
    """Return rows by how often they are there, which is their last value."""
    return Counter({tuple(row[:-1]): int(row[-1]) for row in rows})


def compare_function(world: World, name: str) -> None:
    """Compare what a function was given of each version with the files of that version."""
    for (query, version), table in world.given.items():
        if query == name:
            parts = (world.disk / "parquet" / name).glob(f"part-{version:08d}-*.parquet")
            written = [row for p in parts for row in pq.read_table(p).to_pylist()]
            assert Counter(map(str, written)) == Counter(map(str, table.to_pylist())), version


# -- histories ------------------------------------------------------------------------------------


def history(rng: random.Random, length: int) -> list[Action]:
    """Return what happens: files first, then anything, and at last an end of input."""
    actions: list[Action] = [first_files_arrive]
    while len(actions) < length:
        (action,) = rng.choices(list(ACTIONS), list(ACTIONS.values()))
        if action not in PROCESSES or sum(a in PROCESSES for a in actions) < 2:
            actions.append(action)
    return [*actions, run_to_end, run_and_drain]


@contextmanager
def new_world(spark: SparkSession, postgres: str, folder: Path, seed: int) -> Iterator[World]:
    """Open a world in which nothing has happened yet."""
    world = World(folder, random.Random(seed), spark, postgres)
    world.disk.mkdir()
    mounts = ["mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE}", "tmpfs", str(world.disk)]
    with suppress(FileNotFoundError):  # there is no such command
        world.can_fill = subprocess.run(mounts, capture_output=True, check=False).returncode == 0
    try:
        for stream in STREAMS:
            (world.disk / "in" / stream).mkdir(parents=True)
        yield world
    finally:
        if world.can_fill:
            subprocess.run(["umount", "--lazy", str(world.disk)], check=True)


def live(world: World, actions: Sequence[Action]) -> None:
    """Let a history happen, checked as it goes."""
    for action in actions:
        world.happened.append(action.__name__)
        try:
            action(world)
        except BaseException as error:
            error.add_note(f"{', '.join(world.happened)}\n{world.log()[-2000:]}")
            raise
        world.note_drain()


@contextmanager
def schema_of(postgres: str, seed: int) -> Iterator[str]:
    """Give a history tables of its own."""
    name = f"history_{seed}"
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {name}")
    yield f"{postgres}{'&' if '?' in postgres else '?'}options=-csearch_path%3D{name}"


@click.command()
@click.option("--count", default=200, show_default=True)
@click.option("--seed", default=1, show_default=True, help="Of the first; each has the next.")
@click.option("--length", default=8, show_default=True, help="Actions of each.")
@click.option("--keep", type=Path, help="A folder for what histories that fail leave behind.")
def main(count: int, seed: int, length: int, keep: Path | None) -> None:
    """Run random histories, and say in which a sink differs from DuckDB."""
    os.environ.update(surroundings())
    spark = open_session("local[2,4]", 2)
    happened: Counter[str] = Counter()
    failed = []
    with server() as postgres:
        for number in range(seed, seed + count):
            with tempfile.TemporaryDirectory() as folder, schema_of(postgres, number) as url:
                click.echo(f"seed {number}", err=True)
                began = time.monotonic()
                with new_world(spark, url, Path(folder), number) as world:
                    try:
                        live(world, history(world.rng, length))
                    except (Exception, pytest.fail.Exception):
                        failed.append(number)
                        click.echo(traceback.format_exc())
                        if keep is not None:
                            shutil.copytree(folder, keep / str(number), symlinks=True)
                happened.update(world.happened)
                passed = "" if number not in failed[-1:] else ", FAILED"
                took = time.monotonic() - began
                click.echo(f"{number}: {took:.0f} s, {', '.join(world.happened)}{passed}")
    click.echo(f"{count} histories, {len(failed)} failed: {dict(happened)}")
    if failed:
        raise SystemExit(f"failed: {' '.join(map(str, failed))}")


if __name__ == "__main__":
    main()
