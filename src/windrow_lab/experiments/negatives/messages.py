"""Join messages against negative tuples, by the clock [NEG 8.3, figure 13]."""

from __future__ import annotations

from windrow_lab.contest.measurement import Measurement
from windrow_lab.experiments.library.experiment import Experiment, Panel
from windrow_lab.experiments.library.table import Levels, Table
from windrow_lab.experiments.library.verdict import Finding, all_of, below, known
from windrow_lab.experiments.negatives.base import OVERHEAD, Q2_TOLD, RATE, SELECTIVITY
from windrow_lab.experiments.negatives.contestants import ExpiryArena, ExpiryContestant
from windrow_lab.experiments.negatives.model import ITA, MESSAGES, NTA
from windrow_lab.experiments.negatives.streams import Multiplied

CLOCK = "us_a_tuple"
WINDOW = 1_800
STRETCH, BATCH = 900.0, 300.0
ABOUT_HALF, EVEN = 0.6, 1.25


class NegFigure13(Experiment[ExpiryContestant]):
    """What do join messages save, as a tuple joins more others?

    Claim    NTA reads about one negative tuple for each positive, with join messages as many fewer
             as a tuple joins others; they reduce the processing time to around half, and that does
             not depend on the multiplicity.
    Refuted  if ITA reads any, NTA under 0.95 or over 1.05, messages times multiplicity under 0.9 or
             over 1.1; if messages leave over 0.6 of the time; if a time varies by over 1.25 times.
    Source   [NEG 8.3, figure 13].
    """

    name = "neg-figure-13"
    title = "join messages, by multiplicity"
    figures = "NEG 13"
    factors = {"multiplicity": (1, 2, 3, 4, 5), "approach": (ITA, NTA, MESSAGES)}
    turns = "approach"
    together = ("multiplicity",)
    repeats = 9
    panels = (
        Panel("multiplicity", OVERHEAD, "approach", "Negative tuples read by MAX",
              "results of a tuple", "for each positive tuple", log_x=False, log_y=False),
        Panel("multiplicity", CLOCK, "approach", "Processing time",
              "results of a tuple", "µs a tuple", log_x=False, log_y=False),
    )  # fmt: skip
    seconds = WINDOW
    block: int | None = None
    shared: ExpiryArena

    @property
    def set_up(self) -> str:
        """Describe streams and clock."""
        return (
            f"MAX over the join of two streams, {RATE} tuples a second each, windows of "
            f"{self.seconds / 60:g} minutes, selectivity {SELECTIVITY}: 45 results a second. Each "
            "tuple of the first stream that joins any joins as many of the second as the "
            "multiplicity says, which come later: all its results end with it. Processing time is "
            "real time, of a whole query, from batches of five minutes, 30,000 tuples, to its "
            f"changelog; queues pass batches. {Q2_TOLD} In the end the net changelogs are "
            "equal, and their answer is DuckDB's."
        )

    def arena(self, multiplicity: int, batch: float = BATCH) -> ExpiryArena:
        """Return the streams of a multiplicity, in batches of so many seconds."""
        setting = Multiplied(RATE, SELECTIVITY, self.seconds, multiplicity)
        runs = self.warmups + self.repeats
        return ExpiryArena(setting, STRETCH, runs, batch, self.seed, virtual=False)

    def prepare(self, levels: Levels) -> ExpiryContestant:
        """Fill the windows; contestants of a multiplicity share their tuples, and come together."""
        chosen = int(levels["multiplicity"])
        if self.block != chosen:
            self.block, self.shared = chosen, self.arena(chosen)
        return ExpiryContestant.filled(self.shared, str(levels["approach"]))

    def measure(self, case: ExpiryContestant) -> Measurement:
        """Run the next stretch."""
        return case.run()

    def findings(self, table: Table) -> list[Finding]:
        """Judge the counts, then the clock."""
        many = [int(level) for level in table.levels("multiplicity")]
        ratios = {
            name: [table.number(OVERHEAD, approach=name, multiplicity=m) for m in many]
            for name in (ITA, NTA, MESSAGES)
        }
        times = [m * ratio for m, ratio in zip(many, ratios[MESSAGES], strict=True)]
        return [
            Finding(
                "ITA reads no negative tuple, NTA about one for each positive: 0.95 to 1.05.",
                known(not any(ratios[ITA]), all(0.95 <= r <= 1.05 for r in ratios[NTA])),
                f"NTA {min(ratios[NTA]):.3g} to {max(ratios[NTA]):.3g}.",
            ),
            Finding(
                "With join messages it is one over the multiplicity, within a tenth.",
                known(*(0.9 <= product <= 1.1 for product in times)),
                "By multiplicity " + ", ".join(f"{r:.3g}" for r in ratios[MESSAGES]) + ".",
            ),
            self._saved(table, many),
            self._even(table, many),
        ]

    def _saved(self, table: Table, many: list[int]) -> Finding:
        ratios = [table.ratio(CLOCK, "approach", MESSAGES, NTA, multiplicity=m) for m in many]
        return Finding(
            "Join messages reduce the processing time to around half: at most 0.6.",
            all_of(below(ratio, ABOUT_HALF) for ratio in ratios),
            "By multiplicity " + ", ".join(f"{r.value:.2f}" for r in ratios) + " of NTA's.",
        )

    def _even(self, table: Table, many: list[int]) -> Finding:
        outcomes, said = [], []
        for name in (NTA, MESSAGES):
            rows = sorted(
                (table.row(approach=name, multiplicity=m) for m in many),
                key=lambda row: row.number(CLOCK),
            )
            ratio = rows[-1].over(rows[0], CLOCK)
            outcomes.append(below(ratio, EVEN))
            said.append(f"{name} varies by {ratio}")
        return Finding(
            "The time does not depend on the multiplicity: it varies by at most 1.25 times.",
            all_of(outcomes),
            ", ".join(said) + ".",
        )
