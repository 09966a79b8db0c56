"""`windrow demo`: generated traffic through four standing queries on Spark, shown as it goes."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from windrow.cli.demo.folder import DemoFolder
    from windrow.cli.demo.results import Checked
    from windrow.cli.demo.view import Status
    from windrow.runtime.spark.progress import Progress

SECONDS = 600
"""The time that the generated traffic takes."""
FILES = 24
"""Files a link: micro-batches of the run."""


@click.command("demo")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default="windrow-demo",
    show_default=True,
    help="Where data, checkpoint and results go; made anew if a demo made it.",
)
@click.option("--rows", default=3_000_000, show_default=True, help="Connections on all links.")
@click.option("--seed", default=7, show_default=True, help="The same seed gives the same rows.")
@click.option("--master", default="local[2]", show_default=True, help="Where Spark runs.")
@click.option("--shards", default=2, show_default=True, help="Processes that hold the state.")
@click.pass_context
def command(
    ctx: click.Context, folder: Path, rows: int, seed: int, master: str, shards: int
) -> None:
    """Show windrow at work: three links of a network, four queries, one pass on Spark.

    Needs Java 17 or newer; `windrow doctor` shows what is missing. Takes about a minute.
    """
    from rich.console import Console  # noqa: PLC0415 - --help stays fast

    from windrow.cli.demo.folder import DemoFolder  # noqa: PLC0415 - as above
    from windrow.cli.generate import write_traffic  # noqa: PLC0415 - as above

    start = perf_counter()
    console = Console(highlight=False)
    place = DemoFolder(folder)
    script = place.prepare()
    console.print(f"Three links of a network, {SECONDS // 60} minutes, {rows:,} connections.")
    write_traffic(place.data, rows, SECONDS, seed, FILES)
    console.print(f"Generated in {perf_counter() - start:.1f} s. Spark starts on {master} ...")
    names, checked = run_script(console, place, script, master, shards, rows)
    print_results(console, place, names)
    console.print(checked.sentence())
    console.print(f"All of it took {perf_counter() - start:.0f} s.")
    ctx.exit(1 if checked.wrong else 0)


def run_script(
    console: Console, place: DemoFolder, script: str, master: str, shards: int, rows: int
) -> tuple[list[str], Checked]:
    """Run all queries to the end of the data; return their names, and what a check has found."""
    import windrow  # noqa: PLC0415 - as above
    from windrow.cli.demo.results import DemoResults, check_quiet  # noqa: PLC0415 - as above
    from windrow.cli.demo.view import view_for  # noqa: PLC0415 - as above

    where = str(place.checkpoint)
    with windrow.connect("spark", checkpoint=where, shards=shards, master=master) as db:
        db.execute(script)
        names = [query.name for query in db.session.queries.values()]
        results = [DemoResults(name, place.results / name) for name in names]
        run = db.start(f"parquet:{place.results}", drain=True)
        with view_for(console) as view:

            def show(progress: Progress) -> None:
                for result in results:
                    result.look()
                view.show(status_of(progress, rows), results)

            run.wait(each=show)
            show(run.progress())
        return names, check_quiet(place.data, place.results, db.spark)


def status_of(progress: Progress, total: int) -> Status:
    """Return what the view shows of a run's progress."""
    from windrow.cli.demo.view import Status  # noqa: PLC0415 - as above

    clocks = [str(q.clock) for q in progress.queries.values() if q.clock is not None]
    return Status(
        rows=progress.total_rows,
        total=total,
        rows_per_second=progress.rows_per_second,
        batches=progress.batches,
        clock=min(clocks, default=""),
        state_rows=sum(shard.state_rows for shard in progress.shards),
        state_bytes=sum(shard.state_bytes for shard in progress.shards),
    )


def print_results(console: Console, place: DemoFolder, names: list[str]) -> None:
    """Say where the results are and how to open them."""
    from windrow.cli.demo.results import openers  # noqa: PLC0415 - as above

    console.print(
        f"\nThe changes of {', '.join(names)} are in {place.results}, as Parquet:", soft_wrap=True
    )
    for reader, line in openers(place.results / names[-1]).items():
        console.print(f"  {reader:8}{line}", soft_wrap=True, markup=False)
    console.print(f"The script is {place.script}.\n", soft_wrap=True)
