"""A failure that would come again is not worked for twice."""

from pathlib import Path

import pytest

from windrow.core.errors import FullDiskError, LimitError, StateError, WindrowError
from windrow.runtime.shards.repeats import Attempt


def fail(attempt: Attempt, error: WindrowError) -> str:
    """Return what an attempt fails with; "worked" is in it if anything was tried."""
    worked = False
    try:
        with attempt.noted():
            worked = True
            raise error
    except WindrowError as raised:
        return f"{type(raised).__name__} {raised.message}{' worked' if worked else ''}"


@pytest.mark.parametrize("kind", [LimitError, FullDiskError])
def test_the_next_attempt_fails_at_once_with_the_same_words(
    tmp_path: Path, kind: type[WindrowError]
) -> None:
    note = tmp_path / "0003.failed"
    first = Attempt(note, "run", 4, again=False)
    assert fail(first, kind("no room", hint="Make room.")) == f"{kind.__name__} no room worked"
    assert fail(Attempt(note, "run", 4, again=True), kind("x")) == f"{kind.__name__} no room"


@pytest.mark.parametrize(("run", "version"), [("other", 4), ("run", 6)])
def test_another_run_or_version_looks_anew(tmp_path: Path, run: str, version: int) -> None:
    note = tmp_path / "0003.failed"
    fail(Attempt(note, "run", 4, again=False), LimitError("no room"))
    assert fail(Attempt(note, run, version, again=True), LimitError("y")) == "LimitError y worked"


def test_what_may_be_over_is_tried_again(tmp_path: Path) -> None:
    note = tmp_path / "0003.failed"
    fail(Attempt(note, "run", 4, again=False), StateError("the network"))
    assert not note.exists()
    assert fail(Attempt(note, "run", 4, again=True), StateError("z")) == "StateError z worked"


def test_a_note_that_cannot_be_written_costs_another_attempt(tmp_path: Path) -> None:
    note = tmp_path / "gone" / "0003.failed"
    assert fail(Attempt(note, "run", 4, again=False), LimitError("a")) == "LimitError a worked"
    assert fail(Attempt(note, "run", 4, again=True), LimitError("b")) == "LimitError b worked"
