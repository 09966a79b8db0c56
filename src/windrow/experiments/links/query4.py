"""Query 4: a negation of two links and a join with a third, in both orders."""

from __future__ import annotations

from windrow.experiments.library.experiment import Finding
from windrow.experiments.library.table import Table
from windrow.experiments.library.words import times
from windrow.experiments.links.base import (
    NOISE,
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


class Query4(LinkExperiment):
    """Is it worth to pull a negation above a join, against what a relational optimiser would do?

    Claim    with negative tuples throughout, the join above the negation is better; yet for large
             windows UPA with the negation above the join is best of all, and for small ones
             NT(join up) is.
    Refuted  if NT(join up) is not faster than NT, or UPA not the fastest of the three at the
             largest window, or NT(join up) not at the smallest, by 5 % and more.
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
        clock, low, high = "ms_per_1000", smallest(table), largest(table)
        large = {s: table.number(clock, strategy=s, window=high) for s in CONTESTANTS}
        small = {s: table.number(clock, strategy=s, window=low) for s in CONTESTANTS}
        papers = ("NT", "NT(join up)", "UPA")
        order = large["NT"] / large["NT(join up)"]
        rest = min(large[s] for s in papers if s != "UPA") / large["UPA"]
        first = min(small[s] for s in papers if s != "NT(join up)") / small["NT(join up)"]
        auto = large["AUTO"] / min(large[s] for s in CONTESTANTS if s != "AUTO")
        return [
            Finding(
                f"NT(join up) is faster than NT at window {high:,}.",
                order > NOISE,
                f"NT takes {times(order)} as long.",
            ),
            Finding(
                f"UPA is the fastest of the three at window {high:,}.",
                rest > NOISE,
                f"The better of the others takes {times(rest)} as long.",
            ),
            Finding(
                f"NT(join up) is the fastest of the three at window {low:,}.",
                first > NOISE,
                f"The better of the others takes {times(first)} as long.",
            ),
            Finding(
                "windrow's own choice (AUTO) is within 1.25 times the best plan.",
                auto <= 1.25,
                f"It takes {times(auto)} as long at window {high:,}.",
            ),
        ]
