"""`windrow bench expiry`: how late ends show, and what they cost, by each approach."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from windrow_lab.contest.report import Bar

PARTS = ("messages", "rate", "selectivity", "idle")


@click.command("expiry")
@click.option("--repeats", default=7, show_default=True, help="Runs of which the best counts.")
@click.option(
    "--only", multiple=True, type=click.Choice(PARTS), help="Only this part; may be given again."
)
@click.option("--fail/--no-fail", default=True, help="End with code 1 if a bar is missed.")
@click.pass_context
def expiry(ctx: click.Context, repeats: int, only: tuple[str, ...], fail: bool) -> None:
    """Measure expiry: join messages by the clock, piggybacking by delays in virtual time.

    All approaches must emit the same changes, and DuckDB's answer. Prints one line of JSON a bar,
    then a table.
    """
    from windrow_lab.bench.expiry import idle, messages, piggyback  # noqa: PLC0415 - --help stays fast
    from windrow_lab.contest.report import measured_bars  # noqa: PLC0415 - as above

    parts: dict[str, Callable[[], list[Bar]]] = {
        "messages": lambda: messages.measure(repeats),
        "rate": lambda: piggyback.measure("rate"),
        "selectivity": lambda: piggyback.measure("selectivity"),
        "idle": lambda: [idle.measure()],
    }
    found = measured_bars(parts, only)
    ctx.exit(1 if fail and not all(bar.met for bar in found) else 0)
