"""`windrow generate`: streams of our own making as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from windrow.cli.laboratory import laboratory_command
from windrow.core.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = click.Path(file_okay=False, path_type=Path)


LABORATORY: dict[str, str] = {
    "lbl": "Links with the proportions of the thesis' trace.",
    "nexmark": "People, auctions and bids of the Nexmark benchmark.",
}
"""Streams that only the laboratory needs, with their lines of help."""


class Generators(click.Group):
    """The generators of the product, and those of the laboratory, which are loaded when asked for.

    Their help is written without a look at the laboratory.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all generators."""
        return sorted({*super().list_commands(ctx), *LABORATORY})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a generator; None if there is none of that name."""
        if cmd_name in LABORATORY:
            return laboratory_command(("generate", cmd_name), LABORATORY[cmd_name])
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of generators."""
        lines = {name: one.get_short_help_str(80) for name, one in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted((lines | LABORATORY).items()))


@click.group("generate", cls=Generators)
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
    report(folder, write_traffic(folder, rows, seconds, seed, files), files, start)


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


def report(folder: Path, counts: dict[str, int], files: int, start: float) -> None:
    """Print what was written, and how long it took."""
    for name, count in counts.items():
        click.echo(f"{folder / name}: {count:,} rows in {files} files")
    click.echo(f"{sum(counts.values()):,} rows in {perf_counter() - start:.1f} s")
