"""Query 4: a negation of two links and a join with a third, in both orders."""

from __future__ import annotations

from windrow_lab.experiments.library.spread import Ratio
from windrow_lab.experiments.library.table import Table
from windrow_lab.experiments.library.verdict import Finding, Kind, above, all_of
from windrow_lab.experiments.links.base import (
    WINDOWS,
    LinkExperiment,
    largest,
    smallest,
    space_panel,
    time_panel,
)

NEGATION_UP = (
    "SELECT link1.src, link1.dst AS one, link3.dst AS two "
    "FROM link1 [RANGE {window}], link3 [RANGE {window}] "
    "WHERE link1.src = link3.src AND link3.proto = '{rare}' AND NOT EXISTS "
    "(SELECT * FROM link2 [RANGE {window}] WHERE link2.src = link1.src)"
)
JOIN_UP = (
    "SELECT quiet.src, quiet.dst AS one, link3.dst AS two FROM "
    "(SELECT link1.src, link1.dst FROM link1 [RANGE {window}] WHERE NOT EXISTS "
    "(SELECT * FROM link2 [RANGE {window}] WHERE link2.src = link1.src)) AS quiet, "
    "link3 [RANGE {window}] WHERE quiet.src = link3.src AND link3.proto = '{rare}'"
)
CONTESTANTS = {
    "NT": (NEGATION_UP, "negative"),
    "NT(join up)": (JOIN_UP, "negative"),
    "UPA": (NEGATION_UP, "upa"),
    "UPA(join up)": (JOIN_UP, "upa"),
    "AUTO": (NEGATION_UP, "auto"),
}
PAPERS = ("NT", "NT(join up)", "UPA")
"""Those that the thesis compares."""


class Query4(LinkExperiment):
    """Is it worth to pull a negation above a join, against what a relational optimiser would do?

    Claim    with negative tuples throughout, the join above the negation is better; yet for large
             windows UPA with the negation above the join is best of all, and for small ones
             NT(join up) is.
    Refuted  if at the largest window NT(join up) is slower than NT, or another of the three faster
             than UPA, or if at the smallest another is faster than NT(join up).
    Source   [THESIS 3.6.5, figure 3.15; the plans are those of figure 3.5].
    """

    name = "thesis-3-query4"
    title = "negation and join, two plans"
    figures = "3.15"
    reads = ("link1", "link2", "link3")
    factors = {"window": WINDOWS, "strategy": tuple(CONTESTANTS)}
    text = NEGATION_UP
    truth = (
        "SELECT link1.src, link1.dst AS one, link3.dst AS two FROM link1 JOIN link3 USING (src) "
        "WHERE link3.proto = '{rare}' AND src NOT IN (SELECT src FROM link2)"
    )
    panels = (time_panel("Query 4: time"), space_panel("Query 4: space"))

    def contestant(self, name: str) -> tuple[str, str]:
        """Return plan and strategy; AUTO places the negation itself."""
        return CONTESTANTS[name]

    def findings(self, table: Table) -> list[Finding]:
        """Judge by the clocks."""
        low, high = smallest(table), largest(table)
        order = table.ratio("ms_per_1000", "strategy", "NT", "NT(join up)", window=high)
        rest = against(table, "UPA", PAPERS, high)
        first = against(table, "NT(join up)", PAPERS, low)
        auto = against(table, "AUTO", tuple(CONTESTANTS), high)
        return [
            Finding(
                f"NT(join up) is faster than NT at window {high:,}.",
                above(order, 1),
                f"NT takes {order} as long.",
            ),
            Finding(
                f"UPA is the fastest of the three at window {high:,}.",
                all_of(above(ratio, 1) for ratio in rest.values()),
                in_words(rest),
            ),
            Finding(
                f"NT(join up) is the fastest of the three at window {low:,}.",
                all_of(above(ratio, 1) for ratio in first.values()),
                in_words(first),
            ),
            Finding(
                f"windrow's own choice (AUTO) is within 1.25 times any plan at window {high:,}.",
                all_of(above(ratio, 1 / 1.25) for ratio in auto.values()),
                in_words(auto),
                Kind.OURS,
            ),
        ]


def against(table: Table, one: str, others: tuple[str, ...], window: int) -> dict[str, Ratio]:
    """Return how many times as long as one contestant each of the others takes."""
    return {
        other: table.ratio("ms_per_1000", "strategy", other, one, window=window)
        for other in others
        if other != one
    }


def in_words(ratios: dict[str, Ratio]) -> str:
    """Say how long the others take."""
    return ", ".join(f"{other} takes {ratio} as long" for other, ratio in ratios.items()) + "."
