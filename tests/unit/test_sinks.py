"""Sinks on real engines: changes in, batches given again, and the answer that each one holds."""

import errno
import gc
import io
import random
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from tests.postgres import server

from windrow.core.errors import FullDiskError, RunError
from windrow.plan.session import Session
from windrow.runtime.spark.sinks.choose import Sink, choose_sink
from windrow.runtime.spark.sinks.console import ConsoleSink
from windrow.runtime.spark.sinks.folder import FolderSink
from windrow.runtime.spark.sinks.memory import MemorySink
from windrow.runtime.spark.sinks.target import Target, target_of

STREAMS = """
CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT, x DOUBLE, d DECIMAL(9, 2), b BOOLEAN,
                 day DATE, raw BINARY) TIMESTAMP BY ts;
CREATE STREAM t (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;
"""
BY_KEY = "SELECT k, b, COUNT(*) AS n, MAX(ts) AS newest FROM s [RANGE 10] GROUP BY k, b"
BY_ROW = "SELECT k, n, x, d, b, ts, day FROM s [RANGE 10]"
APPENDED = "ISTREAM (SELECT k, n FROM s [RANGE 10])"
START = datetime(2026, 1, 1, tzinfo=UTC)


def target(text: str, name: str = "q") -> Target:
    session = Session()
    session.execute(STREAMS)
    return target_of(session.bind_text(text, name))


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.fixture
def specs(tmp_path: Path, postgres: str) -> dict[str, str]:
    return {
        "memory": "memory",
        "parquet": f"parquet:{tmp_path}/parquet",
        "json": f"json:{tmp_path}/json",
        "duckdb": f"duckdb:{tmp_path}/answers.duckdb",
        "postgres": postgres,
    }


# -- random answers -----------------------------------------------------------------------------


def random_row(rng: random.Random, target: Target) -> tuple[object, ...]:
    nullable = "n" in target.schema and target.schema["n"].nullable
    makers: dict[str, Callable[[], object]] = {
        "k": lambda: rng.choice([None, "", "a", 'b "quoted", comma', "line\nbreak", "ö"]),
        "n": lambda: rng.choice([None, rng.randrange(-3, 3)] if nullable else [1, 2, 3]),
        "x": lambda: rng.choice([None, 0.1, -1e300, float("inf")]),
        "d": lambda: rng.choice([None, Decimal("1.50"), Decimal("-0.01")]),
        "b": lambda: rng.choice([None, True, False]),
        "ts": lambda: START + timedelta(microseconds=rng.randrange(5)),
        "newest": lambda: START + timedelta(microseconds=rng.randrange(5)),
        "day": lambda: rng.choice([None, START.date()]),
    }
    return tuple(makers[f.name]() for f in target.schema)


def random_batches(rng: random.Random, target: Target, length: int) -> Iterator[pa.Table]:
    """Changes of an answer that wanders; a key never has two rows."""
    alive: list[tuple[object, ...]] = []
    positions = [target.schema.index(c) for c in target.key] if target.key is not None else None
    for batch in range(length):
        changes: list[tuple[int, tuple[object, ...]]] = []
        for _ in range(rng.choice([0, 1, 20])):
            row = random_row(rng, target)
            if positions is not None:
                same = [r for r in alive if all(r[p] == row[p] for p in positions)]
                changes += [(-1, r) for r in same]
                alive = [r for r in alive if r not in same]
            elif alive and rng.random() < 0.5:
                changes.append((-1, alive.pop(rng.randrange(len(alive)))))
            if positions is None or rng.random() < 0.7:
                changes.append((1, row))
                alive.append(row)
        yield changes_table(target, batch, changes)


def changes_table(target: Target, batch: int, changes: list[tuple[int, tuple]]) -> pa.Table:
    ts = START + timedelta(seconds=batch)
    rows = [(ts, sign, *row) for sign, row in changes]
    names = target.changes.names
    return pa.Table.from_pylist(
        [dict(zip(names, row, strict=True)) for row in rows], target.changes
    )


def bag(table: pa.Table) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def folded(batches: list[pa.Table]) -> Counter[tuple[object, ...]]:
    total: Counter[tuple[object, ...]] = Counter()
    for table in batches:
        for _, sign, *row in (r.values() for r in table.to_pylist()):
            total[tuple(row)] += int(sign)
    return Counter({row: n for row, n in total.items() if n})


def deliver(sink: Sink, version: int, changes: pa.Table) -> None:
    """Hand over a batch as a run does: folders from two shards, others in the driver."""
    if isinstance(sink, FolderSink):
        cut = len(changes) // 2
        for shard, rows in enumerate([changes.slice(0, cut), changes.slice(cut)]):
            if len(rows):
                part = sink.begin(version, shard)
                for batch in rows.to_batches():
                    part.add(batch)
                part.publish()
    else:
        sink.write(version, changes)


