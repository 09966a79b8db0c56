"""`windrow demo`: a shipped script, query by query, with its story and its plans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

import click
from rich.console import Console

from windrow.cli.terminal import print_plan
from windrow.plan.session import Session

STORIES = ("traffic", "auctions", "sensors")

LEGEND = """\
Beside each step stands how its tuples leave (its update pattern), and why:
  MON  never
  WKS  first in, first out
  WK   at a time that is known at their birth
  STR  also when something else arrives"""


@dataclass(frozen=True, slots=True)
class Scene:
    """One query of a script: what its comment says, and its text."""

    name: str
    story: str
    text: str


@click.command("demo")
@click.argument("story", type=click.Choice(STORIES), default=STORIES[0])
def command(story: str) -> None:
    """Tell a STORY: traffic (the default), auctions or sensors."""
    script = read_example(story)
    session = Session()
    session.execute(script)
    console = Console(highlight=False)
    console.print(prologue(script), style="bold", markup=False)
    console.print(f"\n{LEGEND}")
    for scene in scenes(script):
        console.print(f"\n{scene.story}\n", style="italic", markup=False)
        console.print(f"{indent(scene.text)}\n", style="blue", markup=False, soft_wrap=True)
        print_plan(console, session.query(scene.name))
    others = " or ".join(f"windrow demo {name}" for name in STORIES if name != story)
    console.print(f"\nOther stories: {others}. Your own: windrow explain FILE.")


def read_example(name: str) -> str:
    """Return the text of a shipped script."""
    return (files("windrow") / "examples" / f"{name}.cql").read_text(encoding="utf-8")


def prologue(script: str) -> str:
    """Return the comment at the top of a script, up to its first empty line."""
    return uncomment(script.split("\n\n", maxsplit=1)[0])


def scenes(script: str) -> Iterator[Scene]:
    r"""Yield each CREATE QUERY of a script with the comment above it.

    >>> [scene] = scenes("-- Who is here.\nCREATE QUERY q AS\n  SELECT * FROM s [NOW];\n")
    >>> scene.name, scene.story
    ('q', 'Who is here.')
    """
    pattern = r"((?:^--[^\n]*\n)+)(^CREATE QUERY (\w+) AS\n.*?;)$"
    for found in re.finditer(pattern, script, re.MULTILINE | re.DOTALL):
        comment, text, name = found.groups()
        yield Scene(name, uncomment(comment), text)


def uncomment(text: str) -> str:
    """Return comment lines without their dashes, as one paragraph."""
    return " ".join(line.removeprefix("--").strip() for line in text.strip().splitlines())


def indent(text: str) -> str:
    """Return the text two columns further right."""
    return "\n".join(f"  {line}" for line in text.splitlines())
