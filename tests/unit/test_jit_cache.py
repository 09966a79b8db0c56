"""Compiled kernels: compiled once a machine, again when a source changes, and told of."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from windrow.kernels import cache, jit

pytestmark = pytest.mark.long

FIRST_QUERY = """
import sys, windrow, time
from windrow.kernels.jit import kernels_are_cold
print(kernels_are_cold())
db = windrow.connect()
db.execute("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts")
began = time.perf_counter()
q = db.query("SELECT * FROM s [RANGE 10] WHERE k > 1")
db.push("s", [{"ts": 1, "k": 7}])
assert q.answer().to_pylist() == [{"ts": 1, "k": 7}]
print(time.perf_counter() - began)
db.query("SELECT * FROM s [RANGE 5]")
print(kernels_are_cold())
assert "pandas" not in sys.modules, "half a second that nobody asked for"
"""


def start(home: Path, **environ: str) -> tuple[list[str], str]:
    """Run a first query in a process with its own cache; return what it prints, and says."""
    given = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "WINDROW_"))}
    given |= {"XDG_CACHE_HOME": str(home), **environ}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FIRST_QUERY],
        env=given,
        capture_output=True,
        text=True,
        check=True,
        timeout=110,
    )
    return done.stdout.split(), done.stderr


def test_the_second_start_of_a_machine_does_not_compile(tmp_path: Path) -> None:
    (cold, first, after), said = start(tmp_path, WINDROW_VERBOSE="1")
    assert (cold, after, said) == ("True", "False", f"{cache.NOTICE}\n")
    compiled = written(tmp_path)
    assert compiled
    (warm, second, _), said = start(tmp_path, WINDROW_VERBOSE="1")
    assert (warm, said) == ("False", "")
    assert written(tmp_path) == compiled
    assert float(second) < float(first) / 2


def written(folder: Path) -> dict[str, int]:
    """Return what has been compiled, with the time of writing."""
    return {str(p): p.stat().st_mtime_ns for p in folder.rglob("*.nb[ic]")}


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the user's own, not looked for yet."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cache, "cache_folder", cache.cache_folder.__wrapped__)
    return tmp_path / "windrow" / "kernels"


def test_each_state_of_the_sources_has_its_folder(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache.cache_folder() == fresh / cache.digest()
    before = cache.digest.__wrapped__()
    assert before == cache.digest()
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "callee.py").write_text("x = 1\n")
    monkeypatch.setattr(cache, "files", lambda _: sources)
    one = cache.digest.__wrapped__()
    (sources / "callee.py").write_text("x = 2\n")
    two = cache.digest.__wrapped__()
    monkeypatch.setattr(cache, "version", lambda _: "another")
    assert len({before, one, two, cache.digest.__wrapped__()}) == 4


def test_the_folder_that_the_user_chose_comes_first(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert cache.cache_folder() == tmp_path / "chosen" / "windrow-kernels" / cache.digest()
    assert not fresh.exists()


def test_kernels_are_cold_until_one_is_compiled(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert jit.kernels_are_cold()
    (fresh / cache.digest() / "kernels_1").mkdir()
    (fresh / cache.digest() / "kernels_1" / "hashing.nbi").touch()
    assert not jit.kernels_are_cold()


def test_without_a_compiler_nothing_is_cold(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert not jit.kernels_are_cold()


def test_folders_of_other_sources_go_after_thirty_days(fresh: Path) -> None:
    mine = cache.cache_folder()
    for name, days in (("a" * 16, 31), ("b" * 16, 29), ("notes", 99)):
        (fresh / name).mkdir()
        used = time.time() - days * cache.DAY
        os.utime(fresh / name, (used, used))
    os.utime(mine, (0, 0))
    assert cache.remove_unused() == [fresh / ("a" * 16)]
    assert sorted(p.name for p in fresh.iterdir()) == sorted([mine.name, "b" * 16, "notes"])


def test_a_folder_that_cannot_be_written_is_passed_over(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path / "temporary"))
    folder = cache.cache_folder()
    assert folder.parent.parent == tmp_path / "temporary"
    assert folder.name == cache.digest()


def test_a_folder_of_somebody_else_is_not_trusted(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    monkeypatch.setattr(os, "getuid", lambda: theirs.stat().st_uid + 1)
    assert not cache.usable(theirs)


def test_the_notice_comes_once_and_only_where_somebody_watches(
    fresh: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cache, "_warned", [])
    monkeypatch.delenv("WINDROW_VERBOSE", raising=False)
    cache.warn_if_cold()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(cache, "_warned", [])
    monkeypatch.setenv("WINDROW_VERBOSE", "1")
    cache.warn_if_cold()
    cache.warn_if_cold()
    assert capsys.readouterr().err == f"{cache.NOTICE}\n"