@pytest.mark.parametrize("text", [BY_KEY, BY_ROW])
@pytest.mark.parametrize("kind", ["memory", "parquet", "json", "duckdb", "postgres"])
def test_the_answer_is_the_fold_of_the_changes_though_batches_come_twice(
    kind: str, text: str, specs: dict[str, str]
) -> None:
    rng = random.Random(f"{kind} {text}")
    aim = target(text, f"q{rng.randrange(10**9)}")
    sink = choose_sink(specs[kind], aim)
    sink.open("run", 0)
    told: list[pa.Table] = []
    for version, changes in enumerate(random_batches(rng, aim, 12), start=2):
        told.append(changes)
        for _ in range(rng.choice([1, 2])):
            deliver(sink, version, changes)
        if kind != "memory":
            sink = choose_sink(specs[kind], aim)  # a new process
        sink.open("run", version)
        assert bag(sink.answer()) == folded(told), f"after batch {version}"


@pytest.mark.parametrize("text", [BY_KEY, BY_ROW])
@pytest.mark.parametrize("name", ["fresh", "shape", "t", "batch", "run"])
@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_a_query_may_have_any_name(kind: str, name: str, text: str, specs: dict[str, str]) -> None:
    """Sinks have tables and aliases of their own, which are nobody's names."""
    aim = target(text, name if text == BY_KEY else name.upper())
    sink = choose_sink(specs[kind], aim)
    sink.open("run", 0)
    batches = list(random_batches(random.Random(name), aim, 4))
    for version, changes in enumerate(batches, start=2):
        sink.write(version, changes)
    assert bag(sink.answer()) == folded(batches)


