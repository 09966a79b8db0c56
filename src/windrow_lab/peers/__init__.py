"""`windrow bench peers`: windrow beside the engines that one would otherwise choose."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from windrow_lab.peers.contest import Result
    from windrow_lab.peers.engines import Engine
    from windrow_lab.peers.files import Size

WORKLOADS = ("W1", "W2", "W3", "W4", "W5", "W6", "W7")
PEERS = ("spark", "spark-rocksdb", "flink", "pathway", "bytewax", "duckdb", "polars")
LEFT_OUT = ("spark-rocksdb",)
"""Of `--quick`, unless it is asked for: slower than Spark's other store, by far."""


def names_from(allowed: tuple[str, ...]) -> Callable[..., tuple[str, ...]]:
    """Return a click callback that reads names with commas between them, in their own order."""

    def read(_ctx: click.Context, _param: click.Parameter, text: str) -> tuple[str, ...]:
        wanted = [name.strip() for name in text.split(",") if name.strip()]
        unknown = [name for name in wanted if name not in allowed]
        if unknown:
            msg = f"no {', '.join(unknown)}; there are {', '.join(allowed)}"
            raise click.BadParameter(msg)
        return tuple(name for name in allowed if name in wanted)

    return read


@click.command("peers")
@click.option("--quick", is_flag=True, help="Less data, fewer repeats: some minutes.")
@click.option(
    "--only", default="", callback=names_from(WORKLOADS), help="Workloads, as in W1,W3. [all]"
)
@click.option(
    "--peers", "chosen", default="", callback=names_from(PEERS), help="Peers, as in spark,flink."
)
@click.option("--reinstall", is_flag=True, help="Make the peers' environments anew.")
@click.option(
    "--out",
    default="windrow-peers",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the CSV and the picture.",
)
@click.option("--fail/--no-fail", default=True, help="End with code 1 if a bar is not met.")
@click.pass_context
def peers(  # noqa: PLR0913 - one a choice of the user
    ctx: click.Context,
    *,
    quick: bool,
    only: tuple[str, ...],
    chosen: tuple[str, ...],
    reinstall: bool,
    out: Path,
    fail: bool,
) -> None:
    """Measure windrow beside other engines: the same files, each answer checked.

    Peers that are not part of windrow's own environment are installed when first needed, each
    in an environment of its own below ~/.cache/windrow/peers. Prints one line of JSON a result
    and a bar, then tables. Needs Java, and Polars, DuckDB and matplotlib:
    pip install -e '.[lab]' in a checkout.
    """
    from windrow_lab.bench.kernel import require_polars  # noqa: PLC0415 - --help stays fast

    require_polars()
    from windrow_lab.contest.report import print_table  # noqa: PLC0415 - as above
    from windrow_lab.peers import bars, engines, files, showing  # noqa: PLC0415 - as above

    left_out = LEFT_OUT if quick else ()
    names = chosen or tuple(name for name in PEERS if name not in left_out)
    wanted = [engines.WINDROW, engines.ON_SPARK, *(engines.ENGINES[name] for name in names)]
    size = files.QUICK if quick else files.FULL
    results = {}
    for result in measured(wanted, only or WORKLOADS, size, reinstall=reinstall):
        click.echo(result.line())
        results[result.engine, result.task] = result
    found = list(bars.bars_of(results, names, only or WORKLOADS, quick=quick))
    for bar in found:
        click.echo(bar.line())
    showing.print_rates(results)
    click.echo()
    print_table(found)
    out.mkdir(parents=True, exist_ok=True)
    showing.write_csv(out / "peers.csv", results)
    for path in (out / "peers.csv", *showing.write_picture(out, results)):
        click.echo(f"written: {path}")
    ctx.exit(1 if fail and not bars.passed(results, found) else 0)


def measured(
    wanted: list[Engine], tasks: tuple[str, ...], size: Size, *, reinstall: bool
) -> Iterator[Result]:
    """Yield the results engine by engine, with a progress bar on stderr meanwhile."""
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.progress import Progress  # noqa: PLC0415 - as above

    from windrow_lab.peers.contest import Contest, absent  # noqa: PLC0415 - as above
    from windrow_lab.peers.tasks import TASKS  # noqa: PLC0415 - as above

    with (
        Progress(console=Console(stderr=True), transient=True) as progress,
        tempfile.TemporaryDirectory(prefix="windrow-peers-") as folder,
    ):
        bar = progress.add_task("", total=len(tasks) * len(wanted))

        def report(text: str) -> None:
            progress.update(bar, description=text)

        contest = Contest(Path(folder), size, absent(wanted, report, again=reinstall))
        chosen = [task for task in TASKS if task.name in tasks]
        for engine in wanted:
            report(engine.title)
            for result in contest.results(engine, chosen):
                yield result
                report(f"{engine.title}, after {result.task}")
                progress.advance(bar)
