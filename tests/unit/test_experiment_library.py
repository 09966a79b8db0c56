"""The experiment library: turns, medians, checks, files, figures, verdicts."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from rich.console import Console

from windrow.core.errors import RunError
from windrow_lab.contest.measurement import Measurement
from windrow_lab.experiments.library import figure
from windrow_lab.experiments.library.experiment import Experiment, Options, Panel
from windrow_lab.experiments.library.files import write_index, write_result
from windrow_lab.experiments.library.machine import facts
from windrow_lab.experiments.library.run import count_steps, run
from windrow_lab.experiments.library.series import Axis, series_of
from windrow_lab.experiments.library.spread import Ratio, Spread
from windrow_lab.experiments.library.table import Levels, Row, Table
from windrow_lab.experiments.library.text_plot import plot
from windrow_lab.experiments.library.verdict import (
    Finding,
    Kind,
    Outcome,
    above,
    all_of,
    below,
    share_of,
    verdict,
    waiting,
    within,
)


class Slow(Experiment[Iterator[float]]):
    """Is slow slower than fast?

    Claim    slow takes
             ten times as long.
    Refuted  if less than 5 times.
    Source   [NOBODY 1].
    """

    name = "slow"
    title = "slow and fast"
    figures = "1"
    factors: ClassVar = {"size": (1, 10), "pace": ("fast", "slow")}
    full: ClassVar = {"size": (1, 10, 100)}
    turns = "pace"
    panels = (Panel("size", "seconds", "pace", "Pace", "size", "seconds"),)
    missing: ClassVar = {"slower": "Nobody can wait for it."}
    set_up = "Nothing is run."

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self.order: list[str] = []

    def prepare(self, levels: Levels) -> Iterator[float]:
        self.order.append(f"prepare {levels['size']} {levels['pace']}")
        pace = 10.0 if levels["pace"] == "slow" else 1.0
        return self._clocks(pace * float(levels["size"]), str(levels["pace"]))

    def _clocks(self, seconds: float, name: str) -> Iterator[float]:
        for n in range(10):
            self.order.append(name)
            yield seconds * (100 if n < self.warmups else 10 + n)

    def measure(self, case: Iterator[float]) -> Measurement:
        return Measurement({"seconds": next(case)}, {"rows": 3})

    def findings(self, table: Table) -> list[Finding]:
        ratio = table.ratio("seconds", "pace", "slow", "fast", size=10)
        return [
            Finding("Slow is slower.", above(ratio, 5), f"{ratio}."),
            Finding("It is much slower.", above(ratio, 50), "", Kind.OURS),
        ]


class Wrong(Slow):
    """Is it right?

    Claim    no.
    Refuted  if so.
    Source   [NOBODY 2].
    """

    name = "wrong"

    def measure(self, case: Iterator[float]) -> Measurement:
        return Measurement({"seconds": next(case)}, {}, "one row is missing")


def test_contestants_of_a_block_run_by_turns_after_all_are_prepared() -> None:
    experiment = Slow(Options(repeats=2))
    run(experiment)
    block = ["fast", "slow"] * 3
    assert experiment.order[:8] == ["prepare 1 fast", "prepare 1 slow", *block]
    assert experiment.order[8:10] == ["prepare 10 fast", "prepare 10 slow"]


def test_factors_that_are_measured_together_are_one_block() -> None:
    together = type("Together", (Slow,), {"__doc__": Slow.__doc__, "together": ("size",)})
    experiment = together(Options(repeats=1))
    table = run(experiment).table
    prepared = [f"prepare {size} {pace}" for size in (1, 10) for pace in ("fast", "slow")]
    assert experiment.order == [*prepared, *["fast", "slow"] * 4]
    assert [tuple(row.levels.values()) for row in table.rows] == [
        (size, pace) for size in (1, 10) for pace in ("fast", "slow")
    ]


def test_medians_are_of_the_repeats_without_the_warm_ups() -> None:
    table = run(Slow(Options(repeats=3))).table
    row = table.where(size=10, pace="slow").rows[0]
    assert row.clocks["seconds"] == Spread(1200.0, 1150.0, 1250.0, 3)
    assert row.counts == {"rows": 3}


def test_full_has_more_levels_and_progress_counts_every_step() -> None:
    seen = []
    experiment = Slow(Options(full=True, repeats=1))
    run(experiment, lambda done, _: seen.append(done))
    assert seen == list(range(count_steps(experiment)))


def test_a_wrong_answer_has_no_speed() -> None:
    with pytest.raises(RunError, match="the answer is wrong at size 1, pace fast") as caught:
        run(Wrong())
    assert caught.value.detail == "one row is missing"


def test_only_the_papers_findings_make_the_verdict() -> None:
    result = run(Slow())
    assert [f.outcome for f in result.findings] == [Outcome.HELD, Outcome.REFUTED]
    assert result.verdict == "held"


def finding(outcome: Outcome, kind: Kind = Kind.PAPER) -> Finding:
    return Finding("Some.", outcome, "", kind)


def test_one_refuted_refutes_and_one_open_leaves_open() -> None:
    held, close, refuted = map(finding, (Outcome.HELD, Outcome.CLOSE, Outcome.REFUTED))
    wait = waiting("Some.", "It does not exist.")
    assert verdict([held, held]) == "held"
    assert verdict([held, close]) == "too close to call"
    assert verdict([held, close, wait]) == "cannot be judged yet"
    assert verdict([held, close, wait, refuted]) == "not held"
    ours = finding(Outcome.HELD, Kind.OURS)
    assert verdict([ours, wait]) == "cannot be judged yet"
    assert verdict([ours]) == "held (windrow's own claim)"
    assert verdict([ours, finding(Outcome.REFUTED, Kind.MODEL)]) == "not held (by the model)"


def timed(median: float, low: float, high: float, runs: int = 5) -> Spread:
    return Spread(median, low, high, runs)


def test_clocks_whose_quartiles_overlap_are_too_close_to_call() -> None:
    fast, slow = timed(10, 9, 12), timed(13, 11.9, 14)
    assert above(Ratio.of(slow, fast), 1) == below(Ratio.of(slow, fast), 1) == Outcome.CLOSE
    slower = timed(13, 12.1, 14)
    assert above(Ratio.of(slower, fast), 1) == Outcome.HELD
    assert above(Ratio.of(fast, slower), 1) == Outcome.REFUTED
    assert below(Ratio.of(fast, slower), 1) == Outcome.HELD


def test_a_bar_counts_as_its_multiple_of_the_other_clock() -> None:
    one, other = timed(10, 9.9, 10.1), timed(22, 19, 25)
    assert above(Ratio.of(other, one), 2) == Outcome.CLOSE  # 19 < 2 * 9.9
    assert above(Ratio.of(other, one), 1.5) == Outcome.HELD
    assert above(Ratio.of(other, one), 3) == Outcome.REFUTED
    assert within(Ratio.of(other, one), 2.2, 2) == Outcome.HELD
    assert within(Ratio.of(other, one), 9, 2) == Outcome.REFUTED


def test_a_ratio_near_its_bar_is_too_close_however_steady_the_clocks() -> None:
    steady = Ratio.of(timed(1.04, 1.039, 1.041), timed(1, 0.999, 1.001))
    assert above(steady, 1) == above(steady.inverse, 1) == Outcome.CLOSE
    assert above(Ratio.of(Spread.counted(1.04), Spread.counted(1)), 1) == Outcome.HELD


def test_clocks_of_two_runs_decide_nothing() -> None:
    assert above(Ratio.of(timed(9, 9, 9, 2), timed(1, 1, 1, 2)), 1) == Outcome.CLOSE


def test_ratios_of_ratios_have_the_noise_of_both() -> None:
    assert Ratio(4, 3, 5, 5).over(Ratio(2, 1, 3, 4)) == Ratio(2, 1, 5, 4)


def test_a_share_is_open_as_long_as_the_close_ones_could_turn_it() -> None:
    pairs = [Outcome.HELD] * 6 + [Outcome.CLOSE] * 2 + [Outcome.REFUTED] * 2
    assert share_of(pairs, 0.6) == Outcome.HELD
    assert share_of(pairs, 0.75) == Outcome.CLOSE
    assert share_of(pairs, 0.9) == Outcome.REFUTED
    assert all_of([]) == Outcome.CLOSE


def test_files_tell_claim_verdict_numbers_and_what_is_missing(tmp_path: Path) -> None:
    experiment = Slow(Options(repeats=3, seed=5))
    result = run(experiment)
    paths = write_result(tmp_path / "slow", experiment, result)
    assert [p.name for p in paths] == ["README.md", "results.csv", "figure.svg", "figure.png"]
    page = paths[0].read_text()
    assert "**Claim.** slow takes ten times as long." in page
    assert "## Verdict: held\n\nFindings: paper: 1 held; ours: 1 not held.\n" in page
    papers, ours = page.index("- **held**: Slow is"), page.index("- **not held**: It is much")
    assert page.index("The paper's claims:") < papers < page.index("windrow's own claims") < ours
    assert "Missing: **slower**. Nobody can wait for it." in page
    assert "`windrow experiment slow --repeats 3 --seed 5`" in page
    with paths[1].open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert rows[3] == {
        "size": "10",
        "pace": "slow",
        "seconds": "1200",
        "seconds_q1": "1150",
        "seconds_q3": "1250",
        "rows": "3",
    }


def test_the_index_lists_results_with_their_verdicts(tmp_path: Path) -> None:
    for options in (Options(repeats=3), Options(repeats=1, trace="zeek")):
        experiment = Slow(options)
        write_result(tmp_path / experiment.folder, experiment, run(experiment))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "README.md").write_text("# Something else\n")
    lines = write_index(tmp_path).read_text().splitlines()
    assert lines[-2:] == [
        "| [slow](slow/README.md) | slow and fast | held | paper: 1 held; ours: 1 not held |",
        "| [slow-zeek](slow-zeek/README.md) | slow and fast | too close to call | "
        "paper: 1 too close to call; ours: 1 too close to call |",
    ]


def test_the_same_numbers_give_the_same_figure(tmp_path: Path) -> None:
    experiment = Slow()
    table = run(experiment).table
    texts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        vector, _ = figure.write_figure(tmp_path / name, table, experiment.panels)
        texts.append(vector.read_text())
    assert texts[0] == texts[1]
    assert all(word in texts[0] for word in ("fast", "slow", "Pace"))


def test_a_missing_package_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure, "find_spec", lambda name: None if name == "matplotlib" else 1)
    with pytest.raises(Exception, match="experiments need matplotlib, which is not") as caught:
        figure.require_packages()
    assert "pip install -e '.[lab]'" in str(caught.value)


def test_facts_tell_no_host_and_no_path() -> None:
    found = facts()
    assert {"date", "processor", "Python", "numba"} <= set(found)
    assert not [value for value in found.values() if "/tmp" in value or "/home" in value]


def drawn(panel: Panel, table: Table) -> list[str]:
    console = Console(width=60, record=True, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    console.print(plot(panel, series_of(table, panel), 60))
    console.file.close()
    return console.export_text().splitlines()


def test_a_rising_line_rises_on_the_terminal() -> None:
    rows = tuple(Row({"size": n, "pace": "fast"}, {}, {"seconds": float(n)}) for n in (1, 10, 100))
    lines = drawn(Slow.panels[0], Table(rows))
    dotted = [
        [i for i, c in enumerate(line) if "\u2801" <= c <= "\u28ff"]
        for line in lines
        if "│" in line
    ]
    middles = [sum(at) / len(at) for at in dotted if at]
    assert middles == sorted(middles, reverse=True)
    assert lines[1].startswith("   100 │")
    assert "●fast" in "".join(lines)


def test_a_log_axis_leaves_out_what_has_no_place() -> None:
    rows = tuple(
        Row({"size": 1, "pace": p}, {}, {"seconds": s}) for p, s in (("a", 0.0), ("b", 1.0))
    )
    assert [line.name for line in series_of(Table(rows), Slow.panels[0])] == ["b"]
    assert Axis.over([5.0], log=True).place(5.0) == 0
