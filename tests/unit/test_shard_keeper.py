"""A shard is brought to where a request needs it, from whatever the disk still has."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.reference.shards import ShardSet

from windrow.core.errors import LimitError, StateError
from windrow.core.time import FOREVER
from windrow.runtime.shards import agenda, apart, due, rebuilding
from windrow.runtime.shards import keeper as keeper_module
from windrow.runtime.shards.checkpoint import open_checkpoint
from windrow.runtime.shards.clocks import BatchClock, InputTimes
from windrow.runtime.shards.describe import describe
from windrow.runtime.shards.entry import INGEST, STEP, LogStep
from windrow.runtime.shards.files import LocalFiles
from windrow.runtime.shards.keeper import Keeper
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.receipt import Receipt
from windrow.runtime.shards.store import Store
from windrow.runtime.shards.wire import Stepped, joined

PROGRAM = Program(
    "CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts;"
    "CREATE QUERY q AS SELECT n, COUNT(*) AS m"
    " FROM (SELECT k, COUNT(*) AS n FROM s [RANGE 40] GROUP BY k) AS g GROUP BY n;",
    ("q",),
    shards=1,
)
BATCHES = 6


class Bench:
    """One keeper on a folder, fed batch by batch; it can be lost at any time."""

    def __init__(self, folder: Path, program: Program = PROGRAM) -> None:
        self.store = Store(LocalFiles(str(folder)), 0, 2, program.fingerprint)
        self.folder, self.program = folder, program
        self.keeper = Keeper(program, 0, self.store, 1 << 40)
        self.told: dict[str, InputTimes] = {}
        self.jumps: dict[str, InputTimes] = {}

    def lose(self) -> None:
        """Start again from what the disk has."""
        self.keeper.close()
        self.keeper = Keeper(self.program, 0, self.store, 1 << 40)

    def ingest(self, batch: int) -> dict[str, InputTimes]:
        step = LogStep(2 * batch + 2, 0, INGEST)
        times = self.keeper.ingest(step.version, self._receipt(step, {0: rows(batch)}))
        self.keeper.check()
        self.told = times
        return times

    def step(self, batch: int, level: int, given: dict[int, pa.Table]) -> Stepped:
        stepped = joined(list(self.pieces(batch, level, given)))
        self.keeper.check()
        return stepped

    def pieces(self, batch: int, level: int, given: dict[int, pa.Table]) -> Iterator[Stepped]:
        step = LogStep(2 * batch + 2, level, STEP)
        times = {**self.told, **heard_in(batch), **self.jumps}
        batch_clock = BatchClock(times, batch) if level == 0 else None
        return self.keeper.step(step.version, level, self._receipt(step, given), batch_clock)

    def run(self, batch: int) -> pa.Table:
        self.ingest(batch)
        forwarded = self.step(batch, 0, {}).forwarded
        changes = self.step(batch, 1, forwarded).changes[0]
        self.keeper.settle()
        if (chore := self.keeper.ledger._snapshot) is not None:
            chore.result()
        return changes

    def _receipt(self, step: LogStep, given: dict[int, pa.Table]) -> Receipt:
        receipt = Receipt(self.store.writer(step))
        for port, table in given.items():
            receipt.schema(port, table.schema.serialize())
            for batch in table.to_batches():
                receipt.batch(port, batch.serialize())
        return receipt


def rows(batch: int) -> pa.Table:
    times = range(20 * batch, 20 * batch + 20)
    return pa.table({"_ts": pa.array(times), "k": pa.array([t * t % 7 for t in times])})


def heard_in(batch: int) -> dict[str, InputTimes]:
    return {"s": InputTimes(20 * batch, 20 * batch + 19, 20)}


@pytest.fixture(scope="module")
def expected() -> list[pa.Table]:
    shards = ShardSet(PROGRAM)
    return [pa.concat_tables(shards.batch({0: rows(batch)}, {})) for batch in range(BATCHES)]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    for name in ("FIRST_VERSIONS", "MOST_VERSIONS"):
        monkeypatch.setattr(due, name, 2)  # every other batch
    open_checkpoint(str(tmp_path), PROGRAM)
    made = Bench(tmp_path)
    yield made
    made.keeper.close()


def same(got: pa.Table, expected: pa.Table) -> bool:
    order = [(name, "ascending") for name in expected.column_names]
    return got.sort_by(order).equals(expected.sort_by(order))


def test_a_run_is_that_of_the_shard_alone(bench: Bench, expected: list[pa.Table]) -> None:
    for batch in range(BATCHES):
        assert same(bench.run(batch), expected[batch])


def test_a_clock_that_a_pace_has_stopped_is_rebuilt_where_it_was(tmp_path: Path) -> None:
    """Time jumps over a whole window; where it stops is in the log, and marks follow from rows."""
    paced = replace(PROGRAM, script=f"SET expiry_pace = 3; {PROGRAM.script}")
    whole, lost = (Bench(tmp_path / name, paced) for name in ("whole", "lost"))
    stops = []
    for batch in range(BATCHES):
        assert whole.ingest(batch) == lost.ingest(batch)
        lost.lose()
        if batch == 2:
            whole.jumps = lost.jumps = {"s": InputTimes(FOREVER, 500, 0)}
        forwarded = [bench.step(batch, 0, {}).forwarded for bench in (whole, lost)]
        lost.lose()
        changes = [
            bench.step(batch, 1, given).changes.get(0)
            for bench, given in zip((whole, lost), forwarded, strict=True)
        ]
        lost.lose()
        assert (changes[0] is None) == (changes[1] is None)
        assert changes[0] is None or same(changes[0], changes[1])
        assert whole.keeper.stats()["queries"] == lost.keeper.stats()["queries"]
        stops.append(whole.keeper.stats()["queries"]["q"]["behind"])
    assert stops[2] > stops[3] > stops[-1] > 0, "it is held back, and goes on"


def test_a_shard_that_is_lost_after_any_request_is_rebuilt(
    bench: Bench, expected: list[pa.Table]
) -> None:
    for batch in range(BATCHES):
        assert bench.ingest(batch) == heard_in(batch)
        bench.lose()
        forwarded = bench.step(batch, 0, {}).forwarded
        bench.lose()
        assert same(bench.step(batch, 1, forwarded).changes[0], expected[batch])
        bench.lose()
        assert bench.step(batch, 0, {}).forwarded.keys() == forwarded.keys()
        assert same(bench.step(batch, 1, forwarded).changes[0], expected[batch])
        bench.keeper.settle()


def test_a_request_that_comes_again_gets_the_same_answer(bench: Bench) -> None:
    bench.run(0)
    assert bench.ingest(1) == bench.ingest(1)
    first = bench.step(1, 0, {})
    assert bench.ingest(1) == heard_in(1)
    assert bench.step(1, 0, {}) == first
    last = bench.step(1, 1, first.forwarded)
    assert bench.step(1, 0, {}) == first
    assert bench.step(1, 1, {}) == last
    assert not list(bench.folder.rglob("*.draft"))


def test_two_snapshots_and_their_logs_are_kept(bench: Bench) -> None:
    for batch in range(BATCHES):
        bench.run(batch)
    bench.ingest(BATCHES)  # so all before it are committed
    bench.keeper.ledger._chores.shutdown()
    older, newer = bench.store.kept()
    assert older < newer
    assert min(step.version for step in bench.store.logged()) == older + 2
    state = describe(str(bench.folder), verify=True)
    assert state.is_sound
    assert state.shards[0].whole == 2 * BATCHES
    assert state.shards[0].newest == {"s": 20 * BATCHES - 1}


@pytest.mark.parametrize("harm", ["changed", "cut", "empty", "gone"])
def test_a_snapshot_that_is_damaged_is_passed_over(
    bench: Bench, expected: list[pa.Table], harm: str
) -> None:
    for batch in range(BATCHES - 1):
        bench.run(batch)
    newest = max(bench.store.kept())
    damage(bench.folder / bench.store.snapshots / f"{newest:012}.state", harm)
    bench.lose()
    assert same(bench.run(BATCHES - 1), expected[BATCHES - 1])
    assert bench.keeper.ledger.bases[0] < newest
    told = [] if harm == "gone" else [f"{bench.store.snapshots}/{newest:012}.state is damaged"]
    assert bench.keeper.ledger.troubles == told


@pytest.mark.parametrize("harm", ["changed", "cut", "empty", "gone"])
@pytest.mark.parametrize("kind", ["0.ingest", "0.step", "1.step"])
def test_a_log_that_is_damaged_is_never_used(bench: Bench, harm: str, kind: str) -> None:
    for batch in range(BATCHES - 1):
        bench.run(batch)
    head = 2 * BATCHES - 2
    assert head not in bench.store.kept()
    path = bench.folder / bench.store.log / f"{head:012}-{kind}"
    damage(path, harm)
    bench.lose()
    with pytest.raises(StateError, match=rf"{path.name} is (damaged|missing)") as caught:
        bench.ingest(BATCHES - 1)
    assert "from a copy" in caught.value.hint
    assert bench.keeper.shard is None


def test_a_log_before_the_newest_snapshot_is_not_missed(
    bench: Bench, expected: list[pa.Table]
) -> None:
    for batch in range(BATCHES - 1):
        bench.run(batch)
    newest = max(bench.store.kept())
    damage(bench.folder / bench.store.log / str(LogStep(newest, 0, INGEST)), "changed")
    bench.lose()
    assert same(bench.run(BATCHES - 1), expected[BATCHES - 1])


def test_why_no_snapshot_helps_is_told(bench: Bench) -> None:
    for batch in range(BATCHES - 1):
        bench.run(batch)
    older, newest = list(bench.store.kept())[-2:]
    damage(bench.folder / bench.store.snapshots / f"{newest:012}.state", "cut")
    damage(bench.folder / bench.store.log / str(LogStep(newest, 0, INGEST)), "gone")
    assert older < newest - 2
    bench.lose()
    with pytest.raises(StateError, match=rf"{newest:012}\.state is damaged") as caught:
        bench.ingest(BATCHES - 1)
    assert f"Nor from an older snapshot: {bench.store.log}/" in caught.value.detail


def test_a_shard_follows_where_another_process_has_gone_on(
    bench: Bench, expected: list[pa.Table], tmp_path: Path
) -> None:
    other = Bench(tmp_path)
    for batch in range(BATCHES):
        made = (bench, other, other)[batch % 3].run(batch)
        assert same(made, expected[batch])
    bench.ingest(BATCHES - 1)  # it is the newest, so it may come again
    other.keeper.close()


def test_what_was_left_in_the_middle_is_done_by_another_process(
    bench: Bench, expected: list[pa.Table], tmp_path: Path
) -> None:
    other = Bench(tmp_path)
    bench.run(0)
    bench.ingest(1)
    first = other.step(1, 0, {})
    assert same(other.step(1, 1, first.forwarded).changes[0], expected[1])
    assert same(bench.run(2), expected[2])
    other.keeper.close()


def test_a_snapshot_that_finds_no_room_stops_nobody(
    bench: Bench, expected: list[pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StateError("the disk is full while writing a snapshot")

    monkeypatch.setattr(Store, "fill_snapshot", full)
    for batch in range(BATCHES):
        assert same(bench.run(batch), expected[batch])
    assert bench.store.kept() == {}
    assert bench.keeper.ledger.troubles[0] == "the disk is full while writing a snapshot"


def test_a_snapshot_whose_process_is_killed_stops_nobody(
    bench: Bench, expected: list[pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "fill_snapshot", killed)
        for batch in range(BATCHES - 2):
            assert same(bench.run(batch), expected[batch])
    assert bench.store.kept() == {}
    assert "has ended before its end" in bench.keeper.ledger.troubles[0]
    for batch in range(BATCHES - 2, BATCHES):
        assert same(bench.run(batch), expected[batch])
    assert bench.store.kept(), "the next one is written"
    assert not list(bench.folder.rglob("*.draft"))


def test_where_nothing_can_be_forked_the_snapshot_is_written_all_the_same(
    bench: Bench, expected: list[pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room() -> int:
        raise OSError(errno.ENOMEM, "no room")

    monkeypatch.setattr(apart.os, "fork", no_room)
    for batch in range(BATCHES):
        assert same(bench.run(batch), expected[batch])
    assert bench.store.kept()
    bench.lose()
    assert same(bench.run(BATCHES - 1), expected[BATCHES - 1])


def test_the_state_goes_on_while_its_snapshot_is_written(
    bench: Bench, expected: list[pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written is the state of its version, however far the shard has come meanwhile."""
    gate, written = bench.folder / "gate", Store.fill_snapshot

    def late(*given: object) -> None:
        while not gate.exists():
            time.sleep(0.01)
        written(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "fill_snapshot", late)
    for batch in range(BATCHES - 1):
        bench.ingest(batch)
        forwarded = bench.step(batch, 0, {}).forwarded
        assert same(bench.step(batch, 1, forwarded).changes[0], expected[batch])
        bench.keeper.settle()
    gate.touch()
    assert bench.keeper.ledger._snapshot is not None
    bench.keeper.ledger._snapshot.result()
    assert list(bench.store.kept()) == [4]
    bench.lose()
    assert same(bench.run(BATCHES - 1), expected[BATCHES - 1])
    assert bench.keeper.ledger.bases[0] == 4


