"""`windrow bench kernel` at tiny sizes: every part runs, and a wrong answer is never believed."""

import json
from collections.abc import Callable
from contextlib import ExitStack

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner

from windrow.cli.main import windrow
from windrow_lab.bench import (
    internal,
    long_window,
    measure,
    medians,
    relations,
    spellings,
    startup,
    strategies,
)
from windrow_lab.bench.answers import Check
from windrow_lab.bench.data import Scale, streams
from windrow_lab.bench.kernel import NAMES, OTHERS, TWINS
from windrow_lab.bench.plain_twins import arrivals
from windrow_lab.bench.workloads import WORKLOADS, Workload
from windrow_lab.contest.report import Bar

pytestmark = pytest.mark.long

TINY = Scale(rows=1_000, window=120, keys=40, sources=8, batch=300)
TINIEST = 0.001
"""A share of the full size."""
SPOILT = 50
"""The row that is made wrong."""

by_workload = pytest.mark.parametrize("work", WORKLOADS, ids=lambda work: work.name)


def told(work: Workload) -> pa.Table:
    pieces: list[pa.Table] = []
    measure.run_windrow(work.sql(TINY), work.reads, streams(TINY), TINY.batch, pieces.append)
    return pa.concat_tables(pieces)


def difference(check: Check, changes: pa.Table, other: pl.DataFrame) -> str:
    check.take_changes(changes)
    check.take_other(other)
    return check.difference()


def without_a_row(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(0, SPOILT), table.slice(SPOILT + 1)])


def with_a_wrong_value(table: pa.Table) -> pa.Table:
    i = table.schema.names.index(next(n for n in ("v", "s", "k") if n in table.schema.names))
    column = table.column(i)
    wrong = pc.if_else(pa.array(r == SPOILT for r in range(len(table))), pc.add(column, 1), column)
    return table.set_column(i, table.schema.field(i).name, wrong.cast(column.type))


def with_a_row_twice(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table.slice(SPOILT, 1)])


@by_workload
def test_each_workload_answers_as_every_polars_form(work: Workload) -> None:
    for bar in measure.against_polars(work, streams(TINY), TINY, 1):
        assert bar.check == "equal"
        assert bar.work["tuples_in"]


@by_workload
def test_each_workload_answers_as_its_twin(work: Workload) -> None:
    (bar,) = measure.against_twin(work, TINY, 1)
    assert bar.check == "equal"


@by_workload
@pytest.mark.parametrize("spoil", [without_a_row, with_a_wrong_value, with_a_row_twice])
def test_a_wrong_changelog_fails_the_check(
    work: Workload, spoil: Callable[[pa.Table], pa.Table]
) -> None:
    wrong = spoil(told(work))
    tables = streams(TINY)
    frames = {name: pl.DataFrame(table) for name, table in tables.items()}
    rows = pl.concat(work.forms[0](frames, TINY))
    assert difference(work.check(TINY), wrong, rows)
    twin = work.twin_frame(work.twin(arrivals(tables, work.reads), TINY))
    assert difference(work.check_twin(TINY), wrong, twin)


@by_workload
def test_a_wrong_polars_row_fails_the_check(work: Workload) -> None:
    frames = {name: pl.DataFrame(table) for name, table in streams(TINY).items()}
    rows = pl.concat(work.forms[0](frames, TINY))
    column = next(name for name in ("n", "k") if name in rows.columns)
    wrong = rows.with_columns(pl.col(column) + (pl.int_range(pl.len()) == SPOILT).cast(pl.Int64))
    assert difference(work.check(TINY), told(work), wrong)


def test_a_longer_window_finds_the_same_pairs_as_polars() -> None:
    assert long_window.measure(TINIEST).check == "equal"


def test_all_strategies_tell_the_same_by_different_work() -> None:
    found = {bar.name: bar for bar in strategies.measure(TINIEST)}
    assert len(found) == 7
    assert {bar.check for bar in found.values()} == {"equal"}
    direct, negative = (found[f"strategies_query1_{name}"] for name in ("direct", "negative"))
    assert direct.facts["direct_work"]["comparisons"] > direct.work["comparisons"]
    assert negative.facts["negative_work"]["state_rows"] > negative.work["state_rows"]


