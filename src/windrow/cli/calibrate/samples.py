"""Small aggregation joins, whose times give the constants of cost models.

All placements of a trial must emit the same changes and have the same answer: a wrong answer has
no speed. That needs no other engine; the laboratory also compares with DuckDB.

Settings are random, and spread far: rates, windows, group sizes and selectivities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import exp, log
from random import Random

from windrow.cli.calibrate.digest import digest
from windrow.cli.calibrate.placements import HASH, LOOPS, PlacedQuery, Stretch, Timeline
from windrow.cli.calibrate.streams import StreamSetting, three, two
from windrow.core.errors import RunError
from windrow.optimize import aggregation_costs, early_costs
from windrow.optimize.aggregation_costs import AggregationStream, name_of, placements
from windrow.optimize.calibration import SHIPPED, Calibration, Sample, fitted_early, fitted_tuning
from windrow.optimize.early_grouping import Placement

FEWEST, MOST = 200.0, 60_000.0
"""Results alive: some to group, and not so many that they take all the time."""
TUPLES = 2_000
"""In a run, about: fewer, and steps that do not depend on tuples would count."""
UNGROUPED = 0.4
"""Share of streams without a grouping attribute."""


def settings(count: int, seed: int) -> Iterator[StreamSetting]:
    """Yield settings: w, g, λ and σ each by its logarithm."""
    random = Random(seed)

    def between(low: float, high: float) -> float:
        return exp(random.uniform(log(low), log(high)))

    done = 0
    while done < count:
        share = between(0.0005, 0.5)
        windows = [between(100, 5_000) for _ in range(2)]
        groups = [1 if random.random() < UNGROUPED else round(between(2, 5_000)) for _ in range(2)]
        rates = [1_000.0, 1_000.0 * between(0.2, 5)]
        if FEWEST <= windows[0] * windows[1] * share <= MOST:
            sides = zip(rates, windows, groups, strict=True)
            yield StreamSetting(tuple(AggregationStream(r, w, g, share) for r, w, g in sides))
            done += 1


def stretch_of(setting: StreamSetting) -> float:
    """Return how many seconds have so many tuples as a run should have."""
    return TUPLES / sum(s.rate for s in setting.streams)


RUNS = 4
"""Of which the fastest counts."""
SEED = 11
"""Other settings than those of `windrow bench aggregation`."""
COUNT = 12


@dataclass(frozen=True, slots=True)
class Trial:
    """A setting, and how its loops find entries."""

    setting: StreamSetting
    algorithm: str = HASH

    @property
    def hashed(self) -> bool:
        """Return whether entries are found by an index."""
        return self.algorithm == HASH


TRIALS = (
    *(Trial(setting) for setting in settings(COUNT, SEED)),
    Trial(StreamSetting(two((1_000, 1_000), (1_000, 1_000), (100, 1), 0.02), columns=("x", "g"))),
    Trial(StreamSetting(three(600, 300, 20, 0.05))),
    Trial(StreamSetting(two((1_000, 1_000), (1_000, 1_000), (100, 1), 0.05)), LOOPS),
    Trial(StreamSetting(two((1_000, 1_000), (500, 500), (1_500, 1), 0.01)), LOOPS),
)


@dataclass(frozen=True, slots=True)
class Tried:
    """What a placement of a trial took, and what the models say that it did."""

    trial: Trial
    placement: Placement
    sample: Sample
    paper: Sample


def tried(trials: tuple[Trial, ...], seed: int = 7) -> Iterator[Tried]:
    """Run every placement of each trial by turns; raise if their answers differ."""
    for trial in trials:
        setting = trial.setting
        timeline = Timeline.of(setting, stretch_of(setting), RUNS, seed)
        facts = timeline.feed.facts(timeline.start)
        rate = sum(s.rate for s in setting.streams)
        ways = placements(len(setting.streams))
        sides = [PlacedQuery.filled(timeline, way, trial.algorithm) for way in ways]
        turns = [[side.next_stretch() for side in sides] for _ in range(RUNS)]
        require_equal(ways, sides, turns)
        for way, found in zip(ways, zip(*turns, strict=True), strict=True):
            took = min(one.seconds / one.tuples for one in found) * 1e9 * rate
            said = aggregation_costs.work(setting.streams, way, hashed=trial.hashed)
            done = early_costs.work(facts, way)
            yield Tried(trial, way, Sample(done, took), Sample(said, took))


def require_equal(
    ways: Sequence[Placement], sides: list[PlacedQuery], turns: list[list[Stretch]]
) -> None:
    """Raise if a placement emitted other changes than the first one, or has another answer."""
    emitted = [[digest(one.changes) for one in turn] for turn in turns]
    answers = [digest(side.query.answer()) for side in sides]
    for i, way in enumerate(ways):
        if any(turn[i] != turn[0] for turn in [*emitted, answers]):
            raise RunError(
                f"{name_of(way)} has a wrong answer",
                detail=f"{name_of(ways[0])} over the same tuples has another one.",
                hint="A wrong answer has no speed: nothing was kept. This is a bug of windrow.",
            )


def calibrated(found: list[Tried]) -> Calibration:
    """Return the constants that fit best what was measured."""
    early, error = fitted_early([t.sample for t in found if t.trial.hashed])
    hashed, loops = (
        fitted_tuning([t.paper for t in found if t.trial.hashed is way], before)
        for way, before in ((True, SHIPPED.hashed), (False, SHIPPED.loops))
    )
    today = datetime.now(UTC).date().isoformat()
    return Calibration(early, hashed, loops, error, today)


def count(trials: tuple[Trial, ...]) -> int:
    """Return how many placements are tried."""
    return sum(2 ** len(t.setting.streams) for t in trials)
