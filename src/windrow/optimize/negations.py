"""Negations: whether they stand above joins or below them, and which edge leaves them.

Above, the join sees no negative tuples and the negation sees all results; below, the negation
sees fewer tuples, and the join must take its negative ones.

THESIS 3.5.2: if premature expirations are rare, results wait for their end in a calendar queue;
if most results end so, all may as well leave by negative tuples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.optimize.cost import EdgeKind, model_of, scans_of
from windrow.optimize.rewriting import columns_of_on, names_of, reads_relation
from windrow.optimize.rules import apply_rules
from windrow.optimize.statistics import Statistics
from windrow.plan.nodes import AntiJoin, Join, Plan, SemiJoin, inputs_of


def pull_negation_above_join(plan: Plan) -> Plan:
    """(L ▷ X) ⋈ R  ⇒  (L ⋈ R) ▷ X;  likewise L ⋈ (R ▷ X).

    The equation of `push_negation_below_join`, read from right to left: the negation reads only
    L, so asking later asks the same. The join then has no strict input, so no negative tuples.

    >>> from windrow.optimize.negations import push_negation_below_join
    >>> from windrow.optimize.showing import bound
    >>> plan = bound('''SELECT b.sku FROM bids AS b [NOW], asks AS a [NOW] WHERE a.sku = b.sku
    ...   AND NOT EXISTS (SELECT * FROM bans [NOW] WHERE bans.sku = b.sku)''').root
    >>> below = push_negation_below_join(plan.source)
    >>> type(below).__name__, type(below.left).__name__
    ('Join', 'AntiJoin')
    >>> pull_negation_above_join(below) == plan.source
    True
    """
    match plan:
        case Join(AntiJoin(left, other) as negation, right) if _apart(right, other):
            return replace(negation, left=replace(plan, left=left))
        case Join(left, AntiJoin(right, other) as negation) if _apart(left, other):
            return replace(negation, left=replace(plan, right=right))
        case _:
            return plan


def _apart(side: Plan, other: Plan) -> bool:
    """Return whether columns are still distinguished when the negation sees both sides."""
    return not names_of(side) & names_of(other)


def push_negation_below_join(plan: Plan) -> Plan:
    """(L ⋈ R) ▷ X  ⇒  (L ▷ X) ⋈ R,  if the negation reads only L; likewise R; likewise ⋉.

    Whether a result l∘r has a match in X depends on l alone, NOT IN's NULLs included; so it may
    be asked before l meets r. A negation does not move below a join with a relation: a negative
    tuple cannot undo a join with a row that has changed since [THESIS 3.5.3].

    >>> from windrow.optimize.showing import rewritten
    >>> text = '''SELECT b.sku FROM bids AS b [NOW], asks AS a [NOW] WHERE a.sku = b.sku
    ...   AND NOT EXISTS (SELECT * FROM bans [NOW] WHERE bans.sku = b.sku)'''
    >>> print(rewritten(text, push_negation_below_join))
    query
    └─ Project b.sku
       └─ Join on b.sku = a.sku
          ├─ AntiJoin on b.sku = bans.sku
          │  ├─ Window NOW
          │  │  └─ Stream bids AS b
          │  └─ Window NOW
          │     └─ Stream bans
          └─ Window NOW
             └─ Stream asks AS a
    """
    match plan:
        case AntiJoin(Join(left, right), _) if reads_relation(left) or reads_relation(right):
            return plan
        case AntiJoin(Join(left, right) as join, _) | SemiJoin(Join(left, right) as join, _):
            read = columns_of_on(plan.on) - names_of(plan.right)
            if read <= names_of(left):
                return replace(join, left=replace(plan, left=left))
            if read <= names_of(right):
                return replace(join, right=replace(plan, left=right))
            return plan
        case _:
            return plan


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
        return [f"negation: {self.edge} edge; {self.reason}", *placed]

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
