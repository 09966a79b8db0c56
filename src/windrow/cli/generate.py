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
    require_positive({"--rows": rows, "--seconds": seconds, "--files": files})
    start = perf_counter()
    tell(folder, write_traffic(folder, rows, seconds, seed, files), files, start)


@command.command("lbl")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@click.option("--ticks", default=400_000, show_default=True, help="Connections of each link.")
@click.option("--links", default=3, show_default=True, help="How many links.")
@click.option("--seed", default=7, show_default=True, help="The same seed gives the same rows.")
@click.option("--files", default=24, show_default=True, help="Files a link.")
def lbl(folder: Path, ticks: int, links: int, seed: int, files: int) -> None:
    """Links with the proportions of the thesis' trace: DIR/link1, DIR/link2, ...

    Columns: t, src, dst, proto, bytes. The clock is an integer, one connection a tick and link.
    """
    require_positive({"--ticks": ticks, "--links": links, "--files": files})
    from windrow.generate.lbl import Lbl, link_names  # noqa: PLC0415 - --help stays fast
    from windrow.generate.lbl import lbl as make  # noqa: PLC0415 - as above

    start = perf_counter()
    scale = Lbl(ticks, links, seed)
    counts = write(folder, link_names(links), partial(make, scale), files, "t")
    tell(folder, counts, files, start)


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
    from windrow.generate.files import write_streams  # noqa: PLC0415 - --help stays fast

    for name in names:
        if any((folder / name).glob("*")):
            raise InputError(
                f'"{folder / name}" is not empty',
                detail="Files of another run would be read as part of this one.",
                hint="Give another folder, or remove that one.",
            )
    tables = make()
    write_streams(folder, tables, pieces=files, time=time)
    return {name: len(table) for name, table in tables.items()}


def tell(folder: Path, counts: dict[str, int], files: int, start: float) -> None:
    """Tell what was written, and how long it took."""
    for name, count in counts.items():
        click.echo(f"{folder / name}: {count:,} rows in {files} files")
    click.echo(f"{sum(counts.values()):,} rows in {perf_counter() - start:.1f} s")
