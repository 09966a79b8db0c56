"""What the experiments with W-joins share: contestants by turns, and reports of their results."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from windrow_lab.contest.measurement import Measurement
from windrow_lab.experiments.library.experiment import Experiment, Panel
from windrow_lab.experiments.library.spread import Ratio
from windrow_lab.experiments.library.table import Level, Levels, Table
from windrow_lab.experiments.wjoins.contestants import ALGORITHMS, Make, WJoinArena, WJoinContestant

CLOCK = "us_a_tuple"
LOOKED = "rows_looked_at"
RIGHT = (
    "Tuples go to the operators as batches, without a query around them; the service time is the "
    "time of a run over its tuples. The results of every run are equal for all contestants, and "
    "those of the last run are DuckDB's."
)


def service_time(x: str, x_label: str, by: str, title: str, *, log_x: bool = False) -> Panel:
    """Return the picture of the service time."""
    return Panel(x, CLOCK, by, title, x_label, "service time, µs a tuple", log_x=log_x)


def looked_at(x: str, x_label: str, by: str, title: str, *, log_x: bool = False) -> Panel:
    """Return the picture of the work."""
    return Panel(x, LOOKED, by, title, x_label, "rows looked at a tuple", log_x=log_x)


class WJoinExperiment(Experiment[WJoinContestant]):
    """Measures W-joins over generated streams; `arena` says which."""

    turns = "algorithm"
    ways: ClassVar[dict[str, Make]] = ALGORITHMS
    block: tuple[tuple[str, Level], ...] | None = None
    shared: WJoinArena

    @abstractmethod
    def arena(self, levels: Levels) -> WJoinArena:
        """Return streams and joins of some levels."""

    @property
    def runs(self) -> int:
        """How many runs a contestant has."""
        return self.warmups + self.repeats

    def prepare(self, levels: Levels) -> WJoinContestant:
        """Fill the windows. Contestants of a block share the answer of the first of them."""
        others = tuple((k, v) for k, v in levels.items() if k != self.turns)
        if self.block != others:
            self.block, self.shared = others, self.arena(levels)
        return WJoinContestant.filled(self.shared, self.ways[str(levels[self.turns])])

    def measure(self, case: WJoinContestant) -> Measurement:
        """Run the next stretch."""
        return case.run()


def times_longer(table: Table, one: str, other: str, **levels: Level) -> Ratio:
    """Return how many times longer one algorithm takes than another."""
    return table.ratio(CLOCK, "algorithm", one, other, **levels)


def ratios_in_words(table: Table, one: str, other: str, factor: str, **levels: Level) -> str:
    """Say how many times longer one takes than another at each level of a factor."""
    found = [
        f"{level}: {times_longer(table, one, other, **{factor: level, **levels})}, "
        f"{table.ratio(LOOKED, 'algorithm', one, other, **{factor: level, **levels})} the rows"
        for level in table.levels(factor)
    ]
    return f"{one} over {other} at {factor} " + "; ".join(found) + "."
