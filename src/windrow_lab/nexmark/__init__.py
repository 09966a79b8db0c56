"""`windrow bench nexmark`: the queries of Nexmark, checked, then timed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from windrow.cli.laboratory import HINT
from windrow.core.errors import InputError
from windrow_lab.nexmark.queries import NAMES, NexmarkQuery, nexmark_query

if TYPE_CHECKING:
    from windrow_lab.nexmark.local import Feed
    from windrow_lab.nexmark.report import Cannot, Found, Measured

EVENTS, QUICK = 4_000_000, 400_000
REPEATS = 3

Engine = Callable[[NexmarkQuery], "Measured | Cannot"]


@click.command("nexmark")
@click.option("--events", type=click.IntRange(min=1), help=f"Events.  [default: {EVENTS:,}]")
@click.option("--only", metavar="q5,q8", help="Only these queries.")
@click.option("--spark", "on_spark", is_flag=True, help="On Spark as well.")
@click.option("--flink", "on_flink", is_flag=True, help="The originals on Flink SQL as well.")
@click.option("--quick", is_flag=True, help=f"{QUICK:,} events, one run a query.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write results.json, results.csv and a figure.",
)
@click.option("--master", default="local[2]", show_default=True, help="Where Spark runs.")
@click.pass_context
def nexmark(  # noqa: PLR0913, PLR0917 - one parameter an option
    ctx: click.Context,
    events: int | None,
    only: str | None,
    on_spark: bool,
    on_flink: bool,
    quick: bool,
    out: Path | None,
    master: str,
) -> None:
    """Measure q0 to q22 of Nexmark: tuples a second, each answer checked with DuckDB.

    Prints one line of JSON a query, then a table; ends with code 1 if an answer differs. Needs
    pip install -e '.[lab]' in a checkout; on Spark also Java.
    """
    require_oracles()
    queries = chosen(only)
    from windrow_lab.nexmark.report import print_table  # noqa: PLC0415 - --help stays fast

    found = []
    with ExitStack() as stack:
        feed = stack.enter_context(feeding(events or (QUICK if quick else EVENTS)))
        engines = {"in process": in_process(feed, 1 if quick else REPEATS)}
        if on_spark:
            engines["on Spark"] = stack.enter_context(spark_engine(feed, master))
        if on_flink:
            engines["Flink"] = stack.enter_context(flink_engine(feed))
        for row in measured(queries, engines):
            click.echo(row.line())
            found.append(row)
        print_table(found)
        if out:
            write(out, feed, found)
    ctx.exit(0 if all(row.right for row in found) else 1)


def write(folder: Path, feed: Feed, found: list[Found]) -> None:
    """Write the files of a result, and print their paths."""
    from windrow_lab.nexmark.results import write_results  # noqa: PLC0415 - as above

    for path in write_results(folder, feed.scale, found):
        click.echo(path)


def require_oracles() -> None:
    """Say what to install if an engine that answers are compared with is missing."""
    missing = [name for name in ("duckdb", "polars") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"the benchmark needs {' and '.join(missing)}, which is not installed",
            detail="Answers are compared with DuckDB's before their clocks are believed.",
            hint=HINT,
        )


def chosen(only: str | None) -> list[NexmarkQuery]:
    """Return the queries that are asked for: all if none is named."""
    names = NAMES if only is None else tuple(filter(None, only.lower().replace(" ", "").split(",")))
    return [nexmark_query(name) for name in names]


def measured(queries: list[NexmarkQuery], engines: dict[str, Engine]) -> Iterator[Found]:
    """Yield what each query does on each engine, with a progress bar on stderr meanwhile."""
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.progress import Progress  # noqa: PLC0415 - as above

    from windrow_lab.nexmark.report import Found  # noqa: PLC0415 - as above

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(queries) * len(engines))
        for query in queries:
            found = {}
            for name, measure in engines.items():
                progress.update(task, description=f"{query.name} {name}")
                found[name] = measure(query)
                progress.advance(task)
            yield Found(query, found)


@contextmanager
def feeding(events: int) -> Iterator[Feed]:
    """Make the events, and let go of them at the end."""
    from windrow_lab.generate.nexmark.scale import Nexmark  # noqa: PLC0415 - as above
    from windrow_lab.nexmark.local import Feed  # noqa: PLC0415 - as above

    feed = Feed.of(Nexmark(events))
    try:
        yield feed
    finally:
        feed.oracle.close()


def in_process(feed: Feed, repeats: int) -> Engine:
    """Return windrow in this process."""
    from windrow_lab.nexmark import local  # noqa: PLC0415 - as above

    return lambda query: local.measure(query, feed, repeats)


@contextmanager
def spark_engine(feed: Feed, master: str) -> Iterator[Engine]:
    """Open a session, write the files, and yield windrow on Spark."""
    from windrow_lab.bench.spark import bench  # noqa: PLC0415 - as above
    from windrow_lab.nexmark import on_spark  # noqa: PLC0415 - as above

    with bench(feed.scale.events, master) as ready:
        files = on_spark.Files.of(ready.folder, feed)
        yield lambda query: on_spark.measure(query, ready.session, files, feed)


@contextmanager
def flink_engine(feed: Feed) -> Iterator[Engine]:
    """Make Flink's environment if need be, and yield Flink SQL."""
    from windrow_lab.nexmark import on_flink  # noqa: PLC0415 - as above
    from windrow_lab.peers.environments import FLINK, ensure  # noqa: PLC0415 - as above

    python = ensure(FLINK, lambda text: click.echo(text, err=True))
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
        flink = on_flink.Flink.of(python, Path(folder), feed.scale)
        try:
            yield lambda query: on_flink.measure(query, flink)
        finally:
            flink.oracle.close()
