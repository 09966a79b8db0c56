"""`windrow bench peers`: environments, and peers that are processes of their own."""

import csv
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from windrow.cli.main import windrow
from windrow.core.errors import RunError
from windrow_lab.bench.data import Scale, streams
from windrow_lab.contest.measurement import EQUAL
from windrow_lab.contest.report import Bar, summary
from windrow_lab.peers import PEERS, WORKLOADS, environments, process, rows
from windrow_lab.peers.bars import LIMITS, bars_of, passed
from windrow_lab.peers.contest import Contest, Result, absent, result_of
from windrow_lab.peers.engines import (
    CHECK,
    ENGINES,
    TIMED,
    WINDROW,
    Engine,
    Job,
    Kind,
    Request,
)
from windrow_lab.peers.environments import Environment, ensure
from windrow_lab.peers.files import TINY
from windrow_lab.peers.forms import Cannot
from windrow_lab.peers.memory import tree_bytes
from windrow_lab.peers.showing import notes, write_csv, write_picture
from windrow_lab.peers.tasks import TASKS, Task

pytestmark = pytest.mark.long


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
    body += "tell(event='run', name='timed', seconds=1.0)\n"
    assert process.ask(sys.executable, driver(tmp_path, body), {}).peak_bytes > 80_000_000


def test_a_failure_is_told_with_the_runs_before_it(tmp_path: Path) -> None:
    body = "tell(event='run', name='warm', seconds=1.0)\nraise ValueError('no such table')\n"
    found = process.ask(sys.executable, driver(tmp_path, body), {})
    assert found.failure == "ValueError: no such table"
    assert len(found.runs) == 1


def test_the_exception_is_told_and_not_the_report_after_it() -> None:
    text = "Traceback (most recent call last):\n  File x\na.b.QueryException: two times\n=== plan\n"
    assert process.failure_of(1, text) == "a.b.QueryException: two times"
    java = "py4j.Error: x\nCaused by: java.E: outer\nCaused by: java.F: no column\n\tat a.b(C)\n"
    assert process.failure_of(1, java) == "java.F: no column"
    assert process.failure_of(3, "") == "ended with code 3"
    assert process.failure_of(-9, "a warning\n") == "ended by SIGKILL"
    assert process.failure_of(0, text) == ""


def test_what_an_engine_cannot_say_is_its_failure(tmp_path: Path) -> None:
    body = "tell(event='cannot', reason='no OVER')\n"
    assert process.ask(sys.executable, driver(tmp_path, body), {}).cannot == "no OVER"


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
    assert found.cannot == "not done after 1 seconds"
    assert time.monotonic() - start < 30
    assert tree_bytes(int(pid.read_text())) == 0


def test_a_driver_that_takes_too_much_memory_is_ended(tmp_path: Path) -> None:
    body = "held = bytearray(120_000_000)\nheld[::4096] = held[::4096]\ntime.sleep(60)\n"
    start = time.monotonic()
    found = process.ask(sys.executable, driver(tmp_path, body), {}, most=100_000_000)
    assert found.cannot == "took more than 0.1 GB of memory"
    assert time.monotonic() - start < 30


def test_an_environment_is_below_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = Environment("flink", ("apache-flink==2.3.0", "other==1"))
    assert made.folder == tmp_path / "windrow" / "peers" / "flink-2.3.0"
    assert not made.ready


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


@pytest.fixture(scope="module")
def contest(tmp_path_factory: pytest.TempPathFactory) -> Contest:
    return Contest(tmp_path_factory.mktemp("peers"), TINY, missing={"flink": "not installed: x"})


by_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


@by_task
def test_engines_in_our_environment_agree(contest: Contest, task: Task) -> None:
    for engine in (WINDROW, ENGINES["duckdb"], ENGINES["polars"]):
        (found,) = contest.results(engine, [task])
        assert found.check == EQUAL
        assert found.good
        assert found.rows == TINY.rows // len(task.reads) * len(task.reads) * TINY.triggers
        assert found.work["results"]
        assert found.peak_bytes > 10_000_000


