"""`windrow generate lbl` and `nexmark`: streams that the laboratory needs, as files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import perf_counter

import click

from windrow.cli.generate import FOLDER, report, require_positive, write


@click.group("generate")
def command() -> None:
    """Write streams of the laboratory as Parquet files."""


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
    from windrow_lab.generate.lbl import Lbl, link_names  # noqa: PLC0415 - --help stays fast
    from windrow_lab.generate.lbl import lbl as make  # noqa: PLC0415 - as above

    start = perf_counter()
    scale = Lbl(ticks, links, seed, users)
    counts = write(folder, link_names(links), partial(make, scale), files, "t")
    report(folder, counts, files, start)


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

    from windrow_lab.generate.nexmark.scale import Nexmark, forgetting  # noqa: PLC0415 - as above
    from windrow_lab.generate.nexmark.writing import SCRIPT, write_nexmark  # noqa: PLC0415 - as above

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
