"""Figures as SVG and PNG, by matplotlib: one look for all experiments."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from windrow.cli.laboratory import HINT
from windrow.core.errors import InputError
from windrow_lab.experiments.library.experiment import Panel
from windrow_lab.experiments.library.series import COLOURS, Point, Series, series_of, short
from windrow_lab.experiments.library.table import Table

MARKS = "osD^vPX*<>"
LOOK: Any = {
    "svg.hashsalt": "windrow",  # the same figure gives the same file
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
}
PANEL = (5.2, 3.7)
"""Inches."""
APART = 0.055
"""Share of the axis that two labels at the end of lines keep between them."""


def require_packages() -> None:
    """Say what to install where something that experiments need is missing."""
    missing = [name for name in ("matplotlib", "duckdb") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"experiments need {' and '.join(missing)}, which "
            f"{'is' if len(missing) == 1 else 'are'} not installed",
            detail="matplotlib draws the figures, DuckDB is the truth that answers are held to.",
            hint=HINT,
        )


def write_figure(folder: Path, table: Table, panels: tuple[Panel, ...]) -> list[Path]:
    """Write ``figure.svg`` and ``figure.png``; return their paths."""
    import matplotlib as mpl  # noqa: PLC0415 - heavy, and not everybody has it
    from matplotlib.figure import Figure  # noqa: PLC0415 - as above

    with mpl.rc_context(LOOK):
        width, height = PANEL
        figure = Figure(figsize=(width * len(panels), height), layout="constrained")
        for axes, panel in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
        ):
            draw_panel(axes, panel, series_of(table, panel))
        vector, pixels = folder / "figure.svg", folder / "figure.png"
        figure.savefig(vector, metadata={"Date": None, "Creator": None})
        figure.savefig(pixels, dpi=144, metadata={"Software": None})
    return [vector, pixels]


def draw_panel(axes: Any, panel: Panel, lines: list[Series]) -> None:
    """Draw one panel: lines with their spreads, named at their ends."""
    axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    axes.set_xscale("log" if panel.log_x else "linear")
    axes.set_yscale("log" if panel.log_y else "linear")
    for n, line in enumerate(lines):
        colour = COLOURS[n % len(COLOURS)]
        xs, ys = [p.x for p in line.points], [p.y for p in line.points]
        style = {"color": colour, "marker": MARKS[n % len(MARKS)], "label": line.name}
        if panel.points:
            axes.plot(xs, ys, linestyle="", **style)
            name_points(axes, line, colour)
        else:
            axes.plot(xs, ys, **style)
            low, high = [p.low for p in line.points], [p.high for p in line.points]
            axes.fill_between(xs, low, high, color=colour, alpha=0.18, linewidth=0)
    tidy_axes(axes, panel, lines)
    if not panel.points:
        name_lines(axes, lines)
    elif len(lines) > 1:
        axes.legend(frameon=False, loc="best")


def tidy_axes(axes: Any, panel: Panel, lines: list[Series]) -> None:
    """Name the measured x values, and give a linear y axis its zero."""
    xs = sorted({p.x for line in lines for p in line.points})
    name_values(axes.xaxis, axes.get_xlim(), log=panel.log_x)
    name_values(axes.yaxis, axes.get_ylim(), log=panel.log_y)
    if not panel.points and len(xs) <= 9:
        axes.set_xticks(xs, [short(x) for x in xs])
        axes.set_xticks([], minor=True)
    if not panel.log_y:
        axes.set_ylim(bottom=0)
    axes.margins(x=0.04)


def name_values(axis: Any, limits: tuple[float, float], *, log: bool) -> None:
    """Name an axis in few letters; a log one at 1, 2 and 5 times the powers of ten, if short."""
    from matplotlib.ticker import (  # noqa: PLC0415 - as above
        FuncFormatter,
        LogLocator,
        MaxNLocator,
        NullFormatter,
    )

    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    if not log:
        return
    spread = limits[1] / limits[0]
    subs = (1.0, 2.0, 5.0) if spread < 300 else (1.0,)
    few = spread < 4
    axis.set_major_locator(MaxNLocator(6) if few else LogLocator(subs=subs, numticks=12))
    axis.set_minor_formatter(NullFormatter())


def name_points(axes: Any, line: Series, colour: str) -> None:
    """Write points' names beside them: all if they are few, else those at the edges."""
    shown = set(line.points)
    if len(shown) > 8:
        ends = [end(line.points, key=key) for end in (min, max) for key in (by_x, by_y)]
        shown = set(ends)
    for point in sorted(shown, key=by_x):
        axes.annotate(
            point.label,
            (point.x, point.y),
            xytext=(5, 4),
            textcoords="offset points",
            color=colour,
            fontsize=8,
        )


def by_x(point: Point) -> float:
    """Order points from left to right."""
    return point.x


def by_y(point: Point) -> float:
    """Order points upwards."""
    return point.y


def name_lines(axes: Any, lines: list[Series]) -> None:
    """Write each line's name at its right end, moved apart where they would meet."""
    transform = axes.transData + axes.transAxes.inverted()
    ends = [
        (transform.transform((s.points[-1].x, s.points[-1].y))[1], n) for n, s in enumerate(lines)
    ]
    lowest = -1.0
    for y, n in sorted(ends):
        at = max(y, lowest + APART)
        lowest = at
        axes.text(
            1.015,
            at,
            lines[n].name,
            transform=axes.transAxes,
            color=COLOURS[n % len(COLOURS)],
            va="center",
            fontsize=9,
            fontweight="bold",
        )
