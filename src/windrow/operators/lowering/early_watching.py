"""GROUP BY over joins while it runs: what EXPLAIN tells of it, and whether to look at it anew.

Another placement needs another plan, so a watch only says when it is time to measure; whoever runs
the query does, and hands its state over (`runtime/local/early.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from windrow.operators.interner import Interner
from windrow.optimize.choose_early import EarlyChoice, EarlyFacts, choose_early, explained, facts_of
from windrow.optimize.early_calls import Foldable, early_calls
from windrow.optimize.early_grouping import entry_columns
from windrow.optimize.grouped_joins import GroupedJoin
from windrow.plan.format import format_expr

FIRST_LOOK, LOOK_MOST = 4_096, 1 << 22
"""Tuples before the first look, and between two at most: each waits twice as long as the last."""

CLEARLY_CHEAPER = 1.15
"""How many times the best placement's cost the one that runs must have for it to be changed."""


@dataclass(slots=True)
class EarlyWatch:
    """Counts the tuples of a GROUP BY over joins, and tells what was chosen for it.

    `adapts`: whether what is alive is to be measured; `replans`: whether the placement may be
    changed while it runs. `slide`: the SLIDE by which its inputs are refreshed. `due`: whether it
    is time to measure. The waits double, and go on after a change where they were, so that a choice
    that wavers costs less and less.
    """

    joined: GroupedJoin
    choice: EarlyChoice
    foldable: Foldable
    interner: Interner
    adapts: bool = False
    replans: bool = False
    slide: int | None = None
    wait: int = field(default_factory=lambda: FIRST_LOOK)
    changed: int = 0
    due: bool = False
    refused: str = ""
    seen: int = field(default=0, init=False)

    @property
    def key(self) -> str:
        """What the join is called among those of its query."""
        return ",".join(self.joined.names)

    def look(self, rows: int) -> None:
        """Note that tuples have come."""
        self.seen += rows
        self.due = self.adapts and self.seen >= self.wait

    def looked(self, facts: EarlyFacts | None) -> EarlyChoice | None:
        """Take over what was measured; return a choice that is clearly cheaper, if there is one."""
        self.due, self.seen = False, 0
        self.wait = min(2 * self.wait, LOOK_MOST)
        if facts is None:
            return None
        best = choose_early(facts)
        self.choice = replace(best, placement=self.choice.placement, reason=self.choice.reason)
        costs = best.costs
        clearly = costs[self.choice.placement] > CLEARLY_CHEAPER * costs[best.placement]
        return best if clearly and self.replans else None

    def stays(self, reason: str) -> None:
        """Note that the state of this plan cannot be handed over to another placement."""
        self.replans, self.refused = False, reason

    def fails(self, reason: str) -> None:
        """Note that looking for another placement went wrong: it is not tried again."""
        self.stays(reason)
        self.adapts = self.due = False

    def go_on_from(self, old: EarlyWatch) -> None:
        """Go on from the watch of another plan of the query."""
        self.wait, self.changed = old.wait, old.changed + (self.choice.told != old.choice.told)
        self.choice = replace(
            old.choice, placement=self.choice.placement, reason=self.choice.reason
        )

    def notes(self) -> list[str]:
        """Return what was chosen and why, what all placements cost, and what each rule gives."""
        lines = self._rules()
        if self.changed:
            lines.append(f"changed {self.changed} times while it ran")
        if self.refused:
            lines.append(f"stays as it is: {self.refused}")
        return explained(self.choice) + [f"  {line}" for line in lines]

    def _rules(self) -> list[str]:
        """Return the columns of each input's entries, and which calls are folded where."""
        if not any(self.choice.placement):
            return []
        names, calls = self.joined.names, self.joined.calls
        early = early_calls(self.joined, self.choice.placement, self.foldable)
        lines = [
            f"entries of {n} by {', '.join(c) or 'nothing'}" for n, c in self._entries().items()
        ]
        folded = [
            f"{c.output} in {names[at]}"
            for c, at in zip(calls, early, strict=True)
            if at is not None
        ]
        late = [c.output for c, at in zip(calls, early, strict=True) if at is None]
        lines += [f"folded before the join: {', '.join(folded)}"] if folded else []
        return lines + ([f"folded after it: {', '.join(late)}"] if late else [])

    def _entries(self) -> dict[str, list[str]]:
        early = early_calls(self.joined, self.choice.placement, self.foldable)
        return {
            name: [format_expr(e) for e in entry_columns(self.joined, early, i).all]
            for i, name in enumerate(self.joined.names)
        }

    def facts(self) -> dict[str, object]:
        """Return the same for other programs."""
        early = early_calls(self.joined, self.choice.placement, self.foldable)
        folded = [
            {"call": c.output, "early": None if at is None else self.joined.names[at]}
            for c, at in zip(self.joined.calls, early, strict=True)
        ]
        return {**facts_of(self.choice), "entries": self._entries(), "calls": folded}

    def stats(self) -> dict[str, object]:
        """Return the placement, how often it has changed, and why it does not any more."""
        told = {"early_aggregation": self.choice.told, "placements_changed": self.changed}
        return told | ({"placement_stays": self.refused} if self.refused else {})
