"""Commands of the laboratory: found when its package is installed, else they say how to get it.

The product never imports the laboratory by itself: only a user who asks for one of these commands
does. Module `windrow_lab.cli.<name>` holds `command`.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec

import click

from windrow.core.errors import InputError

PACKAGE = "windrow_lab"
DETAIL = (
    f"It is part of windrow's laboratory, the package {PACKAGE}: benchmarks, experiments and their "
    "generators. The laboratory comes with windrow's sources, not with the installed product."
)
HINT = "In a checkout of windrow's sources: pip install -e '.[lab]'"


def laboratory_command(path: tuple[str, ...], about: str) -> click.Command:
    """Return a command of the laboratory by its path, such as ``("generate", "lbl")``.

    `about` is its line of help. Without the laboratory the command only raises an error.
    """
    if find_spec(PACKAGE) is None:
        return missing_command(path, about)
    found = importlib.import_module(f"{PACKAGE}.cli.{path[0]}").command
    for name in path[1:]:
        assert isinstance(found, click.Group), f"{path[0]} of the laboratory is not a group"
        found = found.commands[name]
    assert isinstance(found, click.Command), f"{PACKAGE}.cli.{path[0]} holds no command"
    return found


def missing_command(path: tuple[str, ...], about: str) -> click.Command:
    """Return a command that takes any arguments and raises the error that it is not installed."""
    name = " ".join(path)

    def refuse(words: tuple[str, ...]) -> None:
        raise InputError(f"windrow {name} is not installed", detail=DETAIL, hint=HINT)

    return click.Command(
        path[-1],
        callback=refuse,
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED, metavar="...")],
        help=f"{about}\n\nNot installed. {DETAIL}\n\n{HINT}",
        short_help=about,
        context_settings={"ignore_unknown_options": True},
    )
