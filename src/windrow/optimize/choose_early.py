"""Which inputs of an aggregation join to aggregate before they are joined [AGGJOIN 6.3].

All 2^m placements are costed by what windrow's operators do (`early_costs.py`). No early
aggregation at all is the join with a GROUP BY over it. Estimates are not exact: an early
aggregation is taken where it is clearly cheaper, and of two that are alike the one with fewer.

    >>> from windrow.optimize.early_costs import EarlyInput, two_inputs
    >>> g1, g2 = EarlyInput("a", entries=1_500, groups=150), EarlyInput("b", entries=10, calls=1)
    >>> facts = two_inputs((g1, 300, 5_000), (g2, 300, 5_000), share=0.1)
    >>> choose_early(facts, DEFAULTS).early_aggregation
    '{a,b}'
    >>> g1, g2 = EarlyInput("a", entries=50_000, groups=50_000), EarlyInput("b", 50_000, 50_000, 1)
    >>> facts = two_inputs((g1, 300, 5_000), (g2, 300, 5_000), share=1e-5)
    >>> choose_early(facts, DEFAULTS).early_aggregation
    'none'
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from windrow.optimize.calibration import here
from windrow.optimize.early_costs import (
    DEFAULTS,
    EarlyConstants,
    EarlyFacts,
    EarlyInput,
    contributions,
    emitting,
    joining,
    moving,
    nanoseconds,
)
from windrow.optimize.early_grouping import Placement

__all__ = [
    "DEFAULTS",
    "EarlyChoice",
    "EarlyConstants",
    "EarlyFacts",
    "EarlyInput",
    "Placed",
    "choose_early",
    "explained",
    "facts_of",
    "named",
]

CLEARLY = 1.1
"""How many times as much no early aggregation must cost for one to be taken."""
ALIKE = 1.03
"""Placements within this factor are alike: the one with fewer aggregation sets is taken."""
SHOWN = 64
"""Placements that EXPLAIN lists, all of up to six inputs; of more, the cheapest."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A placement, what it costs a unit of time, and how many contributions it has."""

    placement: Placement
    cost: float
    contributions: float


@dataclass(frozen=True, slots=True)
class EarlyChoice:
    """The placement that is taken, all that can be, cheapest first, and the reason in words."""

    placement: Placement
    placed: tuple[Placed, ...]
    reason: str
    facts: EarlyFacts

    @property
    def early_aggregation(self) -> str:
        """The placement as `SET early_aggregation` takes it."""
        return named(self.placement, self.facts.names)

    @property
    def costs(self) -> dict[Placement, float]:
        """What each placement costs."""
        return {p.placement: p.cost for p in self.placed}


def choose_early(facts: EarlyFacts, constants: EarlyConstants | None = None) -> EarlyChoice:
    """Return the cheapest placement, or none where that is not clearly dearer.

    Without constants, those of this machine count.
    """
    constants = constants or here().early
    placed = tuple(sorted(_placed(facts, constants), key=lambda p: (p.cost, sum(p.placement))))
    none = next(p for p in placed if not any(p.placement))
    near = [p for p in placed if p.cost <= placed[0].cost * ALIKE]
    best = min(near, key=lambda p: (sum(p.placement), p.cost))
    if none.cost <= best.cost * CLEARLY:  # both are 0 where nothing is expected to arrive
        return EarlyChoice(none.placement, placed, _kept_late(facts, none, best), facts)
    times = f"joining first costs {none.cost / best.cost:.3g} times"
    return EarlyChoice(best.placement, placed, f"by cost: {times}", facts)


def _placed(facts: EarlyFacts, constants: EarlyConstants) -> list[Placed]:
    ways = product(*((False,) if i.not_early else (False, True) for i in facts.inputs))
    emitted = nanoseconds(emitting(facts), constants)
    works = ((way, joining(facts, way), emitted + moving(facts, way)) for way in ways)
    return [
        Placed(way, rest + nanoseconds(done, constants), contributions(done))
        for way, done, rest in works
    ]


def _kept_late(facts: EarlyFacts, none: Placed, best: Placed) -> str:
    if not any(best.placement):
        not_early = all(i.not_early for i in facts.inputs)
        return "no input can be aggregated early" if not_early else "by cost: nothing is cheaper"
    name = named(best.placement, facts.names)
    return f"by cost: {name} would save too little, {1 - best.cost / none.cost:.0%}"


def named(placement: Placement, names: tuple[str, ...]) -> str:
    """Return a placement as `SET early_aggregation` takes it.

    >>> named((True, False), ("a", "b")), named((False, False), ("a", "b"))
    ('{a}', 'none')
    """
    taken = [name for name, early in zip(names, placement, strict=True) if early]
    return "{" + ",".join(taken) + "}" if taken else "none"


def explained(choice: EarlyChoice) -> list[str]:
    """Return in lines what was chosen and why, and what each placement costs."""
    facts = choice.facts
    lines = [f"early aggregation: {choice.early_aggregation}; {choice.reason}"]
    for given, rows in zip(facts.inputs, facts.graph.inputs, strict=True):
        line = f"{given.name}: {rows.size:,.0f} rows alive, {given.entries:,.0f} entries if early"
        line += f", {given.groups:,.0f} groups" if given.groups > 1 else ""
        lines.append(f"  {line}" + (f"; not early: {given.not_early}" if given.not_early else ""))
    taken = [p for p in choice.placed if p.placement == choice.placement]
    for p in dict.fromkeys((*choice.placed[:SHOWN], *taken)):
        mark = "►" if p.placement == choice.placement else " "
        lines.append(f"  {mark} {_line(choice, p)}")
    left = len(choice.placed) - SHOWN
    return lines + ([f"    and {left} dearer ones"] if left > 0 else [])


def _line(choice: EarlyChoice, placed: Placed) -> str:
    tuples = sum(i.rate for i in choice.facts.graph.inputs) or 1.0
    name = named(placed.placement, choice.facts.names)
    each, met = placed.cost / tuples, placed.contributions / tuples
    return f"{name}: {each:,.0f} ns a tuple, {met:,.3g} contributions"


def facts_of(choice: EarlyChoice) -> dict[str, object]:
    """Return the same for other programs."""
    names = choice.facts.names
    tuples = sum(i.rate for i in choice.facts.graph.inputs) or 1.0
    return {
        "early_aggregation": choice.early_aggregation,
        "reason": choice.reason,
        "inputs": [
            {
                "name": i.name,
                "rows": round(g.size, 1),
                "entries": round(i.entries, 1),
                "groups": round(i.groups, 1),
                **({"not_early": i.not_early} if i.not_early else {}),
            }
            for i, g in zip(choice.facts.inputs, choice.facts.graph.inputs, strict=True)
        ],
        "placements": [
            {
                "early_aggregation": named(p.placement, names),
                "ns_a_tuple": round(p.cost / tuples, 1),
                "contributions_a_tuple": round(p.contributions / tuples, 3),
            }
            for p in choice.placed
        ],
    }
