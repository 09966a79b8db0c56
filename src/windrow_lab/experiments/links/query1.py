"""Query 1: the join of two links on the source, for a rare and for a frequent protocol."""

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

TEXT = (
    "SELECT link1.src, link1.dst AS one, link2.dst AS two "
    "FROM link1 [RANGE {{window}}], link2 [RANGE {{window}}] "
    "WHERE link1.src = link2.src AND link1.proto = '{{{kind}}}' AND link2.proto = '{{{kind}}}'"
)
TRUTH = (
    "SELECT link1.src, link1.dst AS one, link2.dst AS two FROM link1 JOIN link2 USING (src) "
    "WHERE link1.proto = '{{{kind}}}' AND link2.proto = '{{{kind}}}'"
)


class Query1Ftp(LinkExperiment):
    """Does it pay to know how tuples leave, where a join has few results?

    Claim    as the window grows, UPA is nearly twice as fast as NT and DIRECT; DIRECT beats NT,
             as there are few results to scan, but degrades as the window grows.
    Refuted  if at the largest window either takes less than 1.5 times as long as UPA, if DIRECT is
             slower than NT at the smallest window, or if its lead over NT grows.
    Source   [THESIS 3.6.2, figure 3.8].
    """

    name = "thesis-3-query1-ftp"
    title = "join of two links, ftp"
    figures = "3.8"
    reads = ("link1", "link2")
    text = TEXT.format(kind="rare")
    truth = TRUTH.format(kind="rare")
    panels = (time_panel("Query 1, ftp: time"), space_panel("Query 1, ftp: space"))
    missing = PARTITIONS

    def findings(self, table: Table) -> list[Finding]:
        """Judge by the clocks."""
        window, clock = largest(table), "ms_per_1000"
        nt = table.ratio(clock, "strategy", "NT", "UPA", window=window)
        direct = table.ratio(clock, "strategy", "DIRECT", "UPA", window=window)
        lead = [
            table.ratio(clock, "strategy", "NT", "DIRECT", window=w) for w in table.levels("window")
        ]
        return [
            Finding(
                f"UPA is nearly twice as fast as the others at window {window:,} (1.5 counts).",
                all_of((above(nt, 1.5), above(direct, 1.5))),
                f"NT takes {nt} as long, DIRECT {direct}.",
            ),
            Finding(
                "DIRECT beats NT where results are few.",
                above(lead[0], 1),
                f"NT takes {lead[0]} as long as DIRECT at the smallest window.",
            ),
            Finding(
                "DIRECT degrades as the window grows.",
                above(lead[0].over(lead[-1]), 1),
                f"NT takes {lead[-1]} as long as DIRECT at the largest.",
            ),
        ]


class Query1Telnet(LinkExperiment):
    """Does it pay to know how tuples leave, where a join has many results?

    Claim    DIRECT is by far the slowest; UPA with enough partitions is up to ten times as fast as
             NT for large windows.
    Refuted  if at the largest window DIRECT takes less than 5 times as long as each of the others,
             or NT less than 2 times as long as UPA.
    Source   [THESIS 3.6.2, figure 3.9].
    """

    name = "thesis-3-query1-telnet"
    title = "join of two links, telnet"
    figures = "3.9"
    reads = ("link1", "link2")
    text = TEXT.format(kind="frequent")
    truth = TRUTH.format(kind="frequent")
    panels = (time_panel("Query 1, telnet: time"), space_panel("Query 1, telnet: space"))
    missing = PARTITIONS

    def findings(self, table: Table) -> list[Finding]:
        """Judge by the clocks."""
        window, clock = largest(table), "ms_per_1000"
        nt = table.ratio(clock, "strategy", "NT", "UPA", window=window)
        slow = [table.ratio(clock, "strategy", "DIRECT", s, window=window) for s in ("NT", "UPA")]
        negatives = table.number("negatives_told", strategy="NT", window=window)
        scanned = table.number("comparisons", strategy="DIRECT", window=window)
        return [
            Finding(
                f"DIRECT is by far the slowest at window {window:,} (5 times counts).",
                all_of(above(ratio, 5) for ratio in slow),
                f"It takes {slow[0]} as long as NT, {slow[1]} as long as UPA; it looks at "
                f"{scanned:,.0f} rows per 1,000 tuples.",
            ),
            Finding(
                "UPA is up to ten times as fast as NT (at least twice counts).",
                above(nt, 2),
                f"NT takes {nt} as long; its operators emit {negatives:,.0f} negative tuples per "
                "1,000 tuples.",
            ),
        ]
