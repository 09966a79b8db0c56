"""What a command does while it starts is shown where somebody looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.cli.run_view import Compiling, RunLines, doing
from windrow.cli.signals import CLEAR, Phases
from windrow.runtime.shards.rebuilding import Rebuilding
from windrow.runtime.spark.activity import RunWatch
from windrow.runtime.spark.progress import Activity, Progress, Tally


def test_verbose_phases_have_lines_that_stay(capsys: pytest.CaptureFixture[str]) -> None:
    phases = Phases(verbose=True)
    phases.begin("starts Spark")
    phases.begin("opens the sources")
    phases.end()
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" s  ")[2] for line in lines] == ["starts Spark", "opens the sources"]


def test_on_a_terminal_one_line_is_replaced_and_removed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    phases = Phases(terminal=True)
    phases.begin("starts Spark")
    phases.end()
    phases.end()
    said = capsys.readouterr().err
    assert said.startswith(f"{CLEAR}starts Spark ... (0.0 s)")
    assert said.count(CLEAR) == 2


def test_where_nobody_looks_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    phases = Phases()
    phases.begin("starts Spark")
    phases.end()
    assert capsys.readouterr().err == ""


def test_a_run_whose_shards_rebuild_says_so() -> None:
    shards = [
        Rebuilding(0, 40, 1 << 20, 1_000, 4_000, 1.0, 0.0),
        Rebuilding(1, 40, 310 << 20, 0, 4_000, 1.0, 0.0),
    ]
    watch, status = RunWatch("2 seconds"), {"message": "Processing new data"}
    activity = watch.look(status, Tally(), None, shards)
    assert activity.doing == "rebuilding"
    assert doing(activity) == (
        "rebuilding for 0 s: shard 0: 1,000 of 4,000 rows replayed; "
        "shard 1: loads its snapshot; no batch yet"
    )
    assert watch.look(status, Tally(), None, []).doing == "working"
    assert watch.look({"message": "ended"}, Tally(), "failed", shards).doing == "failed"


def test_lines_say_every_other_second_how_far_a_rebuild_is() -> None:
    lines = RunLines()

    def said(seconds: float) -> int:
        return len(lines.of(Progress(True, "", activity=Activity("rebuilding", seconds, "x"))))

    assert [said(s) for s in (0.2, 0.4, 1.9, 2.1, 2.3, 4.1)] == [1, 0, 0, 1, 0, 1]


def test_kernels_that_are_compiled_are_counted(tmp_path: Path) -> None:
    compiling = Compiling(tmp_path)
    assert compiling.line(0.0) == ["compiles kernels for this machine, once (up to 15 s): 0 so far"]
    (tmp_path / "a.nbi").touch()
    assert compiling.line(1.0) == []
    assert compiling.line(2.5)[0].endswith("1 so far")
