"""Whether negations stand above joins or below them: the cheaper plan [THESIS 3.5.3].

Above, the join sees no negative tuples and the negation sees all results; below, the negation
sees fewer tuples, and the join must take its negative ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.optimize.cost import model_of, scans_of
from windrow.optimize.pull_negation_above_join import pull_negation_above_join
from windrow.optimize.push_negation_below_join import push_negation_below_join
from windrow.optimize.rules import apply_rules
from windrow.optimize.statistics import Statistics
from windrow.plan.nodes import AntiJoin, Plan, inputs_of


@dataclass(frozen=True, slots=True)
class NegationPlace:
    """Where the negation of some streams was placed, and what the other place would cost."""

    negated: frozenset[str]
    text: str

    def is_of(self, plan: AntiJoin) -> bool:
        """Return whether a negation is the one that was placed."""
        return self.negated == _aliases(plan.right)


def place_negations(plan: Plan, statistics: Statistics) -> tuple[Plan, tuple[NegationPlace, ...]]:
    """Return the cheapest of the plan, it with negations pulled up, and with them pushed down."""
    above = apply_rules(plan, (pull_negation_above_join,))
    below = apply_rules(plan, (_push_negation,))
    if above == below:
        return plan, ()
    model = model_of(plan, statistics)
    costs = model.total(above), model.total(below)
    is_above = costs[0] <= costs[1]
    least = min(costs)
    ratio = max(costs) / least if least else 1.0
    place, lost = ("above", "below") if is_above else ("below", "above")
    text = f"{place} the join by cost, {lost} costs {ratio:.2f} times"
    return (above if is_above else below), tuple(
        NegationPlace(_aliases(n.right), text) for n in _moved(above, below)
    )


def _push_negation(plan: Plan) -> Plan:
    """Push ▷ only: where ⋉ stands makes no edge strict."""
    return push_negation_below_join(plan) if isinstance(plan, AntiJoin) else plan


def _aliases(plan: Plan) -> frozenset[str]:
    return frozenset(scan.alias for scan in scans_of(plan))


def _moved(above: Plan, below: Plan) -> list[AntiJoin]:
    """Return the negations that stand elsewhere in the other plan."""
    stay = _negations(below)
    return [n for n in _negations(above) if n not in stay]


def _negations(plan: Plan) -> list[AntiJoin]:
    own = [plan] if isinstance(plan, AntiJoin) else []
    return own + [n for below in inputs_of(plan) for n in _negations(below)]
