"""What the experiments with aggregation joins share: settings, plans by turns, and findings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean
from typing import ClassVar

from windrow.cli.calibrate.placements import HASH
from windrow.cli.calibrate.streams import StreamSetting
from windrow.optimize import aggregation_costs, early_costs
from windrow.optimize.aggregation_costs import AggregationStream, name_of, placement_of
from windrow.optimize.calibration import here
from windrow.optimize.choose_early import choose_early
from windrow_lab.contest.measurement import Measurement
from windrow_lab.experiments.aggjoins.contestants import (
    CLOCK,
    LOOKED,
    MET,
    PlacementArena,
    PlacementContestant,
    work_of,
)
from windrow_lab.experiments.library.experiment import Experiment, Panel
from windrow_lab.experiments.library.ranks import kendall_tau
from windrow_lab.experiments.library.spread import Ratio
from windrow_lab.experiments.library.table import Level, Levels, Table
from windrow_lab.experiments.library.verdict import Finding, Kind, Outcome, above, below, share_of

MODEL, ENGINE, CHOSEN = "model_us", "engine_model_us", "chosen"
ALIKE = 1.05
"""Costs within this factor are alike: the model does not distinguish the plans."""
NEAR = 1.15
"""A plan is near the best if it takes at most so many times as long."""
MOSTLY = 0.9
"""What "almost all the time" is, of pairs of plans."""

RIGHT = (
    "Queries run in process, from SQL; a run is a second of the streams, one batch of each, whose "
    "changes are read. LAP is a join with a GROUP BY over it, EAPs are aggregation joins. The "
    "changes of every run are equal for all plans, and so are the answers after the last; the "
    "first plan's is DuckDB's. Model: the paper's formulas; engine model: windrow's, by which it "
    "chooses; the constants of both are those of this machine (`windrow calibrate`), else those "
    "that windrow comes with."
)


class AggregationExperiment(Experiment[PlacementContestant]):
    """Measures all plans of settings, each of which is a name with streams.

    `x` are levels for pictures: of each setting what is varied, and to what.
    """

    turns = "plan"
    algorithm: ClassVar[str] = HASH
    stretch: ClassVar[float] = 1.0
    block: str | None = None
    shared: PlacementArena

    @abstractmethod
    def streams(self, setting: str) -> tuple[AggregationStream, ...]:
        """Return the streams of a setting."""

    @abstractmethod
    def varied(self, setting: str) -> dict[str, float]:
        """Return what a setting varies, by the name of the measure that has it."""

    def prepare(self, levels: Levels) -> PlacementContestant:
        """Fill the windows. Plans of a setting share the answer of the first of them."""
        name, plan = str(levels["setting"]), str(levels["plan"])
        runs = self.warmups + self.repeats
        if self.block != name:
            setting = StreamSetting(self.streams(name))
            self.block, self.shared = (
                name,
                PlacementArena.of(setting, self.stretch, runs, self.seed),
            )
        arena = self.shared
        placement = placement_of(plan, len(arena.setting.streams))
        model = {**self.varied(name), **self.models(arena, placement)}
        return PlacementContestant.filled(arena, placement, self.algorithm, model)

    def models(self, arena: PlacementArena, placement: tuple[bool, ...]) -> dict[str, float]:
        """Return what the models say of a plan, in µs a tuple, and whether it would be chosen."""
        hashed, known = self.algorithm == HASH, here()
        streams = arena.setting.streams
        rate = 1e3 * sum(s.rate for s in streams)
        tuning = known.hashed if hashed else known.loops
        said = {MODEL: aggregation_costs.cost(streams, placement, tuning, hashed=hashed) / rate}
        if hashed:
            facts = arena.feed.facts(arena.start)
            said[ENGINE] = early_costs.cost(facts, placement, known.early) / rate
            said[CHOSEN] = float(choose_early(facts, known.early).placement == placement)
        return said

    def measure(self, case: PlacementContestant) -> Measurement:
        """Run the next second."""
        return case.run()


def pictures(x: str, x_label: str, algorithm: str, *, log_x: bool = True) -> tuple[Panel, ...]:
    """Return the paper's pair of pictures, model and measured, and the counted work."""
    counted = work_of(algorithm)
    work = "contributions a tuple" if counted == MET else "rows and entries looked at a tuple"
    labels = {MODEL: "model, µs a tuple", CLOCK: "time, µs a tuple", counted: work}
    titles = {MODEL: "Cost model", CLOCK: "Measured", counted: "Counted work"}
    return tuple(
        Panel(x, y, "plan", f"{titles[y]}, {x_label}", x_label, label, log_x=log_x)
        for y, label in labels.items()
    )


