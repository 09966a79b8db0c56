"""What is shown of a contest: a table of rates, the notes below it, CSV, and a picture."""

from __future__ import annotations

import csv
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import Any

from rich.console import Console
from rich.table import Table

from windrow_lab.contest.report import NARROWEST
from windrow_lab.peers.bars import Results
from windrow_lab.peers.contest import Result
from windrow_lab.peers.engines import ENGINES, Engine
from windrow_lab.peers.rows import SAME
from windrow_lab.peers.tasks import TASKS, Task

COLUMNS = (
    "workload",
    "engine",
    "rows_per_second",
    "seconds",
    "rows",
    "start_seconds",
    "peak_mb",
    "check",
    "skipped",
)

GREYS = {"duckdb": "#AAAAAA", "polars": "#666666"}
"""Batches are no streams: they have no colour."""


def parts(results: Results) -> tuple[list[Engine], list[Task]]:
    """Return the engines and workloads that have results, in their order."""
    engines = [engine for engine in ENGINES.values() if any(e == engine.name for e, _ in results)]
    return engines, [task for task in TASKS if any(t == task.name for _, t in results)]


def cell(result: Result | None) -> str:
    """Return a result for the table: thousand rows a second, and the peak of its memory."""
    if result is None:
        return ""
    if result.skipped:
        return "[dim]cannot[/]"
    if not result.good:
        return "[red]wrong[/]" if result.rows else "[red]failed[/]"
    return f"{result.rows_per_second / 1000:,.0f} [dim]{result.peak_bytes / 1e9:.1f}[/]"


def print_rates(results: Results) -> None:
    """Print one row an engine, one column a workload."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=NARROWEST)
    engines, tasks = parts(results)
    table = Table(
        box=None,
        padding=(0, 2, 0, 0),
        title="thousand rows a second, and the peak of memory in GB",
        title_justify="left",
    )
    for title in ("", *(task.name for task in tasks), "start-up s"):
        table.add_column(title, justify="right" if title else "left", header_style="bold")
    for engine in engines:
        found = [results.get((engine.name, task.name)) for task in tasks]
        starts = [result.start_seconds for result in found if result and result.good]
        start = f"{max(starts):.1f}" if starts else ""
        table.add_row(engine.title, *map(cell, found), start)
    console.print(table)
    for line in notes(results):
        console.print(line, style="dim", markup=False)


def notes(results: Results) -> list[str]:
    """Return what must be known to read the table, a sentence a line."""
    engines, tasks = parts(results)
    lines = [f"{task.name}: {task.title}." for task in tasks]
    differing = [task for task in tasks if task.output.meaning != SAME]
    lines += [f"{task.name}, peers emit: {task.output.meaning}." for task in differing]
    lines += [f"{engine.title}: {engine.note}." for engine in engines]
    for (name, _), result in results.items():
        if "rows_read_per_second" in result.work:
            rate = result.work["rows_read_per_second"]
            lines.append(f"{ENGINES[name].title}: reading alone, without a query, {rate:,} rows/s.")
    reasons: dict[str, list[str]] = {}
    for (name, task), result in results.items():
        reason = result.skipped or ("" if result.good else result.check)
        if reason:
            reasons.setdefault(f"{ENGINES[name].title}: {reason}", []).append(task)
    return lines + [f"{', '.join(found)} {reason}." for reason, found in reasons.items()]


def write_csv(path: Path, results: Results) -> None:
    """Write one line a result."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for r in results.values():
            facts = (r.task, r.engine, round(r.rows_per_second), f"{r.seconds:.4g}", r.rows)
            after = (f"{r.start_seconds:.3g}", round(r.peak_bytes / 1e6))
            writer.writerow((*facts, *after, "" if r.skipped else r.check, r.skipped))


def write_picture(folder: Path, results: Results) -> list[Path]:
    """Write ``peers.svg`` and ``peers.png``: a group of bars a workload, rates on a log scale.

    Returns their paths; nothing is written where matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        return []
    import matplotlib as mpl  # noqa: PLC0415 - heavy, and not everybody has it
    from matplotlib.figure import Figure  # noqa: PLC0415 - as above

    from windrow_lab.experiments.library.figure import LOOK  # noqa: PLC0415 - as above

    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(10.5, 4.6), layout="constrained")
        draw(figure.subplots(), results)
        paths = [folder / "peers.svg", folder / "peers.png"]
        figure.savefig(paths[0], metadata={"Date": None, "Creator": None})
        figure.savefig(paths[1], dpi=144, metadata={"Software": None})
    return paths


def draw(axes: Any, results: Results) -> None:
    """Draw the bars of each engine beside each other, workload by workload."""
    from windrow_lab.experiments.library.series import COLOURS, short  # noqa: PLC0415 - as above

    engines, tasks = parts(results)
    width = 0.84 / len(engines)
    for n, engine in enumerate(engines):
        found = [results.get((engine.name, task.name)) for task in tasks]
        rates = [r.rows_per_second if r and r.good else 0.0 for r in found]
        places = [i + (n - (len(engines) - 1) / 2) * width for i in range(len(tasks))]
        colour = GREYS.get(engine.name) or COLOURS[n % len(COLOURS)]
        axes.bar(places, rates, width * 0.92, label=engine.title, color=colour)
        for x, rate in zip(places, rates, strict=True):
            if rate:
                axes.text(
                    x, rate * 1.06, short(rate), ha="center", va="bottom", fontsize=6, rotation=90
                )
    axes.set_yscale("log")
    axes.margins(y=0.12)
    axes.set_xticks(
        range(len(tasks)), [f"{t.name}\n{fill(t.title, 16)}" for t in tasks], fontsize=7
    )
    axes.grid(visible=False, axis="x")
    axes.set(title="Rows a second: more is better", ylabel="rows a second")
    axes.legend(frameon=False, ncols=4, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2))
