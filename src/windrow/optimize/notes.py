"""Why operators were chosen: what EXPLAIN shows of a node, and what is watched while it runs."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.optimize.choose_early import EarlyChoice
from windrow.optimize.choose_join import JoinChoice, explained, facts
from windrow.optimize.early_costs import EarlyConstants
from windrow.optimize.grouped_joins import GroupedJoin


@dataclass(frozen=True, slots=True)
class ChoiceNotes:
    """Explains what was chosen for a tree of joins, where nothing changes while it runs."""

    choice: JoinChoice

    def look(self, rows: int) -> None:
        """Nothing can be changed while it runs."""

    def notes(self) -> list[str]:
        """Return what, and why."""
        return explained(self.choice)

    def facts(self) -> dict[str, object]:
        """Return the same for other programs."""
        return facts(self.choice)

    def stats(self) -> dict[str, object]:
        """Return the algorithm: nothing is counted."""
        return {"algorithm": self.choice.algorithm}


@dataclass(frozen=True, slots=True)
class OrderNotes:
    """A join of many inputs whose orders follow what is alive, if it `adapts`.

    `streams` names the stream that each input reads.
    """

    choice: JoinChoice
    streams: tuple[str, ...]
    adapts: bool = True


@dataclass(frozen=True, slots=True)
class EarlyNote:
    """Explains why no early aggregation is considered."""

    reason: str

    def look(self, rows: int) -> None:
        """Nothing can be changed while it runs."""

    def notes(self) -> list[str]:
        """Return the reason."""
        return [f"early aggregation: none; {self.reason}"]

    def facts(self) -> dict[str, object]:
        """Return the same for other programs."""
        return {"early_aggregation": "none", "reason": self.reason, "placements": []}

    def stats(self) -> dict[str, object]:
        """Return nothing: there is nothing to count."""
        return {}


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
