"""Early aggregation on shards: chosen before a run begins, by what streams declare to expect."""

from __future__ import annotations

from dataclasses import replace

from windrow.optimize.choose_early import EarlyChoice, EarlyFacts, choose_early
from windrow.optimize.choose_partials import MOVED, RATE, declared_statistics
from windrow.optimize.context import Early
from windrow.optimize.cost import scans_of
from windrow.optimize.early_costs import EarlyConstants, Moved
from windrow.optimize.early_estimates import AUTO, asked_placement
from windrow.optimize.fold_before_exchange import sunk
from windrow.optimize.grouped_joins import GroupedJoin
from windrow.optimize.place_exchanges import is_leaf
from windrow.optimize.preaggregate_joins import copies_of
from windrow.plan.nodes import Aggregate, Exchange, Plan, nodes_of

BEGUN = "it was when the checkpoint was begun"
APART = "results change shards before they are grouped, and are not folded before"


def facts_on_shards(joined: GroupedJoin, facts: EarlyFacts, early: Early) -> EarlyFacts:
    """Return the facts with what it takes to move results, where joining first would move them."""
    if joined.key not in early.moved:
        return facts
    return replace(facts, moved=Moved(MOVED, early.shards))


def chosen_on_shards(
    joined: GroupedJoin, facts: EarlyFacts, asked: str, constants: EarlyConstants | None
) -> EarlyChoice:
    """Return the placement that is to be taken again, or under `auto` the one to begin with.

    Sizes that nobody declares may be any: then nothing is aggregated early.
    """
    best = choose_early(facts, constants)
    if (unknown := _undeclared(joined)) is not None:
        none = (False,) * len(joined.names)
        best = replace(best, placement=none, reason=unknown)
    if asked in (AUTO, best.early_aggregation):
        return best
    return replace(best, placement=asked_placement(joined, asked), reason=BEGUN)


def results_apart(plan: Aggregate) -> Aggregate | None:
    """Return an aggregate without the exchange below it; None if there is none, or it folds."""
    below = None if _folds(plan.source) else sunk(plan.source)
    return None if below is None else replace(plan, source=below)


def _folds(plan: Plan) -> bool:
    return isinstance(plan, Exchange) and plan.folds


def follows(joined: GroupedJoin) -> bool:
    """Return whether a shard can count the tuples of all inputs, and keeps them one by one.

    Not so of rows that were merged, or that come from other shards.
    """
    below = [node for plan in joined.flat.inputs for node in nodes_of(plan)]
    brought = any(isinstance(n, Exchange) and not is_leaf(n.source) for n in below)
    return not brought and not any(map(copies_of, joined.flat.inputs))


def _undeclared(joined: GroupedJoin) -> str | None:
    """Return which stream says nothing of its rate; None if all do."""
    streams = [scan.stream for scan in scans_of(joined.join)]
    silent = (s.name for s in streams if declared_statistics(s) is None)
    name = next(silent, None)
    if name is not None:
        return f'"{name}" declares no {RATE}'
    return None if streams else "no stream is joined"
