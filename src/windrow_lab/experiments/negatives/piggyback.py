"""Piggybacking against both [NEG 8.4, figures 14 and 15]."""

from __future__ import annotations

from windrow_lab.experiments.library.experiment import Panel
from windrow_lab.experiments.library.spread import Ratio
from windrow_lab.experiments.library.table import Level, Table
from windrow_lab.experiments.library.verdict import Finding, all_of, below, known
from windrow_lab.experiments.negatives.base import (
    DELAY,
    OVERHEAD,
    RATES,
    SELECTIVITIES,
    delays,
    in_words,
    slower,
)
from windrow_lab.experiments.negatives.delays import StreamJoin
from windrow_lab.experiments.negatives.model import ITA, NTA, PIGGYBACK

NEAR, HALF = 1.1, 0.5
ALL = (ITA, NTA, PIGGYBACK)


def against(table: Table, pick: str, **levels: Level) -> Ratio:
    """Return piggybacking's delay over that of the better, or the worse, of the two others."""
    two = sorted((ITA, NTA), key=lambda name: table.number(DELAY, approach=name, **levels))
    return slower(table, PIGGYBACK, two[0] if pick == "better" else two[1], **levels)


class Performance(StreamJoin):
    """Compares delays of the three approaches."""

    def findings(self, table: Table) -> list[Finding]:
        """Judge at all levels, and at both ends."""
        levels = table.levels(self.factor)
        near = {level: against(table, "better", **{self.factor: level}) for level in levels}
        ends = [
            against(table, "worse", **{self.factor: level}) for level in (levels[0], levels[-1])
        ]
        worst = max(near, key=lambda level: near[level].value)
        return [
            Finding(
                "Piggybacking gives the least delay everywhere: never over 1.1 times the better.",
                all_of(below(ratio, NEAR) for ratio in near.values()),
                f"{near[worst]} at the worst, at {worst}. {in_words(table, self.factor)}",
            ),
            Finding(
                "At both ends it has at most half of the worse one's delay.",
                all_of(below(ratio, HALF) for ratio in ends),
                f"{ends[0].value:.3g} and {ends[1].value:.3g} of it.",
            ),
        ]


class NegFigure14a(Performance):
    """Does piggybacking trace the better approach, whatever the rates?

    Claim    piggybacking gives the minimum possible output delay at all arrival rates.
    Refuted  if it is over 1.1 times the better of ITA and NTA at some rate; if at the lowest or the
             highest it has over half of the worse one's delay.
    Source   [NEG 8.4.1, figure 14(a)].
    """

    name = "neg-figure-14a"
    title = "piggybacking, by the rates"
    figures = "NEG 14(a)"
    factor, turn = "rate", 40
    factors = {"rate": RATES, "approach": ALL}
    panels = (delays("rate", "tuples a second of each stream"),)


class NegFigure14b(Performance):
    """Does piggybacking trace the better approach, whatever the selectivity?

    Claim    piggybacking gives the minimum possible output delay at all selectivities.
    Refuted  if it is over 1.1 times the better of ITA and NTA at some selectivity; if at the lowest
             or the highest it has over half of the worse one's delay.
    Source   [NEG 8.4.1, figure 14(b)].
    """

    name = "neg-figure-14b"
    title = "piggybacking, by the selectivity"
    figures = "NEG 14(b)"
    factor, turn = "selectivity", 0.006
    factors = {"selectivity": SELECTIVITIES, "approach": ALL}
    panels = (delays("selectivity", "join selectivity, as the paper reckons"),)


class Overhead(StreamJoin):
    """Compares what MAX reads for ends."""

    def findings(self, table: Table) -> list[Finding]:
        """Judge at all levels."""
        found = {
            name: [row.number(OVERHEAD) for row in table.where(approach=name).rows] for name in ALL
        }
        ours = found[PIGGYBACK]
        return [
            Finding(
                "ITA reads no negative tuple.",
                known(not any(found[ITA])),
                f"At most {max(found[ITA]):g}.",
            ),
            Finding(
                "NTA reads almost one for each positive tuple: 0.9 to 1.1.",
                known(*(0.9 <= ratio <= 1.1 for ratio in found[NTA])),
                f"{min(found[NTA]):.3g} to {max(found[NTA]):.3g}.",
            ),
            Finding(
                f"Piggybacking reads the fewer, the higher the {self.factor}.",
                known(*(ours[i + 1] < ours[i] for i in range(len(ours) - 1))),
                in_words(table.where(approach=PIGGYBACK), self.factor, OVERHEAD),
            ),
        ]


def overheads(x: str, x_label: str) -> Panel:
    """Return the picture of the overhead."""
    return Panel(x, OVERHEAD, "approach", "Negative tuples read by MAX", x_label,
                 "for each positive tuple", log_x=False, log_y=False)  # fmt: skip


class NegFigure15a(Overhead):
    """How many negative tuples does piggybacking save, by the rates?

    Claim    ITA processes no negative tuple, NTA almost one for each positive; with piggybacking
             the ratio decreases for higher input rates.
    Refuted  if ITA has any, if NTA has under 0.9 or over 1.1, if piggybacking's ratio does not fall
             from each rate to the next.
    Source   [NEG 8.4.2, figure 15(a)].
    """

    name = "neg-figure-15a"
    title = "overhead of piggybacking, by the rates"
    figures = "NEG 15(a)"
    factor, turn = "rate", 40
    factors = {"rate": RATES, "approach": ALL}
    panels = (overheads("rate", "tuples a second of each stream"),)


class NegFigure15b(Overhead):
    """How many negative tuples does piggybacking save, by the selectivity?

    Claim    ITA processes no negative tuple, NTA almost one for each positive; with piggybacking
             the ratio decreases for higher selectivity.
    Refuted  if ITA has any, if NTA has under 0.9 or over 1.1, if piggybacking's ratio does not fall
             from each selectivity to the next.
    Source   [NEG 8.4.2, figure 15(b)].
    """

    name = "neg-figure-15b"
    title = "overhead of piggybacking, by the selectivity"
    figures = "NEG 15(b)"
    factor, turn = "selectivity", 0.006
    factors = {"selectivity": SELECTIVITIES, "approach": ALL}
    panels = (overheads("selectivity", "join selectivity, as the paper reckons"),)
