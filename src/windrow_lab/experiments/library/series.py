"""A panel's points, by line: what the terminal and the figure both draw."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10

from windrow_lab.experiments.library.experiment import Panel
from windrow_lab.experiments.library.table import Table

COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000",
    "#999999", "#882255", "#44AA99",
)  # fmt: skip
"""Okabe and Ito's colours, which the colour-blind can distinguish; then some of Tol's."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place, how far y was spread, and what the point is called."""

    x: float
    y: float
    low: float
    high: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a panel."""

    name: str
    points: tuple[Point, ...]


def series_of(table: Table, panel: Panel) -> list[Series]:
    """Return a panel's lines: of rows that have its measures; a log axis shows what is above 0."""
    found = []
    for level in table.levels(panel.by):
        rows = table.where(**{panel.by: level}).rows
        points = []
        for row in (r for r in rows if r.has(panel.x) and r.has(panel.y)):
            spread = row.clocks.get(panel.y)
            y = row.number(panel.y)
            low, high = (spread.low, spread.high) if spread else (y, y)
            label = str(row.value(panel.label)) if panel.label else ""
            points.append(Point(row.number(panel.x), y, low, high, label))
        shown = [p for p in points if (p.x > 0 or not panel.log_x) and (p.y > 0 or not panel.log_y)]
        if shown:
            ordered = sorted(shown, key=lambda p: p.x)
            found.append(Series(str(level), tuple(ordered)))
    return found


@dataclass(frozen=True, slots=True)
class Axis:
    """Turns values into places of [0, 1]."""

    low: float
    high: float
    log: bool

    @classmethod
    def over(cls, values: Iterable[float], *, log: bool) -> Axis:
        """Return the axis that shows all values."""
        seen = list(values)
        low, high = min(seen), max(seen)
        if log:
            return cls(low, max(high, low * 1.0001), log=True)
        return cls(min(0.0, low), high if high > min(0.0, low) else low + 1.0, log=False)

    def place(self, value: float) -> float:
        """Return where a value lies.

        >>> Axis(1, 100, log=True).place(10)
        0.5
        """
        if self.log:
            return (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Return the values to be named: powers of ten inside a log axis, or its ends.

        >>> Axis(2.0, 300.0, log=True).ticks()
        [2.0, 10.0, 100.0, 300.0]
        """
        if not self.log:
            return [self.low, (self.low + self.high) / 2, self.high]
        inside = [10.0**n for n in range(ceil(log10(self.low)), floor(log10(self.high)) + 1)]
        room = (log10(self.high) - log10(self.low)) / 8
        apart = [t for t in inside if all(abs(log10(t / e)) > room for e in (self.low, self.high))]
        return [self.low, *apart, self.high]


def short(value: float) -> str:
    """Return a number in few letters.

    >>> [short(v) for v in (0.0123, 5.0, 1234.0, 200_000.0, 3_400_000.0)]
    ['0.012', '5', '1.2k', '200k', '3.4M']
    """
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return (
                f"{value / unit:.3g}{letter}"
                if value >= 100 * unit
                else f"{value / unit:.2g}{letter}"
            )
    return f"{value:.2g}" if abs(value) < 100 else f"{value:.3g}"
