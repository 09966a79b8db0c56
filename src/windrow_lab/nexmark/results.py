"""What a run leaves behind with ``--out``: results.json, results.csv, and a figure."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

from windrow_lab.contest.report import rounded
from windrow_lab.experiments.library.experiment import Panel
from windrow_lab.experiments.library.figure import write_figure
from windrow_lab.experiments.library.files import write_csv
from windrow_lab.experiments.library.machine import facts
from windrow_lab.experiments.library.table import Row, Table
from windrow_lab.generate.nexmark.scale import Nexmark
from windrow_lab.nexmark.report import Found, Measured

PANEL = Panel(
    x="query",
    y="rows_per_second",
    by="engine",
    title="Nexmark",
    x_label="query",
    y_label="tuples a second",
    log_x=False,
    points=True,
)


def write_results(folder: Path, scale: Nexmark, found: list[Found]) -> list[Path]:
    """Write what was found, with the facts of the machine; return the paths.

    The figure is drawn where matplotlib is installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    whole, numbers = folder / "results.json", folder / "results.csv"
    content = {
        "machine": facts(),
        "events": scale.events,
        "rate": scale.rate,
        "seed": scale.seed,
        "queries": [row.facts() for row in found],
    }
    whole.write_text(json.dumps(content, indent=1, default=rounded) + "\n", encoding="utf-8")
    table = table_of(found)
    write_csv(numbers, table)
    drawn = write_figure(folder, table, (PANEL,)) if find_spec("matplotlib") else []
    return [whole, numbers, *drawn]


def table_of(found: list[Found]) -> Table:
    """Return one row for each query and engine that ran it."""
    return Table(
        tuple(
            row_of(row, name, engine)
            for row in found
            for name, engine in row.engines.items()
            if isinstance(engine, Measured)
        )
    )


def row_of(found: Found, name: str, engine: Measured) -> Row:
    """Return what one engine did with one query."""
    number = int(found.query.name.removeprefix("q"))
    levels: dict[str, int | float | str] = {
        "query": number,
        "engine": name,
        "kind": found.query.kind,
        "answer": engine.check,
    }
    counts = {
        "rows_per_second": round(engine.rows_per_second),
        "seconds": engine.seconds,
        "rows": engine.rows,
    }
    content = {} if engine.results is None else {"results": engine.results}
    return Row(levels, counts=counts | content)
