"""`windrow bench aggregation`: early aggregation against a join with a GROUP BY over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from windrow_lab.contest.report import Bar

PARTS = ("paper", "versions", "grid")
SETTINGS, QUICK = 200, 24


@click.command("aggregation")
@click.option("--quick", is_flag=True, help=f"{QUICK} settings of the grid's {SETTINGS}.")
@click.option(
    "--repeats",
    default=5,
    show_default=True,
    help="Runs at least; more until the best, which counts, is confirmed by a second.",
)
@click.option(
    "--only", multiple=True, type=click.Choice(PARTS), help="Only this part; may be given again."
)
@click.option("--list", "report", is_flag=True, help="Print a line of JSON for each setting, too.")
@click.option("--fail/--no-fail", default=True, help="End with code 1 if a bar is missed.")
@click.pass_context
def aggregation(
    ctx: click.Context,
    quick: bool,
    repeats: int,
    only: tuple[str, ...],
    report: bool,
    fail: bool,
) -> None:
    """Measure aggregation joins: all placements of early aggregation, and the chosen one.

    Ratios inside one run; all placements must emit the same. Prints one line of JSON a bar, then a
    table. Against Polars' join and group-by: `windrow bench kernel --only join_group`.
    """
    from windrow_lab.bench.aggregation import grid, paper, versions  # noqa: PLC0415 - fast --help
    from windrow_lab.contest.report import measured_bars  # noqa: PLC0415 - as above

    count = QUICK if quick else SETTINGS
    parts: dict[str, Callable[[], list[Bar]]] = {
        "paper": lambda: paper.measure(repeats),
        "versions": lambda: versions.measure(repeats),
        "grid": lambda: grid.measure(count, repeats, click.echo if report else None),
    }
    found = measured_bars(parts, only)
    ctx.exit(1 if fail and not all(bar.met for bar in found) else 0)
