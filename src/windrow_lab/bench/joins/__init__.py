"""`windrow bench joins`: algorithms and orders of joins of many streams, against each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from windrow_lab.contest.report import Bar

PARTS = ("orders", "swap", "methods", "shapes", "windows", "batch")


@click.command("joins")
@click.option("--samples", default=50, show_default=True, help="Joins whose orders are tried.")
@click.option("--repeats", default=3, show_default=True, help="Runs of which the best counts.")
@click.option(
    "--only", multiple=True, type=click.Choice(PARTS), help="Only this part; may be given again."
)
@click.option("--fail/--no-fail", default=True, help="End with code 1 if a bar is missed.")
@click.pass_context
def joins(
    ctx: click.Context, samples: int, repeats: int, only: tuple[str, ...], fail: bool
) -> None:
    """Measure joins of many streams: orders, changes of order, algorithms.

    Ratios inside one run; all orders and algorithms must emit the same. Prints one line of JSON a
    bar, then a table.
    """
    from windrow_lab.bench.joins import batch, methods, orders, swap, windows  # noqa: PLC0415 - --help stays fast
    from windrow_lab.contest.report import measured_bars  # noqa: PLC0415 - as above

    parts: dict[str, Callable[[], list[Bar]]] = {
        "orders": lambda: [orders.measure(samples, repeats)],
        "swap": lambda: [swap.measure(repeats)],
        "methods": lambda: [methods.against_loops(repeats)],
        "shapes": lambda: methods.shapes(repeats),
        "windows": lambda: windows.measure(repeats),
        "batch": lambda: batch.measure(repeats),
    }
    found = measured_bars(parts, only)
    ctx.exit(1 if fail and not all(bar.met for bar in found) else 0)
