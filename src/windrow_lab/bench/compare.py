"""`windrow bench compare`: which ratios of a benchmark have moved since they were accepted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from windrow.core.errors import InputError
from windrow_lab.contest.measurement import EQUAL
from windrow_lab.contest.report import NARROWEST, UNMEASURED

ALLOWED = 0.25
"""How much a ratio may fall: on a busy machine a good one falls by that much, too."""
NOTICED = 0.01
"""How much a counter of work may change without being reported."""
GROWN = 0.10
"""How much it may grow before somebody has to look."""
KEPT = ("name", "ratio", "bar")
"""What of a bar is accepted, beside its counted work. Times are the machine's: they are not."""

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Count:
    """A counter of work then and now; None where it is not counted any more."""

    name: str
    before: int
    after: int | None

    @property
    def noticed(self) -> bool:
        """Return whether it has changed by more than a little, either way."""
        return self.after is None or abs(self.after - self.before) > NOTICED * abs(self.before)

    @property
    def grown(self) -> bool:
        """Return whether there is so much more work that somebody has to look."""
        return self.after is not None and self.after - self.before > GROWN * abs(self.before)

    def __str__(self) -> str:
        if self.after is None:
            return f"{self.name} gone"
        if not self.before:
            return f"{self.name} 0 to {self.after:,}"
        return f"{self.name} {self.after / self.before - 1:+.1%}"


@dataclass(frozen=True, slots=True)
class Move:
    """A bar then and now, and what of its counted work has changed.

    `verdict`: "same", "up", "down", "new", "gone", "not measured" or "wrong answer".
    """

    name: str
    before: float | None
    after: float | None
    verdict: str
    work: tuple[Count, ...] = ()

    @property
    def bad(self) -> bool:
        """Return whether somebody has to look."""
        worse = self.verdict in ("down", "gone", UNMEASURED, "wrong answer")
        return worse or any(count.grown for count in self.work)

    @property
    def summary(self) -> str:
        """The verdict, and the work that has changed."""
        if not self.work:
            return self.verdict
        return f"{self.verdict}; work: {', '.join(map(str, self.work))}"

    @property
    def change(self) -> str:
        """The ratio now as a share of what it was."""
        if self.before is None or self.after is None:
            return ""
        return f"{self.after / self.before - 1:+.0%}" if self.before else ""


@click.command("compare")
@click.argument("new", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.argument("accepted", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--allow", default=ALLOWED, show_default=True, help="How much a ratio may fall.")
@click.option("--accept", is_flag=True, help="Write the new ratios to ACCEPTED.")
@click.option("--drop", is_flag=True, help="With --accept: bars that are gone may go.")
@click.pass_context
def compare(
    ctx: click.Context, new: Path, accepted: Path, *, allow: float, accept: bool, drop: bool
) -> None:
    """Report which ratios have moved since they were accepted, and which work.

    NEW is what a benchmark has printed: its lines of JSON are read, the rest is passed over.
    Ends with code 1 if a ratio has fallen, is gone, was not measured or belongs to a wrong
    answer, or if counted work has grown by more than a tenth.
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
        refuse_gone(moves, drop=drop)
        accepted.parent.mkdir(parents=True, exist_ok=True)
        accepted.write_text("".join(f"{kept_line(line)}\n" for line in found.values()))
        click.echo(f"accepted: {len(found)} ratios in {accepted}")
    ctx.exit(1 if any(move.bad for move in moves) and not accept else 0)


def bars_in(path: Path) -> dict[str, Line]:
    """Return the bars of a benchmark's output by name. Refuses two of one name."""
    lines = (line for line in path.read_text().splitlines() if line.startswith("{"))
    bars = [bar for bar in map(json.loads, lines) if "name" in bar and "ratio" in bar]
    times = Counter(str(bar["name"]) for bar in bars)
    twice = [name for name, count in times.items() if count > 1]
    if twice:
        raise InputError(
            f"{path} has more than one bar of a name: {', '.join(twice)}",
            detail="Only one of them could be compared.",
            hint="Leave the output of one run in the file.",
        )
    return {str(bar["name"]): bar for bar in bars}


def kept_line(bar: Line) -> str:
    """Return what is accepted of a bar, as a line of JSON."""
    kept = {name: bar[name] for name in KEPT if bar.get(name) is not None}
    return json.dumps({**kept, "work": counters(bar)})


def refuse_wrong(found: dict[str, Line]) -> None:
    """Refuse to accept nothing, or a wrong answer."""
    wrong = [name for name, bar in found.items() if is_wrong(bar)]
    if wrong or not found:
        raise InputError(
            f"wrong answers are not accepted: {', '.join(wrong)}" if wrong else "no bar was found",
            hint="Run the benchmark again, with its output in the file.",
        )


def refuse_gone(moves: list[Move], *, drop: bool) -> None:
    """Refuse to forget bars, unless that is what is wanted."""
    gone = [move.name for move in moves if move.verdict == "gone"]
    if gone and not drop:
        raise InputError(
            f"bars are gone: {', '.join(gone)}",
            detail="Accepting would forget that they ever were.",
            hint="Run the whole benchmark, or add --drop.",
        )


def is_wrong(bar: Line) -> bool:
    """Return whether the answer of a bar was checked and differs, or there is none."""
    return bool(bar.get("check", EQUAL) != EQUAL)


def counters(bar: Line) -> dict[str, int]:
    """Return the counted work of a bar: whole numbers. Seconds and shares are none."""
    return {name: n for name, n in bar.get("work", {}).items() if type(n) is int}


def work_moved(old: Line, new: Line) -> Iterator[Count]:
    """Yield the counters that have changed, of those that were accepted."""
    now = counters(new)
    for name, before in counters(old).items():
        count = Count(name, before, now.get(name))
        if count.noticed:
            yield count


def moved(before: dict[str, Line], after: dict[str, Line], allow: float) -> Iterator[Move]:
    """Yield what has become of each bar: those that were accepted first."""
    for name in (*before, *(n for n in after if n not in before)):
        old, new = before.get(name), after.get(name)
        then = None if old is None else float(old["ratio"])
        now = None if new is None else float(new["ratio"])
        work = tuple(work_moved(old, new)) if old and new and not is_wrong(new) else ()
        yield Move(name, then, now, _wrong(new) or _verdict(then, now, allow), work)


def _wrong(bar: Line | None) -> str:
    if bar is None or not is_wrong(bar):
        return ""
    return UNMEASURED if str(bar["check"]).startswith(UNMEASURED) else "wrong answer"


def _verdict(then: float | None, now: float | None, allow: float) -> str:
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
    if not console.is_terminal:
        console = Console(highlight=False, width=NARROWEST)
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("name", header_style="bold")
    for title in ("accepted", "now", "change"):
        table.add_column(title, justify="right", header_style="bold")
    table.add_column("", header_style="bold")
    for move in moves:
        colour = "red" if move.bad else COLOURS[move.verdict]
        ratios = ("" if r is None else f"{r:,.2f}" for r in (move.before, move.after))
        table.add_row(move.name, *ratios, move.change, f"[{colour}]{move.summary}[/]")
    console.print(table)
    bad = [move.name for move in moves if move.bad]
    good = f"no ratio has fallen by more than {allow:.0%}, no work has grown by {GROWN:.0%}"
    console.print(f"\nlook at: {', '.join(bad)}" if bad else f"\n{good}")