def test_a_process_that_ends_in_order_leaves_nothing_to_replay(
    bench: Bench, expected: list[pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FIRST_VERSIONS", "MOST_VERSIONS"):
        monkeypatch.setattr(due, name, 100)
    for batch in range(BATCHES - 2):
        bench.run(batch)
    bench.keeper.finish()
    bench.lose()
    assert bench.store.kept() == {}, "it is replayed in a moment"
    assert same(bench.run(BATCHES - 2), expected[BATCHES - 2])
    monkeypatch.setattr(due, "FIRST_ROWS", 1)
    bench.keeper.finish()
    bench.lose()
    assert list(bench.store.kept()) == [2 * BATCHES - 2]
    assert same(bench.run(BATCHES - 1), expected[BATCHES - 1])
    assert bench.keeper.ledger.log.versions == 1


def test_what_is_rebuilt_ahead_is_durable_before_its_answer_is_given_again(
    bench: Bench, expected: list[pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process before may have died between the log and its sync."""
    synced: list[str] = []
    sync = LocalFiles.sync

    def noted(files: LocalFiles, path: str) -> None:
        synced.append(path.rpartition("/")[2])
        sync(files, path)

    bench.run(0)
    bench.ingest(1)
    forwarded = bench.step(1, 0, {}).forwarded
    bench.step(1, 1, forwarded)
    bench.lose()
    monkeypatch.setattr(LocalFiles, "sync", noted)
    bench.keeper.rebuild_ahead()
    assert bench.keeper.at == (4, 2)
    names = ["000000000004-0.ingest", "000000000004-0.step", "000000000004-1.step"]
    assert synced == [*names, "log"]
    assert same(bench.step(1, 1, forwarded).changes[0], expected[1])
    assert bench.ingest(1) == heard_in(1)
    assert same(bench.run(2), expected[2])


def test_a_rebuild_says_how_far_it_is(
    bench: Bench, expected: list[pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FIRST_VERSIONS", "MOST_VERSIONS"):
        monkeypatch.setattr(due, name, 100)
    for batch in range(BATCHES - 1):
        bench.run(batch)
    bench.lose()
    monkeypatch.setattr(rebuilding, "QUIET_ROWS", 0)
    monkeypatch.setattr(rebuilding, "BETWEEN_SECONDS", 0.0)
    seen = []
    write = rebuilding.RebuildReport._write

    def looked(report: rebuilding.RebuildReport) -> None:
        write(report)
        seen.extend(rebuilding.rebuilding_of(str(bench.folder), 1))

    monkeypatch.setattr(rebuilding.RebuildReport, "_write", looked)
    assert same(bench.run(BATCHES - 1), expected[BATCHES - 1])
    done = [each.rows for each in seen]
    assert done == sorted(done)
    assert done[0] == 0
    assert done[-1] == seen[0].of_rows > 20 * (BATCHES - 1)
    assert rebuilding.rebuilding_of(str(bench.folder), 1) == []


def test_an_error_in_the_middle_drops_the_state_and_nothing_else(
    bench: Bench, expected: list[pa.Table]
) -> None:
    bench.run(0)
    bench.ingest(1)
    with pytest.raises(KeyError):
        bench.step(1, 0, {0: pa.table({"nothing": pa.array([1])})})
    assert bench.keeper.shard is None
    forwarded = bench.step(1, 0, {}).forwarded
    assert same(bench.step(1, 1, forwarded).changes[0], expected[1])


def test_a_batch_that_was_never_ingested_cannot_be_stepped(bench: Bench) -> None:
    bench.run(0)
    with pytest.raises(StateError, match=r"000000000004-0\.ingest is missing"):
        bench.step(1, 0, {})


def test_a_lost_checkpoint_is_noticed(bench: Bench) -> None:
    for batch in range(3):
        bench.run(batch)
    shutil.rmtree(bench.folder / "shards")
    bench.lose()
    with pytest.raises(StateError, match=r"000000000006-1\.step is missing"):
        bench.ingest(3)


def damage(path: Path, harm: str) -> None:
    whole = path.read_bytes()
    middle = len(whole) // 2
    match harm:
        case "changed":
            path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
        case "cut":
            path.write_bytes(whole[:-1])
        case "empty":
            path.write_bytes(b"")
        case "gone":
            path.unlink()


@pytest.fixture
def cut_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step is done in many slices."""
    for name in ("EVERY", "FIRST_MARKS", "SLICE_ROWS"):
        monkeypatch.setattr(agenda, name, 1)


@pytest.mark.usefixtures("cut_everywhere")
def test_an_answer_that_nobody_takes_to_its_end_is_given_again(
    bench: Bench, expected: list[pa.Table]
) -> None:
    bench.run(0)
    bench.ingest(1)
    leave_midway(bench.pieces(1, 0, {}))
    forwarded = bench.step(1, 0, {}).forwarded
    leave_midway(bench.pieces(1, 1, forwarded))
    assert bench.keeper.shard is None
    assert same(bench.step(1, 1, forwarded).changes[0], expected[1])


def leave_midway(pieces: Iterator[Stepped]) -> None:
    next(pieces)
    next(pieces)
    del pieces


@pytest.mark.usefixtures("cut_everywhere")
def test_an_answer_that_is_too_large_to_hold_is_made_again(
    bench: Bench, expected: list[pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_module, "HELD_BYTES", 100)
    for batch in range(BATCHES):
        bench.ingest(batch)
        forwarded = bench.step(batch, 0, {}).forwarded
        for _ in range(2):
            assert same(bench.step(batch, 1, forwarded).changes[0], expected[batch])
            assert not bench.keeper.answers
        bench.keeper.settle()


@pytest.mark.usefixtures("cut_everywhere")
def test_memory_is_looked_at_between_slices(bench: Bench) -> None:
    bench.run(0)
    bench.ingest(1)
    for fit in (0, 1, 3):  # slices before the one after which it is too much
        bench.keeper.limit = 1 << 40
        pieces = bench.pieces(1, 0, {})
        for _ in range(fit):
            next(pieces)
        bench.keeper.limit = 0
        with pytest.raises(LimitError, match="shard 0 needs more memory"):
            next(pieces)
    bench.keeper.limit = 1 << 40
    bench.step(1, 0, {})


def test_a_shard_that_is_lost_after_its_answer_tells_the_same_of_itself(bench: Bench) -> None:
    assert bench.keeper.stats()["queries"] == {}
    bench.run(0)
    bench.run(1)
    told = bench.keeper.stats()
    bench.lose()
    again = bench.keeper.stats()
    for name in ("version", "whole", "rows_in", "late"):
        assert again[name] == told[name], name
    assert again["queries"]["q"]["state_rows"] == told["queries"]["q"]["state_rows"]
    bench.ingest(2)
    bench.lose()
    assert bench.keeper.stats()["queries"] == {}  # in the middle of a version
