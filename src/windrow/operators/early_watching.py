"""GROUP BY over joins while it runs: what EXPLAIN shows of it, and whether to look at it anew.

Another placement needs another plan, so a watch only says when it is time to measure; whoever runs
the query does, and hands its state over (`early_measures.py`, and `early.py` or `following.py` of
the runtime).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from windrow.operators.interner import Interner
from windrow.operators.task import Task
from windrow.optimize.choose_early import (
    EarlyChoice,
    EarlyConstants,
    EarlyFacts,
    choose_early,
)
from windrow.optimize.grouped_joins import GroupedJoin
from windrow.optimize.notes import EarlyNotes

FIRST_LOOK = 4_096
"""Work before the first look, in tuples; each waits twice as long as the last, within bounds."""

CONTENTS, LEAST, UNKNOWN = 16, 1 << 17, 1 << 22
"""Work between two looks at most: so many times the rows alive, so that a change of the streams is
answered within as many windows. With small windows `LEAST` for two inputs, and twice that for each
one more, of which there are twice as many placements; `UNKNOWN` if nobody has the rows.

In a running query a look takes 2 ms for two inputs, 4 for three, 7 for four, 28 for six, and with
large windows 60 to 150 ns for each row alive. Looks measured 1 % of the time or less: windows of 10
to 100,000 instants, 2 to 6 inputs, tuples that take from 0.6 to 2.5 µs.
"""

IDLE, ROWS = 4, 32
"""While the join is grouped late, how many tuples, or results of it that come or go, are as much
work as a tuple that is aggregated early. Without results no early aggregation could pay: looks wait
for these, and come sooner the more there are."""

PATIENT = 4
"""How many times as long waits become, at most, while the choice wavers."""

CLEARLY_CHEAPER = 1.1
"""How many times the best placement's cost the one that runs must have for it to be changed."""


@dataclass(slots=True)
class EarlyWatch:
    """Counts the tuples of a GROUP BY over joins, and explains what was chosen for it.

    `adapts`: whether what is alive is to be measured; `replans`: whether the placement may be
    changed while it runs. `slide`: the SLIDE by which its inputs are refreshed. `feeds`: the tasks
    that give its inputs, which count their tuples; relations have none. `due`: whether it is time
    to measure.
    `constants`: what costs go by, if not those of this machine.
    `wavers`: how many looks in a row have found another placement better. From the second on waits
    may be twice as long each, up to `PATIENT` times, so that a choice that wavers costs less.
    """

    joined: GroupedJoin
    choice: EarlyChoice
    interner: Interner
    adapts: bool = False
    replans: bool = False
    slide: int | None = None
    feeds: tuple[Task, ...] = ()
    constants: EarlyConstants | None = None
    wait: int = field(default_factory=lambda: FIRST_LOOK)
    wavers: int = 0
    changed: int = 0
    due: bool = False
    refused: str = ""
    seen: float = field(default=0.0, init=False)
    _counted: int = field(default=0, init=False)

    @classmethod
    def of(cls, notes: EarlyNotes, interner: Interner, feeds: tuple[Task, ...]) -> EarlyWatch:
        """Return a fresh watch of what a plan says."""
        return cls(
            notes.joined,
            notes.choice,
            interner,
            adapts=notes.adapts,
            replans=notes.replans,
            slide=notes.slide,
            feeds=feeds,
            constants=notes.constants,
            refused=notes.refused,
        )

    @property
    def key(self) -> str:
        """What the join is called among those of its query."""
        return self.joined.key

    def look(self, rows: int) -> None:
        """Note that rows have come to the operator, and tuples to its inputs."""
        before, self._counted = self._counted, self._tuples()
        tuples = self._counted - before if self.feeds else rows
        self.seen += self.work(tuples, rows)
        self.due = self.adapts and self.seen >= self.wait

    def work(self, tuples: float, rows: float) -> float:
        """Return how much nearer a look is after tuples, and rows of theirs at the operator."""
        return tuples if any(self.choice.placement) else tuples / IDLE + rows / ROWS

    def _tuples(self) -> int:
        return sum(t.counters.tuples_out - t.counters.negatives_out for t in self.feeds)

    def looked(self, facts: EarlyFacts | None) -> EarlyChoice | None:
        """Take over what was measured; return a choice that is clearly cheaper, if there is one."""
        self.due, self.seen = False, 0.0
        better = None if facts is None else self._better(facts)
        self.wavers = 0 if better is None else self.wavers + 1
        self.wait = min(2 * self.wait, self.longest(facts))
        return better

    def _better(self, facts: EarlyFacts) -> EarlyChoice | None:
        best = choose_early(facts, self.constants)
        self.choice = replace(best, placement=self.choice.placement, reason=self.choice.reason)
        costs = best.costs
        clearly = costs[self.choice.placement] > CLEARLY_CHEAPER * costs[best.placement]
        return best if clearly and self.replans else None

    def longest(self, facts: EarlyFacts | None) -> int:
        """Return how long to wait at most, for what is alive."""
        if facts is None:
            return UNKNOWN
        inputs = facts.graph.inputs
        least = LEAST << max(0, len(inputs) - 2)
        longest = max(least, CONTENTS * int(sum(i.size for i in inputs)))
        return longest * min(PATIENT, 1 << max(0, self.wavers - 1))

    def stays(self, reason: str) -> None:
        """Note that the state of this plan cannot be handed over to another placement."""
        self.replans, self.refused = False, reason

    def fails(self, reason: str) -> None:
        """Note that looking for another placement went wrong: it is not tried again."""
        self.stays(reason)
        self.adapts = self.due = False

    def go_on_from(self, old: EarlyWatch) -> None:
        """Go on from the watch of another plan of the query."""
        other = self.choice.early_aggregation != old.choice.early_aggregation
        self.load(old.save())
        self.changed += other
        self.choice = replace(
            old.choice, placement=self.choice.placement, reason=self.choice.reason
        )

    def save(self) -> list[float]:
        """Return what looks to come depend on, besides what is alive then."""
        return [self.wait, self.seen, self.wavers, self.changed]

    def load(self, saved: list[float]) -> None:
        """Go on from a saved state: the same tuples lead to the same looks."""
        wait, self.seen, wavers, changed = saved
        self.wait, self.wavers, self.changed = int(wait), int(wavers), int(changed)
        self._counted = self._tuples()

    def current(self) -> EarlyNotes:
        """Return what is known of the choice by now."""
        return EarlyNotes(
            self.joined,
            self.choice,
            self.adapts,
            self.replans,
            self.slide,
            self.constants,
            self.refused,
        )

    def notes(self) -> list[str]:
        """Return the choice by now, and how often it has changed."""
        changed = [f"  changed {self.changed} times while it ran"] if self.changed else []
        return self.current().notes() + changed

    def facts(self) -> dict[str, object]:
        """Return the choice by now, for other programs."""
        return self.current().facts()

    def stats(self) -> dict[str, object]:
        """Return the placement, how often it has changed, and why it does not any more."""
        shown = {
            "early_aggregation": self.choice.early_aggregation,
            "placements_changed": self.changed,
        }
        return shown | ({"placement_stays": self.refused} if self.refused else {})