def times(table: Table, over: str, under: str, setting: Level) -> Ratio:
    """Return how many times longer one plan takes than another."""
    return table.ratio(CLOCK, "plan", over, under, setting=setting)


def growth(table: Table, plan: str, low: Level, high: Level) -> Ratio:
    """Return how many times longer a plan takes in one setting than in another."""
    return table.ratio(CLOCK, "setting", high, low, plan=plan)


def ranking(table: Table) -> list[Finding]:
    """Return the paper's claim about ranks by its own formulas, and by windrow's where they are."""
    found = [
        _ranked(
            table, MODEL, "The ranking of plans is that of the cost model almost all the time.",
            Kind.PAPER,
        )
    ]  # fmt: skip
    if table.rows[0].has(ENGINE):
        claim = "The ranking of plans is that of windrow's own model almost all the time."
        found += [_ranked(table, ENGINE, claim, Kind.OURS), _choice(table)]
    return found


def _ranked(table: Table, model: str, claim: str, kind: Kind) -> Finding:
    """Judge each pair of plans of a setting that the model distinguishes."""
    judged: list[Outcome] = []
    taus, counted = [], []
    work = MET if table.rows[0].has(MET) else LOOKED
    for setting in table.levels("setting"):
        rows = sorted(table.where(setting=setting).rows, key=lambda row: row.number(model))
        judged += [
            above(dear.over(cheap, CLOCK), 1)
            for cheap, dear in combinations(rows, 2)
            if dear.number(model) > cheap.number(model) * ALIKE
        ]
        said, took, met = ([row.number(m) for row in rows] for m in (model, CLOCK, work))
        taus.append(kendall_tau(said, took, ALIKE))
        counted.append(kendall_tau(said, met, ALIKE))
    by = (
        f"Of {len(judged)} pairs that it distinguishes {judged.count(Outcome.HELD)} are so, "
        f"{judged.count(Outcome.REFUTED)} the other way, {judged.count(Outcome.CLOSE)} too close; "
        f"Kendall's τ of a setting is {fmean(taus):.2f} on average, {min(taus):.2f} at least, "
        f"with what is counted {fmean(counted):.2f}."
    )
    return Finding(claim, share_of(judged, MOSTLY), by, kind)


def _choice(table: Table) -> Finding:
    """Judge whether the chosen plan is the fastest, or near it."""
    judged, factors = [], []
    for setting in table.levels("setting"):
        rows = table.where(setting=setting).rows
        best = min(rows, key=lambda row: row.number(CLOCK))
        (chosen,) = [row for row in rows if row.number(CHOSEN) > 0]
        factors.append(chosen.over(best, CLOCK).value)
        same = chosen is best
        judged.append(Outcome.HELD if same else below(chosen.over(best, CLOCK), NEAR))
    by = (
        f"In {len(judged)} settings it takes {fmean(factors):.2f} times as long as the fastest on "
        f"average, {max(factors):.2f} at most."
    )
    claim = f"The plan that windrow chooses is the fastest, or within {NEAR - 1:.0%} of it."
    return Finding(claim, share_of(judged, MOSTLY), by, Kind.OURS)


def early_names(count: int) -> tuple[str, ...]:
    """Return all plans of so many streams, as the paper names them."""
    return tuple(name_of(p) for p in aggregation_costs.placements(count))


def in_words(rows: Sequence[tuple[Level, Ratio]], what: str) -> str:
    """State a ratio at each of some settings."""
    return f"{what}: " + "; ".join(f"{level} {ratio}" for level, ratio in rows) + "."
