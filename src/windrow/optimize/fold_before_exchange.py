"""Groups that many shards have rows of are folded by each before rows change shards.

    γ[k; COUNT(*), SUM(x)] (✂ by k (R))
      ⇒  γ[k; Σ weight, Σ p] (✂ by k (Δγ[k; p] (R)))

Δγ gives, of all that comes and goes in R at one instant, one row a group: how many tuples it gains,
and what they add to each call (`operators/aggregate/contributions.py`). A call that adds up may be
added up in any order and in any parts; doubles too, whose sums are exact here.

    level 1      γ: adds up
                   │ exchange by k: a row a group, shard and instant
    level 0      Δγ ◄ R

Not so MIN, MAX and quantiles, which need values that stay; DISTINCT, which needs all of them; nor
aggregates of the user's own. Under SLIDE all that happens between two refreshes is one instant.
Without, an instant has few rows of a group, each of which would cross once when it comes and once
when it goes; as they are they cross once, with their ends. Where inputs of the join below are
aggregated before it, there are no such rows: what it gives is folded, whenever it can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import exp

from windrow.core.types import is_decimal
from windrow.optimize.choose_partials import declared_statistics
from windrow.optimize.cost import model_of, scans_of
from windrow.optimize.grouped_joins import GroupedJoin, grouped_join
from windrow.optimize.notes import CostNotes
from windrow.optimize.place_exchanges import is_leaf
from windrow.optimize.rewriting import slide_below
from windrow.optimize.statistics import Statistics
from windrow.plan.nodes import (
    Aggregate,
    AggregateCall,
    Exchange,
    Filter,
    Plan,
    Project,
    Route,
    inputs_of,
)
from windrow.plan.rebuilding import with_inputs

WIDEST = 18
"""Digits of decimals whose sums are kept in 128 bits."""


@dataclass(frozen=True, slots=True)
class Folding:
    """What `SET partials` says, and on how many shards."""

    mode: str = "off"
    shards: int = 2


OFF = Folding()

NO_SLIDE = "without SLIDE an instant has few rows of a group"
"""Why results of a join are not folded."""


@dataclass(frozen=True, slots=True)
class FoldedPlan:
    """A plan with groups folded before exchanges, and of each that could be, whether and why.

    `moved`: joins, by their keys, whose results cross as they are unless inputs of them are
    aggregated early.
    """

    root: Plan
    choices: tuple[CostNotes, ...]
    moved: frozenset[str] = frozenset()


IsEarly = Callable[[GroupedJoin], bool]
"""Returns whether inputs of a join are aggregated before it."""


def fold_before_exchange(root: Plan, folding: Folding, early: IsEarly | None = None) -> FoldedPlan:
    """Return the plan with groups folded before exchanges; without `early`, no join is.

    Only second exchanges: what enters a shard has met nothing to be folded by.
    """
    walk = _FoldWalk(folding, early or (lambda _: False), [], set())
    return FoldedPlan(walk.over(root, None), tuple(walk.choices), frozenset(walk.moved))


@dataclass(frozen=True, slots=True)
class _FoldWalk:
    """A walk down a plan with the SLIDE that changes are held by."""

    folding: Folding
    early: IsEarly
    choices: list[CostNotes]
    moved: set[str]

    def over(self, plan: Plan, slide: int | None) -> Plan:
        """Return the node with groups below it folded."""
        if isinstance(plan, Aggregate):
            plan = self._aggregate(plan, slide)
        below, slide = inputs_of(plan), slide_below(plan, slide)
        made = tuple(self.over(node, slide) for node in below)
        return plan if made == below else with_inputs(plan, made)

    def _aggregate(self, plan: Aggregate, slide: int | None) -> Aggregate:
        below = sunk(plan.source)
        if below is None:
            return plan
        groups = f"groups by {', '.join(k.name for k in plan.keys)}" if plan.keys else "the group"
        joined = grouped_join(replace(plan, source=below), versions=True, slide=slide)
        early = joined is not None and self.early(joined)
        reason = _why_not_applicable(plan, self.folding)
        loss, costs = _why_not_worthwhile(plan, below, slide, self.folding)
        if joined is not None and loss is not None and reason is None:
            self.moved.add(joined.key)
        if reason is not None or (loss is not None and not early):
            why = reason or loss or ""
            self.choices.append(CostNotes(groups, "not folded before the exchange", why, costs))
            return plan
        taken = "folded before the exchange, a row a shard and instant"
        self.choices.append(CostNotes(groups, taken, "", costs))
        keys = tuple(k.expr for k in plan.keys)
        crossing = Exchange(below, Route.KEY if keys else Route.ONE, keys, folds=True)
        return replace(plan, source=crossing)


def sunk(plan: Plan) -> Plan | None:
    """Return an input without its exchange, above which were only σ and π; None without one.

    One of a key that π hides is followed by another: neither is of use to Δγ.
    """
    match plan:
        case Exchange(source=source):
            return None if is_leaf(source) else sunk(source) or source
        case Filter(source=source) | Project(source=source):
            below = sunk(source)
            return None if below is None else with_inputs(plan, (below,))
        case _:
            return None


def _why_not_applicable(plan: Aggregate, folding: Folding) -> str | None:
    """Return why groups cannot be folded, or must not be; None if they can."""
    needing = (reason for call in plan.calls if (reason := refusal(call)) is not None)
    return next(needing, "partials is off" if folding.mode == "off" else None)


Costs = tuple[tuple[str, float], ...]
"""Of each way, how many rows change shards."""


def _why_not_worthwhile(
    plan: Aggregate, source: Plan, slide: int | None, folding: Folding
) -> tuple[str | None, Costs]:
    """Return why folding all results of a join would not pay, None if it would; and the costs."""
    if slide is None:
        return None if folding.mode == "on" else NO_SLIDE, ()
    costs = _crossing(plan, source, slide, folding.shards)
    if folding.mode == "on" or costs is None:
        return None, costs or ()
    (_, whole), (_, folded) = costs
    if folded < whole:
        return None, costs
    return "so many groups are expected that folding would spare nothing", costs


def refusal(call: AggregateCall) -> str | None:
    """Return why a call cannot be added up; None if it can."""
    name = call.name.upper()
    if call.name not in {"count", "sum", "avg"}:
        return f"{name} needs the values"
    if call.distinct:
        return f"{name}(DISTINCT ...) needs the values"
    if call.name == "sum" and is_decimal(call.args[0].type):
        digits = call.args[0].type.precision
        return f"sums of {digits} digits are not kept in 128 bits" if digits > WIDEST else None
    return None


def _crossing(plan: Aggregate, source: Plan, slide: int, shards: int) -> Costs | None:
    """Return how many rows a refresh would cross, by what streams declare; None if nobody knows."""
    known = _declared(source)
    if known is None:
        return None
    born = model_of(source, known).estimate(source).rate * slide
    groups = known.keys if plan.keys else 1.0
    folded = shards * groups * (1 - exp(-2 * born / (shards * groups)))
    return ("as they are", born), ("folded", folded)


def _declared(plan: Plan) -> Statistics | None:
    """Return what all streams of a plan declare; None if any declares nothing."""
    found = [declared_statistics(scan.stream) for scan in scans_of(plan)]
    if not found or any(known is None for known in found):
        return None
    return _joined(known for known in found if known is not None)


def _joined(found: Iterable[Statistics]) -> Statistics:
    every = tuple(found)
    rates = {name: rate for known in every for name, rate in known.rates.items()}
    return Statistics(rates, max(known.keys for known in every))
