"""All placements of a setting by turns, and a query that chooses among them: what each took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from windrow.cli.calibrate.streams import StreamSetting, asked
from windrow.optimize.aggregation_costs import placements
from windrow.optimize.choose_early import choose_early
from windrow.optimize.early_costs import EarlyFacts
from windrow.optimize.early_grouping import Placement
from windrow_lab.contest.measurement import Measurement
from windrow_lab.contest.turns import fastest_clocks, first_wrong
from windrow_lab.experiments.aggjoins.contestants import (
    CLOCK,
    MET,
    PlacementArena,
    PlacementContestant,
)

WARM = 1
"""Runs that are not timed."""
MOST, ALIKE = 25, 1.02
"""Runs go on, up to so many, until the fastest two of every contestant differ by no more than this:
a run takes milliseconds, and of three even the same plan was seen to take 1.5 times its time."""
FOLLOWED = 20_000
"""Tuples after which a query that follows its streams has looked at full windows."""


@dataclass(frozen=True, slots=True)
class Took:
    """The fastest run of each placement, in µs a tuple, and its contributions a tuple.

    `chosen` is what the model takes for what is in the windows; `auto` what a query has come to
    that was given no placement, after some tuples. `auto_micros` is what that query took, of which
    `watching` for looks at its placement.
    """

    setting: StreamSetting
    facts: EarlyFacts
    micros: dict[Placement, float]
    met: dict[Placement, float]
    chosen: Placement
    auto: Placement
    auto_micros: float
    watching: float
    difference: str

    @property
    def late(self) -> Placement:
        """No early aggregation."""
        return (False,) * len(self.setting.streams)

    @property
    def best(self) -> Placement:
        """The fastest placement of all."""
        return min(self.micros, key=self.micros.__getitem__)

    @property
    def best_early(self) -> Placement:
        """The fastest placement with some early aggregation."""
        return min((p for p in self.micros if any(p)), key=self.micros.__getitem__)

    @property
    def against_late(self) -> float:
        """How many times as long no early aggregation takes as `auto`."""
        return self.micros[self.late] / self.auto_micros

    @property
    def against_best(self) -> float:
        """How many times as long `auto` takes as the fastest."""
        return self.auto_micros / self.micros[self.best]

    def by_placement(self, measure: dict[Placement, float]) -> dict[str, float]:
        """Return a measure by the names of placements."""
        return {asked(p, self.setting.names): float(f"{v:.4g}") for p, v in measure.items()}


def contest(
    setting: StreamSetting,
    stretch: float,
    repeats: int,
    seed: int,
    ways: Sequence[Placement] = (),
    clock: str = CLOCK,
) -> Took:
    """Time placements over the same tuples, all if none are given, and `auto`, by turns.

    There are at least so many turns, and as many as it takes for times to be confirmed.
    """
    tuples = stretch * sum(s.rate for s in setting.streams)
    most = WARM + max(repeats, MOST)
    arena = PlacementArena.of(setting, stretch, most, seed, settling=ceil(FOLLOWED / tuples))
    everyone = placements(len(setting.streams))
    ways = ways or everyone
    chooser = PlacementContestant.filled(arena, "auto")
    sides = [*(PlacementContestant.filled(arena, way) for way in ways), chooser]
    turns: list[list[Measurement]] = []
    while len(turns) < arena.runs:
        if len(turns) >= WARM + repeats - 1 and confirmed(turns[WARM:], clock):
            arena.runs = len(turns) + 1  # the last one compares answers, too
        turns.append(_turn(sides, backwards=len(turns) % 2 == 1))
    facts = arena.feed.facts(arena.start)
    *took, alone = fastest_clocks(turns[WARM:], clock)
    *met, rows = [m.counts[MET] for m in turns[-1]]
    watching = chooser.watching(rows)
    return Took(
        setting,
        facts,
        dict(zip(ways, took, strict=True)),
        dict(zip(ways, met, strict=True)),
        choose_early(facts).placement,
        next(p for p in everyone if asked(p, setting.names) == chooser.placement()),
        alone + watching,
        watching,
        first_wrong(turns),
    )


def _turn(sides: list[PlacementContestant], *, backwards: bool) -> list[Measurement]:
    """Run all, every other time from the last to the first: what ran before leaves its caches."""
    step = -1 if backwards else 1
    return [side.run() for side in sides[::step]][::step]


def confirmed(turns: list[list[Measurement]], clock: str) -> bool:
    """Return whether the fastest run of each contestant has one beside it that is as fast."""
    if len(turns) < 2:
        return False
    times = [sorted(m.clocks[clock] for m in runs) for runs in zip(*turns, strict=True)]
    return all(second <= ALIKE * first for first, second, *_ in times)