def test_only_negative_sends_departures_into_a_join() -> None:
    """Above it the counts say less: `upa` tells copies one by one, `negative` equal rows as one."""
    taken_in = {}
    with ExitStack() as opened:
        for strategy in ("upa", "negative"):
            tables = strategies.links(300, 2)
            window = strategies.slices(tables, 0, 200)
            one = strategies.filled("query1", strategy, window, opened)
            one.run(strategies.slices(tables, 200, 100))
            operators = one.query.stats()["operators"]
            taken_in[strategy] = [o["negatives_in"] for o in operators if o["operator"] == "Join"]
    assert taken_in["upa"] == [0]
    assert taken_in["negative"][0] > 0


def test_internal_windows_have_the_results_of_the_bounded_join() -> None:
    scale = Scale.of(2_000)
    bars = internal.measure(streams(scale), scale, repeats=1)
    assert [bar.check for bar in bars] == ["equal", "equal"]
    assert all(bar.work["negatives_out"] == 0 for bar in bars), "no retraction is computed"


def test_single_tuples_leave_the_right_answer() -> None:
    bar = startup.latency(TINIEST)
    assert bar.check == "equal"
    assert float(bar.facts["p50_us"]) <= float(bar.facts["p99_us"])


def test_medians_and_both_spellings_answer_as_duckdb() -> None:
    bars = [*medians.measure(2_000, 1), *spellings.measure(TINIEST, 1)]
    assert len(bars) == 5
    assert {bar.check for bar in bars} == {"equal"}


def test_a_wrong_median_is_found() -> None:
    right = pa.table({"k": [1, 2], "m": [0.5, 1.5]})
    assert medians.unlike(right, right, "k") == ""
    assert medians.unlike(right, pa.table({"k": [1, 2], "m": [0.5, 1.6]}), "k")
    assert medians.unlike(right, right.slice(1), "k")


def test_a_start_gives_the_right_answer() -> None:
    assert startup.start_bar("start", None, 1_000.0).met


def test_a_bar_is_missed_if_slow_or_wrong() -> None:
    assert Bar("x", 2.0, 1.0, 1.0, 1.0).met
    assert Bar("x", 0.1, None, 1.0, 1.0).met
    assert not Bar("x", 0.9, 1.0, 1.0, 1.0).met
    assert not Bar("x", 2.0, 1.0, 1.0, 1.0, "3 rows differ").met


def test_the_command_prints_lines_then_a_table_and_fails_if_a_bar_is_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measure, "POLARS_BAR", 1e9)
    arguments = ["bench", "kernel", "--rows", "2000", "--repeats", "1", "--only", "distinct"]
    result = CliRunner().invoke(windrow, arguments)
    assert result.exit_code == 1
    line = json.loads(result.stdout.splitlines()[0])
    assert line["name"] == "distinct"
    assert line["met"] is False
    assert line["check"] == "equal"
    assert "missed: distinct" in result.stdout
    assert CliRunner().invoke(windrow, [*arguments, "--no-fail"]).exit_code == 0


def test_every_part_can_be_chosen() -> None:
    assert tuple(work.name for work in WORKLOADS) == NAMES
    help_text = CliRunner().invoke(windrow, ["bench", "kernel", "--help"]).stdout
    assert all(name in help_text.replace("\n", "") for name in (*NAMES, *TWINS, *OTHERS))


@pytest.mark.parametrize("rows", [100, 2_000, 123_457, 2_000_000, 3_000_000])
def test_a_scale_keeps_three_matches_a_tuple(rows: int) -> None:
    scale = Scale.of(rows)
    assert scale.rows == rows
    assert scale.window == 3 * scale.keys
    assert scale.window % scale.slide == 0


def test_relations_are_pushed_to_and_their_answers_checked() -> None:
    bars = relations.measure(TINIEST, repeats=1)
    assert [bar.check for bar in bars] == ["equal"] * len(bars)
