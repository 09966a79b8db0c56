"""One run works on a checkpoint at a time; who has died or is silent is succeeded."""

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from pyarrow import fs

from windrow.core.errors import RunError, StateError, WindrowError
from windrow.runtime.shards import lease as leases
from windrow.runtime.shards.checkpoint import require_folder, require_place
from windrow.runtime.shards.files import FarFiles
from windrow.runtime.shards.lease import Holder, Lease, Record, holder_of, newest, take_lease

ELSEWHERE = Holder(4711, "1", "far-away", "another machine")


def written(where: Path, record: Record, number: int = 3) -> None:
    (where / "lease").mkdir(parents=True)
    (where / "lease" / f"{number:012}.json").write_text(json.dumps(asdict(record)))


def record(holder: Holder, age: float) -> Record:
    now = time.time()
    return Record(holder, "token", now - 100, now - age)


def test_a_second_run_is_refused_with_the_name_of_the_holder(tmp_path: Path) -> None:
    held = take_lease(str(tmp_path))
    with pytest.raises(RunError) as refused:
        take_lease(str(tmp_path))
    assert "is in use by this process" in refused.value.message
    assert "to_spark()" in refused.value.detail
    assert "Stop that run first" in refused.value.hint
    held.release()
    assert holder_of(str(tmp_path)) is None
    take_lease(str(tmp_path)).release()


def test_another_process_of_this_machine_is_named_and_succeeded_when_it_dies(
    tmp_path: Path,
) -> None:
    code = "import sys, time; from windrow.runtime.shards.lease import take_lease\n"
    code += "take_lease(sys.argv[1]); print('held', flush=True); time.sleep(60)"
    words = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(RunError) as refused:
            take_lease(str(tmp_path))
        error = refused.value
        assert f"the checkpoint {tmp_path} is in use by process {other.pid} on " in error.message
        assert error.detail.startswith("It has worked there since 2")
        assert "renewed its lease 0 s ago." in error.detail
        assert f"kill -TERM {other.pid}" in error.hint
        assert "windrow state needs no lease" in error.hint
        other.kill()
    assert take_lease(str(tmp_path)).number == 2


def test_a_number_that_another_process_has_by_now_is_not_taken_for_the_holder(
    tmp_path: Path,
) -> None:
    me = Holder.here()
    written(tmp_path, record(replace(me, started="before"), age=0))
    assert take_lease(str(tmp_path)).number == 4


def test_a_lease_of_another_machine_counts_for_thirty_seconds(tmp_path: Path) -> None:
    written(tmp_path, record(ELSEWHERE, age=10))
    with pytest.raises(RunError) as refused:
        take_lease(str(tmp_path))
    assert "is in use by process 4711 on far-away" in refused.value.message
    assert "If far-away is gone, start again in 20 s." in refused.value.hint


@pytest.mark.parametrize("age", [40.0, -4000.0])
def test_one_that_looks_old_is_watched_and_then_taken(tmp_path: Path, age: float) -> None:
    written(tmp_path, record(ELSEWHERE, age))
    slept: list[float] = []
    taken = take_lease(str(tmp_path), sleep=slept.append)
    assert taken.number == 4
    assert sum(slept) >= 2 * leases.RENEWAL_SECONDS
    assert [p.name for p in (tmp_path / "lease").iterdir()] == ["000000000004.json"]


def test_one_that_looks_old_by_a_wrong_clock_and_is_renewed_is_not_taken(tmp_path: Path) -> None:
    found = record(ELSEWHERE, age=4000)
    written(tmp_path, found)

    def renew(_: float) -> None:
        text = json.dumps(asdict(replace(found, renewed=found.renewed + 5)))
        (tmp_path / "lease" / "000000000003.json").write_text(text)

    with pytest.raises(RunError, match="in use by process 4711"):
        take_lease(str(tmp_path), sleep=renew)


