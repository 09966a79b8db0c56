"""Small aggregation joins, from whose times the constants of cost models are told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from windrow.core.errors import RunError
from windrow.experiments.aggjoins.contest import CLOCK, HASH, LOOPS, Arena, Contestant
from windrow.experiments.aggjoins.settings import settings, stretch_of
from windrow.experiments.aggjoins.streams import Setting, three, two
from windrow.experiments.library.experiment import EQUAL
from windrow.optimize import aggregation_costs, early_costs
from windrow.optimize.aggregation_costs import name_of, placements
from windrow.optimize.calibration import (
    SHIPPED,
    Calibration,
    Sample,
    fitted_early,
    fitted_tuning,
)
from windrow.optimize.early_calls import Placement

RUNS = 4
"""Of which the fastest counts."""
SEED = 11
"""Other settings than those of `windrow bench aggregation`."""
COUNT = 12


@dataclass(frozen=True, slots=True)
class Trial:
    """A setting, and how its loops find entries."""

    setting: Setting
    algorithm: str = HASH

    @property
    def hashed(self) -> bool:
        """Tell whether entries are found by an index."""
        return self.algorithm == HASH


TRIALS = (
    *(Trial(setting) for setting in settings(COUNT, SEED)),
    Trial(Setting(two((1_000, 1_000), (1_000, 1_000), (100, 1), 0.02), columns=("x", "g"))),
    Trial(Setting(three(600, 300, 20, 0.05))),
    Trial(Setting(two((1_000, 1_000), (1_000, 1_000), (100, 1), 0.05)), LOOPS),
    Trial(Setting(two((1_000, 1_000), (500, 500), (1_500, 1), 0.01)), LOOPS),
)


@dataclass(frozen=True, slots=True)
class Tried:
    """What a placement of a trial took, and what the models say that it did."""

    trial: Trial
    placement: Placement
    sample: Sample
    paper: Sample


def tried(trials: tuple[Trial, ...] = TRIALS, seed: int = 7) -> Iterator[Tried]:
    """Run every placement of each trial; a wrong answer ends it."""
    for trial in trials:
        setting = trial.setting
        arena = Arena.of(setting, stretch_of(setting), RUNS, seed)
        facts = arena.feed.facts(arena.start)
        rate = sum(s.rate for s in setting.streams)
        ways = placements(len(setting.streams))
        sides = [Contestant.filled(arena, way, trial.algorithm) for way in ways]
        turns = [[side.run() for side in sides] for _ in range(RUNS)]
        for way, found in zip(ways, zip(*turns, strict=True), strict=True):
            wrong = [m.check for m in found if m.check != EQUAL]
            if wrong:
                raise RunError(f"{name_of(way)} tells a wrong answer", detail=wrong[0])
            took = min(m.clocks[CLOCK] for m in found) * 1e3 * rate
            said = aggregation_costs.work(setting.streams, way, hashed=trial.hashed)
            done = early_costs.work(facts, way)
            yield Tried(trial, way, Sample(done, took), Sample(said, took))


def calibrated(found: list[Tried]) -> Calibration:
    """Return the constants that tell best what was tried."""
    early, error = fitted_early([t.sample for t in found if t.trial.hashed])
    hashed, loops = (
        fitted_tuning([t.paper for t in found if t.trial.hashed is way], before)
        for way, before in ((True, SHIPPED.hashed), (False, SHIPPED.loops))
    )
    today = datetime.now(UTC).date().isoformat()
    return Calibration(early, hashed, loops, error, today)


def count(trials: tuple[Trial, ...] = TRIALS) -> int:
    """Return how many placements are tried."""
    return sum(2 ** len(t.setting.streams) for t in trials)
