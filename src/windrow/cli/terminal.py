"""Plans on a terminal: the lines of the text tree, fitted to its width, in pattern colours.

`join_notes`: what EXPLAIN shows of joins: the algorithm, the orders, early aggregation, and why.
"""

from __future__ import annotations

from itertools import zip_longest
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from windrow.plan.explain import JoinNote, Line, explain_lines, explain_text
from windrow.plan.nodes import Query
from windrow.plan.settings import unused


def join_notes(query: Query, strategy: str = "auto") -> list[JoinNote]:
    """Return what is chosen for joins, negations and early aggregation, where there is a choice."""
    from windrow.optimize.context import PlanContext  # noqa: PLC0415 - takes long to load
    from windrow.optimize.passes import optimize  # noqa: PLC0415 - takes long to load
    from windrow.physical.explain import join_notes as notes_of  # noqa: PLC0415 - with them

    (plan,) = optimize([query], PlanContext(strategy))
    return notes_of(plan)


COLOURS: dict[str, str] = {"MON": "green", "WKS": "cyan", "WK": "yellow", "STR": "red"}
KIND_WIDTH = 7
"""Columns of a pattern: its letters, and two spaces on either side."""
REASON_WIDTH = 32
"""Columns that reasons get at least."""
LABEL_WIDTH = 16
"""Columns that a label gets at least, however deep its step."""


def print_plan(console: Console, query: Query, *, patterns: bool = True) -> None:
    """Print a plan: coloured and fitted on a terminal, the plain text tree elsewhere."""
    if not console.is_terminal:
        console.file.write(explain_text(query, patterns=patterns) + "\n")
        return
    lines = explain_lines(query)
    room = console.width - (KIND_WIDTH + REASON_WIDTH if patterns else 0)
    tree_width = min(room, max(len(line.guide + line.label) for line in lines))
    for line in lines:
        for row in rows_of(line, tree_width, console.width if patterns else None):
            console.print(row, soft_wrap=True)


def print_notes(console: Console, query: Query) -> None:
    """Print what was chosen for a query's joins of many inputs, and settings without effect."""
    lines = [line for note in join_notes(query) for line in note.lines]
    for line in (*lines, *map(str, unused(query))):
        console.print(line, markup=False, soft_wrap=True)


def rows_of(line: Line, tree_width: int, width: int | None) -> list[Text]:
    """Return one line as rows of a terminal, its label and its reason wrapped in their columns.

    Without `width` there are no patterns. The guides of the steps above go on beside each row.
    """
    labels = wrap(line.label, max(LABEL_WIDTH, tree_width - len(line.guide)))
    reasons = wrap(line.reason, max(REASON_WIDTH, width - tree_width - KIND_WIDTH)) if width else []
    kinds = [line.kind] if width else []
    rows = []
    guide = line.guide
    for label, kind, reason in zip_longest(labels, kinds, reasons, fillvalue=""):
        row = Text.assemble((guide, "dim"), (label, "" if line.guide else "bold"))
        if kind or reason:
            row.append(" " * max(2, tree_width + 2 - len(row)))
            row.append(f"{kind:3}  ", COLOURS.get(kind, "")).append(reason, "dim")
        row.rstrip()
        rows.append(row)
        guide = line.guide.replace("├─", "│ ").replace("└─", "  ")
    return rows
