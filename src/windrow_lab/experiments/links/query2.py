"""Query 2: distinct sources of a link, and distinct pairs of source and destination."""

from __future__ import annotations

from windrow_lab.experiments.library.table import Table
from windrow_lab.experiments.library.verdict import Finding, above, all_of
from windrow_lab.experiments.links.base import (
    PARTITIONS,
    LinkExperiment,
    largest,
    space_panel,
    time_panel,
)


class Query2Source(LinkExperiment):
    """What does δ* save, in time and in space, where few distinct values are alive?

    Claim    UPA is ten times as fast as NT and DIRECT, and takes up to a hundred times less space,
             as δ* stores what it shows and not what it reads.
    Refuted  if at the largest window either takes less than 5 times as long as UPA, or less than
             10 times its space.
    Source   [THESIS 3.6.3, figures 3.10 and 3.12].
    """

    name = "thesis-3-query2-source"
    title = "distinct sources"
    figures = "3.10, 3.12"
    reads = ("link1",)
    text = "SELECT DISTINCT src FROM link1 [RANGE {window}]"
    truth = "SELECT DISTINCT src FROM link1"
    panels = (time_panel("Query 2, sources: time"), space_panel("Query 2, sources: space"))
    missing = PARTITIONS

    def findings(self, table: Table) -> list[Finding]:
        """Judge by clocks and bytes."""
        return [
            slower(table, ("NT", "DIRECT"), 5, "UPA is ten times as fast (at least 5 counts)"),
            larger(table, 10, "UPA takes up to a hundred times less space (at least 10 counts)"),
        ]


class Query2Pairs(LinkExperiment):
    """What does δ* save where ten times as many distinct values are alive?

    Claim    UPA is twice as fast as NT and takes less space; DIRECT is slow where the result is
             large.
    Refuted  if at the largest window NT takes less than 1.5 times as long as UPA, DIRECT less than
             NT, or either less than 1.5 times its space.
    Source   [THESIS 3.6.3, figures 3.11 and 3.13].
    """

    name = "thesis-3-query2-pairs"
    title = "distinct pairs of source and destination"
    figures = "3.11, 3.13"
    reads = ("link1",)
    text = "SELECT DISTINCT src, dst FROM link1 [RANGE {window}]"
    truth = "SELECT DISTINCT src, dst FROM link1"
    panels = (time_panel("Query 2, pairs: time"), space_panel("Query 2, pairs: space"))
    missing = PARTITIONS

    def findings(self, table: Table) -> list[Finding]:
        """Judge by clocks and bytes."""
        window = largest(table)
        direct = table.ratio("ms_per_1000", "strategy", "DIRECT", "NT", window=window)
        return [
            slower(table, ("NT",), 1.5, "UPA is twice as fast as NT (at least 1.5 counts)"),
            Finding(
                "DIRECT is slow where the result is large.",
                above(direct, 1),
                f"It takes {direct} as long as NT.",
            ),
            larger(table, 1.5, "UPA takes less space (1.5 times counts)"),
        ]


def slower(table: Table, others: tuple[str, ...], bar: float, claim: str) -> Finding:
    """Say how many times as long as UPA others take at the largest window."""
    window = largest(table)
    found = {o: table.ratio("ms_per_1000", "strategy", o, "UPA", window=window) for o in others}
    ratios = ", ".join(f"{other} takes {ratio} as long" for other, ratio in found.items())
    outcome = all_of(above(ratio, bar) for ratio in found.values())
    return Finding(f"{claim} at window {window:,}.", outcome, f"{ratios}.")


def larger(table: Table, bar: float, claim: str) -> Finding:
    """Say how many times the space of UPA the others take at the largest window."""
    window = largest(table)
    found = {
        other: table.ratio("space_bytes", "strategy", other, "UPA", window=window)
        for other in ("NT", "DIRECT")
    }
    ratios = ", ".join(f"{other} takes {ratio} its bytes" for other, ratio in found.items())
    outcome = all_of(above(ratio, bar) for ratio in found.values())
    return Finding(f"{claim} at window {window:,}.", outcome, f"{ratios}.")