@pytest.mark.parametrize("kind", ["parquet", "json", "duckdb", "postgres"])
def test_a_sink_that_is_new_to_a_checkpoint_lacks_what_was_before(
    kind: str, specs: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    aim = target(BY_KEY, f"late_{kind}")
    with pytest.raises(RunError, match=f'does not hold what "late_{kind}" answered') as refused:
        choose_sink(specs[kind], aim).open("run", 8)
    assert "the checkpoint has reached batch 3" in refused.value.detail
    choose_sink(specs[kind], aim).open("run", 0)
    choose_sink(specs[kind], aim).open("run", 8)
    choose_sink(specs[kind], target(APPENDED, f"later_{kind}")).open("run", 8)
    assert f'it gets what "later_{kind}" emits after batch 3' in "\n".join(caplog.messages)


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_a_stream_is_appended_with_its_times(kind: str, specs: dict[str, str]) -> None:
    aim = target(APPENDED, f"appended_{kind}")
    sink = choose_sink(specs[kind], aim)
    sink.open("run", 0)
    first = changes_table(aim, 1, [(1, ("a", 1)), (1, ("a", 1))])
    for _ in range(2):
        sink.write(2, first)
    sink.write(4, changes_table(aim, 5, [(1, (None, 2))]))
    if kind == "duckdb":
        with duckdb.connect(specs[kind].partition(":")[2]) as db:
            rows = db.execute("SELECT epoch(_ts), k, n FROM appended_duckdb").fetchall()
    else:
        import psycopg

        with psycopg.connect(specs[kind]) as db:
            text = "SELECT extract(epoch FROM _ts), k, n FROM appended_postgres"
            rows = db.execute(text).fetchall()
    at = START.timestamp()
    assert sorted(rows, key=str) == [(at + 1, "a", 1), (at + 1, "a", 1), (at + 5, None, 2)]


@pytest.mark.parametrize("kind", ["parquet", "json", "duckdb", "postgres"])
def test_the_output_of_another_run_is_refused(kind: str, specs: dict[str, str]) -> None:
    aim = target(BY_KEY, f"owned_{kind}")
    choose_sink(specs[kind], aim).open("one", 0)
    choose_sink(specs[kind], aim).open("one", 0)
    with pytest.raises(RunError, match="another run"):
        choose_sink(specs[kind], aim).open("two", 0)


def test_any_reader_of_the_folder_sees_each_change_once(tmp_path: Path) -> None:
    aim = target(BY_ROW)
    sink = choose_sink(f"parquet:{tmp_path}", aim)
    assert isinstance(sink, FolderSink)
    sink.open("run", 0)
    rng = random.Random(5)
    batches = [t for t in random_batches(rng, aim, 10) if len(t)]
    for version, changes in enumerate(batches):
        deliver(sink, version, changes)
        deliver(sink, version, changes)
    half_written = tmp_path / ".windrow" / "q" / "part-00000099-0000.parquet.1f.tmp"
    half_written.write_bytes(b"PAR1 not finished")
    rows = sum(map(len, batches))
    everywhere = tmp_path / "q"
    assert duckdb.sql(f"SELECT count(*) FROM '{everywhere}/*.parquet'").fetchall() == [(rows,)]
    assert duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/**/*.parquet'").fetchall() == [(rows,)]
    assert len(pl.read_parquet(everywhere)) == rows
    assert len(pq.read_table(everywhere)) == rows
    sink.open("run", 0)
    assert not half_written.exists()


class FullDisk(io.BytesIO):
    """A file that takes a few bytes, and then no more."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > 1_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


@pytest.mark.parametrize("kind", ["parquet", "json"])
@pytest.mark.parametrize("full", [False, True])
def test_an_abandoned_part_leaves_no_file_and_no_noise(
    kind: str, full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aim = target(BY_ROW)
    sink = choose_sink(f"{kind}:{tmp_path}", aim)
    assert isinstance(sink, FolderSink)
    sink.open("run", 0)
    part = sink.begin(0, 0)
    if full:
        file = pa.PythonFile(FullDisk(), mode="w")
        part = replace(part, file=file, writer=sink.encoding.open(file, aim.changes))
    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    [changes, *_] = [t for t in random_batches(random.Random(5), aim, 10) if len(t)]
    with pytest.raises(OSError, match="No space") if full else nullcontext():
        for batch in pa.concat_tables([changes] * 500).combine_chunks().to_batches():
            part.add(batch)
        if full:
            part.publish()
    with suppress(OSError):
        part.abandon()
    del part
    gc.collect()
    assert ignored == []
    assert [p.name for p in tmp_path.rglob("part-*")] == []


@contextmanager
def no_file_may_grow() -> Iterator[None]:
    """Let the system refuse every byte that a file would grow by, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_a_full_disk_is_named_when_a_folder_is_opened(kind: str, tmp_path: Path) -> None:
    sink = choose_sink(f"{kind}:{tmp_path}", target(BY_KEY))
    assert isinstance(sink, FolderSink)
    with no_file_may_grow(), pytest.raises(FullDiskError) as refused:
        sink.open("run", 0)
    assert f"the disk is full while writing {tmp_path}/.windrow/q/run.json" in str(refused.value)
    assert "Make room" in refused.value.hint
    sink.open("run", 0)


def test_the_memory_sink_refuses_a_checkpoint_that_it_has_not_followed() -> None:
    sink = MemorySink(target(BY_KEY))
    sink.open("run", 0)
    with pytest.raises(RunError, match="does not hold"):
        sink.open("run", 4)


def test_memory_gives_changes_once() -> None:
    aim = target(BY_ROW)
    sink = MemorySink(aim)
    changes = next(t for t in random_batches(random.Random(2), aim, 9) if len(t))
    sink.write(2, changes)
    assert sink.changes().equals(changes)
    assert len(sink.changes()) == 0


def test_the_console_shows_the_newest_changes_of_a_batch() -> None:
    aim = target(APPENDED)
    console = Console(record=True, width=100)
    sink = ConsoleSink(aim, console)
    sink.write(2, changes_table(aim, 0, [(1, ("[b]", i)) for i in range(30)]))
    sink.write(4, changes_table(aim, 0, []))
    shown = console.export_text()
    assert "q: 30 changes in batch 2" in shown
    assert "[b]" in shown
    assert " 29 " in shown
    assert " 9 " not in shown
    assert "batch 4" not in shown


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (BY_KEY, ("k", "b")),
        (BY_ROW, None),
        (APPENDED, None),
        ("SELECT DISTINCT k, n FROM s [RANGE 10]", ("k", "n")),
        ("SELECT COUNT(*) AS n FROM s [RANGE 10]", ()),
        ("SELECT COUNT(*) AS n FROM s [RANGE 10] GROUP BY k", None),
        ("SELECT k AS who, COUNT(*) FROM s [RANGE 10] GROUP BY k HAVING COUNT(*) > 1", ("who",)),
        ("SELECT k FROM s [RANGE 9] INTERSECT SELECT k FROM t [RANGE 9]", ("k",)),
        ("SELECT k FROM s [RANGE 9] UNION ALL SELECT k FROM t [RANGE 9]", None),
    ],
)
def test_the_key_of_an_answer_is_found_in_its_plan(text: str, key: tuple[str, ...] | None) -> None:
    assert target(text).key == key


@pytest.mark.parametrize("spec", ["parquet", "parquet:", "mysql://x", "memory:x", "Memory"])
def test_a_text_that_is_no_sink_is_refused_with_a_hint(spec: str) -> None:
    with pytest.raises(RunError) as caught:
        choose_sink(spec, target(BY_KEY))
    assert caught.value.hint


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    sink = choose_sink("postgresql://ada:secret@127.0.0.1:1/books", target(BY_KEY))
    with pytest.raises(RunError, match="ada@127") as caught:
        sink.open("run", 0)
    assert "secret" not in str(caught.value)
