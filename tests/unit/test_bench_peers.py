"""`windrow bench peers`: environments, and peers that are processes of their own."""

import sys
import time
from pathlib import Path

import pytest

from windrow.cli.bench.peers import environments, process
from windrow.cli.bench.peers.environments import Environment, ensure
from windrow.cli.bench.peers.memory import tree_bytes
from windrow.core.errors import RunError


def driver(folder: Path, body: str) -> Path:
    """Write a peer's script of our own; `request` and `tell` are there for it."""
    path = folder / "driver.py"
    head = "import json, os, sys, time\nrequest = json.load(open(sys.argv[1]))\n"
    path.write_text(head + "tell = lambda **e: print(json.dumps(e), flush=True)\n" + body)
    return path


def test_a_driver_gets_its_request_and_tells_its_runs(tmp_path: Path) -> None:
    body = (
        "tell(event='ready', seconds=0.5)\n"
        "print('a line of the engine')\nprint(17)\n"
        "for name in request['names']: tell(event='run', name=name, seconds=2.0, results=3)\n"
    )
    found = process.ask(sys.executable, driver(tmp_path, body), {"names": ["warm", "timed"]})
    assert found.failure == ""
    assert found.ready_seconds == 0.5
    assert [run.name for run in found.runs] == ["warm", "timed"]
    (timed,) = found.named("timed")
    assert (timed.seconds, timed.facts) == (2.0, {"results": 3})


def test_memory_of_children_counts(tmp_path: Path) -> None:
    child = "import time; held = bytearray(80_000_000); held[::4096] = held[::4096]; time.sleep(1)"
    body = f"import subprocess\nsubprocess.run([sys.executable, '-c', {child!r}])\n"
    assert process.ask(sys.executable, driver(tmp_path, body), {}).peak_bytes > 80_000_000


def test_a_failure_is_told_with_the_runs_before_it(tmp_path: Path) -> None:
    body = "tell(event='run', name='warm', seconds=1.0)\nraise ValueError('no such table')\n"
    found = process.ask(sys.executable, driver(tmp_path, body), {})
    assert found.failure == "ValueError: no such table"
    assert len(found.runs) == 1


def test_what_an_engine_cannot_say_is_its_failure(tmp_path: Path) -> None:
    body = "tell(event='cannot', reason='no OVER')\n"
    assert process.ask(sys.executable, driver(tmp_path, body), {}).failure == "no OVER"


def test_patience_ends_a_driver_and_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    body = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "open(request['pid'], 'w').write(str(child.pid))\ntime.sleep(60)\n"
    )
    start = time.monotonic()
    script = driver(tmp_path, body)
    found = process.ask(sys.executable, script, {"pid": str(pid)}, patience=1.0)
    assert found.failure == "stopped after 1 seconds"
    assert time.monotonic() - start < 30
    assert tree_bytes(int(pid.read_text())) == 0


def test_an_environment_is_below_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = Environment("flink", ("apache-flink==2.3.0", "other==1"))
    assert made.folder == tmp_path / "windrow" / "peers" / "flink-2.3.0"
    assert not made.ready


@pytest.mark.long
def test_an_environment_is_made_once_and_again_on_demand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = Environment("tiny", ("pip",))
    told: list[str] = []
    python = ensure(made, told.append)
    assert made.ready
    assert len(told) == 2
    marker = made.folder / "marker"
    marker.touch()
    assert ensure(made, told.append) == python
    assert marker.exists()
    assert len(told) == 2
    ensure(made, told.append, again=True)
    assert not marker.exists()


@pytest.mark.long
def test_what_cannot_be_installed_is_told_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    made = Environment("nothing", ("windrow-no-such-package==1",))
    with pytest.raises(RunError, match="nothing cannot be installed") as caught:
        ensure(made, lambda _: None)
    assert "windrow-no-such-package" in caught.value.detail
    assert not made.folder.exists()


def test_pins_name_one_version_each() -> None:
    for made in (environments.FLINK, environments.PATHWAY, environments.BYTEWAX):
        assert all(package.count("==") == 1 for package in made.packages)
