"""What a run leaves behind: README.md, results.csv, figure.svg and figure.png."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from windrow_lab.experiments.library.experiment import Experiment
from windrow_lab.experiments.library.figure import write_figure
from windrow_lab.experiments.library.run import Result
from windrow_lab.experiments.library.table import Level, Table
from windrow_lab.experiments.library.verdict import TITLES, Kind, of_kind, tally

INDEX = (
    "# Results of experiments",
    "",
    "Written by `windrow experiment all`. Each page has claim, figure, numbers and verdict.",
    "The verdict is of the paper's claims; windrow's own are counted apart "
    "(docs/explanation/experiments.md).",
    "",
    "| experiment | what | verdict | findings |",
    "| --- | --- | --- | --- |",
)


def write_result(folder: Path, experiment: Experiment[Any], result: Result) -> list[Path]:
    """Write all files of a result into a folder; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = write_figure(folder, result.table, experiment.panels)
    numbers, page = folder / "results.csv", folder / "README.md"
    write_csv(numbers, result.table)
    page.write_text(readme(experiment, result), encoding="utf-8")
    return [page, numbers, *figures]


def write_index(folder: Path) -> Path:
    """Write the page that lists all results below a folder, by what their own pages say."""
    rows = []
    for page in sorted(folder.glob("*/README.md")):
        text = page.read_text(encoding="utf-8")
        title = re.search(r"^# (\S+): (.*)$", text, re.MULTILINE)
        verdict = re.search(r"^## Verdict: (.*)\n\nFindings: (.*)\.$", text, re.MULTILINE)
        if title and verdict:
            link = f"[{title[1]}]({page.parent.name}/README.md)"
            rows.append(f"| {link} | {title[2]} | {verdict[1]} | {verdict[2]} |")
    index = folder / "README.md"
    index.write_text("\n".join([*INDEX, *rows]) + "\n", encoding="utf-8")
    return index


def write_csv(path: Path, table: Table) -> None:
    """Write every row with all its columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(table.columns()), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table.records())


def readme(experiment: Experiment[Any], result: Result) -> str:
    """Return the page of a result."""
    words = experiment.words()
    parts = [
        f"# {experiment.folder}: {experiment.title}",
        f"*{words.question}*",
        f"**Claim.** {words.claim}  \n**Refuted** {words.refuted}  \n**Source.** {words.source}",
        f"## Verdict: {result.verdict}",
        f"Findings: {tally(result.findings)}.",
        *(findings_text(result, kind) for kind in Kind),
        "![figure](figure.svg)",
        "## Set-up",
        set_up(experiment),
        "## Numbers",
        "Clocks are medians; [results.csv](results.csv) has their quartiles too.",
        markdown(result.table),
        "## Where",
        "\n".join(f"- {name}: {value}" for name, value in result.facts.items()),
        f"Written by `{command(experiment)}`.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def findings_text(result: Result, kind: Kind) -> str:
    """Return the findings of a kind as a list under its title; empty if there are none."""
    found = of_kind(result.findings, kind)
    lines = [f"- **{f.outcome.value}**: {f.claim} {f.by}" for f in found]
    return "\n".join([f"{TITLES[kind]}:", "", *lines]) if found else ""


def set_up(experiment: Experiment[Any]) -> str:
    """Return what was run, how often, and what of the paper is missing."""
    runs = (
        f"{experiment.repeats} runs after {experiment.warmups} to warm up, seed {experiment.seed}."
    )
    lines = [f"{experiment.set_up} {runs}".strip()]
    for level, reason in experiment.missing.items():
        lines.append(f"- Missing: **{level}**. {reason}")
    return "\n".join(lines[:1]) + ("\n\n" + "\n".join(lines[1:]) if lines[1:] else "")


def markdown(table: Table) -> str:
    """Return the numbers as a table; quartiles are left to the CSV."""
    names = [n for n in table.columns() if not n.endswith(("_q1", "_q3"))]
    lines = [f"| {' | '.join(n.replace('_', ' ') for n in names)} |", "|" + " ---: |" * len(names)]
    rows = ((cell(record.get(name, "")) for name in names) for record in table.records())
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def cell(value: Level) -> str:
    """Return a value as a table shows it."""
    return f"{value:,}" if isinstance(value, int) else str(value)


def command(experiment: Experiment[Any]) -> str:
    """Return the command that gives this result again."""
    chosen = experiment.options
    words = ["windrow experiment", experiment.name]
    words += ["--full"] if chosen.full else []
    words += [f"--repeats {chosen.repeats}"] if chosen.repeats else []
    words += [f"--seed {chosen.seed}"] if chosen.seed is not None else []
    words += [f"--trace {chosen.trace}"] if chosen.trace != "lbl" else []
    return " ".join(words)
