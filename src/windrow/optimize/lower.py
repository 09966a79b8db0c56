"""From a logical to a physical plan: which operator and which state structure each node gets.

    strategy    windows emit            edges                             state
    negative    insertions, retractions  all signed                        hash by row
    direct      insertions               unsigned below strict operators   plain lists, scanned
    upa, auto   insertions               unsigned below strict operators   by the edge's pattern

Above a negation by keys, `upa` and `auto` may use a partly signed edge (`delta.py`): `upa` where
early departures are expected to be rare, `auto` where that costs less (`optimize/choose_form.py`).

Two things happen on the way down: columns that nobody reads are dropped, and SLIDE moves to the
windows (relational operators are pointwise in time, so a refreshed answer is the answer over
refreshed windows). How each kind of node is lowered: `physical/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow.optimize.bound_refreshes import bound_refreshes
from windrow.optimize.early_costs import EarlyConstants
from windrow.optimize.early_estimates import AUTO, NONE, Asked, asks_for, unknown_names
from windrow.optimize.fold_before_exchange import OFF, FoldedPlan, Folding, fold_before_exchange
from windrow.optimize.grouped_joins import versioned
from windrow.optimize.identify_results import identify_results
from windrow.optimize.meet_versions_before_slides import meet_versions_before_slides
from windrow.optimize.physical.builder import Builder, Early, Requirements
from windrow.optimize.physical.relational import lower_relation
from windrow.optimize.physical.streams import lower_stream
from windrow.optimize.place_exchanges import place_exchanges
from windrow.optimize.place_negation import NegationPlace, place_negations
from windrow.optimize.preaggregate_joins import Preaggregated, all_joined, preaggregate_joins
from windrow.optimize.preaggregate_panes import preaggregate_panes
from windrow.optimize.rules import MOVES, RULES, apply_rules, prepared
from windrow.optimize.statistics import UNKNOWN, Statistics
from windrow.physical.node import PhysicalNode
from windrow.physical.plan import PhysicalPlan
from windrow.physical.sources import Partials
from windrow.plan.expiring import strategy_under
from windrow.plan.nodes import Aggregate, Plan, Query, is_stream, nodes_of


def lower(  # noqa: PLR0913 - all that a plan depends on
    query: Query,
    strategy: str,
    *,
    statistics: Statistics = UNKNOWN,
    sharded: bool = False,
    partials: bool = False,
    folding: Folding = OFF,
    placements: Mapping[str, str] | None = None,
    followed: Mapping[str, str] | None = None,
    constants: EarlyConstants | None = None,
    queued: bool = False,
) -> PhysicalPlan:
    """Return the physical plan of a query; its root is a signed edge, or a stream.

    Where `auto` chooses by cost, it does so by the statistics, and by defaults where these are
    silent. A saved state fits only the plan that it was made by, so a query that is resumed is
    lowered with the statistics of its first start. With `partials`, inputs of aggregates under
    SLIDE are partial aggregates where they can be (`optimize/preaggregate_panes.py`); `folding`
    says whether groups are folded before rows change shards (`optimize/fold_before_exchange.py`).
    `placements` are those of another plan of the query, to be taken again. On shards these are all
    that there are, unless none are given: `placed_on_shards` then. Rows cross by them; `followed`
    are those that one shard has changed to. Choices go by `constants`, if not by this machine's.
    `queued`: whether each operator runs when its turn comes, not all of them step by step.
    """
    strategy = strategy_under(query.expiry, strategy)
    if sharded and placements is None:
        placements = placed_on_shards(query, strategy, statistics=statistics, folding=folding)
    root, placed = _rewritten(query.root, strategy, statistics)
    early = Early(_asked(query), dict(placements or {}), chooses=not sharded, constants=constants)
    early.costed = early.asked == query.early_aggregation
    early.versions = query.expiry.kind == "auto" and not queued
    spread = _Spread(root)
    if sharded:
        spread = _spread(root, early, folding, partials=partials)
        early.given |= dict(followed or {})
    builder = Builder(
        strategy,
        spread.root,
        statistics=statistics,
        placed=placed,
        merging=spread.merging,
        algorithm=query.join_algorithm,
        early=early,
        emits_expirations=sharded or query.expiry.kind == "auto",
    )
    edge = builder.finish(_lowered(builder, spread.root), spread.root.schema)
    _require_found(query, strategy, early)
    return PhysicalPlan(
        edge,
        # equal means of other parts are no change
        netted=edge.netted is not None and not spread.merging,
        placements=tuple(early.taken.items()),
        folded=spread.folded,
        unmerged=spread.unmerged,
    )


def _require_found(query: Query, strategy: str, early: Early) -> None:
    """Refuse names that no GROUP BY over a join of a query has, if it has any."""
    if early.asked in (AUTO, NONE) or early.found:
        return
    if early.shards:
        lower(query, strategy)  # it refuses names that exchanges do not just hide
    elif early.known:  # without a GROUP BY over a join, a setting for all queries is not its
        raise unknown_names(early.asked, early.known)


def placed_on_shards(
    query: Query,
    strategy: str,
    *,
    statistics: Statistics = UNKNOWN,
    folding: Folding = OFF,
    constants: EarlyConstants | None = None,
) -> dict[str, str]:
    """Return which inputs shards aggregate early under `auto`, by the names of those that join.

    It is looked at where that can be at all, were it so everywhere: groups that meet on other
    shards than what is joined must be folded before.
    """
    early = Early(_asked(query), shards=folding.shards, constants=constants, versions=True)
    if early.asked != AUTO or not any(isinstance(n, Aggregate) for n in nodes_of(query.root)):
        return {}
    strategy = strategy_under(query.expiry, strategy)
    root, placed = _rewritten(query.root, strategy, statistics)
    folded = fold_before_exchange(place_exchanges(root), folding, lambda _: True)
    early.moved = folded.moved
    builder = Builder(
        strategy,
        folded.root,
        statistics=statistics,
        placed=placed,
        algorithm=query.join_algorithm,
        early=early,
    )
    _lowered(builder, folded.root)
    return early.taken


def require_early_inputs(query: Query, strategy: str) -> None:
    """Refuse names that are to be aggregated early in just this query, and that no join of it has.

    What SET says is for all queries: `lower` passes over it where there is no GROUP BY over a join.
    """
    asked = query.early_aggregation
    if asked not in (AUTO, NONE) and not lower(query, strategy).placements:
        found = (versioned(n) for n in nodes_of(query.root) if isinstance(n, Aggregate))
        raise unknown_names(asked, [name for v in found if v is not None for name in v.names])


def _lowered(builder: Builder, root: Plan) -> PhysicalNode:
    """Return the root of a whole plan."""
    wanted = Requirements(frozenset(root.schema.names))
    if is_stream(root):
        return lower_stream(builder, root, wanted)
    return builder.signed(lower_relation(builder, root, wanted))


def _rewritten(
    root: Plan, strategy: str, statistics: Statistics
) -> tuple[Plan, tuple[NegationPlace, ...]]:
    """Return a plan after the rules, and where its negations are placed."""
    placed: tuple[NegationPlace, ...] = ()
    root = meet_versions_before_slides(prepared(root))
    root = bound_refreshes(identify_results(root))
    if strategy == "auto":  # before columns are pruned: a projection would part ▷ from ⋈
        root, placed = place_negations(apply_rules(root, MOVES), statistics)
    return apply_rules(root, RULES), placed


CUT = "rows of the join meet anew before they are grouped"
"""Why inputs of a join are not merged, where the plan cuts it off from its GROUP BY."""


@dataclass(frozen=True, slots=True)
class _Spread:
    """A plan with exchanges; what is merged before it comes, or not; and what is folded."""

    root: Plan
    merging: tuple[Partials, ...] = ()
    unmerged: tuple[str, ...] = ()
    folded: tuple[str, ...] = ()


def _spread(root: Plan, early: Early, folding: Folding, *, partials: bool) -> _Spread:
    """Return a plan for shards, and note in `early` what it means for joins."""
    root, found = preaggregate_panes(root) if partials else (root, ())
    asked = _asked_of(early)
    merged = preaggregate_joins(root, asked if partials else lambda _: NONE)
    folded, merged = _exchanged(root, merged, folding, asked)
    early.moved, early.shards = folded.moved, folding.shards
    return _Spread(folded.root, found + merged.partials, merged.refused, folded.said)


def _exchanged(
    root: Plan, merged: Preaggregated, folding: Folding, asked: Asked
) -> tuple[FoldedPlan, Preaggregated]:
    """Return a plan with exchanges and what is folded, and which inputs of joins are merged.

    An exchange between a join and its GROUP BY is in the way of merged inputs.
    """

    def folded(plan: Plan) -> FoldedPlan:
        return fold_before_exchange(place_exchanges(plan), folding, lambda j: asks_for(j, asked))

    whole = folded(merged.root)
    if all_joined(whole.root):
        return whole, merged
    return folded(root), Preaggregated(root, (), (CUT,))


def _asked(query: Query) -> str:
    """Return which inputs are to be aggregated early.

    None by itself under an expiry that is asked for, which is about the messages between operators.
    """
    asked = query.early_aggregation
    return NONE if asked == AUTO and query.expiry.kind != "auto" else asked


def _asked_of(early: Early) -> Asked:
    """Return what is asked of each join, where `auto` is what was given."""
    return lambda joined: early.again(joined.key) if early.asked == AUTO else early.asked
