"""Why operators were chosen: what EXPLAIN shows of a node, and what is watched while it runs.

Each says in lines what was chosen, why, and what the alternatives that lost would cost (`notes`),
and the same for other programs (`facts`).
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.optimize.choose_early import EarlyChoice, explained, facts_of
from windrow.optimize.choose_join import JoinChoice
from windrow.optimize.choose_join import explained as explained_join
from windrow.optimize.choose_join import facts as facts_of_join
from windrow.optimize.early_costs import EarlyConstants
from windrow.optimize.early_grouping import early_calls, entry_columns
from windrow.optimize.grouped_joins import GroupedJoin
from windrow.optimize.negations import FormChoice
from windrow.plan.format import format_expr


@dataclass(frozen=True, slots=True)
class CostNotes:
    """One of two ways for some rows: which was taken and why, and what each would cost, if known.

    >>> choice = CostNotes("groups by k", "folded", "", (("as they are", 900.0), ("folded", 20.0)))
    >>> choice.notes()
    ['groups by k folded', '  rows a refresh: as they are 900, folded 20']
    """

    rows: str
    taken: str
    reason: str
    costs: tuple[tuple[str, float], ...] = ()
    unit: str = "rows a refresh"

    def notes(self) -> list[str]:
        """Return what became of the rows and why, then the costs."""
        costs = ", ".join(f"{way} {cost:,.0f}" for way, cost in self.costs)
        said = f"{self.rows} {self.taken}{': ' if self.reason else ''}{self.reason}"
        return [said, *([f"  {self.unit}: {costs}"] if costs else [])]

    def facts(self) -> dict[str, object]:
        """Return the same for other programs."""
        costs = {way: round(cost, 1) for way, cost in self.costs}
        known = {"costs": costs, "unit": self.unit} if costs else {}
        return {"rows": self.rows, "taken": self.taken, "reason": self.reason, **known}


@dataclass(frozen=True, slots=True)
class JoinNotes:
    """What was chosen for a tree of joins, where nothing changes while it runs."""

    choice: JoinChoice

    def notes(self) -> list[str]:
        """Return what, and why."""
        return explained_join(self.choice)

    def facts(self) -> dict[str, object]:
        """Return the same for other programs."""
        return facts_of_join(self.choice)

    def look(self, rows: int) -> None:
        """Nothing can be changed while it runs."""

    def stats(self) -> dict[str, object]:
        """Return the algorithm: nothing is counted."""
        return {"algorithm": self.choice.algorithm}


@dataclass(frozen=True, slots=True)
class OrderNotes(JoinNotes):
    """A join of many inputs whose orders follow what is alive, if it `adapts`.

    `streams` names the stream that each input reads.
    """

    streams: tuple[str, ...] = ()
    adapts: bool = True


@dataclass(frozen=True, slots=True)
class FormNotes:
    """Which edge leaves a negation, and where it was placed."""

    choice: FormChoice

    def notes(self) -> list[str]:
        """Return the edge, what decided, and the other place."""
        return self.choice.explained()

    def facts(self) -> dict[str, object]:
        """Return the same for other programs."""
        return self.choice.facts()


@dataclass(frozen=True, slots=True)
class EarlyNote:
    """Why no early aggregation is considered."""

    reason: str

    def notes(self) -> list[str]:
        """Return the reason."""
        return [f"early aggregation: none; {self.reason}"]

    def facts(self) -> dict[str, object]:
        """Return the same for other programs."""
        return {"early_aggregation": "none", "reason": self.reason, "placements": []}


@dataclass(frozen=True, slots=True)
class EarlyNotes:
    """A GROUP BY over joins: what was chosen for it, and what may be changed while it runs.

    `adapts`: whether what is alive is to be measured; `replans`: whether the placement may be
    changed. `slide`: the SLIDE by which its inputs are refreshed. `constants`: what costs go by, if
    not those of this machine. `refused`: why the placement stays, where that is not plain.
    """

    joined: GroupedJoin
    choice: EarlyChoice
    adapts: bool
    replans: bool
    slide: int | None
    constants: EarlyConstants | None
    refused: str

    def notes(self) -> list[str]:
        """Return what was chosen and why, what all placements cost, and what each rule gives."""
        stays = [f"stays as it is: {self.refused}"] if self.refused else []
        return explained(self.choice) + [f"  {line}" for line in (*self._rules(), *stays)]

    def _rules(self) -> list[str]:
        """Return the columns of each input's entries, and which calls are folded where."""
        if not any(self.choice.placement):
            return []
        lines = [
            f"entries of {n} by {', '.join(c) or 'nothing'}" for n, c in self._entries().items()
        ]
        calls = self._calls()
        folded = [f"{call} in {at}" for call, at in calls if at is not None]
        late = [call for call, at in calls if at is None]
        lines += [f"folded before the join: {', '.join(folded)}"] if folded else []
        return lines + ([f"folded after it: {', '.join(late)}"] if late else [])

    def _calls(self) -> list[tuple[str, str | None]]:
        """Return each call with the input that it is folded in, if it is before the join."""
        names, calls = self.joined.names, self.joined.calls
        early = early_calls(self.joined, self.choice.placement)
        return [
            (c.output, None if at is None else names[at])
            for c, at in zip(calls, early, strict=True)
        ]

    def _entries(self) -> dict[str, list[str]]:
        early = early_calls(self.joined, self.choice.placement)
        return {
            name: [format_expr(e) for e in entry_columns(self.joined, early, i).all]
            for i, name in enumerate(self.joined.names)
        }

    def facts(self) -> dict[str, object]:
        """Return the same for other programs."""
        folded = [{"call": call, "early": at} for call, at in self._calls()]
        return {**facts_of(self.choice), "entries": self._entries(), "calls": folded}
