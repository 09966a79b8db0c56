"""Input-triggered against negative tuples [NEG 8.2, figures 10 to 12]."""

from __future__ import annotations

from windrow_lab.experiments.library.experiment import Panel
from windrow_lab.experiments.library.table import Levels, Table
from windrow_lab.experiments.library.verdict import Finding, above, all_of, below, known, within
from windrow_lab.experiments.negatives.base import (
    DELAY,
    IN_PIPELINE,
    MOST,
    Q2_TOLD,
    RATE,
    RATES,
    SELECTIVITIES,
    SELECTIVITY,
    WINDOW,
    DelayExperiment,
    delays,
    in_words,
    slower,
)
from windrow_lab.experiments.negatives.model import ITA, NTA
from windrow_lab.experiments.negatives.streams import Setting, TableSetting

ALIKE = 1.5
"""Two delays within this factor are the same performance."""
TURN_10, TURN_11, TURN_12 = 0.6, 0.006, 40


class NegFigure10(DelayExperiment):
    """When do ends show through a selective join with a table?

    Claim    under a selectivity of 0.6 ITA shows late, and NTA does not depend on the selectivity;
             above it ITA shows earlier than NTA.
    Refuted  if ITA is not the later one below 0.6, on average and at most; if there NTA's average
             varies by over a third of what ITA's does; if ITA is not the earlier one above 0.6.
    Source   [NEG 8.2.1, figure 10].
    """

    name = "neg-figure-10"
    title = "Q1: the selectivity of a join with a table"
    figures = "NEG 10"
    factors = {
        "selectivity": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0),
        "approach": (ITA, NTA),
    }
    panels = (
        delays("selectivity", "share of items that are favourites"),
        Panel("selectivity", MOST, "approach", "Maximum output delay",
              "share of items that are favourites", "ms of virtual time", log_x=False),
    )  # fmt: skip
    streams = (
        "COUNT over a stream of 50 tuples a second joined with a table of items; the table is not "
        "retroactive, so that its results expire: under NTA the join reads each tuple, and a "
        "message as it ends, and negative tuples are made above it."
    )

    def setting(self, levels: Levels) -> Setting:
        """Return Q1."""
        return TableSetting(RATE, float(levels["selectivity"]), WINDOW)

    def findings(self, table: Table) -> list[Finding]:
        """Judge below and above 0.6."""
        chosen = [float(level) for level in table.levels("selectivity")]
        low, high = [s for s in chosen if s < TURN_10], [s for s in chosen if s > TURN_10]
        spans = {
            name: [table.number(DELAY, approach=name, selectivity=s) for s in low]
            for name in (ITA, NTA)
        }
        ranges = {name: max(found) - min(found) for name, found in spans.items()}
        most = [table.ratio(MOST, "approach", ITA, NTA, selectivity=s) for s in low]
        return [
            Finding(
                "Below 0.6 ITA's average delay is above NTA's.",
                all_of(above(slower(table, selectivity=s), 1) for s in low),
                in_words(table, "selectivity"),
            ),
            Finding(
                "Below 0.6 ITA's maximum delay is above NTA's.",
                all_of(above(ratio, 1) for ratio in most),
                in_words(table, "selectivity", MOST),
            ),
            Finding(
                "Below 0.6 NTA does not depend on the selectivity: its average varies by less than "
                "a third of what ITA's varies by.",
                known(ranges[NTA] < ranges[ITA] / 3),
                f"NTA's varies by {ranges[NTA]:.3g} ms, ITA's by {ranges[ITA]:.3g} ms. COUNT's "
                "queue grows with its load, however little.",
            ),
            Finding(
                "Above 0.6 ITA's average delay is below NTA's.",
                all_of(below(slower(table, selectivity=s), 1) for s in high),
                f"At {high[-1]} NTA's is {slower(table, NTA, ITA, selectivity=high[-1])} ITA's.",
            ),
        ]


