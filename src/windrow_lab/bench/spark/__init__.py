"""`windrow bench spark`: windrow on Spark, against Spark by itself and against bare passes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from windrow_lab.bench.spark.bars import Bench
    from windrow_lab.contest.report import Bar

FULL = 1_000_000
HEAP = "4g"
"""Of Spark's JVM: its own windows hold every row sixty times, for which 1 GB is little."""
NAMES = (
    "join",
    "internal",
    "slide",
    "long_window",
    "empty",
    "two_queries",
    "partials",
    "early",
    "idle_expiry",
    "startup",
    "restart",
    "snapshot",
)


@click.command("spark")
@click.option("--rows", default=FULL, show_default=True, help="Rows a large trigger.")
@click.option("--only", multiple=True, type=click.Choice(NAMES), help="Only this part; repeatable.")
@click.option("--master", default="local[2]", show_default=True, help="Where Spark runs.")
@click.option("--fail/--no-fail", default=True, help="End with code 1 if a bar is missed.")
@click.pass_context
def spark(ctx: click.Context, rows: int, only: tuple[str, ...], master: str, fail: bool) -> None:
    """Measure the pipeline on Spark: ratios inside one run, each answer checked.

    Prints one line of JSON a bar, then a table. Needs Java, and Polars: pip install -e '.[lab]' in
    a checkout. Spark's own join and aggregation take most of the time: some minutes.
    """
    from windrow_lab.bench.kernel import require_polars  # noqa: PLC0415 - --help stays fast
    from windrow_lab.contest.report import print_table  # noqa: PLC0415 - as above

    require_polars()
    found = []
    with bench(rows, master) as ready:
        for bar in measured(ready, only or NAMES):
            click.echo(bar.line())
            found.append(bar)
    print_table(found)
    ctx.exit(1 if fail and not all(bar.met for bar in found) else 0)


@contextmanager
def bench(rows: int, master: str) -> Iterator[Bench]:
    """Open a session and a folder for everything that is measured."""
    from windrow.runtime.spark.session import open_session  # noqa: PLC0415 - as above
    from windrow_lab.bench.spark.bars import Bench  # noqa: PLC0415 - as above

    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"--driver-memory {HEAP} pyspark-shell")
    # Processes load modules from bytecode, as those of an installed package do.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    session = open_session(master, Bench.shards)
    try:
        with tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
            yield Bench(session, Path(folder), rows)
    finally:
        session.stop()


def measured(ready: Bench, chosen: tuple[str, ...]) -> Iterator[Bar]:
    """Yield the bars of the chosen parts."""
    from windrow_lab.bench.spark import bars  # noqa: PLC0415 - as above

    for name in NAMES:
        if name in chosen:
            yield from bars.PARTS[name](ready)
