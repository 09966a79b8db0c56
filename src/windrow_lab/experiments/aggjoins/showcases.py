"""Four settings, each of which another plan is best in [AGGJOIN figure 10]."""

from __future__ import annotations

from windrow.cli.calibrate.placements import LOOPS
from windrow.cli.calibrate.streams import two
from windrow.optimize.aggregation_costs import AggregationStream
from windrow_lab.experiments.aggjoins.base import (
    MODEL,
    RIGHT,
    AggregationExperiment,
    early_names,
    ranking,
    times,
)
from windrow_lab.experiments.aggjoins.contestants import CLOCK
from windrow_lab.experiments.library.experiment import Panel
from windrow_lab.experiments.library.table import Level, Table
from windrow_lab.experiments.library.verdict import Finding, Kind, above, all_of, known

CASES: dict[str, tuple[tuple[float, float], float, float]] = {
    "LAP": ((1_500, 1_500), 0.01, 500),
    "EAP10": ((1, 1_500), 0.01, 500),
    "EAP01": ((1_500, 1), 0.01, 500),
    "EAP11": ((150, 150), 0.1, 2_000),
}
"""By the plan that is best: g1 and g2, σ, w. Of (a) and (b) the paper's words say: both g high, or
g1 low and g2 high."""
RATES = (100, 300, 500)
PLANS = early_names(2)


def named(best: str, rate: float) -> str:
    """Return the name of a setting."""
    (g1, g2), _, _ = CASES[best]
    return f"g1 {g1:g}, g2 {g2:g}, λ1 {rate:g}"


SETTINGS = {named(best, rate): (best, rate) for best in CASES for rate in RATES}


def panel(best: str, measure: str, title: str) -> Panel:
    """Return a picture of the paper's, over the rate of the first stream."""
    x = f"rate1_{best}"
    label = "λ1, tuples a second"
    return Panel(x, measure, "plan", f"{title}: {best}", label, "µs a tuple", log_x=False)


class AggJoinFigure10(AggregationExperiment):
    """Is each plan the best one somewhere?

    Claim    EAP11 is best if both g are low, EAP10 if g1 is low and g2 high, EAP01 if g1 is high
             and g2 low, LAP if both are high.
    Refuted  if another plan is faster in one of the four settings.
    Source   [AGGJOIN 7.2.3, figure 10].
    """

    name = "aggjoin-figure-10"
    title = "each plan at its best"
    figures = "AGGJOIN 10"
    factors = {"setting": tuple(SETTINGS), "plan": PLANS}
    panels = tuple(
        panel(best, measure, title)
        for best in CASES
        for measure, title in ((MODEL, "Cost model"), (CLOCK, "Measured"))
    )
    algorithm = LOOPS
    repeats = 5
    set_up = (
        "Nested loops, as in the paper. λ2 is 500; λ1 is 100, 300 or 500. σ 0.01 and w 500, for "
        f"EAP11 σ 0.1 and w 2,000. {RIGHT}"
    )

    def streams(self, setting: str) -> tuple[AggregationStream, ...]:
        """Return the streams of a setting."""
        best, rate = SETTINGS[setting]
        groups, share, window = CASES[best]
        return two((rate, 500), (window, window), groups, share)

    def varied(self, setting: str) -> dict[str, float]:
        """Return the rate, as the measure of its picture."""
        best, rate = SETTINGS[setting]
        return {f"rate1_{best}": rate}

    def findings(self, table: Table) -> list[Finding]:
        """Judge each showcase by the clock and by the model."""
        found = [*ranking(table)]
        for best in CASES:
            found += [self.measured(table, best), self.modelled(table, best)]
        return found

    def levels_of(self, best: str) -> list[Level]:
        """Return the settings of a showcase."""
        return [named(best, rate) for rate in RATES]

    def measured(self, table: Table, best: str) -> Finding:
        """Judge whether no other plan is faster."""
        levels, judged, parts = self.levels_of(best), [], []
        for level in levels:
            others = [p for p in PLANS if p != best]
            ratios = {p: times(table, p, best, level) for p in others}
            judged += [above(r, 1) for r in ratios.values()]
            near = min(ratios, key=lambda p: ratios[p].value)
            parts.append(f"{near} takes {ratios[near]} at {level}")
        return Finding(f"{best} is the best.", all_of(judged), "; ".join(parts) + ".")

    def modelled(self, table: Table, best: str) -> Finding:
        """Judge whether the paper's formulas say so, with the constants of this machine."""
        least = []
        for level in self.levels_of(best):
            rows = table.where(setting=level).rows
            least.append(str(min(rows, key=lambda row: row.number(MODEL)).value("plan")))
        claim = f"{best} is the best by the formulas."
        by = f"The cheapest are {', '.join(dict.fromkeys(least))}."
        return Finding(claim, known(*(plan == best for plan in least)), by, Kind.MODEL)
