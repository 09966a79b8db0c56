"""Negative tuples over how long results of a negation wait [THESIS 9.2]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import windrow
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle
from windrow_lab.contest.clock import timed
from windrow_lab.contest.contestant import Contestant, Run
from windrow_lab.contest.measurement import Measurement
from windrow_lab.contest.pushing import push_parts
from windrow_lab.experiments.holds.streams import SECOND, STATEMENTS, Traffic, part
from windrow_lab.experiments.holds.truth import JOIN, NEGATION, difference, emitted, valid
from windrow_lab.experiments.library.experiment import Experiment, Options, Panel
from windrow_lab.experiments.library.table import Levels, Table
from windrow_lab.experiments.library.verdict import Finding, Kind, above, known

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
OWN_ENDS = {ALONE: (("link1", "id"),), JOINED: (("link1", "id"), ("link3", "port"))}
"""Whose tuples a result is made of, and the column of the changelog that numbers them."""
CLOCK = "ms_per_1000"
EMITTED, CHANGELOG, EARLY = "results_told", "changelog_negatives", "early_negatives"
ABOVE, READ = "changes_above", "negatives_above"
EVERYWHERE = "negatives_everywhere"


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
class HoldContestant(Contestant[pa.Table]):
    """A query whose windows are full; its results wait for `hold` ticks."""

    arena: Links
    db: Database
    query: QueryHandle
    name: str
    hold: int
    shown: pa.Table = field(init=False)

    def __post_init__(self) -> None:
        self.shown = emitted(self.arena.stretches, self.hold)

    def stretch(self) -> Run[pa.Table]:
        """Push the tuples of the next stretch, and read the changes."""
        low = WINDOW + self.turns * STRETCH
        high = low + STRETCH
        pieces = part(self.arena.links, low, high)
        seconds, changes = timed(lambda: push_parts(self.db, self.query, pieces, high - 1))
        return Run(low, high, seconds, sum(map(len, pieces.values())), changes)

    def counters(self) -> dict[str, float]:
        """Return the negatives that operators have emitted so far."""
        return work_of(self.query.stats())

    def clocks(self, done: Run[pa.Table]) -> dict[str, float]:
        """Return milliseconds per thousand tuples."""
        return {CLOCK: done.seconds * 1e6 / done.tuples}

    def counts(self, done: Run[pa.Table], more: Mapping[str, float]) -> dict[str, float]:
        """Return negatives and results per thousand tuples of the first link, delay and state."""
        first = len(part(self.arena.links, done.low, done.high)["link1"])
        counts = {**more, **results_of(done.output, self.name, self.arena.links)}
        counts = {name: n * 1e3 / first for name, n in counts.items()}
        counts["early_per_result"] = counts[EARLY] / max(1, counts[EMITTED])
        stats: Any = self.query.stats()
        return counts | {"delay_s": self.hold / SECOND, "state_bytes": int(stats["state_bytes"])}

    def check(self, done: Run[pa.Table], counts: dict[str, float]) -> str:
        """Compare the changes with those of the truth."""
        span = (done.low, done.high)
        return difference(done.output, TRUTHS[self.name], self.shown, self.arena.links, span)


def results_of(changes: pa.Table, name: str, links: dict[str, pa.Table]) -> dict[str, float]:
    """Count a changelog's rows: results, negatives, and negatives before a tuple has left."""
    gone = changes.filter(pc.less(changes["_sign"], 0))
    ends = [
        links[link]["ts"].to_numpy()[gone[column].to_numpy()] for link, column in OWN_ENDS[name]
    ]
    early = gone["_ts"].to_numpy() < np.min(ends, axis=0) + WINDOW
    return {EMITTED: len(changes) - len(gone), CHANGELOG: len(gone), EARLY: int(early.sum())}


def work_of(stats: Mapping[str, Any]) -> dict[str, float]:
    """Return the negatives that all operators have emitted; of a join also what it has read."""
    operators = stats["operators"]
    done = {EVERYWHERE: sum(op["negatives_out"] for op in operators)}
    joins = [op for op in operators if op["operator"] == "Join"]
    for ours, name in {ABOVE: "tuples_in", READ: "negatives_in"}.items() if joins else ():
        done[ours] = sum(op[name] for op in joins)
    return done


def panel(y: str, title: str, label: str) -> Panel:
    """Return the picture of a measure over the hold."""
    return Panel("hold", y, "query", title, "hold, seconds", label, log_x=False, log_y=False)


