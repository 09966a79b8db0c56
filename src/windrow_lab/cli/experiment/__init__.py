"""`windrow experiment`: redo what a paper measured, see the figure, read the verdict."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("experiment")
@click.argument("name")
@click.option("--full", is_flag=True, help="At the paper's size; without it, smaller.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("experiments"),
    show_default=True,
    metavar="DIR",
    help="Results go to DIR/NAME.",
)
@click.option("--repeats", type=click.IntRange(min=1), help="Runs that are timed, of each case.")
@click.option("--seed", type=int, help="Of what is generated.")
@click.option(
    "--trace",
    type=click.Choice(["lbl", "lbl-zipf", "zeek"]),
    default="lbl",
    show_default=True,
    help="Generated with the thesis' proportions, twice, or the real one (WINDROW_DATA).",
)
def command(
    name: str, full: bool, out: Path, repeats: int | None, seed: int | None, trace: str
) -> None:
    """Run the experiment NAME; `list` shows all, `all` runs all.

    Shows the figure and the verdict, and writes README.md, results.csv, figure.svg and figure.png.
    Needs matplotlib and DuckDB: pip install -e '.[lab]' in a checkout.
    """
    from windrow_lab.cli.experiment import show  # noqa: PLC0415 - --help stays fast
    from windrow_lab.experiments.library.experiment import Options  # noqa: PLC0415 - as above
    from windrow_lab.experiments.registry import ALL, find  # noqa: PLC0415 - as above

    if name == "list":
        show.print_list(ALL)
        return
    options = Options(full, repeats, seed, trace)
    if name == "all":
        show.run_all(ALL, options, out)
    else:
        show.run_one(find(name), options, out)