def test_of_many_that_want_it_at_once_one_gets_it(tmp_path: Path) -> None:
    written(tmp_path, replace(record(ELSEWHERE, age=0), released=True))
    got: list[Lease] = []
    refused: list[WindrowError] = []

    def want() -> None:
        try:
            got.append(take_lease(str(tmp_path)))
        except WindrowError as error:
            refused.append(error)

    wanting = [threading.Thread(target=want) for _ in range(16)]
    for thread in wanting:
        thread.start()
    for thread in wanting:
        thread.join()
    assert (len(got), len(refused)) == (1, 15)


def test_a_holder_that_was_suspended_sees_that_it_was_succeeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEWAL_SECONDS", 0.01)
    held = take_lease(str(tmp_path))
    number, mine = newest(held.files)
    heard: list[WindrowError] = []
    held.when_lost(heard.append)
    written_by = replace(record(ELSEWHERE, age=0), token="other")
    (tmp_path / "lease" / f"{number + 1:012}.json").write_text(json.dumps(asdict(written_by)))
    deadline = time.monotonic() + 10
    while not heard and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "is now in use by process 4711 on far-away" in heard[0].message
    assert "Nothing is lost" in heard[0].hint
    held.release()
    assert newest(held.files)[1] == written_by
    assert mine is not None


def test_renewals_are_written_until_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEWAL_SECONDS", 0.01)
    held = take_lease(str(tmp_path))
    before = held.record.renewed
    held.when_lost(lambda error: pytest.fail(str(error)))
    deadline = time.monotonic() + 10
    while held.record.renewed == before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert held.record.renewed > before
    held.release()
    _, found = newest(held.files)
    assert found is not None
    assert found.released


def test_a_lease_that_a_loss_of_power_has_cut_off_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "lease").mkdir()
    (tmp_path / "lease" / "000000000001.json").write_text("")
    assert take_lease(str(tmp_path)).number == 2


def test_leases_work_on_other_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def far(where: str) -> FarFiles:
        return FarFiles(where, fs.LocalFileSystem())

    monkeypatch.setattr(leases, "open_files", far)
    held = take_lease(str(tmp_path / "new"))
    with pytest.raises(RunError, match="in use"):
        take_lease(str(tmp_path / "new"))
    held.release()
    assert take_lease(str(tmp_path / "new")).number == 2


def test_a_file_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1,2\n")
    with pytest.raises(RunError) as refused:
        require_folder(str(tmp_path / "rows.csv"))
    assert refused.value.message == f"the checkpoint {tmp_path}/rows.csv is a file"
    assert "A checkpoint is a folder" in refused.value.detail
    assert "Give a folder" in refused.value.hint


def test_a_folder_of_something_else_is_no_checkpoint(tmp_path: Path) -> None:
    require_place(str(tmp_path))
    require_place(str(tmp_path / "new"))
    for name in "abcde":
        (tmp_path / f"{name}.txt").write_text("mine")
    with pytest.raises(RunError) as refused:
        require_place(str(tmp_path))
    assert "is no checkpoint, and it is not empty" in refused.value.message
    assert refused.value.detail == "It holds a.txt, b.txt, c.txt and 2 more, and no windrow.json."
    assert "Give an empty or a new folder" in refused.value.hint


def test_what_a_run_leaves_behind_before_it_begins_does_no_harm(tmp_path: Path) -> None:
    take_lease(str(tmp_path)).release()
    take_lease(str(tmp_path / "by_itself")).release()
    (tmp_path / "counts").mkdir()
    (tmp_path / "counts" / "windrow.json").write_text("{}")
    require_place(str(tmp_path))
    (tmp_path / "shards").mkdir()
    require_place(str(tmp_path))  # `open_checkpoint` refuses what is damaged
    (tmp_path / "shards").rmdir()
    (tmp_path / "photos").mkdir()
    with pytest.raises(RunError, match="no checkpoint"):
        require_place(str(tmp_path))


def test_a_process_knows_itself() -> None:
    me = Holder.here()
    assert me.process == os.getpid()
    assert me == Holder.here()
    assert issubclass(StateError, WindrowError)
