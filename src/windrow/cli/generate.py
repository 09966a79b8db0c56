"""`windrow generate`: streams of our own making as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from windrow.core.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group("generate")
def command() -> None:
    """Write streams of our own making as Parquet files."""


@command.command("traffic")
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.option("--rows", default=3_000_000, show_default=True, help="Connections of all links.")
@click.option("--seconds", default=600, show_default=True, help="The time that they take.")
@click.option("--seed", default=7, show_default=True, help="The same seed gives the same rows.")
@click.option("--files", default=24, show_default=True, help="Files a link.")
def traffic(folder: Path, rows: int, seconds: int, seed: int, files: int) -> None:
    """Connections on three links of a network: DIR/link1, DIR/link2, DIR/link3.

    Columns: ts, src, dst, proto, bytes. Files are in the order of time, and the n-th of each link
    covers the same stretch.
    """
    require_positive({"--rows": rows, "--seconds": seconds, "--files": files})
    start = perf_counter()
    print_written(folder, write_traffic(folder, rows, seconds, seed, files), files, start)


@command.command("lbl")
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.option("--ticks", default=400_000, show_default=True, help="Connections of each link.")
@click.option("--links", default=3, show_default=True, help="How many links.")
@click.option("--seed", default=7, show_default=True, help="The same seed gives the same rows.")
@click.option("--files", default=24, show_default=True, help="Files a link.")
@click.option(
    "--users/--no-users",
    default=True,
    show_default=True,
    help="ftp and telnet for some sources, each as often as another, or for all by Zipf's law.",
)
def lbl(folder: Path, ticks: int, links: int, seed: int, files: int, users: bool) -> None:
    """Links with the proportions of the thesis' trace: DIR/link1, DIR/link2, ...

    Columns: t, src, dst, proto, bytes. The clock is an integer, one connection a tick and link.
    """
    require_positive({"--ticks": ticks, "--links": links, "--files": files})
    from windrow.generate.lbl import Lbl, link_names  # noqa: PLC0415 - --help stays fast
    from windrow.generate.lbl import lbl as make  # noqa: PLC0415 - as above

    start = perf_counter()
    scale = Lbl(ticks, links, seed, users)
    counts = write(folder, link_names(links), partial(make, scale), files, "t")
    print_written(folder, counts, files, start)


@command.command("nexmark")
@click.option("--events", default=1_000_000, show_default=True, help="Of all three streams.")
@click.option("--out", "folder", required=True, type=FOLDER, metavar="DIR", help="Made if needed.")
@click.option("--rate", default=10_000, show_default=True, help="Events a second, of their time.")
@click.option("--seed", default=7, show_default=True, help="The same seed gives the same rows.")
@click.option("--files", default=40, show_default=True, help="Files a stream.")
@click.option("--out-of-order", "group", default=1, show_default=True, help="Events a group.")
@click.option("--hot-auctions", default=2, show_default=True, help="1 - 1/N of bids are for it.")
@click.option("--hot-bidders", default=4, show_default=True, help="1 - 1/N of bids are theirs.")
@click.option("--hot-sellers", default=4, show_default=True, help="1 - 1/N of auctions, so too.")
def nexmark(folder: Path, files: int, **shape: int) -> None:
    """People, auctions and bids of the Nexmark benchmark: DIR/person, DIR/auction, DIR/bid.

    Also DIR/side_input, the relation of q13, and DIR/streams.cql, which declares all four. Files
    are in the order of time, and the n-th of each stream covers the same stretch. With
    --out-of-order N, every N events come in an order of their own.
    """
    from rich.console import Console  # noqa: PLC0415 - --help stays fast
    from rich.progress import Progress  # noqa: PLC0415 - as above

    from windrow.generate.nexmark.scale import Nexmark, forgetting  # noqa: PLC0415 - as above
    from windrow.generate.nexmark.writing import SCRIPT, write_nexmark  # noqa: PLC0415 - as above

    require_positive({"--files": files})
    scale = Nexmark(**shape)
    start = perf_counter()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("nexmark", total=scale.events)
        for events in write_nexmark(folder, scale, files=files):
            progress.advance(task, events)
    click.echo(f"{folder}: {scale.events:,} events in {perf_counter() - start:.1f} s")
    click.echo(f"declared in {folder / SCRIPT}")
    if warning := forgetting(scale):
        click.echo(f"warning: {warning}; their answers miss later bids", err=True)


def require_positive(options: dict[str, int]) -> None:
    """Refuse options below 1."""
    for name, value in options.items():
        if value < 1:
            raise InputError(f"{name} is at least 1, got {value}")


def write_traffic(folder: Path, rows: int, seconds: int, seed: int, files: int) -> dict[str, int]:
    """Generate and write the links of traffic; return the rows of each."""
    from windrow.generate.traffic import LINKS, Traffic  # noqa: PLC0415 - --help stays fast
    from windrow.generate.traffic import traffic as make  # noqa: PLC0415 - as above

    return write(folder, LINKS, partial(make, Traffic(rows, seconds, seed)), files, "ts")


def write(
    folder: Path,
    names: Iterable[str],
    make: Callable[[], dict[str, pa.Table]],
    files: int,
    time: str,
) -> dict[str, int]:
    """Generate and write streams; return the rows of each. Refuses folders that are not empty."""
    from windrow.generate.files import refuse_used, write_streams  # noqa: PLC0415 - --help stays fast

    for name in names:
        refuse_used(folder / name)
    tables = make()
    write_streams(folder, tables, pieces=files, time=time)
    return {name: len(table) for name, table in tables.items()}


def print_written(folder: Path, counts: dict[str, int], files: int, start: float) -> None:
    """Print what was written, and how long it took."""
    for name, count in counts.items():
        click.echo(f"{folder / name}: {count:,} rows in {files} files")
    click.echo(f"{sum(counts.values()):,} rows in {perf_counter() - start:.1f} s")
