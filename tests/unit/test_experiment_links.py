"""The thesis' queries over links, in small: right answers pass, wrong ones are found."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.traces import folder

from windrow.core.errors import InputError, RunError
from windrow_lab.contest.measurement import EQUAL
from windrow_lab.experiments.library.experiment import Options
from windrow_lab.experiments.library.run import Result, run
from windrow_lab.experiments.links import base, partitions, query1, query2, query3, query4, trace

pytestmark = pytest.mark.long

KINDS: tuple[type[base.LinkExperiment], ...] = (
    query1.Query1Ftp,
    query1.Query1Telnet,
    query2.Query2Source,
    query2.Query2Pairs,
    query3.Query3,
    query4.Query4,
)


def in_small(kind: type[base.LinkExperiment], *windows: int, **more: Any) -> Result:
    """Run an experiment with small windows and short stretches."""
    small = type(kind.__name__, (kind,), {"__doc__": kind.__doc__, **more})
    small.factors = {**kind.factors, "window": windows}
    return run(small(Options(repeats=1)))


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "STRETCH", 300)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_all_strategies_give_the_true_answer_and_a_verdict_comes_of_it(
    kind: type[base.LinkExperiment],
) -> None:
    result = in_small(kind, 1_000, 4_000)
    assert len(result.table.rows) == 2 * len(kind.factors["strategy"])
    assert all(row.number("ms_per_1000") > 0 for row in result.table.rows)
    answers = {row.levels["window"]: row.number("answer_rows") for row in result.table.rows}
    assert answers[4_000] > answers[1_000]
    assert result.findings


def test_work_tells_the_strategies_apart() -> None:
    table = in_small(query1.Query1Telnet, 900).table
    at = {name: table.where(strategy=name).rows[0].counts for name in ("NT", "DIRECT", "UPA")}
    assert at["NT"]["negatives_told"] > 2 * at["UPA"]["negatives_told"]
    assert at["DIRECT"]["comparisons"] > 10 * at["UPA"]["comparisons"]
    assert at["NT"]["births"] == at["DIRECT"]["births"] == at["UPA"]["births"] > 0


def test_an_answer_that_is_not_the_truth_is_found() -> None:
    lie = "SELECT DISTINCT src FROM link1 WHERE proto <> 'telnet'"
    with pytest.raises(RunError) as caught:
        in_small(query2.Query2Source, 400, truth=lie)
    assert "differs from DuckDB's" in caught.value.detail
    assert "rows should not be there, 0 are missing" in caught.value.detail


def test_strategies_that_disagree_are_found() -> None:
    def contestant(self: base.LinkExperiment, name: str) -> tuple[str, str]:
        text = self.text if name == "NT" else f"{self.text} WHERE proto <> 'telnet'"
        return text, "upa"

    with pytest.raises(RunError) as caught:
        in_small(query2.Query2Source, 400, contestant=contestant)
    assert "differ from those of the first contestant" in caught.value.detail


@pytest.fixture
def real_trace(monkeypatch: pytest.MonkeyPatch) -> trace.Trace:
    monkeypatch.setenv(trace.ENVIRONMENT, str(folder()))
    try:
        return trace.load("zeek", 0, 0)
    except InputError:
        pytest.skip(f"{trace.ENVIRONMENT} names no folder with zeek-3day, nor does one lie beside")


def test_the_real_trace_is_looked_for_only_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(trace.ENVIRONMENT, raising=False)
    with pytest.raises(InputError) as caught:
        trace.zeek_path()
    assert caught.value.detail == "The environment variable WINDROW_DATA is not set."
    monkeypatch.setenv(trace.ENVIRONMENT, str(tmp_path))
    with pytest.raises(InputError) as caught:
        trace.zeek_path()
    assert "has no zeek-3day/conn.tsv.gz" in caught.value.detail
    assert "Set WINDROW_DATA to the folder that has it" in caught.value.hint


def test_the_real_trace_has_three_links_in_order_of_time(real_trace: trace.Trace) -> None:
    found = real_trace
    assert sum(map(len, found.tables.values())) == 105_918
    assert found.ticks > 35_000
    for name in found.tables:
        ticks = found.tables[name]["t"].to_numpy()
        assert (ticks[1:] >= ticks[:-1]).all()
        part = found.between(name, 100, 200)["t"].to_numpy()
        assert 100 <= part.min() <= part.max() < 200


@pytest.mark.usefixtures("real_trace")
def test_the_queries_run_on_the_real_trace() -> None:
    for kind in (query1.Query1Telnet, query3.Query3):
        small = type(kind.__name__, (kind,), {"__doc__": kind.__doc__})
        small.factors = {**kind.factors, "window": (400,)}
        assert run(small(Options(repeats=1, trace="zeek"))).findings


def test_structures_of_any_number_of_partitions_let_results_go_in_time() -> None:
    class Small(partitions.Query1Partitions):
        factors: ClassVar = {**partitions.Query1Partitions.factors, "window": (3_000,)}

    rows = run(Small(Options(repeats=1))).table.rows
    assert len(rows) == 4
    assert len({row.number("waiting") for row in rows}) == 1
    assert rows[0].number("waiting") > 10
    assert [row.number("comparisons") > 0 for row in rows] == [True, False, False, False]


def test_pinned_partitions_stay_as_many() -> None:
    queue = partitions.pinned(8, 1_000)
    ends = np.random.default_rng(3).integers(0, 1_000, 5_000)
    queue.push(ends, np.arange(5_000))
    queue.check()
    assert len(queue.slots) == 8
    left, _ = queue.pop(499)
    assert left.tolist() == sorted(ends[ends < 500].tolist())


def test_a_result_that_leaves_late_is_found() -> None:
    case = partitions.QueueCase(
        partitions.pinned(8, 100), np.array([1, 2]), np.array([50, 40]), at=100, next_row=2
    )
    late = [(np.array([50]), np.array([0]))]
    assert "1 results left, 2 were due" in partitions.left_difference(case, late, 0)
    in_time = [(np.array([40, 50]), np.array([1, 0]))]
    assert partitions.left_difference(case, in_time, 0) == EQUAL
