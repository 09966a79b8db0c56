"""`windrow generate`: streams of our own making as files."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import click

from windrow.core.errors import InputError


@click.group("generate")
def command() -> None:
    """Write streams of our own making as Parquet files."""


@command.command("traffic")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@click.option("--rows", default=3_000_000, show_default=True, help="Connections of all links.")
@click.option("--seconds", default=600, show_default=True, help="The time that they take.")
@click.option("--seed", default=7, show_default=True, help="The same seed gives the same rows.")
@click.option("--files", default=24, show_default=True, help="Files a link.")
def traffic(folder: Path, rows: int, seconds: int, seed: int, files: int) -> None:
    """Connections on three links of a network: DIR/link1, DIR/link2, DIR/link3.

    Columns: ts, src, dst, proto, bytes. Files are in the order of time, and the n-th of each link
    covers the same stretch.
    """
    for name, value in (("--rows", rows), ("--seconds", seconds), ("--files", files)):
        if value < 1:
            raise InputError(f"{name} is at least 1, got {value}")
    start = perf_counter()
    counts = write_traffic(folder, rows, seconds, seed, files)
    for name, count in counts.items():
        click.echo(f"{folder / name}: {count:,} rows in {files} files")
    click.echo(f"{sum(counts.values()):,} rows in {perf_counter() - start:.1f} s")


def write_traffic(folder: Path, rows: int, seconds: int, seed: int, files: int) -> dict[str, int]:
    """Generate and write the links; return the rows of each. Refuses folders that are not empty."""
    from windrow.generate.files import write_streams  # noqa: PLC0415 - --help stays fast
    from windrow.generate.traffic import LINKS, Traffic, traffic  # noqa: PLC0415 - as above

    for link in LINKS:
        if any((folder / link).glob("*")):
            raise InputError(
                f'"{folder / link}" is not empty',
                detail="Files of another run would be read as part of this one.",
                hint="Give another folder, or remove that one.",
            )
    tables = traffic(Traffic(rows, seconds, seed))
    write_streams(folder, tables, pieces=files)
    return {name: len(table) for name, table in tables.items()}