@by_task
def test_a_wrong_answer_is_seen(task: Task) -> None:
    scale = Scale(rows=1_000, window=120, keys=40, sources=8, batch=300)
    frames = {n: pl.DataFrame(t) for n, t in streams(scale, names=task.reads).items()}
    right = task.output.expected(frames, scale)
    assert task.output.difference(right.sample(fraction=1, shuffle=True), frames, scale, 0) == ""
    assert "rows, expected" in task.output.difference(right[1:], frames, scale, 0)
    for name in task.output.columns:
        for value in (other_value(right, name), pl.lit(None).cast(right.schema[name]).alias(name)):
            spoilt = pl.concat([right[0].with_columns(value), right[1:]])
            assert "differ" in task.output.difference(spoilt, frames, scale, 0), (name, str(value))
    nothing = right.clear(n=1)
    more = pl.concat([right, nothing])
    assert "rows, expected" in task.output.difference(more, frames, scale, 0)
    values = pl.exclude(task.output.exact[0])
    emptied = right.with_columns(pl.when(False).then(values).name.keep())
    assert emptied.drop(task.output.exact[0]).null_count().sum_horizontal().item() >= right.height
    assert "differ" in task.output.difference(emptied, frames, scale, 0)


def test_sums_that_are_missing_on_both_sides_are_equal() -> None:
    missing = pl.DataFrame({"ts": [1, 2], "s": [None, 0.5]}, {"ts": pl.Int64, "s": pl.Float64})
    told = rows.Rows(("ts",), ("s",), lambda _frames, _scale: missing, rows.SAME)
    assert told.difference(missing, {}, Scale(rows=1_000), 0) == ""
    assert "1 of 2" in told.difference(missing.fill_null(0.0), {}, Scale(rows=1_000), 0)
    assert "1 of 2" in told.difference(
        missing[[0, 0]].with_columns(ts=pl.Series([1, 2])), {}, Scale(), 0
    )


