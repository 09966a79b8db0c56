"""A shard may die anywhere: what comes out is what an undisturbed run gives."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st
from tests.faults.processes import ProcessShards, dying
from tests.faults.traffic import PROGRAM, Batch, assert_same, run, traffic
from tests.generate.catalog import bind
from tests.generate.effort import examples
from tests.generate.queries import queries
from tests.generate.streams import worlds
from tests.properties.test_shards_match_oracle import sharded_drives
from tests.reference.oracle import Oracle
from tests.reference.shards import ShardSet, drive_on, drive_shards, program_of

from windrow.runtime.shards import agenda, due, faults, keeper, launch

ELSEWHERE = ("client-", "meeting-", "driver-")
IN_SERVER = [point for point in faults.POINTS if not point.startswith(ELSEWHERE)]
IN_CLIENT = [point for point in faults.POINTS if point.startswith("client-")]

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("forked", "small_snapshots")]


@pytest.fixture
def small_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """State is written every few batches, as it is after hours with real rows."""
    for name in ("FIRST_VERSIONS", "MOST_VERSIONS"):
        monkeypatch.setattr(due, name, 2)


def test_a_process_that_dies_at_every_point_changes_nothing(tmp_path: Path) -> None:
    """Snapshots are written beside the batches, so as many batches come as it takes them."""
    marks = {point: tmp_path / point for point in IN_SERVER}
    given: list[Batch] = []
    got = []
    deadline = time.monotonic() + 60.0
    shards = ProcessShards(tmp_path / "checkpoint", PROGRAM)
    try:
        with dying(*(f"{point}:1:{mark}" for point, mark in marks.items())):
            for batch in traffic(1, 1_000):
                given.append(batch)
                got.append(shards.batch(batch, {}))
                reached = all(mark.exists() for mark in marks.values())
                if len(given) >= 9 and (reached or time.monotonic() > deadline):
                    break
            got.append(shards.batch({}, {}, drain=True))
    finally:
        shards.close()
    assert_same(got, run(ShardSet(PROGRAM), given))
    assert [point for point, mark in marks.items() if not mark.exists()] == []


@pytest.mark.parametrize("held", [1 << 28, 0])
def test_a_process_that_dies_between_slices_changes_nothing(
    held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EVERY", "FIRST_MARKS", "SLICE_ROWS"):
        monkeypatch.setattr(agenda, name, 1)
    monkeypatch.setattr(keeper, "HELD_BYTES", held)
    batches = traffic(3, 6)
    expected = run(ShardSet(PROGRAM), batches)
    shards = ProcessShards(tmp_path / "checkpoint", PROGRAM)
    points = [("between-slices", 5), ("between-slices", 21), ("half-answer", 7), ("after-step", 12)]
    try:
        with dying(*(f"{p}:{n}:{tmp_path / p}-{n}" for p, n in points)):
            assert_same(run(shards, batches), expected)
    finally:
        shards.close()
    assert all((tmp_path / f"{p}-{n}").exists() for p, n in points)


def test_a_process_that_dies_amid_a_paced_backlog_changes_nothing(tmp_path: Path) -> None:
    """Streams fall silent, heartbeats go far ahead, and batches without rows let go of the rest."""
    program = replace(PROGRAM, script=f"SET expiry_pace = 3; {PROGRAM.script}")
    batches = traffic(4, 6)
    expected = run_and_beat(ShardSet(program), batches)
    emitting = [any(map(len, tables)) for tables in expected[len(batches) :]]
    assert 4 < sum(emitting) < len(emitting), "the backlog is let go in parts, and all of it"
    shards = ProcessShards(tmp_path / "checkpoint", program)
    points = [(point, n) for point in ("after-step", "half-answer") for n in (3, 11, 23)]
    try:
        with dying(*(f"{p}:{n}:{tmp_path / p}-{n}" for p, n in points)):
            assert_same(run_and_beat(shards, batches), expected)
    finally:
        shards.close()
    assert all((tmp_path / f"{p}-{n}").exists() for p, n in points)


def run_and_beat(shards: ShardSet, batches: list[Batch]) -> list[list[pa.Table]]:
    """Return the changes of each batch, and of those without rows behind heartbeats far ahead."""
    made = [shards.batch(batch, {}) for batch in batches]
    beats = [{"s": 1_000, "r": 1_000}] + [{}] * 19
    return [*made, *(shards.batch({}, beat) for beat in beats)]


@pytest.mark.slow
@pytest.mark.parametrize("point", IN_SERVER)
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_process_that_dies_once_changes_nothing(point: str, count: int, tmp_path: Path) -> None:
    batches = traffic(count, 7)
    expected = run(ShardSet(PROGRAM), batches)
    shards = ProcessShards(tmp_path / "checkpoint", PROGRAM)
    try:
        with dying(f"{point}:{count}:{tmp_path / 'died'}"):
            got = []
            for number, batch in enumerate(batches):
                got.append(shards.batch(batch, {}))
                if number % 3 == 2:
                    shards.kill(number % 2)  # so that something is replayed
            got.append(shards.batch({}, {}, drain=True))
        assert_same(got, expected)
    finally:
        shards.close()


@pytest.mark.parametrize("point", IN_CLIENT)
def test_a_worker_that_dies_leaves_nothing_behind(point: str, tmp_path: Path) -> None:
    batches = traffic(2, 4)
    expected = run(ShardSet(PROGRAM), batches)
    shards = ProcessShards(tmp_path / "checkpoint", PROGRAM)
    try:
        got = [shards.batch(batch, {}) for batch in batches[:2]]
        worker = os.fork()
        if worker == 0:  # a task that is lost half-way; another one takes its place
            os.environ[faults.ENVIRONMENT] = point
            faults._met.clear()
            for shard in shards.remote:
                shard.client._connection = None
            shards.batch(batches[2], {})
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) == -signal.SIGKILL
        got += [shards.batch(batch, {}) for batch in batches[2:]]
        assert_same([*got, shards.batch({}, {}, drain=True)], expected)
    finally:
        shards.close()
    assert not list((tmp_path / "checkpoint").rglob("*.draft"))


def test_after_a_restart_the_last_batch_can_be_run_again(tmp_path: Path) -> None:
    batches = traffic(3, 8)
    expected = run(ShardSet(PROGRAM), batches)
    chance = random.Random(3)
    shards = ProcessShards(tmp_path / "checkpoint", PROGRAM)
    try:
        for number, batch in enumerate(batches):
            assert_same([shards.batch(batch, {})], [expected[number]])
            for n in range(PROGRAM.shards):
                if chance.random() < 0.4:
                    shards.kill(n)
            shards.batches = number
            assert_same([shards.batch(batch, {})], [expected[number]])
        for _ in range(2):
            assert_same([shards.batch({}, {}, drain=True)], [expected[-1]])
            shards.kill(0)
    finally:
        shards.close()


@pytest.mark.slow
@given(st.data())
@examples(40)
def test_any_query_survives_deaths_anywhere(data: st.DataObject) -> None:
    text, world = data.draw(queries()), data.draw(worlds())
    plan = data.draw(sharded_drives(world))
    wishes = [
        f"{data.draw(st.sampled_from(IN_SERVER))}:{data.draw(st.integers(1, 4))}" for _ in range(4)
    ]
    note(f"{text}\n{plan}\n{wishes}")
    starts = sum(wish.startswith("server-start:") for wish in wishes)
    assume(starts < launch.ATTEMPTS)  # after as many a process is said not to start
    instants = Oracle(bind(text), world).instants()
    if not instants:
        return
    expected = drive_shards(text, world, replace(plan, restarts=frozenset()), instants[-1])
    with tempfile.TemporaryDirectory() as folder:
        shards = ProcessShards(Path(folder) / "checkpoint", program_of(text, plan), plan.seed)
        marks = (f"{wish}:{folder}/{n}" for n, wish in enumerate(wishes))
        try:
            with dying(*marks):
                got = drive_on(shards, world, plan, instants[-1])
        finally:
            shards.close()
    assert Counter(map(repr, got)) == Counter(map(repr, expected))
