"""An experiment on the terminal: progress, figure, findings, files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from windrow.core.errors import InputError
from windrow_lab.experiments.library.experiment import Experiment, Options
from windrow_lab.experiments.library.figure import require_packages
from windrow_lab.experiments.library.files import write_index, write_result
from windrow_lab.experiments.library.run import Result, count_steps, run
from windrow_lab.experiments.library.series import series_of
from windrow_lab.experiments.library.text_plot import plot
from windrow_lab.experiments.library.verdict import TITLES, Kind, Outcome, of_kind, tally

NARROWEST = 100
"""Columns to assume where there is no terminal to ask."""

MARKS = {
    Outcome.HELD: ("✓ ", "green"),
    Outcome.REFUTED: ("✗ ", "red"),
    Outcome.CLOSE: ("≈ ", "yellow"),
    Outcome.WAITING: ("– ", "dim"),
}

ExperimentType = type[Experiment[Any]]


def console_of() -> Console:
    """Return the console, of a width that tables fit into."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=NARROWEST)


def print_list(kinds: Sequence[ExperimentType]) -> None:
    """Print a row for each experiment."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("name", "question", "source"):
        table.add_column(title, header_style="bold", no_wrap=title == "name")
    for kind in kinds:
        words = kind.words()
        table.add_row(kind.name, words.question, Text(words.source.rstrip(".")))
    console_of().print(table)


def run_one(kind: ExperimentType, options: Options, out: Path) -> Result:
    """Run an experiment, show what it found, write its files."""
    require_packages()
    if options.trace != Options().trace and options.trace not in kind.traces:
        raise InputError(
            f"{kind.name} runs on no trace", hint="Leave --trace out: it makes its own streams."
        )
    experiment = kind(options)
    console = console_of()
    console.print(Text(f"{kind.name}: {kind.words().question}", "bold"))
    result = watched(experiment)
    for panel in experiment.panels:
        console.print(plot(panel, series_of(result.table, panel), console.width))
    print_verdict(console, experiment, result)
    for path in write_result(out / experiment.folder, experiment, result):
        console.print(Text(f"wrote {path}", "dim"))
    return result


def watched(experiment: Experiment[Any]) -> Result:
    """Run with a progress bar that shows what is measured now."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as progress:
        task = progress.add_task("prepares", total=count_steps(experiment))

        def report(done: int, now: str) -> None:
            progress.update(task, completed=done, description=now)

        return run(experiment, report)


def print_verdict(console: Console, experiment: Experiment[Any], result: Result) -> None:
    """Print the claim, each finding, and what is missing."""
    console.print(Text("claim    ", "bold").append(experiment.words().claim, "not bold"))
    console.print(Text("verdict  ", "bold").append(result.verdict, "not bold"))
    for kind in Kind:
        found = of_kind(result.findings, kind)
        if found:
            console.print(Text(f"  {TITLES[kind]}:"))
        for finding in found:
            mark = MARKS[finding.outcome]
            text = f"{finding.outcome.value}: {finding.claim} {finding.by}"
            console.print(Text.assemble("  ", mark, text))
    for level, reason in experiment.missing.items():
        console.print(Text(f"  – missing: {level}. {reason}", "dim"))


def run_all(kinds: Sequence[ExperimentType], options: Options, out: Path) -> None:
    """Run all experiments, or those that another trace is for; then print their verdicts."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("name", "verdict", "findings", "seconds"):
        table.add_column(title, header_style="bold")
    usual = options.trace == Options().trace
    for kind in (k for k in kinds if usual or options.trace in k.traces):
        result = run_one(kind, options, out)
        text = (result.verdict, tally(result.findings), f"{result.seconds:.0f}")
        table.add_row(kind.name, *text)
    console = console_of()
    console.print(table)
    console.print(Text(f"wrote {write_index(out)}", "dim"))
