"""Four parameters of the first stream varied, plans against the model [AGGJOIN figures 6 to 9]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from windrow.cli.calibrate.placements import HASH, LOOPS
from windrow.cli.calibrate.streams import three, two
from windrow.optimize.aggregation_costs import AggregationStream
from windrow_lab.experiments.aggjoins.base import (
    RIGHT,
    AggregationExperiment,
    early_names,
    growth,
    in_words,
    pictures,
    ranking,
    times,
)
from windrow_lab.experiments.library.experiment import Panel
from windrow_lab.experiments.library.table import Level, Table
from windrow_lab.experiments.library.verdict import Finding, above, all_of, below

WINDOW, GROUPS, RATE, SHARE = "w1", "g1", "rate1", "selectivity"
NAMES = {WINDOW: "w1", GROUPS: "g1", RATE: "λ1", SHARE: "σ"}
APART = 1.1
"""Plans that take at most so many times as long as each other have become alike."""


def all_pictures(algorithm: str) -> tuple[Panel, ...]:
    """Return the pictures of a figure."""
    return (
        *pictures(WINDOW, "tuples in the first window", algorithm, log_x=False),
        *pictures(GROUPS, "groups of the first stream", algorithm),
        *pictures(RATE, "tuples a second of the first stream", algorithm, log_x=False),
        *pictures(SHARE, "join selectivity", algorithm),
    )


@dataclass(frozen=True, slots=True)
class Varied:
    """What is varied, to what, and the streams that this gives."""

    name: str
    value: float
    streams: tuple[AggregationStream, ...]

    @property
    def setting(self) -> str:
        """The setting's name.

        >>> Varied("g1", 150, ()).setting
        'g1 = 150'
        """
        return f"{NAMES[self.name]} = {self.value:g}"


def first(
    streams: tuple[AggregationStream, ...], **changed: float
) -> tuple[AggregationStream, ...]:
    """Return streams of which the first is another."""
    return (replace(streams[0], **changed), *streams[1:])


def all_with(streams: tuple[AggregationStream, ...], share: float) -> tuple[AggregationStream, ...]:
    """Return streams of another selectivity."""
    return tuple(replace(s, selectivity=share) for s in streams)


def two_way(window: float, shares: tuple[float, ...]) -> tuple[Varied, ...]:
    """Return the settings of figures 6 and 7, with windows of so many tuples."""
    usual = two(windows=(window, window))
    narrow = two(windows=(window, window * 2 / 5))
    rates = two(rates=(300, 500), windows=(window, window))
    return (
        *(Varied(WINDOW, w, first(narrow, window=w)) for w in (window / 5, window * 3 / 5, window)),
        *(Varied(GROUPS, g, first(usual, groups=g)) for g in (3, 27, 243, 2_187, 19_683)),
        *(Varied(RATE, r, first(rates, rate=r)) for r in (100, 500, 900)),
        *(Varied(SHARE, s, all_with(usual, s)) for s in shares),
    )


def three_way(shares: tuple[float, ...]) -> tuple[Varied, ...]:
    """Return the settings of figures 8 and 9."""
    usual = three()
    return (
        *(Varied(WINDOW, w, first(usual, window=w)) for w in (100, 200, 300)),
        *(Varied(GROUPS, g, first(usual, groups=g)) for g in (3, 27, 243, 19_683)),
        *(Varied(RATE, r, first(usual, rate=r)) for r in (100, 600)),
        *(Varied(SHARE, s, all_with(usual, s)) for s in shares),
    )


TWO = two_way(2_000, (0.0005, 0.005, 0.05, 0.5))
TWO_FULL = two_way(5_000, (0.0005, 0.005, 0.05, 0.5))
THREE = three_way((0.005, 0.05, 0.15))
THREE_FULL = three_way((0.0005, 0.005, 0.05, 0.5))


def settings(varied: tuple[Varied, ...]) -> tuple[Level, ...]:
    """Return the names of settings."""
    return tuple(v.setting for v in varied)


class VariedExperiment(AggregationExperiment):
    """Varies window, groups and rate of the first stream, and the selectivity of all."""

    cases: ClassVar[tuple[Varied, ...]]
    full_cases: ClassVar[tuple[Varied, ...]]
    panels = all_pictures(HASH)
    repeats = 3

    def case(self, setting: str) -> Varied:
        """Return a setting by its name."""
        chosen = self.full_cases if self.options.full else self.cases
        (found,) = [v for v in chosen if v.setting == setting]
        return found

    def streams(self, setting: str) -> tuple[AggregationStream, ...]:
        """Return the streams of a setting."""
        return self.case(setting).streams

    def varied(self, setting: str) -> dict[str, float]:
        """Return what is varied, and to what."""
        found = self.case(setting)
        return {found.name: found.value}

    def of(self, table: Table, name: str) -> list[Level]:
        """Return the settings that vary something, in order."""
        chosen = self.full_cases if self.options.full else self.cases
        known = table.levels("setting")
        return [v.setting for v in chosen if v.name == name and v.setting in known]

    def windows(self, table: Table, others: tuple[str, ...]) -> Finding:
        """Judge that early aggregation is always better as the window varies."""
        found = [
            (f"{plan} at {s}", times(table, "LAP", plan, s))
            for s in self.of(table, WINDOW)
            for plan in others
        ]
        return Finding(
            "As w1 is varied, EAPs are always better than LAP.",
            all_of(above(ratio, 1) for _, ratio in found),
            in_words(found[-len(others) :], "LAP over each at the widest window")
            + f" The least of all is {min(r.value for _, r in found):.2f} times.",
        )

    def groups(self, table: Table, pairs: tuple[tuple[str, str], ...]) -> list[Finding]:
        """Judge that early aggregation of the first stream loses its advantage."""
        low, *_, high = self.of(table, GROUPS)
        found = []
        for late, early in pairs:
            few, many = (times(table, late, early, s) for s in (low, high))
            said = f"{late} takes {few} as long as {early} at {low}, {many} at {high}."
            claims = {
                f"As g1 grows, {early} approaches {late}.": above(few.over(many), 1),
                f"As g1 is largest, {early} has lost its advantage.": below(many, APART),
            }
            found += [Finding(claim, outcome, said) for claim, outcome in claims.items()]
        return found

    def rates(self, table: Table, fast: str, slow: str) -> Finding:
        """Judge that plans which look for tuples of the others in windows grow faster."""
        low, *_, high = self.of(table, RATE)
        more, less = (growth(table, plan, low, high) for plan in (fast, slow))
        tuples = [sum(s.rate for s in self.streams(str(level))) for level in (low, high)]
        times_more = tuples[1] / tuples[0]
        return Finding(
            f"As λ1 grows, {fast} grows faster than {slow}.",
            above(more.over(less), 1),
            f"From {low} to {high} a second of {fast} takes {more.value * times_more:.2f} times as "
            f"long, one of {slow} {less.value * times_more:.2f} times.",
        )


def shares_grow(experiment: VariedExperiment, table: Table, plans: tuple[str, ...]) -> Finding:
    """Judge that all plans cost more as more tuples match."""
    low, *_, high = experiment.of(table, SHARE)
    found = [(plan, growth(table, plan, low, high)) for plan in plans]
    return Finding(
        "As σ grows, the costs of all plans increase.",
        all_of(above(ratio, 1) for _, ratio in found),
        in_words(found, f"{high} over {low}"),
    )


PAIRS = (("LAP", "EAP10"), ("EAP01", "EAP11"))
TWO_PLANS, THREE_PLANS = early_names(2), early_names(3)
SET_UP = (
    "λ 300, w {w:,}, g1 150, g2 1, σ 0.1 where not varied; w2 is {narrow:,.0f} where w1 is varied "
    "(the paper's caption has 2,000 of 5,000, its text 5,000), λ2 is 500 where λ1 is. "
)


class AggJoinFigure6(VariedExperiment):
    """Which inputs of a two-way hash join should be aggregated early, and does the model know?

    Claim    the ranking of plans is the same by cost model and prototype almost all the time; EAPs
             beat LAP as w1 varies; EAP10 and EAP11 lose their advantage as g1 grows; LAP and
             EAP10 grow faster with λ1; all grow with σ.
    Refuted  if more than a tenth of the pairs that the model distinguishes are the other way, or if
             one of the trends is not there.
    Source   [AGGJOIN 7.2.1, 7.2.2, figure 6].
    """

    name = "aggjoin-figure-6"
    title = "plans of a two-way hash join"
    figures = "AGGJOIN 6"
    cases, full_cases = TWO, TWO_FULL
    factors = {"setting": settings(TWO), "plan": TWO_PLANS}
    full = {"setting": settings(TWO_FULL)}
    algorithm = HASH

    @property
    def set_up(self) -> str:
        """Describe the streams."""
        w = 5_000 if self.options.full else 2_000
        return SET_UP.format(w=w, narrow=w * 2 / 5) + RIGHT

    def findings(self, table: Table) -> list[Finding]:
        """Judge ranks and trends."""
        return [
            *ranking(table),
            self.windows(table, TWO_PLANS[1:]),
            *self.groups(table, PAIRS),
            self.rates(table, "LAP", "EAP01"),
            self.rates(table, "EAP10", "EAP11"),
            self.by_share(table),
        ]

    def by_share(self, table: Table) -> Finding:
        """Judge what the selectivity does."""
        return shares_grow(self, table, TWO_PLANS)


class AggJoinFigure7(AggJoinFigure6):
    """Which inputs of a two-way nested loop join should be aggregated early?

    Claim    as with hash joins, but EAP11 gets cheaper as σ grows: its aggregation sets get
             smaller.
    Refuted  if what refutes figure 6 is so, or if EAP11 takes no less at the highest σ than at the
             lowest.
    Source   [AGGJOIN 7.2.1, 7.2.2, figure 7].
    """

    name = "aggjoin-figure-7"
    title = "plans of a two-way nested loop join"
    figures = "AGGJOIN 7"
    algorithm = LOOPS
    panels = all_pictures(LOOPS)

    def by_share(self, table: Table) -> Finding:
        """Judge that smaller aggregation sets are looked through in less time."""
        low, *_, high = self.of(table, SHARE)
        ratio = growth(table, "EAP11", high, low)
        return Finding(
            "As σ grows, EAP11 gets cheaper.",
            above(ratio, 1),
            f"It takes {ratio} as long at {low} as at {high}.",
        )


class AggJoinFigure8(VariedExperiment):
    """Does early aggregation of a three-way hash join do what it does for two streams, and more?

    Claim    trends and ranks are those of two-way joins.
    Refuted  if more than a tenth of the pairs that the model distinguishes are the other way, or if
             one of the trends is not there.
    Source   [AGGJOIN 7.2.2, figure 8].
    """

    name = "aggjoin-figure-8"
    title = "plans of a three-way hash join"
    figures = "AGGJOIN 8"
    cases, full_cases = THREE, THREE_FULL
    factors = {"setting": settings(THREE), "plan": THREE_PLANS}
    full = {"setting": settings(THREE_FULL)}
    algorithm = HASH
    set_up = (
        "λ 200, w 300, g1 20, g2 and g3 1, σ 0.1 where not varied; without --full σ ends at 0.15, "
        f"where a tuple has 2,000 results. {RIGHT}"
    )

    def findings(self, table: Table) -> list[Finding]:
        """Judge ranks and trends."""
        return [
            *ranking(table),
            self.windows(table, THREE_PLANS[1:]),
            *self.groups(table, (("LAP", "EAP100"), ("EAP011", "EAP111"))),
            self.rates(table, "LAP", "EAP011"),
            *self.by_share(table),
        ]

    def by_share(self, table: Table) -> list[Finding]:
        """Judge what the selectivity does."""
        return [shares_grow(self, table, THREE_PLANS)]


class AggJoinFigure9(AggJoinFigure8):
    """Does early aggregation of a three-way nested loop join do what it does for two streams?

    Claim    trends and ranks are those of two-way joins.
    Refuted  if more than a tenth of the pairs that the model distinguishes are the other way, or if
             one of the trends is not there.
    Source   [AGGJOIN 7.2.2, figure 9].
    """

    name = "aggjoin-figure-9"
    title = "plans of a three-way nested loop join"
    figures = "AGGJOIN 9"
    algorithm = LOOPS
    panels = all_pictures(LOOPS)

    def by_share(self, table: Table) -> list[Finding]:
        """Nothing is claimed of the selectivity that figure 7 does not have."""
        return []
