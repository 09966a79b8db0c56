"""The life of a shard's process: who starts it, who shares it, when it ends, what it says."""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest
from tests.faults.processes import ProcessShards, wait_until
from tests.faults.traffic import PROGRAM, assert_same, run, traffic

from windrow.core.errors import LimitError, StateError
from windrow.runtime.shards import launch, limits, server, serving
from windrow.runtime.shards.client import LostError, Shards
from windrow.runtime.shards.clocks import BatchClock, InputTimes
from windrow.runtime.shards.gathering import meet
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.wire import ShardError

pytestmark = pytest.mark.long

SIMPLE = Program(
    "CREATE STREAM s (ts BIGINT, v BIGINT) TIMESTAMP BY ts;"
    "CREATE QUERY q AS SELECT v, COUNT(*) AS n FROM s [RANGE 1000] GROUP BY v;",
    ("q",),
    shards=1,
)
MOMENT = BatchClock({"s": InputTimes(1, 10, 10)}, 5)
NEXT = BatchClock({"s": InputTimes(11, 20, 10)}, 6)


def some(first: int = 1, count: int = 10) -> dict[int, pa.Table]:
    times = pa.array(range(first, first + count), pa.int64())
    return {0: pa.table({"_ts": times, "v": times})}


@pytest.mark.usefixtures("runtime")
def test_a_process_is_started_from_nothing_and_told_to_end(tmp_path: Path) -> None:
    shards = pickle.loads(pickle.dumps(Shards(str(tmp_path), SIMPLE)))
    shards.warm()
    with shards.shard(0) as shard:
        assert shard.ingest(2, some()) == {"s": InputTimes(1, 10, 10)}
        assert shard.step(2, 0, {}, MOMENT).changes[0].num_rows == 10
        assert shard.stats()["version"] == 2
        place = shard.place
    pid = int(place.path("alive").read_text())
    assert os.getsid(pid) != os.getsid(0)
    opened = [str(Path(f"/proc/{pid}/fd/{n}").readlink()) for n in range(3)]
    assert opened == ["/dev/null", str(place.path("log")), str(place.path("log"))]
    shards.shutdown()
    wait_until(lambda: not launch.lives(pid))
    assert not place.path("sock").exists()


@pytest.mark.usefixtures("forked")
def test_two_clients_at_once_get_one_answer(tmp_path: Path) -> None:
    shards = Shards(str(tmp_path), SIMPLE)
    slowly = threading.Event()
    times, answers = [], []

    def rows():
        table = some()[0]
        yield 0, table.slice(0, 5)
        slowly.wait(10)
        yield 0, table.slice(5)

    def work(given: object) -> None:
        with shards.shard(0, watch=os.getpid()) as shard:
            times.append(shard.ingest(2, given))
            answers.append(shard.step(2, 0, {}, MOMENT))

    slow = threading.Thread(target=work, args=(rows(),))
    slow.start()
    fast = [threading.Thread(target=work, args=(some(),)) for _ in range(3)]
    for thread in fast:
        thread.start()
    for thread in fast:
        thread.join()
    slowly.set()
    slow.join()
    shards.shutdown()
    assert times == [{"s": InputTimes(1, 10, 10)}] * 4
    assert all(a.changes[0].equals(answers[0].changes[0]) for a in answers)
    assert len(list(tmp_path.rglob("*.ingest"))) == 1
    assert not list(tmp_path.rglob("*.draft"))


@pytest.mark.usefixtures("forked")
def test_many_who_find_no_process_start_one(tmp_path: Path, forked: Path) -> None:
    shards = Shards(str(tmp_path), SIMPLE)
    pids = []

    def ask() -> None:
        with shards.shard(0, watch=os.getpid()) as shard:
            shard.stats()
            pids.append(int(shard.place.path("alive").read_text()))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shards.shutdown()
    assert len(pids) == 6
    assert len(set(pids)) == 1


@pytest.mark.usefixtures("forked")
def test_of_two_that_are_started_one_stays(tmp_path: Path) -> None:
    shards = Shards(str(tmp_path), SIMPLE)
    place = shards.shard(0).place
    launch.prepare(place)
    pids = [launch.start(place, os.getpid()) for _ in range(4)]
    with shards.shard(0, watch=os.getpid()) as shard:
        shard.stats()
        wait_until(lambda: sum(map(launch.lives, pids)) == 1)
    shards.shutdown()
    wait_until(lambda: not any(map(launch.lives, pids)))


