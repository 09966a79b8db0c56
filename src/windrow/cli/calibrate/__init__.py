"""`windrow calibrate`: measure what the engine's steps cost here, for choosing between plans."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from windrow.optimize.calibration import Calibration


@click.command("calibrate")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write here; without it, to the user's cache.",
)
@click.option("--dry", is_flag=True, help="Show what would be kept, and keep nothing.")
@click.option("--json", "as_json", is_flag=True, help="For other programs.")
def command(out: Path | None, dry: bool, as_json: bool) -> None:
    """Measure the constants of cost models on this machine, in some seconds, and keep them.

    Plans of aggregation joins are chosen by them: those of queries that start from then on.
    """
    from windrow.core.errors import InputError  # noqa: PLC0415 - --help stays fast
    from windrow.optimize.calibration import VARIABLE, path, save  # noqa: PLC0415 - as above

    to = out or path()
    if to is None and not dry:
        raise InputError(
            "there is no file to keep constants in",
            detail=f"{VARIABLE} is none.",
            hint=f"Unset {VARIABLE}, or name a file with --out.",
        )
    found = measured()
    if as_json:
        click.echo(json.dumps(asdict(found), indent=2))
    else:
        show(found)
    if to is not None and not dry:
        save(found, to)
        click.echo(f"kept in {to}", err=as_json)


def measured() -> Calibration:
    """Try all samples, with a progress bar."""
    from rich.console import Console  # noqa: PLC0415 - --help stays fast
    from rich.progress import Progress  # noqa: PLC0415 - as above

    from windrow.cli.calibrate import samples  # noqa: PLC0415 - as above

    found = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("measures", total=samples.count(samples.TRIALS))
        for one in samples.tried(samples.TRIALS):
            found.append(one)
            progress.update(task, advance=1)
    return samples.calibrated(found)


def show(found: Calibration) -> None:
    """Print each constant, beside the one that windrow comes with."""
    from rich.console import Console  # noqa: PLC0415 - --help stays fast
    from rich.table import Table  # noqa: PLC0415 - as above

    from windrow.optimize.calibration import SHIPPED  # noqa: PLC0415 - as above

    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("model", "step", "ns here", "ns shipped"):
        table.add_column(title, header_style="bold", justify="right" if "ns" in title else "left")
    models = {"windrow": "early", "AGGJOIN, hash": "hashed", "AGGJOIN, loops": "loops"}
    for model, name in models.items():
        shipped = asdict(getattr(SHIPPED, name))
        for step, value in asdict(getattr(found, name)).items():
            if step != "most":
                table.add_row(model, step, f"{value:,.1f}", f"{shipped[step]:,.1f}")
    console = Console(highlight=False)
    console.print(table)
    console.print(f"\nthe engine's model is wrong by {found.error:.0%}, at the median")
