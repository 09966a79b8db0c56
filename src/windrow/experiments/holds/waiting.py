"""Negative tuples over how long results of a negation wait [THESIS 9.2]."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

import windrow
from windrow.experiments.holds.streams import SECOND, STATEMENTS, Traffic, part
from windrow.experiments.holds.truth import JOIN, NEGATION, difference, told, valid
from windrow.experiments.library.contest import work_of
from windrow.experiments.library.experiment import EQUAL, Experiment, Measurement, Options, Panel
from windrow.experiments.library.table import Levels, Table
from windrow.experiments.library.verdict import Finding, Kind, above, known
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle

WINDOW = 10 * SECOND
STRETCH = 2 * SECOND
"""Ticks of one run."""
HOLDS = (0, 0.1, 0.5, 1, 2, 5)
LONG = 1.0
"""Seconds after which a match has mostly come: of so long a hold the claim is."""
ALONE, JOINED = "negation", "join above it"
FREE = (
    f"SELECT link1.{{}} FROM link1 [RANGE {WINDOW}] WHERE NOT EXISTS "
    f"(SELECT * FROM link2 [RANGE {WINDOW}] WHERE link2.src = link1.src)"
)
TEXTS = {
    ALONE: FREE.format("id"),
    JOINED: f"SELECT z.id, link3.port FROM ({FREE.format('id, link1.dst')}) AS z, "
    f"link3 [RANGE {WINDOW}] WHERE z.dst = link3.dst",
}
TRUTHS = {ALONE: NEGATION, JOINED: JOIN.format(window=WINDOW)}
CLOCK, EARLY, TOLD, ABOVE = "ms_per_1000", "early_negatives", "results_told", "changes_above"


@dataclass(slots=True)
class Links:
    """What all contestants read, and when the negation's results are valid."""

    links: dict[str, pa.Table]
    stretches: pa.Table

    @classmethod
    def of(cls, runs: int, seed: int) -> Links:
        """Make the links for so many runs after their windows have filled."""
        links = Traffic().made(WINDOW + runs * STRETCH, seed)
        return cls(links, valid(links, WINDOW))


@dataclass(slots=True)
class Case:
    """A query whose windows are full; `turns` runs are behind it."""

    arena: Links
    db: Database
    query: QueryHandle
    truth: str
    hold: int
    shown: pa.Table = field(init=False)
    turns: int = 0

    def __post_init__(self) -> None:
        self.shown = told(self.arena.stretches, self.hold)

    def run(self) -> Measurement:
        """Run the next stretch; its changes must be those of the truth."""
        low = WINDOW + self.turns * STRETCH
        high = low + STRETCH
        pieces = part(self.arena.links, low, high)
        tuples = sum(map(len, pieces.values()))
        before = work_of(self.query.stats())
        gc.collect()
        start = perf_counter()
        for name, piece in pieces.items():
            self.db.push(name, piece)
        self.db.advance(high - 1)
        changes = self.query.changes()
        seconds = perf_counter() - start
        stats: Any = self.query.stats()
        work = {name: n - before[name] for name, n in work_of(stats).items()}
        counts = self._counts(low, high, work, len(pieces["link1"]))
        counts["state_bytes"] = int(stats["state_bytes"])
        wrong = difference(changes, self.truth, self.shown, self.arena.links, (low, high))
        self.turns += 1
        return Measurement({CLOCK: seconds * 1e6 / tuples}, counts, wrong or EQUAL)

    def _counts(self, low: int, high: int, work: dict[str, float], tuples: int) -> dict[str, float]:
        """Return what the negation told, and took back before its time, per 1,000 of link 1."""
        begins, ends, natural = (self.shown[n].to_numpy() for n in ("begins", "ends", "natural"))
        births = (low <= begins) & (begins < high)
        early = (low <= ends) & (ends < high) & (ends < natural)
        counts = {
            TOLD: int(births.sum()) * 1e3 / tuples,
            EARLY: int(early.sum()) * 1e3 / tuples,
            "early_per_result": int(early.sum()) / max(1, int(births.sum())),
            "delay_s": self.hold / SECOND,
            "negatives_told": work["negatives_told"] * 1e3 / tuples,
        }
        return counts | ({ABOVE: work["join_rows"] * 1e3 / tuples} if "join_rows" in work else {})


def panel(y: str, title: str, label: str) -> Panel:
    """Return the picture of a measure over the hold."""
    return Panel("hold", y, "query", title, "hold, seconds", label, log_x=False, log_y=False)


