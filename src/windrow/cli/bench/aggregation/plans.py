"""All placements of a setting by turns, and what each took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from windrow.experiments.aggjoins.contest import CLOCK, MET, Arena, Contestant
from windrow.experiments.aggjoins.streams import Setting, asked
from windrow.experiments.library.experiment import EQUAL
from windrow.optimize.aggregation_costs import placements
from windrow.optimize.choose_early import choose_early
from windrow.optimize.early_calls import Placement
from windrow.optimize.early_costs import EarlyFacts

WARM = 1
"""Runs that are not timed."""
FOLLOWED = 14_000
"""Tuples after which a query that follows its streams has looked at full windows."""


@dataclass(frozen=True, slots=True)
class Took:
    """The fastest run of each placement, in µs a tuple, and its contributions a tuple.

    `chosen` is what the model takes for what is in the windows; `auto` what a query has come to
    that was told nothing, after some tuples.
    """

    setting: Setting
    facts: EarlyFacts
    micros: dict[Placement, float]
    met: dict[Placement, float]
    chosen: Placement
    auto: Placement
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
        """How many times as long no early aggregation takes as what `auto` has come to."""
        return self.micros[self.late] / self.micros[self.auto]

    @property
    def against_best(self) -> float:
        """How many times as long what `auto` has come to takes as the fastest."""
        return self.micros[self.auto] / self.micros[self.best]

    def told(self, measure: dict[Placement, float]) -> dict[str, float]:
        """Return a measure by the names of placements."""
        return {asked(p, self.setting.names): float(f"{v:.4g}") for p, v in measure.items()}


def contest(
    setting: Setting,
    stretch: float,
    repeats: int,
    seed: int,
    ways: Sequence[Placement] = (),
    clock: str = CLOCK,
) -> Took:
    """Time placements over the same tuples, all if none are given, by turns."""
    arena = Arena.of(setting, stretch, WARM + repeats, seed)
    ways = ways or placements(len(setting.streams))
    sides = [Contestant.filled(arena, way) for way in ways]
    turns = [[side.run() for side in sides] for _ in range(WARM + repeats)]
    wrong = [m.check for turn in turns for m in turn if m.check != EQUAL]
    facts = arena.feed.facts(arena.start)
    micros, met = {}, {}
    for i, way in enumerate(ways):
        micros[way] = min(turn[i].clocks[clock] for turn in turns[WARM:])
        met[way] = turns[-1][i].counts[MET]
    chosen = choose_early(facts).placement
    auto = settled(setting, stretch, seed)
    return Took(setting, facts, micros, met, chosen, auto, wrong[0] if wrong else "")


def settled(setting: Setting, stretch: float, seed: int) -> Placement:
    """Return the placement that a query has come to by itself, some tuples after it filled."""
    rate = sum(s.rate for s in setting.streams)
    arena = Arena.of(setting, stretch, ceil(FOLLOWED / (rate * stretch)), seed)
    query = Contestant.filled(arena, "auto")
    for _ in range(arena.runs):
        query.go_on()
    told = query.placement()
    return next(p for p in placements(len(setting.streams)) if asked(p, setting.names) == told)