class ThesisHold(Experiment[HoldContestant]):
    """Do fewer negative tuples flow if results of a negation wait for a match that soon comes?

    Claim    to buffer results of negation for a while, and see whether a match comes that would
             take them back, reduces the number of negative tuples that flow through the plan, and
             speeds up queries over them.
    Refuted  if with a longer hold the join above the negation reads more negative tuples, or a
             changelog has more negative rows, or with one of a second over half of those without;
             if with any hold all operators together emit more than without; if the join's query
             takes longer with a hold of a second than without.
    Source   [THESIS 9.2; streams of our own, the thesis has none].
    """

    name = "thesis-9-hold"
    title = "results of a negation that wait"
    figures = "none: THESIS 9.2"
    factors = {"query": (ALONE, JOINED), "hold": HOLDS}
    turns = "hold"
    panels = (
        panel(CHANGELOG, "Negative rows of the changelog", "per 1,000 tuples of link 1"),
        panel(READ, "Negative tuples that the join reads", "per 1,000 tuples of link 1"),
        panel(EVERYWHERE, "Negative tuples that all operators emit", "per 1,000 tuples of link 1"),
        panel(CLOCK, "Time", "ms per 1,000 tuples"),
    )

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self.arena: Links | None = None

    @property
    def set_up(self) -> str:
        """Describe queries and streams."""
        traffic = Traffic()
        return (
            f"`{TEXTS[ALONE]}`, and `{TEXTS[JOINED]}`; a tick is a millisecond, windows are "
            f"{WINDOW // SECOND} seconds, a run is {STRETCH // SECOND}. Link 1 has "
            f"{traffic.rate:,.0f} tuples a second; {traffic.followed:.0%} of their sources are "
            f"seen on link 2 after {traffic.delay} seconds in the mean, exponentially "
            "distributed. The strategy is `upa`, so that the negation stands below the join in "
            "all cases. The changes of every run are those of a plain reference, which works out "
            "for every tuple when it is not seen on link 2, and emits it after the hold. "
            "What is counted is counted in the engine, per 1,000 tuples of link 1: of the query's "
            f"changelog `{EMITTED}` are the positive rows, `{CHANGELOG}` the negative ones, "
            f"`{EARLY}` those of them before a tuple of the result has left its window; "
            f"`{ABOVE}` are changes that the join reads, `{READ}` those of them that retract a "
            f"row, and `{EVERYWHERE}` what all operators emit, to each other or to the user: those "
            "below the negation as well, and those that end and hold its results. "
            "`delay_s` is how much later a result is emitted than it is valid, the same for all."
        )

    def prepare(self, levels: Levels) -> HoldContestant:
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
        return HoldContestant(self.arena, db, query, name, hold)

    def measure(self, case: HoldContestant) -> Measurement:
        """Run the next stretch."""
        return case.run()

    def close(self, case: HoldContestant) -> None:
        """Close the database."""
        case.db.close()

    def findings(self, table: Table) -> list[Finding]:
        """Judge by negatives that the engine counts, then by the clock."""
        clock = table.ratio(CLOCK, "hold", 0, 1, query=JOINED)
        taken = table.ratio(ABOVE, "hold", 0, 1, query=JOINED)
        price = table.ratio(CLOCK, "hold", 1, 0, query=ALONE)
        early = table.ratio(EARLY, "hold", 1, 0, query=ALONE)
        shown = [table.number(EMITTED, query=ALONE, hold=hold) for hold in (0, 1)]
        lost = 1 - shown[1] / shown[0]
        read = over_holds(table, READ, JOINED)
        rows = {name: over_holds(table, CHANGELOG, name) for name in (ALONE, JOINED)}
        edges = {name: over_holds(table, EVERYWHERE, name) for name in (ALONE, JOINED)}
        return [
            Finding(
                "To wait reduces the negative tuples that flow on from the negation: those that "
                "the join above it reads.",
                known(falls(read), halved(read)),
                f"{shares(read).capitalize()}.",
            ),
            Finding(
                "To wait reduces the negative rows of the changelog.",
                known(*map(falls, rows.values()), *map(halved, rows.values())),
                "; ".join(f"{name}: {shares(found)}" for name, found in rows.items())
                + f". With a hold of 1 s {lost:.0%} of the negation's results are never "
                f"emitted, and {early.value:.1%} as many are retracted before their tuples expire.",
            ),
            Finding(
                "To wait reduces the negative tuples of all operators together: no hold has more "
                "than there are without.",
                known(*(max(found.values()) <= found[0] for found in edges.values())),
                "; ".join(f"{name}: {shares(found)}" for name, found in edges.items())
                + ". The hold is an operator of its own, below which nothing is saved: what the "
                "negation retracts, and what expires, still reaches it.",
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


def over_holds(table: Table, name: str, query: str) -> dict[float, float]:
    """Return a measure of a query by the hold in seconds, ascending."""
    return {float(r.levels["hold"]): r.number(name) for r in table.where(query=query).rows}


def falls(found: dict[float, float]) -> bool:
    """Return whether no longer hold has more."""
    return bool((np.diff(list(found.values())) <= 0).all())


def halved(found: dict[float, float]) -> bool:
    """Return whether a long hold has at most half of what there is without."""
    return found[LONG] <= found[0] / 2


def shares(found: dict[float, float]) -> str:
    """State a measure without a hold, and by the hold what is left of it."""
    left = ", ".join(f"{n / found[0]:.1%} at {hold:g} s" for hold, n in found.items() if hold)
    return f"of {found[0]:,.0f} there are {left}"
