"""How a negation tells departures: all by negative tuples, or only the early ones.

THESIS 3.5.2: if premature expirations are rare, results wait for their end in a calendar queue;
if most results end so, all may as well leave by negative tuples.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.optimize.cost import Sort, model_of
from windrow.optimize.statistics import Statistics
from windrow.plan.nodes import AntiJoin

RARE = 0.25
"""Early ends are rare, for `upa`, if at most this share of a negation's results has one."""


@dataclass(frozen=True, slots=True)
class FormChoice:
    """The form taken, and why: expected share of early ends, costs of both forms."""

    mixed: bool
    early: float
    mixed_cost: float
    signed_cost: float
    by_cost: bool
    placed: str = ""

    @property
    def shown(self) -> str:
        """What EXPLAIN adds to the structure: the form; after "; ", the reason."""
        form = ", natural ends by timestamp" if self.mixed else ""
        early = f"{self.early:.0%} of results expected to end early"
        if not self.by_cost:
            rare = "rare" if self.mixed else "not rare"
            return f"{form}; mixed edge if rare: {early}, {rare}"
        least = min(self.mixed_cost, self.signed_cost)
        ratio = max(self.mixed_cost, self.signed_cost) / least if least else 1.0
        taken, lost = ("mixed", "signed") if self.mixed else ("signed", "mixed")
        placed = f"; {self.placed}" if self.placed else ""
        return f"{form}; {taken} edge by cost: {early}, {lost} costs {ratio:.2f} times{placed}"


def choose_form(plan: AntiJoin, statistics: Statistics, *, by_cost: bool) -> FormChoice:
    """Return the form of a negation by keys whose left input is predicted."""
    estimates = {e.sort: e for e in model_of(plan, statistics).negations(plan)}
    signed = estimates[Sort.SIGNED]
    mixed = estimates.get(Sort.MIXED, signed)
    costs = mixed.signed().cost, signed.cost
    taken = costs[0] <= costs[1] if by_cost else signed.early <= RARE
    return FormChoice(taken, signed.early, *costs, by_cost=by_cost)
