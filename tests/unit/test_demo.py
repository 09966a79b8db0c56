"""The parts of `windrow demo` that need no Spark: its folder, its picture, its check."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from windrow.cli.demo.folder import MARK, DemoFolder
from windrow.cli.demo.results import DemoResults, check_quiet, openers
from windrow.cli.demo.view import DemoLines, Picture, Status, view_for
from windrow.core.errors import InputError
from windrow.generate.files import write_streams
from windrow.generate.traffic import Traffic, traffic
from windrow.runtime.local.database import Database

STATUS = Status(
    rows=500,
    total=1_000,
    rows_per_second=250.0,
    batches=2,
    clock="2026-01-01T00:01:00Z",
    state_rows=42,
    state_bytes=3_000_000,
)


@pytest.fixture
def finished(tmp_path: Path) -> DemoFolder:
    """A demo whose queries were run in this process."""
    place = DemoFolder(tmp_path / "demo")
    script = place.prepare()
    links = traffic(Traffic(rows=5_000, seconds=150, seed=3))
    write_streams(place.data, links, pieces=3)
    with Database() as db:
        db.execute(script)
        for name, table in links.items():
            db.push(name, table)
        db.drain()
        for name in db.session.queries:
            (place.results / name).mkdir(parents=True)
            changes = db.query(name).changes()
            pq.write_table(changes, place.results / name / "part-0.parquet")
    return place


def test_the_folder_is_made_anew_if_a_demo_made_it(tmp_path: Path) -> None:
    place = DemoFolder(tmp_path / "demo")
    first = place.prepare()
    (place.path / "old").touch()
    assert place.prepare() == first == place.script.read_text()
    assert sorted(path.name for path in place.path.iterdir()) == [MARK, "traffic.cql"]


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputError, match="is not empty"):
        DemoFolder(tmp_path).prepare()
    assert (tmp_path / "thesis.tex").exists()


def test_the_check_agrees_with_a_right_answer(finished: DemoFolder) -> None:
    checked = check_quiet(finished.data, finished.results, spark=None)
    assert (checked.reader, checked.wrong) == ("DuckDB", 0)
    assert checked.rows > 0
    assert checked.sentence().endswith("the same.")


@pytest.mark.parametrize("spoil", [lambda t: t.slice(1), lambda t: t.slice(0, len(t) - 1)])
def test_the_check_finds_a_wrong_answer(
    finished: DemoFolder, spoil: Callable[[pa.Table], pa.Table]
) -> None:
    path = finished.results / "quiet" / "part-0.parquet"
    pq.write_table(spoil(pq.read_table(path)), path)
    checked = check_quiet(finished.data, finished.results, spark=None)
    assert checked.wrong > 0
    assert "NOT THE SAME" in checked.sentence()


def test_results_are_counted_as_they_come(finished: DemoFolder) -> None:
    folder = finished.results / "load"
    results = DemoResults("load", folder)
    results.look()
    table = pq.read_table(folder)
    assert results.changes == len(table)
    last = table.slice(len(table) - 1).to_pylist()[0]
    assert results.newest[-1].split()[1:] == [
        "+" if last["_sign"] > 0 else "-",
        *(str(last[name]) for name in ("src", "connections", "bytes")),
    ]
    pq.write_table(table.slice(0, 5), folder / "part-1.parquet")
    results.look()
    assert results.changes == len(table) + 5


def test_each_reader_gets_a_line_with_the_folder() -> None:
    lines = openers(Path("demo/results/load"))
    assert list(lines) == ["DuckDB", "Polars", "Spark"]
    assert all("demo/results/load" in line for line in lines.values())


def test_a_terminal_gets_a_picture(finished: DemoFolder) -> None:
    out = StringIO()
    console = Console(file=out, force_terminal=True, width=100)
    results = DemoResults("load", finished.results / "load")
    results.look()
    with view_for(console) as view:
        assert isinstance(view, Picture)
        view.show(STATUS, [results])
    shown = out.getvalue()
    assert all(text in shown for text in ("50%", "250 rows/s", "00:01:00Z", "3.0 MB", "load"))


def test_a_log_gets_one_line_a_batch() -> None:
    out = StringIO()
    results = [DemoResults("load", Path("nowhere"), changes=7)]
    with view_for(Console(file=out, width=60)) as view:
        assert isinstance(view, DemoLines)
        for _ in range(3):
            view.show(STATUS, results)
    assert out.getvalue() == (
        "batch 2: 500 of 1,000 rows, 250 rows/s, clock 2026-01-01T00:01:00Z, "
        "state 42 rows, 3.0 MB; changes: load 7\n"
    )