class StreamJoin(DelayExperiment):
    """Compares over the selectivity or the rate of Q2; at `turn` the paper sees both alike."""

    factor: str
    turn: float

    @property
    def streams(self) -> str:  # type: ignore[override]
        """Describe the query."""
        fixed = f"selectivity {SELECTIVITY}" if self.factor == "rate" else f"{RATE} tuples a second"
        return f"MAX over the join of two streams, {fixed} (each). {Q2_TOLD}"

    def setting(self, levels: Levels) -> Setting:
        """Return Q2."""
        rate, share = levels.get("rate", RATE), levels.get("selectivity", SELECTIVITY)
        return Setting(float(rate), float(share), WINDOW)

    def findings(self, table: Table) -> list[Finding]:
        """Judge below, at and above the turn."""
        factor, turn = self.factor, self.turn
        chosen = [float(level) for level in table.levels(factor)]
        ratios = {level: slower(table, **{factor: level}) for level in chosen}
        more = [
            table.ratio(IN_PIPELINE, "approach", NTA, ITA, **{factor: level}) for level in chosen
        ]
        return [
            Finding(
                f"Below {turn:g} ITA's delay is above NTA's.",
                all_of(above(r, 1) for level, r in ratios.items() if level < turn),
                in_words(table, factor),
            ),
            Finding(
                f"At {turn:g} the two have the same performance: within {ALIKE} times.",
                within(ratios[turn], 1, ALIKE),
                f"ITA's is {ratios[turn]} NTA's.",
            ),
            Finding(
                f"Above {turn:g} ITA's delay is below NTA's.",
                all_of(below(r, 1) for level, r in ratios.items() if level > turn),
                f"At {chosen[-1]:g} NTA's is {ratios[chosen[-1]].inverse} ITA's.",
            ),
            Finding(
                "NTA doubles the tuples in the pipeline: 1.8 to 2.2 times.",
                known(all(1.8 <= r.value <= 2.2 for r in more)),
                f"{min(r.value for r in more):.3g} to {max(r.value for r in more):.3g} times.",
            ),
        ]


def in_pipeline(x: str, x_label: str) -> Panel:
    """Return the picture of the tuples in the pipeline."""
    return Panel(x, IN_PIPELINE, "approach", "Tuples in the pipeline", x_label,
                 "entries of join and MAX, a tuple", log_x=False, log_y=False)  # fmt: skip


class NegFigure11(StreamJoin):
    """When do ends show through a join of two streams, by its selectivity?

    Claim    under a selectivity of 0.006 ITA shows late; at 0.006, 27 results a second, both are
             alike; above it NTA shows late. NTA doubles the tuples in the pipeline.
    Refuted  if ITA is not the later one below, or NTA above 0.006; if they differ by over 1.5 times
             there; if NTA has under 1.8 or over 2.2 times as many tuples in the pipeline.
    Source   [NEG 8.2.1, figure 11].
    """

    name = "neg-figure-11"
    title = "Q2: the selectivity of a join of streams"
    figures = "NEG 11"
    factor, turn = "selectivity", TURN_11
    factors = {"selectivity": SELECTIVITIES, "approach": (ITA, NTA)}
    panels = (
        delays("selectivity", "join selectivity, as the paper reckons"),
        in_pipeline("selectivity", "join selectivity, as the paper reckons"),
    )


class NegFigure12(StreamJoin):
    """When do ends show through a join of two streams, by their rates?

    Claim    under 40 tuples a second ITA shows late; at 40, 28 results a second, both are alike;
             above it NTA shows late. NTA doubles the tuples in the pipeline.
    Refuted  if ITA is not the later one below, or NTA above 40; if they differ by over 1.5 times
             there; if NTA has under 1.8 or over 2.2 times as many tuples in the pipeline.
    Source   [NEG 8.2.2, figure 12].
    """

    name = "neg-figure-12"
    title = "Q2: the rates of two streams"
    figures = "NEG 12"
    factor, turn = "rate", TURN_12
    factors = {"rate": RATES, "approach": (ITA, NTA)}
    panels = (
        delays("rate", "tuples a second of each stream"),
        in_pipeline("rate", "tuples a second of each stream"),
    )
