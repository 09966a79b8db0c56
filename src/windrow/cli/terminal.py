"""Plans on a terminal: the same lines as the text tree, in the colours of their patterns."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from windrow.plan.explain import explain_lines, explain_text
from windrow.plan.nodes import Query

COLOURS: dict[str, str] = {"MON": "green", "WKS": "cyan", "WK": "yellow", "STR": "red"}


def plan_table(query: Query, *, patterns: bool = True) -> Table:
    """Return the plan as a table whose reasons wrap in their own column."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, overflow="fold")
    for line in explain_lines(query):
        style = "bold" if not line.guide else ""
        step = Text.assemble((line.guide, "dim"), (line.label, style))
        if patterns:
            kind = Text(line.kind, style=COLOURS[line.kind])
            table.add_row(step, kind, Text(line.reason, style="dim"))
        else:
            table.add_row(step)
    return table


def print_plan(console: Console, query: Query, *, patterns: bool = True) -> None:
    """Print a plan: coloured and fitted on a terminal, the plain text tree elsewhere."""
    if console.is_terminal:
        console.print(plan_table(query, patterns=patterns))
    else:
        console.file.write(explain_text(query, patterns=patterns) + "\n")
