"""What the experiments in virtual time share: runs, which figures have in common, and panels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import lru_cache

from windrow_lab.contest.measurement import Measurement
from windrow_lab.experiments.library.experiment import Experiment, Panel
from windrow_lab.experiments.library.spread import Ratio
from windrow_lab.experiments.library.table import Level, Levels, Table
from windrow_lab.experiments.negatives.contestants import ExpiryArena, ExpiryContestant
from windrow_lab.experiments.negatives.model import ITA, MODEL, NTA
from windrow_lab.experiments.negatives.streams import Setting

DELAY, MOST = "delay_ms", "max_delay_ms"
IN_PIPELINE, OVERHEAD = "tuples_in_pipeline", "negatives_per_positive"
WINDOW = 20
"""Seconds, for the paper's 30 minutes."""
RATE = 50
SELECTIVITY = 0.01
TUPLES = 1_000
"""Tuples of a stream in a stretch: slow streams have longer stretches, so as to be as sure."""
BATCH = 5.0
"""Seconds that are pushed at once. In virtual time it does not matter."""
SELECTIVITIES = (0.001, 0.002, 0.004, 0.006, 0.008, 0.01)
RATES = (10, 20, 30, 40, 50)
RIGHT = (
    "Delay is from the instant that a change is about to when it shows, on average or at most over "
    "all changes that show in a stretch; all approaches get the same tuples. In the end the net "
    "changelogs of all are equal, and their answer is DuckDB's. Another machine gives the same "
    "figures, another seed others."
)
Q2_TOLD = (
    "windrow's aggregates emit changes only, the paper's a row for each entry read: beside MAX "
    "COUNT(*) is asked for, so that each effect shows."
)


def delays(x: str, x_label: str) -> Panel:
    """Return the picture of the average delay."""
    title = "Average output delay"
    return Panel(x, DELAY, "approach", title, x_label, "ms of virtual time", log_x=False)


@lru_cache(maxsize=64)
def arena_of(setting: Setting, runs: int, seed: int) -> ExpiryArena:
    """Return the tuples of a setting; approaches that run over them are compared."""
    return ExpiryArena(setting, TUPLES / setting.rate, runs, BATCH, seed)


@lru_cache(maxsize=256)
def stretches(setting: Setting, approach: str, runs: int, seed: int) -> tuple[Measurement, ...]:
    """Return what an approach gives, stretch by stretch: virtual time is the same every time."""
    contestant = ExpiryContestant.filled(arena_of(setting, runs, seed), approach)
    return tuple(contestant.run() for _ in range(runs))


class DelayExperiment(Experiment[Iterator[Measurement]]):
    """Compares approaches by delays in virtual time. Repeats are stretches, one after the other."""

    turns = "approach"
    warmups = 0
    repeats = 3

    @abstractmethod
    def setting(self, levels: Levels) -> Setting:
        """Return the query of some levels."""

    @property
    def set_up(self) -> str:
        """Describe streams, model and checks."""
        return (
            f"{self.streams} Windows are {WINDOW} seconds, for the paper's 30 minutes; "
            f"rates and results a second are the paper's. Arrivals are Poisson. {MODEL} {RIGHT} "
            f"A stretch has {TUPLES:,} tuples of a stream, after the windows have filled."
        )

    streams: str

    def prepare(self, levels: Levels) -> Iterator[Measurement]:
        """Run all stretches."""
        found = stretches(self.setting(levels), str(levels["approach"]), self.repeats, self.seed)
        return iter(found)

    def measure(self, case: Iterator[Measurement]) -> Measurement:
        """Return the next stretch."""
        return next(case)


def slower(table: Table, one: str = ITA, other: str = NTA, /, **levels: Level) -> Ratio:
    """Return how many times later changes show by one approach than by another."""
    return table.ratio(DELAY, "approach", one, other, **levels)


def in_words(table: Table, factor: str, name: str = DELAY) -> str:
    """State a measure of all approaches at each level of a factor."""
    unit = " ms" if name in (DELAY, MOST) else ""
    lines = []
    for level in table.levels(factor):
        rows = table.where(**{factor: level}).rows
        said = ", ".join(f"{r.levels['approach']} {r.number(name):.3g}{unit}" for r in rows)
        lines.append(f"{level}: {said}")
    return f"By {factor} " + "; ".join(lines) + "."
