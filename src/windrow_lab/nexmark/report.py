"""What was found of each query: one line of JSON, a row of the table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from windrow_lab.contest.measurement import EQUAL
from windrow_lab.contest.report import NARROWEST, Facts, rounded
from windrow_lab.nexmark.queries import NexmarkQuery

CANNOT = "cannot"


@dataclass(frozen=True, slots=True)
class Measured:
    """A query on one engine: its answer's check, seconds for so many tuples, changes emitted.

    `results` is None where nobody counts them.
    """

    check: str
    seconds: float
    rows: float
    results: int | None
    work: Facts = field(default_factory=dict)

    @property
    def rows_per_second(self) -> float:
        """Tuples of the streams that the query reads, by seconds."""
        return self.rows / self.seconds

    def fault(self) -> str:
        """Return how the answer differs; empty if it does not."""
        return "" if self.check == EQUAL else self.check

    def facts(self) -> Facts:
        """Return everything, for the line of JSON."""
        return {
            "check": self.check,
            "seconds": rounded(self.seconds),
            "rows": round(self.rows),
            "rows_per_second": round(self.rows_per_second),
            "results": self.results,
            "work": self.work,
        }


@dataclass(frozen=True, slots=True)
class Cannot:
    """A query that an engine cannot run, and why. `expected` unless it ought to have run."""

    reason: str
    expected: bool = True

    def fault(self) -> str:
        """Return what went wrong; empty if it was to be expected."""
        return "" if self.expected else self.reason

    def facts(self) -> Facts:
        """Return the reason, for the line of JSON."""
        return {CANNOT: self.reason}


@dataclass(frozen=True, slots=True)
class Found:
    """A query on all engines that were asked."""

    query: NexmarkQuery
    engines: Mapping[str, Measured | Cannot]

    @property
    def right(self) -> bool:
        """Return whether no engine gave a wrong answer, or failed unexpectedly."""
        return not self.wrong()

    def wrong(self) -> list[str]:
        """Return what differs, by engine."""
        return [f"{name}: {e.fault()}" for name, e in self.engines.items() if e.fault()]

    def facts(self) -> Facts:
        """Return everything that was found."""
        facts = {name: engine.facts() for name, engine in self.engines.items()}
        return {"name": self.query.name, "kind": self.query.kind, **facts}

    def line(self) -> str:
        """Return one line of JSON."""
        return json.dumps(self.facts(), default=rounded)


def print_table(found: list[Found]) -> None:
    """Print one row a query, one column an engine."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=NARROWEST)
    engines = list(found[0].engines)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("query", "kind"):
        table.add_column(title)
    for name in engines:
        table.add_column(f"{name}, rows/s", justify="right")
    table.add_column("answer")
    table.add_column("what")
    for row in found:
        cells = (cell(row.engines[name]) for name in engines)
        answer = f"[red]{'; '.join(row.wrong())}[/]" if row.wrong() else f"[green]{EQUAL}[/]"
        table.add_row(row.query.name, row.query.kind, *cells, answer, row.query.about)
    console.print(table)


def cell(engine: Measured | Cannot) -> str:
    """Return a rate, or the word that there is none."""
    return CANNOT if isinstance(engine, Cannot) else f"{engine.rows_per_second:,.0f}"