def other_value(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Return another value for a column: earlier for a time, so that it stays inside."""
    if frame.schema[name] == pl.String:
        return (pl.col(name) + "x").alias(name)
    return (pl.col(name) - 1).alias(name)


def test_a_peer_that_is_not_there_is_told_and_skipped(contest: Contest) -> None:
    (found,) = contest.results(ENGINES["flink"], TASKS[:1])
    assert found.skipped == "not installed: x"
    assert not found.good


def test_what_a_peer_cannot_say_is_skipped_with_the_reason(contest: Contest) -> None:
    (found,) = contest.results(ENGINES["spark"], [TASKS[2]])
    assert found.skipped == "Spark has no OVER by time on streams"


def result(engine: str, rate: float, **facts: str) -> Result:
    return Result(engine, "W1", rows_per_second=rate, seconds=1.0, rows=10, **facts)  # type: ignore[arg-type]


def table_of(*results: Result) -> dict[tuple[str, str], Result]:
    return {(r.engine, r.task): r for r in results}


def test_bars_compare_rates_with_the_better_of_sparks_stores() -> None:
    results = table_of(
        result("windrow-spark", 130.0), result("spark", 10.0), result("spark-rocksdb", 5.0)
    )
    (bar,) = bars_of(results, ("spark", "spark-rocksdb"), ("W1",))
    assert (bar.ratio, bar.bar, bar.met) == (13.0, 12.0, True)
    assert bar.facts["against"] == "spark, 10 rows/s"
    assert bar.name == "W1 windrow-spark / spark"


def against_flink(*results: Result) -> Bar:
    """Return the bar of windrow in process."""
    _, bar = bars_of(table_of(*results), ("flink",), ("W1",))
    assert bar.name == "W1 windrow / flink"
    return bar


def test_a_wrong_answer_misses_its_bar() -> None:
    bar = against_flink(result("windrow", 1e6), result("flink", 1.0, check="3 rows differ"))
    assert bar.verdict == "missed"
    assert bar.check == "flink: 3 rows differ"


@pytest.mark.parametrize("asked", [PEERS, ("flink",), ("spark-rocksdb", "duckdb"), ("polars",)])
def test_a_peer_that_was_asked_for_and_has_no_figure_fails_all_its_bars(
    contest: Contest, asked: tuple[str, ...]
) -> None:
    """Whether it is not installed, too slow, or has left nothing: no bar is met by default."""
    good = [Result(ours, task, 1e9, 1.0, 10) for ours, _ in LIMITS for task in WORKLOADS]
    for others in ([], list(contest.results(ENGINES["flink"], TASKS))):
        results = table_of(*good, *others)
        found = list(bars_of(results, asked, WORKLOADS))
        limits = [
            f"{task} {ours} / {peer}"
            for (ours, peer), tasks in LIMITS.items()
            for task in tasks
            if peer in {name.removesuffix("-rocksdb") for name in asked}
        ]
        named = [bar.name.removesuffix("-rocksdb") for bar in found]
        assert named == limits
        assert len(set(named)) == len(named)
        assert {bar.verdict for bar in found} <= {"not measured"}
        assert not passed(results, found) or not limits
        assert "every bar is met" not in summary(found)


def test_all_bars_are_met_only_if_there_are_some_and_all_are_measured() -> None:
    met, missed = (Bar(name, ratio, 1.0, 0.1, 10.0) for name, ratio in (("a", 2.0), ("b", 0.5)))
    unmeasured = Bar("c", 0.0, 1.0, 0.0, 0.0, "not measured: flink: not installed")
    assert summary([met]) == "every bar is met"
    assert summary([met, missed, unmeasured]) == "missed: b\nnot measured: c"
    assert summary([met, unmeasured]) == "not measured: c"
    assert summary([]) == "no bar was measured"


def test_quick_bars_against_flink_are_indicative() -> None:
    names = ("windrow", "windrow-spark", "spark", "flink")
    results = table_of(*(result(name, 1e6) for name in names))
    for bar in bars_of(results, ("spark", "flink"), ("W1",), quick=True):
        of_flink = bar.name.endswith("flink")
        assert (bar.facts.get("quick") == "indicative") == of_flink
        assert ("indicative" in str(bar.facts["against"])) == of_flink
    assert all("quick" not in bar.facts for bar in bars_of(results, ("flink",), ("W1",)))


def test_windrow_without_a_figure_misses_its_bar() -> None:
    bar = against_flink(result("windrow", 0.0, check="not done"), result("flink", 1.0))
    assert not bar.met
    assert bar.ratio == 0
    assert bar.check == "windrow: not done"


def test_notes_csv_and_picture_tell_every_result(tmp_path: Path) -> None:
    results = table_of(
        result("windrow", 1e6), result("flink", 1e5), result("spark", 0.0, skipped="no OVER")
    )
    told = "\n".join(notes(results))
    assert "W1 Spark: no OVER." in told
    write_csv(tmp_path / "peers.csv", results)
    with (tmp_path / "peers.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["engine"] for line in lines] == ["windrow", "flink", "spark"]
    assert [line["rows_per_second"] for line in lines] == ["1000000", "100000", "0"]
    assert lines[2]["skipped"] == "no OVER"
    vector, pixels = write_picture(tmp_path, results)
    assert "Flink" in vector.read_text()
    assert pixels.stat().st_size > 1_000


def test_unknown_names_are_refused_with_those_that_exist() -> None:
    done = CliRunner().invoke(windrow, ["bench", "peers", "--peers", "storm"])
    assert done.exit_code == 2
    assert "no storm; there are spark" in done.output


def test_after_a_failure_the_other_workloads_get_a_new_process(tmp_path: Path) -> None:
    body = "name = request['runs'][0]['name']\nraise ValueError('not ' + name)\n"
    broken = Engine(
        "broken",
        "Broken",
        str(driver(tmp_path, body)),
        lambda job: {"runs": [{"name": job.run("check")}]},
        "rows",
        "",
        shares=True,
    )
    contest = Contest(tmp_path, replace(TINY, shared=True), {})
    found = list(contest.results(broken, TASKS[:2]))
    assert [r.check for r in found] == ["ValueError: not W1 check", "ValueError: not W2 check"]


@pytest.mark.parametrize("name", ENGINES)
def test_drivers_in_other_environments_import_nothing_of_windrow(name: str) -> None:
    script = process.DRIVERS / ENGINES[name].driver
    imports = re.search(r"^\s*(from|import) windrow(_lab)?\b", script.read_text(), re.MULTILINE)
    assert bool(imports) == (ENGINES[name].environment is None and name != "duckdb")


REPEATED = """
for n, run in enumerate(request['runs']):
    if n == request['bad']: {spoil}
    tell(event='run', name=run['name'], seconds=1.0, results=7 + (n == request['odd']))
"""


def repeating(folder: Path, spoil: str, kind: Kind, **places: int) -> Engine:
    """Return an engine of one check and three timed runs; one of them may be bad, or odd."""
    script = str(driver(folder, REPEATED.format(spoil=spoil)))

    def request(job: Job) -> Request:
        runs = [{"name": job.run(name)} for name in (CHECK, TIMED, TIMED, TIMED)]
        return {"runs": runs, "bad": -1, "odd": -1, **places}

    return Engine("some", "Some", script, request, kind, "", pace="slow", hurried=True)


@pytest.mark.parametrize("bad", [0, 2])
@pytest.mark.parametrize("kind", ["changes", "rows"])
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        ("raise ValueError('broke')", "ValueError: broke"),
        ("sys.exit(0)", "ended before its last run"),
        ("time.sleep(60)", "not done after 1 seconds"),
    ],
)
def test_every_run_must_end(tmp_path: Path, spoil: str, reason: str, kind: Kind, bad: int) -> None:
    engine = repeating(tmp_path, spoil, kind, bad=bad)
    contest = Contest(tmp_path, replace(TINY, patience=1.0), {})
    (found,) = contest.results(engine, TASKS[:1])
    assert not found.good
    assert reason in (found.check + found.skipped)
    too_slow = "sleep" in spoil and kind == "rows" and bad <= 1
    assert bool(found.skipped) == too_slow


def test_repeats_tell_equally_many_results(tmp_path: Path) -> None:
    job = Contest(tmp_path, TINY, {}).job(WINDROW, TASKS[0])
    for odd in (-1, 1, 2, 3):
        engine = repeating(tmp_path, "pass", "rows", odd=odd)
        asked = engine.request(job)
        assert not isinstance(asked, Cannot)
        outcome = process.ask(sys.executable, engine.driver, asked)
        assert (result_of(engine, job, outcome, "").check == EQUAL) == (odd == -1)


@by_task
@pytest.mark.parametrize("name", ENGINES)
def test_results_of_timed_runs_are_counted_where_they_mean_the_same(
    tmp_path: Path, task: Task, name: str
) -> None:
    contest = Contest(tmp_path, TINY, {})

    def told(engine: str, results: int | None) -> Result:
        work = {} if results is None else {"results": results}
        return contest.counted(ENGINES[engine], Result(engine, task.name, work=work), task)

    assert told("windrow", 5).good
    same = task.name in ("W1", "W7") and name in ("duckdb", "polars")
    must = name in ("windrow-spark",) or same
    assert told(name, 5).good
    if name != "windrow":
        assert told(name, 4).good != must
    assert told(name, None).good != (must or name == "windrow")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spark", "windrow-spark", "flink", "pathway", "bytewax"])
def test_engines_of_their_own_agree(tmp_path: Path, name: str) -> None:
    missing = absent([ENGINES[name]], print, again=False)
    assert missing == {}
    contest = Contest(tmp_path, replace(TINY, shared=True), missing)
    results = list(contest.results(ENGINES[name], TASKS))
    assert {r.task for r in results} == {task.name for task in TASKS}
    assert [f"{r.task}: {r.check}" for r in results if not (r.skipped or r.good)] == []
