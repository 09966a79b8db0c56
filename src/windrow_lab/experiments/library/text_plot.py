"""Figures in the terminal: lines of braille dots, two by four a letter, a colour a line."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from rich.text import Text

from windrow_lab.experiments.library.experiment import Panel
from windrow_lab.experiments.library.series import COLOURS, Axis, Point, Series, short

DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
"""The bit of each dot of a braille letter: column, then row from the top."""
BLANK = 0x2800
HEIGHT = 14
LEFT = 8
"""Letters that the names of the y axis get."""
NARROWEST, WIDEST = 24, 72


@dataclass(slots=True)
class Canvas:
    """A grid of braille letters; y grows upwards."""

    width: int
    height: int
    bits: dict[tuple[int, int], int] = field(default_factory=dict)
    colours: dict[tuple[int, int], str] = field(default_factory=dict)

    def dot(self, x: float, y: float, colour: str) -> None:
        """Set the dot at a place of the unit square; a letter keeps its first colour."""
        column = round(x * (2 * self.width - 1))
        row = round((1 - y) * (4 * self.height - 1))
        cell = (column // 2, row // 4)
        self.bits[cell] = self.bits.get(cell, 0) | DOTS[column % 2][row % 4]
        self.colours.setdefault(cell, colour)

    def line(self, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
        """Set the dots between two places."""
        steps = round(
            max(
                2 * self.width * abs(end[0] - start[0]), 4 * self.height * abs(end[1] - start[1]), 1
            )
        )
        for n in range(steps + 1):
            share = n / steps
            x, y = (a + (b - a) * share for a, b in zip(start, end, strict=True))
            self.dot(x, y, colour)

    def row(self, number: int) -> Text:
        """Return a line of letters."""
        text = Text()
        for column in range(self.width):
            cell = (column, number)
            text.append(chr(BLANK + self.bits.get(cell, 0)), self.colours.get(cell, ""))
        return text


def plot(panel: Panel, lines: list[Series], width: int) -> Text:
    """Return a panel as text: title, canvas with named axes, and what each colour is."""
    text = Text(f"{panel.title}\n", style="")
    if not lines:
        return text.append("(nothing to show)\n")
    points = [p for line in lines for p in line.points]
    x_axis = Axis.over((p.x for p in points), log=panel.log_x)
    y_axis = Axis.over((p.y for p in points), log=panel.log_y)
    canvas = Canvas(max(NARROWEST, min(WIDEST, width - LEFT - 2)), HEIGHT)
    for n, line in enumerate(lines):
        places = [(x_axis.place(p.x), y_axis.place(p.y)) for p in line.points]
        draw(canvas, panel, places, COLOURS[n % len(COLOURS)])
    names = {round((1 - y_axis.place(t)) * (HEIGHT - 1)): short(t) for t in y_axis.ticks()}
    for number in range(HEIGHT):
        text.append(f"{names.get(number, ''):>{LEFT - 2}} │", "dim")
        text.append_text(canvas.row(number)).append("\n")
    text.append(" " * (LEFT - 1) + "└" + "─" * canvas.width + "\n", "dim")
    text.append(named_ticks(x_axis, canvas.width) + f"\n{' ' * LEFT}{panel.x_label}\n", "dim")
    text.append_text(legend(lines))
    return text.append(f"{' ' * LEFT}y: {panel.y_label}\n", "dim")


def draw(canvas: Canvas, panel: Panel, places: list[tuple[float, float]], colour: str) -> None:
    """Draw one line, or its points as small crosses."""
    if panel.points or len(places) == 1:
        step_x, step_y = 1 / (2 * canvas.width - 1), 1 / (4 * canvas.height - 1)
        for x, y in places:
            for dx, dy in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
                canvas.dot(min(1, max(0, x + dx * step_x)), min(1, max(0, y + dy * step_y)), colour)
        return
    for start, end in pairwise(places):
        canvas.line(start, end, colour)


def named_ticks(axis: Axis, width: int) -> str:
    """Return the line of names below the x axis; a name that has no room is left out."""
    line = [" "] * (LEFT + width + 4)
    free = 0
    ticks = axis.ticks()
    for tick in [*ticks[:-1], ticks[-1]]:
        name = short(tick)
        at = LEFT + round(axis.place(tick) * (width - 1)) - len(name) // 2
        if at >= free:
            line[at : at + len(name)] = name
            free = at + len(name) + 1
    return "".join(line).rstrip()


def legend(lines: list[Series]) -> Text:
    """Return the names of the lines in their colours, with where each ends."""
    text = Text(" " * LEFT)
    for n, line in enumerate(lines):
        last: Point = line.points[-1]
        colour = COLOURS[n % len(COLOURS)]
        text.append(f"●{line.name} ", f"bold {colour}").append(f"({short(last.y)})   ", "dim")
    return text.append("\n")
