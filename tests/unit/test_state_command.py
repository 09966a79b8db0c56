"""`windrow state`: what is in a checkpoint, and whether it can be trusted."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.checkpoints import FIXTURES

from windrow.cli.main import windrow
from windrow.runtime.shards.checkpoint import open_checkpoint
from windrow.runtime.shards.clocks import BatchClock, InputTimes
from windrow.runtime.shards.entry import INGEST, STEP, LogStep
from windrow.runtime.shards.files import open_files
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.store import Store

PROGRAM = Program(
    "CREATE STREAM s (ts TIMESTAMP, v BIGINT) TIMESTAMP BY ts;"
    "CREATE QUERY q AS SELECT v FROM s [RANGE 10 SECONDS];",
    ("q",),
)
ROWS = pa.record_batch({"_ts": pa.array([1, 2, 3]), "v": pa.array([7, 8, 9])})


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Two shards after batch 0; the first has begun batch 1, and has a snapshot."""
    claimed = open_checkpoint(str(tmp_path), PROGRAM)
    for number in range(PROGRAM.shards):
        store = Store(open_files(str(tmp_path)), number, 1, claimed.fingerprint)
        store.make_ready()
        for step in (LogStep(2, 0, INGEST), LogStep(2, 0, STEP), LogStep(4, 0, INGEST))[
            : 3 - number
        ]:
            writer = store.writer(step)
            if step.kind == INGEST:
                writer.open_port(0, ROWS.schema.serialize())
                writer.add(0, ROWS.serialize(), ROWS.num_rows)
            writer.publish(
                number, step, step.version - 2, BatchClock({"s": InputTimes(1, 10**15, 3)})
            )
            writer.draft.sync()
    store = Store(open_files(str(tmp_path)), 0, 1, claimed.fingerprint)
    draft = store.write_snapshot(2, {})
    draft.publish()
    draft.sync()
    return tmp_path


def test_versions_log_and_snapshots_are_shown(checkpoint: Path) -> None:
    result = CliRunner().invoke(windrow, ["state", str(checkpoint)])
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    assert lines[0] == "queries q"
    assert "stream s has reached 2001-09-09 01:46:40+00:00" in lines
    (first,) = [line for line in lines if line.startswith("0 ")]
    assert first.startswith("0 batch 0, batch 1 begun 3 files")
    assert " 6 batch 0: " in first
    (second,) = [line for line in lines if line.startswith("1 ")]
    assert second.endswith("3 none yet")
    assert lines[-1] == "All shards are at batch 0. --verify reads all of it."


def test_damage_is_found_by_those_who_look(checkpoint: Path) -> None:
    (snapshot,) = checkpoint.rglob("*.state")
    snapshot.write_bytes(snapshot.read_bytes()[:-1])
    assert CliRunner().invoke(windrow, ["state", str(checkpoint)]).exit_code == 0
    result = CliRunner().invoke(windrow, ["state", str(checkpoint), "--verify"])
    assert result.exit_code == 1
    assert "000000000002.state is damaged" in " ".join(result.output.split())


def test_other_programs_get_it_as_json(checkpoint: Path) -> None:
    result = CliRunner().invoke(windrow, ["state", str(checkpoint), "--verify", "--json"])
    read = json.loads(result.output)
    assert read["clocks"] == {"s": "TIMESTAMP"}
    assert [shard["begun"] for shard in read["shards"]] == [4, 2]


def test_a_folder_that_is_no_checkpoint_is_told_as_such(tmp_path: Path) -> None:
    result = CliRunner().invoke(windrow, ["state", str(tmp_path)])
    assert result.exit_code == 1
    assert "is no checkpoint of windrow" in result.output


def test_what_operators_store_can_be_read_as_arrow(tmp_path: Path) -> None:
    fixture = FIXTURES / "format-8" / "join" / "checkpoint"
    result = CliRunner().invoke(windrow, ["state", str(fixture), "--arrow", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert f"{len(files)} files in {tmp_path / 'out'}" in result.output
    assert "0000-q-text.arrow" in files
    tables = [pa.ipc.open_file(tmp_path / "out" / name).read_all() for name in files]
    joins = [t for t in tables if t.schema.metadata[b"operator"].startswith(b"Join")]
    (join,) = joins
    assert join.num_rows == 1
    # Batches 0 to 2, of ten instants each, are in the snapshot: window a has those from 21 on.
    left, keys = join["left"][0], join["keys"][0]
    assert len(left["lines"]["keep"]) == len(left["payload"]["a.x"]["data"]) == 9
    assert left["payload"]["a.x"]["data"].as_py() == [t * 37 % 101 for t in range(21, 30)]
    words = [key for (key,) in keys["table"]["words"].as_py()]
    assert set(words) >= {(t * t * 3 + t // 4) % 6 for t in range(21, 30)}
