"""What a benchmark found: one JSON line a bar, then a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import click
from rich.console import Console
from rich.table import Table

from windrow_lab.contest.measurement import EQUAL

Facts = dict[str, object]
UNMEASURED = "not measured"
"""How the check of a bar begins that has no figure on one side."""
NARROWEST = 120
"""Columns to assume where there is no terminal to ask."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A claim that can fail: `ratio` is at least `bar`, and the answers are equal.

    Without `bar` it is a measurement only, and its answer must still be right.
    """

    name: str
    ratio: float
    bar: float | None
    seconds: float
    rows_per_second: float
    check: str = EQUAL
    work: Facts = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)

    @property
    def met(self) -> bool:
        """Return whether the answer is right and the bar is reached."""
        return self.check == EQUAL and (self.bar is None or self.ratio >= self.bar)

    @property
    def measured(self) -> bool:
        """Return whether both sides have a figure."""
        return not self.check.startswith(UNMEASURED)

    @property
    def verdict(self) -> str:
        """Return "met", "missed" or "not measured"."""
        if not self.measured:
            return UNMEASURED
        return "met" if self.met else "missed"

    def line(self) -> str:
        """Return the bar as one line of JSON."""
        return json.dumps(
            {
                "name": self.name,
                "ratio": rounded(self.ratio),
                "bar": self.bar,
                "met": self.met,
                "seconds": rounded(self.seconds),
                "rows_per_second": round(self.rows_per_second),
                "check": self.check,
                "work": self.work,
                **self.facts,
            },
            default=rounded,
        )


VERDICTS = ("missed", UNMEASURED)
"""Those that somebody has to look at."""


def rounded(value: object) -> object:
    """Return a number with four digits that count; anything else as text."""
    return float(f"{value:.4g}") if isinstance(value, int | float) else str(value)


def verdict_of(difference: str) -> str:
    """Return a check's difference as the word for the report."""
    return difference or EQUAL


def print_table(bars: list[Bar]) -> None:
    """Print one row a bar."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=NARROWEST)
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("", header_style="bold")
    table.add_column("name", header_style="bold")
    for title in ("ratio", "bar", "seconds", "rows/s"):
        table.add_column(title, justify="right", header_style="bold")
    table.add_column("answer", header_style="bold")
    table.add_column("against", header_style="bold")
    for bar in bars:
        table.add_row(
            f"[{'green' if bar.met else 'red'}]{bar.verdict}[/]",
            bar.name,
            f"{bar.ratio:,.2f}",
            "" if bar.bar is None else f"{bar.bar:g}",
            f"{bar.seconds:.3f}",
            f"{bar.rows_per_second:,.0f}",
            bar.check,
            str(bar.facts.get("against", "")),
        )
    console.print(table)
    console.print(f"\n{summary(bars)}")


def measured_bars(parts: Mapping[str, Callable[[], list[Bar]]], only: Collection[str]) -> list[Bar]:
    """Measure parts, all or those that are named: a line of JSON a bar, then a table of all."""
    found = []
    for name, part in parts.items():
        if not only or name in only:
            for bar in part():
                click.echo(bar.line())
                found.append(bar)
    print_table(found)
    return found


def summary(bars: list[Bar]) -> str:
    """Return what came of the bars altogether: that all are met is said only of measured ones."""
    if not bars:
        return "no bar was measured"
    found = {verdict: [b.name for b in bars if b.verdict == verdict] for verdict in VERDICTS}
    lines = [f"{verdict}: {', '.join(names)}" for verdict, names in found.items() if names]
    return "\n".join(lines) or "every bar is met"
