"""Changes to a function of the user's; and on the terminal, the newest of each batch as a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

from windrow.runtime.spark.sinks.target import Target

NEWEST = 20
"""Changes of a batch that are shown."""


@dataclass(frozen=True, slots=True)
class ConsoleSink:
    """Prints the newest changes of each batch that has any. At least once."""

    target: Target
    console: Console = field(default_factory=lambda: Console(highlight=False))

    @property
    def guarantee(self) -> str:
        """What a watcher may rely on."""
        return "at least once"

    def open(self, run: str, reached: int) -> None:
        """Nothing to open."""

    def write(self, version: int, changes: pa.Table) -> None:
        """Print a table of the newest changes."""
        if not len(changes):
            return
        newest = changes.slice(max(0, len(changes) - NEWEST))
        table = Table(box=None, padding=(0, 2, 0, 0), title_justify="left")
        table.title = f"{self.target.query}: {len(changes):,} changes in batch {version}"
        for name in ("_ts", "", *self.target.schema.names):
            table.add_column(name, header_style="bold")
        for row in newest.to_pylist():
            ts, sign, *values = row.values()
            arrives = sign > 0
            cells = [str(ts), "+" if arrives else "-", *map(_shown, values)]
            table.add_row(*(Text(cell) for cell in cells), style="" if arrives else "dim")
        self.console.print(table)


def _shown(value: object) -> str:
    return "NULL" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class FunctionSink:
    """Calls ``function(changes, batch)`` in the driver. At least once.

    A batch that fails or is cut off is given again, with the same number and the same changes;
    numbers grow. A function that keeps the last number it has seen can make it exactly once.
    """

    target: Target
    function: Callable[[pa.Table, int], object]

    @property
    def guarantee(self) -> str:
        """What the function may rely on."""
        return "at least once"

    def open(self, run: str, reached: int) -> None:
        """Nothing to open."""

    def write(self, version: int, changes: pa.Table) -> None:
        """Hand over the changes of a batch, also if there are none."""
        self.function(changes, version)
