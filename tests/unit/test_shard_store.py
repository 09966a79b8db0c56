"""Versions on disk: files that appear whole, and damage that is always noticed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs

from windrow.core.errors import LimitError, StateError
from windrow.runtime.shards import files as files_module
from windrow.runtime.shards.checkpoint import open_checkpoint, read_checkpoint
from windrow.runtime.shards.clocks import BatchClock, InputTimes
from windrow.runtime.shards.entry import INGEST, STEP, LogStep
from windrow.runtime.shards.files import FarFiles, Files, LocalFiles, open_files
from windrow.runtime.shards.ledger import Ledger
from windrow.runtime.shards.limits import check_memory, parse_bytes, shard_limit
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.store import Store, version_of
from windrow.runtime.shards.wire import serialized

MOMENT = BatchClock({"s": InputTimes(1, 9, 3)}, 77, drain=True)
ROWS = pa.record_batch({"_ts": pa.array([1, 5, 9]), "name": pa.array(["a", None, "c"])})
SCRIPT = """
CREATE STREAM s (ts BIGINT, v BIGINT) TIMESTAMP BY ts;
CREATE QUERY q AS SELECT v FROM s [RANGE {0}];
"""


@pytest.fixture(params=["local", "far"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    if request.param == "local":
        return LocalFiles(str(tmp_path))
    return FarFiles(str(tmp_path), fs.SubTreeFileSystem("/", fs.LocalFileSystem()))


def store(files: Files, levels: int = 1) -> Store:
    made = Store(files, 3, levels, "fingerprint")
    made.make_ready()
    return made


def write(
    there: Store, step: LogStep, after: int, *, batch_clock: BatchClock | None = MOMENT
) -> None:
    writer = there.writer(step)
    options = pa.ipc.IpcWriteOptions(compression=there.files.compression)
    for port in (0, 4):
        writer.open_port(port, ROWS.schema.serialize())
        for part in (ROWS, ROWS.slice(1)):
            writer.add(port, serialized(part, options), part.num_rows)
    writer.publish(there.shard, step, after, batch_clock)


def test_what_is_logged_is_read_again(files: Files) -> None:
    there, step = store(files), LogStep(2, 1, STEP)
    write(there, step, 0)
    entry = there.read(step)
    assert (entry.footer.after, entry.footer.batch_clock, entry.footer.rows) == (0, MOMENT, 10)
    expected = pa.Table.from_batches([ROWS, ROWS.slice(1)])
    assert {port: table.equals(expected) for port, table in entry.tables()} == {0: True, 4: True}
    assert there.logged() == {step: files.sizes(there.log)[str(step)]}


def test_a_file_appears_only_when_it_is_whole(files: Files) -> None:
    draft = files.draft("folder/name")
    draft.write(b"half")
    assert not files.exists("folder/name")
    draft.abandon()
    assert files.sizes("folder") == {}
    for text in (b"first", b"second"):
        draft = files.draft("folder/name")
        draft.write(text)
        draft.publish()
        draft.sync()
    assert bytes(files.read("folder/name")) == b"second"
    assert files.tail("folder/name", 3) == b"ond"
    assert list(files.sizes("folder")) == ["name"]
    assert files.folders("") == ["folder"]
    files.remove("folder/name")
    files.remove("folder/name")
    assert files.sizes("nowhere") == {}


def test_a_name_is_claimed_once(files: Files) -> None:
    for text, claims in ((b"first", True), (b"second", False)):
        draft = files.draft("name")
        draft.write(text)
        assert draft.claim() is claims
    assert bytes(files.read("name")) == b"first"
    assert list(files.sizes("")) == ["name"]


def test_every_changed_byte_and_every_cut_is_noticed(tmp_path: Path) -> None:
    there, step = store(LocalFiles(str(tmp_path))), LogStep(2, 0, INGEST)
    write(there, step, 0)
    path = tmp_path / there.log / str(step)
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(StateError, match=r"000000000002-0\.ingest is damaged"):
            there.read(step)
    for length in [*range(0, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(StateError, match="is damaged"):
            there.read(step)
    path.write_bytes(whole)
    path.rename(path.with_name(str(LogStep(4, 0, INGEST))))
    with pytest.raises(StateError, match="is damaged") as caught:
        there.read(LogStep(4, 0, INGEST))
    assert "it holds 000000000002-0.ingest of shard 3" in caught.value.detail
    with pytest.raises(StateError, match="is missing"):
        there.read(step)


def test_a_snapshot_is_read_again_or_refused(files: Files) -> None:
    there = store(files)
    state = {"rows": ROWS.column(0).to_numpy(), "clock": 5}
    there.write_snapshot(6, state).publish()
    found = there.read_snapshot(6)
    assert found["clock"] == 5
    assert there.kept() == {6: files.sizes(there.snapshots)["000000000006.state"]}
    other = Store(files, 3, 1, "another")
    with pytest.raises(StateError, match="another version, shard or program"):
        other.read_snapshot(6)
    with pytest.raises(StateError, match="is missing"):
        there.read_snapshot(8)


def test_versions_are_those_of_batches_and_drains() -> None:
    assert [version_of(b, drain=d) for b in (0, 1) for d in (False, True)] == [2, 3, 4, 5]


def test_a_version_builds_on_the_batch_or_the_drain_before_it(files: Files) -> None:
    there = store(files, levels=2)
    assert there.before(2) == 0
    for version, after in ((2, 0), (4, 2), (5, 4)):
        write(there, LogStep(version, 0, STEP), after)
        assert not there.whole(version)
        write(there, LogStep(version, 1, STEP), after)
    assert there.before(4) == 2
    assert there.before(5) == 4
    assert there.before(6) == 5
    assert there.chain(2, 5) == [4, 5]
    with pytest.raises(StateError, match=r"000000000006-1\.step is missing"):
        there.before(8)
    there.remove(LogStep(4, 0, STEP))
    with pytest.raises(StateError, match=r"000000000004-0\.step is missing"):
        there.chain(0, 5)


def test_a_drain_that_was_not_finished_is_passed_by(files: Files) -> None:
    there = store(files)
    write(there, LogStep(2, 0, STEP), 0)
    write(there, LogStep(3, 0, INGEST), 2)
    assert there.before(4) == 2
    write(there, LogStep(4, 0, STEP), 2)
    assert there.chain(0, 4) == [2, 4]
    with pytest.raises(StateError, match="not built on the snapshot of 3"):
        there.chain(3, 4)


def test_what_no_snapshot_needs_is_removed(files: Files) -> None:
    there = store(files)
    for version in (2, 4, 6):
        write(there, LogStep(version, 0, STEP), version - 2)
        there.write_snapshot(version, {}).publish()
    there.remove_before(4)
    assert [s.version for s in there.logged()] == [6]
    assert list(there.kept()) == [4, 6]


def test_drafts_of_processes_that_are_gone_are_removed(tmp_path: Path) -> None:
    there = store(LocalFiles(str(tmp_path)))
    lost = "from windrow.runtime.shards.files import LocalFiles; import sys, os;"
    lost += "LocalFiles(sys.argv[1]).draft(sys.argv[2]); os._exit(0)"
    subprocess.run([sys.executable, "-c", lost, tmp_path, f"{there.log}/lost"], check=True)
    draft = there.files.draft(f"{there.log}/mine")
    assert len(there.files.sizes(there.log)) == 2
    there.make_ready()
    (kept,) = there.files.sizes(there.log)
    assert ".mine." in kept
    draft.abandon()


def test_a_file_that_cannot_be_forced_to_the_disk_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: int) -> None:
        raise OSError(5, "Input/output error")

    there = store(LocalFiles(str(tmp_path)))
    ledger = Ledger(there)
    monkeypatch.setattr(files_module.os, "fsync", broken)
    ledger.publish(there.writer(LogStep(2, 0, INGEST)), LogStep(2, 0, INGEST), 0)
    with pytest.raises(StateError, match="the file system failed while writing") as caught:
        ledger.wait()
    assert "Input/output error" in caught.value.detail
    assert there.files.sizes(there.log) == {}
    ledger.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_full_disk_is_told_as_such(tmp_path: Path) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        draft = LocalFiles(str(tmp_path)).draft("large")
        with pytest.raises(StateError, match="the disk is full while writing"):
            draft.write(bytes(1 << 20))
        draft.abandon()
        assert list(tmp_path.iterdir()) == []
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def program(width: int = 10, **changed: object) -> Program:
    return Program(SCRIPT.format(width), ("q",), **changed)  # type: ignore[arg-type]


def test_a_checkpoint_belongs_to_its_program(tmp_path: Path) -> None:
    where = str(tmp_path / "new")
    claimed = open_checkpoint(where, program())
    assert open_checkpoint(f"file://{where}", program()) == claimed
    assert read_checkpoint(where).program == program().placed()
    again = Program("-- said otherwise\n" + SCRIPT.format(10), ("q",))
    assert open_checkpoint(where, again) == claimed


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        (program(20), 'Query "q" has changed'),
        (program(shards=5), "It was made for 2 shards, not 5."),
        (program(strategy="negative"), "It was made with strategy auto, not negative."),
        (
            Program(SCRIPT.format(10) + "CREATE QUERY p AS SELECT v FROM s [NOW];", ("q", "p")),
            'Query "p" is new.',
        ),
        (
            Program(SCRIPT.format(10).replace("QUERY q", "QUERY p"), ("p",)),
            'Query "q" is gone. Query "p" is new.',
        ),
    ],
)
def test_another_program_is_refused_and_told_what_has_changed(
    changed: Program, what: str, tmp_path: Path
) -> None:
    open_checkpoint(str(tmp_path), program())
    with pytest.raises(StateError, match="state of another program") as caught:
        open_checkpoint(str(tmp_path), changed)
    assert caught.value.detail.startswith(what)


def test_plans_of_another_version_of_windrow_are_told_as_such(tmp_path: Path) -> None:
    open_checkpoint(str(tmp_path), program())
    said = json.loads((tmp_path / "windrow.json").read_text())
    (tmp_path / "windrow.json").write_text(json.dumps(said | {"fingerprint": "0123456789abcdef"}))
    with pytest.raises(StateError, match="made by another version of windrow") as caught:
        open_checkpoint(str(tmp_path), program())
    assert "The program is the same" in caught.value.detail
    with pytest.raises(StateError, match="state of another program"):
        open_checkpoint(str(tmp_path), program(20))


def test_queries_in_another_order_are_another_program(tmp_path: Path) -> None:
    script = SCRIPT.format(10) + "CREATE QUERY p AS SELECT v FROM s [NOW];"
    open_checkpoint(str(tmp_path), Program(script, ("q", "p")))
    with pytest.raises(StateError, match="state of another program") as caught:
        open_checkpoint(str(tmp_path), Program(script, ("p", "q")))
    assert caught.value.detail == "The order of its queries has changed."


def joining(algorithm: str) -> Program:
    """Return a program that joins a stream with itself, twice, by an algorithm."""
    return Program(
        f"SET join_algorithm = '{algorithm}';"
        "CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts;"
        "CREATE QUERY q AS SELECT a.k FROM s AS a [RANGE 5], s AS b [RANGE 5], s AS c [RANGE 5] "
        "WHERE a.k = b.k AND b.k = c.k;",
        ("q",),
    )


def test_joins_that_remember_otherwise_are_refused(tmp_path: Path) -> None:
    open_checkpoint(str(tmp_path), joining("tree"))
    with pytest.raises(StateError, match="state of another program") as caught:
        open_checkpoint(str(tmp_path), joining("hash"))
    assert caught.value.detail == (
        "Streams were joined by trees of binary joins, "
        "and now would be by hash of 3: ring × ring × ring."
    )


def keyed(options: str, read: str = "r") -> Program:
    """Return a program that reads a relation, which has another beside it that nobody reads."""
    script = f"""
    CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
    CREATE RELATION r (k BIGINT PRIMARY KEY, n STRING) USING parquet OPTIONS ({options});
    CREATE RELATION idle (k BIGINT PRIMARY KEY, n STRING) USING parquet OPTIONS (path 'x');
    CREATE QUERY q AS SELECT s.k, n FROM s [RANGE 10] JOIN {read} ON s.k = {read}.k;
    """
    return Program(script, ("q",))


def test_whether_a_relation_changes_by_stream_is_part_of_the_program(tmp_path: Path) -> None:
    """Its port depends on it: the driver would send other rows than the shards expect."""
    still, streamed = keyed("path 'x'"), keyed("path 'x', Updates 'STREAM'")
    for old, new, said in (
        (still, streamed, 'Relation "r" did not change by stream.'),
        (streamed, still, 'Relation "r" changed by stream.'),
    ):
        where = str(tmp_path / said)
        open_checkpoint(where, old)
        with pytest.raises(StateError, match="state of another program") as caught:
            open_checkpoint(where, new)
        assert caught.value.detail == said


def test_where_a_relation_comes_from_is_no_part_of_the_program() -> None:
    streamed = keyed("path 'x', updates 'stream'").fingerprint
    assert keyed("path 'y', updates 'stream', maxFilesPerTrigger '1'").fingerprint == streamed
    unread = keyed("path 'x', updates 'stream'", read="idle").fingerprint
    assert keyed("path 'x'", read="idle").fingerprint == unread


def test_a_checkpoint_that_says_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="is no checkpoint"):
        read_checkpoint(str(tmp_path))
    open_checkpoint(str(tmp_path), program())
    (tmp_path / "shards" / "0000").mkdir(parents=True)
    (tmp_path / "windrow.json").write_text("{")
    with pytest.raises(StateError, match=r"windrow\.json is damaged"):
        open_checkpoint(str(tmp_path), program())
    (tmp_path / "windrow.json").unlink()
    with pytest.raises(StateError, match=r"windrow\.json is missing"):
        open_checkpoint(str(tmp_path), program())


def test_a_file_system_that_nobody_knows_is_refused() -> None:
    with pytest.raises(StateError, match="cannot be opened"):
        open_files("gopher://somewhere/else")


def test_the_limit_of_memory_is_asked_for_or_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WINDROW_SHARD_MEMORY", raising=False)
    assert 0 < shard_limit(4) < shard_limit(1)
    monkeypatch.setenv("WINDROW_SHARD_MEMORY", "2 GB")
    assert shard_limit(4) == 2 << 30
    with pytest.raises(LimitError, match="is no size"):
        parse_bytes("much")


def test_who_holds_most_is_named_first() -> None:
    stats = {"queries": {"small": {"state_bytes": 5}, "large": {"state_bytes": 3 << 20}}}
    check_memory(stats, 8 << 30, 0)
    with pytest.raises(LimitError, match="shard 0 needs more memory") as caught:
        check_memory(stats, 1 << 20, 0)
    assert caught.value.detail == 'Query "large" holds 3.0 MB. Query "small" holds 5 bytes.'


FREED = """
import numpy as np
from windrow.runtime.local.memory import keep_freed_memory
from windrow.runtime.shards.limits import resident, resident_within
assert keep_freed_memory(alone=True)
pieces = [np.ones(1 << 17) for _ in range(300)]
last = pieces.pop()
del pieces
print(resident() >> 20, resident_within(1 << 40) >> 20, resident_within(1 << 20) >> 20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other C libraries are not asked")
def test_memory_that_was_freed_is_no_reason_to_stop() -> None:
    """It stays with the process for the next batch, unless a limit is reached with it."""
    environment = {k: v for k, v in os.environ.items() if k != "WINDROW_KEEP_MEMORY"}
    command = [sys.executable, "-c", FREED]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    kept, asked, given_back = map(int, said.stdout.split())
    assert min(kept, asked) > 300
    assert given_back < 150


def test_state_outlives_where_tuples_come_from_but_not_what_is_asked() -> None:
    def fingerprint(options: str, window: str) -> str:
        stream = f"CREATE STREAM s (ts BIGINT, k BIGINT) USING parquet OPTIONS ({options});"
        script = f"{stream} CREATE QUERY q AS SELECT k FROM s [RANGE {window}];"
        return Program(script, ("q",)).fingerprint

    first = fingerprint("path 'a'", "5")
    assert fingerprint("path 'b', maxFilesPerTrigger '1'", "5") == first
    assert fingerprint("path 'a'", "6") != first