class ThesisHold(Experiment[Case]):
    """Do fewer negative tuples flow if results of a negation wait for a match that soon comes?

    Claim    to buffer results of negation for a while, and see whether a match comes that would
             take them back, reduces the number of negative tuples that flow through the plan, and
             speeds up queries over them.
    Refuted  if a longer hold has more negative tuples, or one of a second not less than half of
             those without; if the join above takes longer with a hold of a second than without.
    Source   [THESIS 9.2; streams of our own, the thesis has none].
    """

    name = "thesis-9-hold"
    title = "results of a negation that wait"
    figures = "none: THESIS 9.2"
    factors = {"query": (ALONE, JOINED), "hold": HOLDS}
    turns = "hold"
    panels = (
        panel(EARLY, "Results taken back early", "per 1,000 tuples of link 1"),
        panel(TOLD, "Results told", "per 1,000 tuples of link 1"),
        panel(CLOCK, "Time", "ms per 1,000 tuples"),
    )

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self.arena: Links | None = None

    @property
    def set_up(self) -> str:
        """Tell queries and streams."""
        traffic = Traffic()
        return (
            f"`{TEXTS[ALONE]}`, and `{TEXTS[JOINED]}`; a tick is a millisecond, windows are "
            f"{WINDOW // SECOND} seconds, a run is {STRETCH // SECOND}. Link 1 has "
            f"{traffic.rate:,.0f} tuples a second; {traffic.followed:.0%} of their sources are "
            f"seen on link 2 after {traffic.delay} seconds in the mean, exponentially "
            "distributed. The strategy is `upa`, so that the negation stands below the join in "
            "all cases. The changes of every run are those of a plain reference, which works out "
            "for every tuple when it is not seen on link 2, and lets it be told after the hold: "
            "results told, and those taken back before their tuples leave, are counted there. "
            f"`{ABOVE}` are changes that the join takes; `delay_s` is how much later a result is "
            "told than it is valid, the same for all."
        )

    def prepare(self, levels: Levels) -> Case:
        """Fill the windows."""
        if self.arena is None:
            self.arena = Links.of(self.warmups + self.repeats, self.seed)
        db = windrow.connect()
        for statement in STATEMENTS:
            db.execute(statement)
        hold = round(float(levels["hold"]) * SECOND)
        name = str(levels["query"])
        query = db.query(TEXTS[name], strategy="upa", hold=hold)
        for low in range(0, WINDOW, STRETCH):
            for link, piece in part(self.arena.links, low, low + STRETCH).items():
                db.push(link, piece)
            db.advance(low + STRETCH - 1)
            query.changes()
        return Case(self.arena, db, query, TRUTHS[name], hold)

    def measure(self, case: Case) -> Measurement:
        """Run the next stretch."""
        return case.run()

    def close(self, case: Case) -> None:
        """Close the database."""
        case.db.close()

    def findings(self, table: Table) -> list[Finding]:
        """Judge by counted negatives, then by the clock."""
        alone = table.where(query=ALONE)
        early = {float(r.levels["hold"]): r.number(EARLY) for r in alone.rows}
        falls = bool((np.diff(list(early.values())) <= 0).all())
        shares = ", ".join(f"{n / early[0]:.1%} at {hold:g} s" for hold, n in early.items() if hold)
        clock = table.ratio(CLOCK, "hold", 0, 1, query=JOINED)
        taken = table.ratio(ABOVE, "hold", 0, 1, query=JOINED)
        price = table.ratio(CLOCK, "hold", 1, 0, query=ALONE)
        lost = 1 - table.number(TOLD, query=ALONE, hold=1) / table.number(TOLD, query=ALONE, hold=0)
        return [
            Finding(
                "To wait reduces the number of negative tuples.",
                known(falls, early[LONG] <= early[0] / 2),
                f"Of {early[0]:.0f} results taken back early, per 1,000 tuples, there are "
                f"{shares}; with a hold of 1 s {lost:.0%} of the results are never told.",
            ),
            Finding(
                "To wait speeds up a query with a join above the negation.",
                above(clock, 1),
                f"Without a hold it takes {clock} as long as with one of 1 s; the join takes "
                f"{taken} the changes.",
            ),
            Finding(
                "The negation alone costs at most 1.5 times as much with a hold of 1 s.",
                above(price.inverse, 1 / 1.5),
                f"It takes {price} as long.",
                Kind.OURS,
            ),
        ]
