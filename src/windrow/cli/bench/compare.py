"""`windrow bench compare`: which ratios of a benchmark have moved since they were accepted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from windrow.cli.bench.report import EQUAL
from windrow.core.errors import InputError

ALLOWED = 0.25
"""How much a ratio may fall: on a busy machine a good one falls by that much, too."""
KEPT = ("name", "ratio", "bar", "work")
"""What of a bar is accepted. Times are the machine's; ratios and counted work are ours."""

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Move:
    """A bar then and now. `verdict`: "same", "up", "down", "new", "gone" or "wrong answer"."""

    name: str
    before: float | None
    after: float | None
    verdict: str

    @property
    def bad(self) -> bool:
        """Tell whether somebody has to look."""
        return self.verdict in ("down", "gone", "wrong answer")

    @property
    def change(self) -> str:
        """The ratio now as a share of what it was."""
        if self.before is None or self.after is None:
            return ""
        return f"{self.after / self.before - 1:+.0%}"


@click.command("compare")
@click.argument("new", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.argument("accepted", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--allow", default=ALLOWED, show_default=True, help="How much a ratio may fall.")
@click.option("--accept", is_flag=True, help="Write the new ratios to ACCEPTED.")
@click.pass_context
def compare(ctx: click.Context, new: Path, accepted: Path, *, allow: float, accept: bool) -> None:
    """Tell which ratios have moved since they were accepted.

    NEW is what a benchmark has printed: its lines of JSON are read, the rest is passed over.
    Ends with code 1 if a ratio has fallen, is gone, or belongs to a wrong answer.
    """
    found = bars_in(new)
    if not accepted.exists() and not accept:
        raise InputError(
            f"{accepted} is not there",
            detail="It holds the ratios to compare with.",
            hint="--accept writes the new ones there.",
        )
    moves = list(moved(bars_in(accepted), found, allow)) if accepted.exists() else []
    print_moves(moves, allow)
    if accept:
        refuse_wrong(found)
        accepted.parent.mkdir(parents=True, exist_ok=True)
        accepted.write_text("".join(f"{kept_line(line)}\n" for line in found.values()))
        click.echo(f"accepted: {len(found)} ratios in {accepted}")
    ctx.exit(1 if any(move.bad for move in moves) and not accept else 0)


def bars_in(path: Path) -> dict[str, Line]:
    """Return the bars of a benchmark's output by name."""
    lines = (line for line in path.read_text().splitlines() if line.startswith("{"))
    bars = (bar for bar in map(json.loads, lines) if "name" in bar and "ratio" in bar)
    return {str(bar["name"]): bar for bar in bars}


def kept_line(bar: Line) -> str:
    """Return what is accepted of a bar, as a line of JSON."""
    return json.dumps({name: bar[name] for name in KEPT if bar.get(name) is not None})


def refuse_wrong(found: dict[str, Line]) -> None:
    """Refuse to accept nothing, or a wrong answer."""
    wrong = [name for name, bar in found.items() if is_wrong(bar)]
    if wrong or not found:
        raise InputError(
            f"wrong answers are not accepted: {', '.join(wrong)}" if wrong else "no bar was found",
            hint="Run the benchmark again, with its output in the file.",
        )


def is_wrong(bar: Line) -> bool:
    """Tell whether the answer of a bar was checked and differs."""
    return bool(bar.get("check", EQUAL) != EQUAL)


def moved(before: dict[str, Line], after: dict[str, Line], allow: float) -> Iterator[Move]:
    """Yield what has become of each bar: those that were accepted first."""
    for name in (*before, *(n for n in after if n not in before)):
        old, new = before.get(name), after.get(name)
        then = None if old is None else float(old["ratio"])
        now = None if new is None else float(new["ratio"])
        yield Move(name, then, now, _verdict(then, now, allow, wrong=bool(new and is_wrong(new))))


def _verdict(then: float | None, now: float | None, allow: float, *, wrong: bool) -> str:
    if wrong:
        return "wrong answer"
    if now is None:
        return "gone"
    if then is None:
        return "new"
    if now < then * (1 - allow):
        return "down"
    return "up" if now > then / (1 - allow) else "same"


COLOURS = {"up": "green", "new": "cyan", "same": "dim"}


def print_moves(moves: list[Move], allow: float) -> None:
    """Print one row a bar, and what to look at."""
    from rich.console import Console  # noqa: PLC0415 - --help stays fast
    from rich.table import Table  # noqa: PLC0415 - as above

    if not moves:
        return
    console = Console(highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("name", header_style="bold")
    for title in ("accepted", "now", "change"):
        table.add_column(title, justify="right", header_style="bold")
    table.add_column("", header_style="bold")
    for move in moves:
        colour = COLOURS.get(move.verdict, "red")
        ratios = ("" if r is None else f"{r:,.2f}" for r in (move.before, move.after))
        table.add_row(move.name, *ratios, move.change, f"[{colour}]{move.verdict}[/]")
    console.print(table)
    bad = [move.name for move in moves if move.bad]
    good = f"no ratio has fallen by more than {allow:.0%}"
    console.print(f"\nlook at: {', '.join(bad)}" if bad else f"\n{good}")
