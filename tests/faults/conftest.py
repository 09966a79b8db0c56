"""Processes of shards end with the test that needed them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.processes import kill_all, nobody_left, start_by_fork, wait_until

from windrow.runtime.shards import launch


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of this test's own for sockets and locks; nothing lives in it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="windrow-"))  # sockets have short names
    monkeypatch.setenv(launch.FOLDER_ENVIRONMENT, str(folder))
    yield folder
    try:
        wait_until(lambda: nobody_left(folder))
    finally:
        kill_all(folder)
        shutil.rmtree(folder)


@pytest.fixture
def forked(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Processes are forked from this one."""
    monkeypatch.setattr(launch, "start", start_by_fork)
    return runtime
