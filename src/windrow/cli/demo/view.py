"""What a run looks like while it goes on: a live picture on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from windrow.cli.demo.results import DemoResults

BAR = 40
"""Columns of the progress bar."""


@dataclass(frozen=True, slots=True)
class Status:
    """How far a run has come."""

    rows: int = 0
    total: int = 0
    rows_per_second: float = 0.0
    batches: int = 0
    clock: str = ""
    state_rows: int = 0
    state_bytes: int = 0

    def line(self) -> str:
        """Return it as one line."""
        return (
            f"batch {self.batches}: {self.rows:,} of {self.total:,} rows, "
            f"{self.rows_per_second:,.0f} rows/s, clock {self.clock or '-'}, "
            f"state {self.state_rows:,} rows, {self.state_bytes / 1e6:,.1f} MB"
        )


@dataclass(slots=True)
class DemoLines:
    """One line a micro-batch: for logs."""

    console: Console
    batches: int = 0

    def __enter__(self) -> DemoLines:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is left to put right."""

    def show(self, status: Status, results: Sequence[DemoResults]) -> None:
        """Print a line if a batch has ended since the last."""
        if status.batches > self.batches:
            self.batches = status.batches
            changes = ", ".join(f"{r.name} {r.changes:,}" for r in results)
            self.console.print(f"{status.line()}; changes: {changes}", soft_wrap=True)


class Picture:
    """Progress, rates, clock, state and the newest changes, redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, refresh_per_second=8)

    def __enter__(self) -> Picture:
        self._live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._live.__exit__(*error)

    def show(self, status: Status, results: Sequence[DemoResults]) -> None:
        """Draw it anew."""
        self._live.update(Group(heading(status), "", newest(results)))


def view_for(console: Console) -> Picture | DemoLines:
    """Return the picture for a terminal, lines for anything else."""
    return Picture(console) if console.is_terminal else DemoLines(console)


def heading(status: Status) -> Table:
    """Return the bar and the figures."""
    grid = Table.grid(padding=(0, 2))
    bar = ProgressBar(total=max(1, status.total), completed=status.rows, width=BAR)
    share = status.rows / max(1, status.total)
    grid.add_row("read", bar, f"{share:.0%} of {status.total:,} rows")
    rate = f"{status.rows_per_second:,.0f} rows/s, {status.batches} micro-batches"
    grid.add_row("rate", Text(rate, "green"))
    grid.add_row("clock", Text(status.clock or "not started", "cyan"))
    size = f"{status.state_rows:,} rows, {status.state_bytes / 1e6:,.1f} MB"
    grid.add_row("state", Text(size, "yellow"))
    return grid


def newest(results: Sequence[DemoResults]) -> Table:
    """Return a table of the newest changes of each query."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("query", style="bold")
    table.add_column("changes", justify="right")
    table.add_column("newest")
    for result in results:
        lines = Text("\n").join(Text(line, colour(line)) for line in result.newest)
        table.add_row(result.name, f"{result.changes:,}", lines)
    return table


def colour(line: str) -> str:
    """Return the colour of a change: what comes is green, what leaves is red."""
    return "green" if " + " in line else "red"
