"""W-joins against ripple join and XJoin, on sales of stores [WJOIN figures 7 and 8]."""

from __future__ import annotations

from windrow_lab.experiments.library.table import Levels, Table
from windrow_lab.experiments.library.verdict import Finding, Kind, above, all_of, known
from windrow_lab.experiments.wjoins.base import (
    LOOKED,
    RIGHT,
    WJoinExperiment,
    looked_at,
    ratios_in_words,
    service_time,
    times_longer,
)
from windrow_lab.experiments.wjoins.contestants import HW, MW, NLW, RIPPLE, XJOIN, WJoinArena
from windrow_lab.experiments.wjoins.streams import HOUR, one_window, stores

DAY = 24 * HOUR


class WJoinFigures78(WJoinExperiment):
    """Does it pay that a join knows of its windows?

    Claim    NLW-join and HW-join outperform the ripple join and XJoin in all cases; MW-join has the
             best performance of the loops, almost an order of magnitude faster than NLW-join.
    Refuted  if for some number of streams ripple join is not slower than NLW, or XJoin than HW; if
             NLW does not take at least 5 times as long as MW.
    Source   [WJOIN 4.3, figures 7 and 8].
    """

    name = "wjoin-figures-7-8"
    title = "W-joins, ripple join and XJoin"
    figures = "WJOIN 7, 8"
    factors = {"streams": (2, 3, 4), "algorithm": (NLW, MW, RIPPLE, HW, XJOIN)}
    panels = (
        service_time("streams", "streams", "algorithm", "Service time"),
        looked_at("streams", "streams", "algorithm", "Rows looked at"),
    )
    missing = {
        "sales of Wal*Mart stores": "They cannot be had. Ours are generated: open from 7:30 to "
        "20:00, an item's share falls with the fourth root of its rank.",
    }

    @property
    def an_hour(self) -> int:
        """Sales an hour of each store."""
        return 5_000 if self.options.full else 1_000

    @property
    def set_up(self) -> str:
        """Describe streams and contestants."""
        return (
            f"Each stream has {self.an_hour:,} tuples an hour and as many items; the window is an "
            "hour. A run is a day, in steps of two hours. Ripple join and XJoin let go of what "
            f"is in no window after every 10,000 tuples. {RIGHT}"
        )

    def arena(self, levels: Levels) -> WJoinArena:
        """Return the stores, from their second day on."""
        count = int(levels["streams"])
        sold = stores(count, self.an_hour, 1 + self.runs, self.an_hour, self.seed)
        return WJoinArena(sold, [one_window(count, HOUR)], DAY, DAY, 2 * HOUR, self.runs)

    def findings(self, table: Table) -> list[Finding]:
        """Judge by the clock; what was looked at stands beside."""
        counts = table.levels("streams")
        merged = [table.row(streams=n, algorithm=MW).number(LOOKED) for n in counts]
        nested = [table.row(streams=n, algorithm=NLW).number(LOOKED) for n in counts]
        return [
            Finding(
                "NLW-join outperforms the ripple join in all cases.",
                all_of(above(times_longer(table, RIPPLE, NLW, streams=n), 1) for n in counts),
                ratios_in_words(table, RIPPLE, NLW, "streams"),
            ),
            Finding(
                "HW-join outperforms XJoin in all cases.",
                all_of(above(times_longer(table, XJOIN, HW, streams=n), 1) for n in counts),
                ratios_in_words(table, XJOIN, HW, "streams"),
            ),
            Finding(
                "MW-join is almost an order of magnitude faster than NLW-join (5 times at least).",
                all_of(above(times_longer(table, NLW, MW, streams=n), 5) for n in counts),
                ratios_in_words(table, NLW, MW, "streams"),
            ),
            Finding(
                "MW-join looks at no more rows than NLW-join.",
                known(all(m <= n for m, n in zip(merged, nested, strict=True))),
                f"It looks at {', '.join(f'{m:,.0f}' for m in merged)} a tuple, NLW-join at "
                f"{', '.join(f'{n:,.0f}' for n in nested)}.",
                Kind.OURS,
            ),
        ]