@pytest.mark.usefixtures("forked")
def test_a_process_that_nobody_asks_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "WATCH_SECONDS", 0.02)
    shards = Shards(str(tmp_path), SIMPLE, idle=0.2)
    with shards.shard(0, watch=os.getpid()) as shard:
        shard.ingest(2, some())
        time.sleep(0.4)  # a connection that is open keeps it
        shard.step(2, 0, {}, MOMENT)
        place = shard.place
    wait_until(lambda: not place.path("sock").exists())
    with shards.shard(0, watch=os.getpid()) as shard:
        shard.ingest(4, some(11))
        assert shard.stats()["rows_in"] == 10
    shards.shutdown()


@pytest.mark.usefixtures("forked")
def test_a_process_ends_with_those_that_it_watches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "WATCH_SECONDS", 0.02)
    executors = [subprocess.Popen(["sleep", "60"]) for _ in range(2)]
    shards = Shards(str(tmp_path), SIMPLE)
    clients = [shards.shard(0, watch=executor.pid) for executor in executors]
    for client in clients:
        client.stats()
    place = clients[0].place
    executors[0].kill()
    executors[0].wait()
    time.sleep(0.2)
    assert place.path("sock").exists()
    executors[1].kill()
    wait_until(lambda: not place.path("sock").exists())  # though it is a zombie yet
    executors[1].wait()
    for client in clients:
        client.close()


MEETING = """
import sys
from windrow.runtime.shards.clocks import BatchClock, InputTimes
from windrow.runtime.shards.gathering import meet
from pathlib import Path
number, version = int(sys.argv[2]), int(sys.argv[3])
tick = 77 if number == 1 else 0
mine = BatchClock({"s": InputTimes(number, 10 + number, 1)}, tick)
known = meet(Path(sys.argv[1]), ("run", version), (number, 3), mine)
assert known == BatchClock({"s": InputTimes(0, 12, 3)}, 77), known
"""


def test_shards_meet_though_any_task_dies_when_it_has_told(tmp_path: Path) -> None:
    def task(number: int, version: int, fault: str = "") -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", MEETING, str(tmp_path), str(number), str(version)]
        return subprocess.Popen(command, env={**os.environ, "WINDROW_FAULT": fault})

    for version in (2, 4):
        dead = task(1, version, "meeting-half")
        assert dead.wait(30) == -signal.SIGKILL
        others = [task(number, version) for number in (0, 2)]
        assert [one.wait(30) for one in others] == [0, 0]  # they find what it has left
        assert task(1, version).wait(30) == 0  # run again
    again = BatchClock({"s": InputTimes(0, 10, 1)})
    with pytest.raises(StateError, match="version 2 is past"):
        meet(tmp_path, ("run", 2), (0, 3), again)


def test_what_another_run_has_left_is_nobodys(tmp_path: Path) -> None:
    old, new = BatchClock({"s": InputTimes(5, 6, 7)}, 9), BatchClock({"s": InputTimes(0, 10, 1)})
    assert meet(tmp_path, ("before", 8), (0, 1), old) == old
    assert meet(tmp_path, ("now", 2), (0, 1), new) == new


@pytest.mark.usefixtures("forked")
def test_a_version_that_is_past_is_refused(tmp_path: Path) -> None:
    shards = ProcessShards(tmp_path, PROGRAM)
    try:
        for batch in traffic(1, 3):
            shards.batch(batch, {})
        with shards.there.shard(0) as shard:
            with pytest.raises(StateError, match="version 4 of shard 0 is past: it is at 6"):
                shard.ingest(4, {})
            shards.kill(0)
            with pytest.raises(StateError, match="is past"):
                shard.step(2, 0, {}, MOMENT)
            with pytest.raises(StateError, match=r"000000000010-1\.step is missing"):
                shard.ingest(12, {})
            shard.ingest(8, {})
    finally:
        shards.close()


@pytest.mark.usefixtures("forked")
def test_a_checkpoint_that_was_made_anew_has_processes_of_its_own(tmp_path: Path) -> None:
    old = ProcessShards(tmp_path / "c", PROGRAM)
    expected = run(old, traffic(1, 2))
    shutil.rmtree(tmp_path / "c")
    new = ProcessShards(tmp_path / "c", PROGRAM)
    assert_same(run(new, traffic(1, 2)), expected)
    new.close()
    old.close()


@pytest.mark.usefixtures("forked")
def test_a_bug_is_told_with_its_trace_and_the_shard_is_rebuilt(tmp_path: Path) -> None:
    shards = Shards(str(tmp_path), SIMPLE)
    with shards.shard(0, watch=os.getpid()) as shard:
        shard.ingest(2, some())
        shard.step(2, 0, {}, MOMENT)
        with pytest.raises(ShardError, match=r"(?s)Traceback.*KeyError"):
            shard.ingest(4, {0: pa.table({"nothing": pa.array([1])})})
        shard.ingest(4, some(11))
        assert shard.stats()["rows_in"] == 10
    shards.shutdown()


