"""What was measured: a row a case, with medians, spreads and counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from windrow_lab.experiments.library.spread import Ratio, Spread

Level = int | float | str
Levels = dict[str, Level]


@dataclass(frozen=True, slots=True)
class Row:
    """One case: its levels, its clocks and its counts."""

    levels: Levels
    clocks: dict[str, Spread] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Return whether it has such a level, clock or count."""
        return name in self.levels or name in self.clocks or name in self.counts

    def value(self, name: str) -> Level:
        """Return a level, a clock's median or a count."""
        if name in self.levels:
            return self.levels[name]
        if name in self.clocks:
            return self.clocks[name].median
        return self.counts[name]

    def number(self, name: str) -> float:
        """Return a clock's median, a count or a level that is a number."""
        return float(self.value(name))

    def spread(self, name: str) -> Spread:
        """Return a clock with its quartiles, or a number that has no noise."""
        return self.clocks[name] if name in self.clocks else Spread.counted(self.number(name))

    def over(self, other: Row, name: str) -> Ratio:
        """Return how many times larger a measure is than another row's, with its noise."""
        return Ratio.of(self.spread(name), other.spread(name))


@dataclass(frozen=True, slots=True)
class Table:
    """All rows, in the order in which they were measured."""

    rows: tuple[Row, ...]

    def where(self, **levels: Level) -> Table:
        """Return the rows of some levels.

        >>> table = Table((Row({"w": 1, "s": "a"}), Row({"w": 2, "s": "a"})))
        >>> len(table.where(w=2).rows)
        1
        """
        kept = (r for r in self.rows if all(r.levels[k] == v for k, v in levels.items()))
        return Table(tuple(kept))

    def row(self, **levels: Level) -> Row:
        """Return the one row that has these levels."""
        (row,) = self.where(**levels).rows
        return row

    def number(self, name: str, **levels: Level) -> float:
        """Return a measure of the one row that has these levels."""
        return self.row(**levels).number(name)

    def levels(self, factor: str) -> list[Level]:
        """Return a factor's levels in order of their first row."""
        return list(dict.fromkeys(row.levels[factor] for row in self.rows))

    def ratio(self, name: str, factor: str, over: Level, under: Level, **levels: Level) -> Ratio:
        """Return how many times larger a measure is at one level of a factor than at another."""
        above = self.row(**{**levels, factor: over})
        return above.over(self.row(**{**levels, factor: under}), name)

    def columns(self) -> Iterator[str]:
        """Yield the names of all columns: levels, clocks with their quartiles, counts."""
        seen: dict[str, None] = {}
        for row in self.rows:
            seen.update(dict.fromkeys(row.levels))
            for clock in row.clocks:
                seen.update(dict.fromkeys((clock, f"{clock}_q1", f"{clock}_q3")))
            seen.update(dict.fromkeys(row.counts))
        yield from seen

    def records(self) -> Iterator[dict[str, Level]]:
        """Yield each row as one flat record."""
        for row in self.rows:
            record: dict[str, Level] = dict(row.levels)
            for name, spread in row.clocks.items():
                record[name] = rounded(spread.median)
                record[f"{name}_q1"] = rounded(spread.low)
                record[f"{name}_q3"] = rounded(spread.high)
            yield record | {name: rounded(count) for name, count in row.counts.items()}


def rounded(value: float) -> float | int:
    """Return a whole number as it is, another with four digits that count.

    >>> rounded(16000.0), rounded(0.123456), rounded(245912.4)
    (16000, 0.1235, 245900)
    """
    short = value if value == int(value) else float(f"{value:.4g}")
    return int(short) if short == int(short) else short
