"""Which expirations a negation emits as negative tuples: all, or only the early ones.

THESIS 3.5.2: if premature expirations are rare, results wait for their end in a calendar queue;
if most results end so, all may as well leave by negative tuples.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.optimize.cost import EdgeKind, model_of
from windrow.optimize.statistics import Statistics
from windrow.plan.nodes import AntiJoin

RARE = 0.25
"""Early ends are rare, for `upa`, if at most this share of a negation's results has one."""


@dataclass(frozen=True, slots=True)
class FormChoice:
    """The form taken, and why: expected share of early ends, costs of both forms."""

    partly_signed: bool
    early: float
    partly_signed_cost: float
    signed_cost: float
    by_cost: bool
    placed: str = ""

    @property
    def edge(self) -> str:
        """The edge that leaves the negation."""
        return "partly signed" if self.partly_signed else "signed"

    @property
    def reason(self) -> str:
        """Why it is that edge."""
        early = f"{self.early:.0%} of results expected to end early"
        if not self.by_cost:
            return f"partly signed if rare: {early}, {'' if self.partly_signed else 'not '}rare"
        least = min(self.partly_signed_cost, self.signed_cost)
        ratio = max(self.partly_signed_cost, self.signed_cost) / least if least else 1.0
        lost = "signed" if self.partly_signed else "partly signed"
        return f"by cost: {early}, {lost} costs {ratio:.2f} times"

    def explained(self) -> list[str]:
        """Return in lines which edge was taken, why, and where the negation stands."""
        placed = [f"  placed {self.placed}"] if self.placed else []
        return [f"{self.edge} edge; {self.reason}", *placed]

    def facts(self) -> dict[str, object]:
        """Return the same for other programs."""
        costs = {"partly signed": self.partly_signed_cost, "signed": self.signed_cost}
        return {
            "edge": self.edge,
            "reason": self.reason,
            "early_ends": round(self.early, 4),
            "costs": {edge: round(cost, 3) for edge, cost in costs.items()},
            **({"placed": self.placed} if self.placed else {}),
        }


def choose_form(plan: AntiJoin, statistics: Statistics, *, by_cost: bool) -> FormChoice:
    """Return the form of a negation by keys whose left input is unsigned."""
    estimates = {e.edge_kind: e for e in model_of(plan, statistics).negations(plan)}
    signed = estimates[EdgeKind.SIGNED]
    partly_signed = estimates.get(EdgeKind.PARTLY_SIGNED, signed)
    costs = partly_signed.signed().cost, signed.cost
    taken = costs[0] <= costs[1] if by_cost else signed.early <= RARE
    return FormChoice(taken, signed.early, *costs, by_cost=by_cost)