@pytest.mark.usefixtures("forked")
def test_too_much_memory_is_refused_before_the_machine_dies(tmp_path: Path) -> None:
    shards = Shards(str(tmp_path), SIMPLE, memory=300 << 10)
    with shards.shard(0, watch=os.getpid()) as shard:
        shard.ingest(2, some())
        shard.step(2, 0, {}, MOMENT)
        shard.ingest(4, some(11, 30_000))
        with pytest.raises(LimitError, match=r"limit is 300\.0 kB") as caught:
            shard.step(4, 0, {}, BatchClock({"s": InputTimes(11, 30_010, 30_000)}, 6))
        assert 'Query "q" holds' in caught.value.detail
        shard.ingest(4, some(11))
        assert shard.step(4, 0, {}, NEXT).changes[0].num_rows == 10
    shards.shutdown()


@pytest.mark.usefixtures("forked")
def test_a_batch_that_does_not_fit_is_refused_while_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ALLOWANCE", 1 << 20)
    shards = Shards(str(tmp_path), SIMPLE, memory=1 << 20)
    with shards.shard(0, watch=os.getpid()) as shard:
        with pytest.raises(LimitError, match="rows of one batch do not fit"):
            shard.ingest(2, some())
        assert shard.ingest(2, {}) == {}
    shards.shutdown()


@pytest.mark.usefixtures("forked")
def test_a_process_that_is_killed_says_so_and_quotes_its_last_words(tmp_path: Path) -> None:
    shards = Shards(str(tmp_path), SIMPLE)
    with shards.shard(0, watch=os.getpid()) as shard:
        shard.stats()
        place = shard.place
        place.path("log").write_text("out of luck")

        def rows():
            yield 0, some()[0]
            os.kill(int(place.path("alive").read_text()), signal.SIGKILL)
            yield from ((0, some()[0]) for _ in range(1000))

        with pytest.raises(LostError, match="out of luck"):
            shard.ingest(2, rows())
        assert shard.ingest(2, some()) == {"s": InputTimes(1, 10, 10)}
    shards.shutdown()


def test_a_process_that_cannot_start_is_told_with_its_reason(
    runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = Shards(str(tmp_path), SIMPLE)
    monkeypatch.setattr(launch, "DETACH", "import sys; sys.stderr.write('no luck'); print(999999)")
    with pytest.raises(StateError, match="does not start") as caught:
        shards.shard(0).stats()
    assert "no luck" in caught.value.detail


@pytest.mark.usefixtures("forked")
def test_a_full_disk_is_told_and_the_last_version_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small_files(place: launch.Place, watch: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        serve(place, watch)

    serve = server.serve
    monkeypatch.setattr(server, "serve", small_files)
    shards = Shards(str(tmp_path), SIMPLE)
    with shards.shard(0, watch=os.getpid()) as shard:
        shard.ingest(2, some())
        first = shard.step(2, 0, {}, MOMENT)
        with pytest.raises(StateError, match="the disk is full while writing") as caught:
            shard.ingest(4, some(11, 100_000))
        assert "Make room" in caught.value.hint
        assert shard.step(2, 0, {}, MOMENT).changes[0].equals(first.changes[0])
        assert not list(tmp_path.rglob("*.draft"))
        shard.ingest(4, some(11))
        assert shard.step(4, 0, {}, NEXT).changes[0].num_rows == 10
    shards.shutdown()


def test_a_folder_that_others_can_write_to_is_not_used(runtime: Path, tmp_path: Path) -> None:
    shards = Shards(str(tmp_path), SIMPLE)
    place = shards.shard(0).place
    place.folder.mkdir()
    place.folder.chmod(0o777)
    with pytest.raises(StateError, match="not a private folder"):
        shards.shard(0).stats()


@pytest.mark.usefixtures("forked")
def test_folders_that_nobody_uses_any_more_are_removed(tmp_path: Path) -> None:
    used, unused, others = (Shards(str(tmp_path / name), SIMPLE) for name in "abc")
    with used.shard(0, watch=os.getpid()) as shard:
        shard.stats()
    folders = [shards.shard(0).place.folder for shards in (used, unused, others)]
    for folder, name in zip(folders[1:], ("0000.log", "dear.txt"), strict=True):
        folder.mkdir()
        (folder / name).touch()
    for folder in folders:
        os.utime(folder, (0, 0))
    new = Shards(str(tmp_path / "d"), SIMPLE).shard(0).place
    launch.prepare(new)
    launch.remove_unused(new)
    assert [folder.exists() for folder in (*folders, new.folder)] == [True, False, True, True]
    used.shutdown()


def test_the_client_loads_no_compiler() -> None:
    code = "import sys, windrow.runtime.shards.client, windrow.runtime.shards.store;"
    code += "print('numba' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"
