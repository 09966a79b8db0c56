"""`windrow bench kernel`: the engine in this process, against Polars, plain Python and itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from windrow_lab.contest.report import Bar

FULL = 2_000_000
NAMES = ("join", "group", "group_slide", "distinct", "negation", "join_group")
TWINS = tuple(f"twin_{name}" for name in NAMES)
OTHERS = (
    *("internal", "long_window", "strategies", "relations", "latency", "start", "medians"),
    "spellings",
)

Case = Callable[[], "list[Bar]"]


@click.command("kernel")
@click.option("--rows", default=FULL, show_default=True, help="Tuples a stream; less scales down.")
@click.option("--repeats", default=3, show_default=True, help="Runs of which the best counts.")
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([*NAMES, *TWINS, *OTHERS]),
    help="Only this part; may be given again.",
)
@click.option("--fail/--no-fail", default=True, help="End with code 1 if a bar is missed.")
@click.pass_context
def kernel(ctx: click.Context, rows: int, repeats: int, only: tuple[str, ...], fail: bool) -> None:
    """Measure the kernel: ratios inside one run, each answer checked before its clock.

    Prints one line of JSON a bar, then a table. Needs Polars: pip install -e '.[lab]' in a
    checkout.
    """
    require_polars()
    from windrow_lab.contest.report import print_table  # noqa: PLC0415 - --help stays fast

    chosen = only or (*NAMES, *TWINS, *OTHERS)
    found = []
    for bar in measured(chosen, rows, repeats):
        click.echo(bar.line())
        found.append(bar)
    print_table(found)
    ctx.exit(1 if fail and not all(bar.met for bar in found) else 0)


def require_polars() -> None:
    """Say what to install if Polars is missing."""
    from importlib.util import find_spec  # noqa: PLC0415 - as above

    from windrow.cli.laboratory import HINT  # noqa: PLC0415 - as above
    from windrow.core.errors import InputError  # noqa: PLC0415 - as above

    if find_spec("polars") is None:
        raise InputError(
            "the benchmark compares with Polars, which is not installed",
            hint=HINT,
        )


def measured(chosen: tuple[str, ...], rows: int, repeats: int) -> Iterator[Bar]:
    """Yield the bars of the chosen parts, with a progress bar on stderr meanwhile."""
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.progress import Progress  # noqa: PLC0415 - as above

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(chosen))
        for name, case in cases(chosen, rows, repeats):
            progress.update(task, description=name)
            yield from case()
            progress.advance(task)


def cases(chosen: tuple[str, ...], rows: int, repeats: int) -> Iterator[tuple[str, Case]]:
    """Yield the chosen parts in order, each ready to be run."""
    from windrow_lab.bench import internal, measure  # noqa: PLC0415 - as above
    from windrow_lab.bench.data import Scale, streams  # noqa: PLC0415 - as above
    from windrow_lab.bench.workloads import WORKLOADS  # noqa: PLC0415 - as above

    scale = Scale.of(rows)
    tables = streams(scale) if set(chosen) & {*NAMES, "internal"} else {}
    for work in WORKLOADS:
        if work.name in chosen:
            yield work.name, partial(measure.against_polars, work, tables, scale, repeats)
    if "internal" in chosen:
        yield "internal", partial(internal.measure, tables, scale, repeats)
    tables.clear()
    twin = measure.TWIN.shrunk(min(1.0, rows / measure.TWIN.rows))
    for work in WORKLOADS:
        if f"twin_{work.name}" in chosen:
            yield f"twin_{work.name}", partial(measure.against_twin, work, twin, repeats)
    yield from own_cases(chosen, rows, repeats)


def own_cases(chosen: tuple[str, ...], rows: int, repeats: int) -> Iterator[tuple[str, Case]]:
    """Yield the parts in which windrow is measured against itself or a limit."""
    from windrow_lab.bench import (  # noqa: PLC0415 - as above
        long_window,
        medians,
        relations,
        spellings,
        startup,
        strategies,
    )

    share = min(1.0, rows / FULL)
    parts: dict[str, Case] = {
        "long_window": lambda: [long_window.measure(share)],
        "strategies": lambda: strategies.measure(share),
        "relations": lambda: relations.measure(share),
        "latency": lambda: [startup.latency(share)],
        "start": startup.starts,
        "medians": lambda: medians.measure(rows, repeats),
        "spellings": lambda: spellings.measure(share, repeats),
    }
    yield from ((name, case) for name, case in parts.items() if name in chosen)
