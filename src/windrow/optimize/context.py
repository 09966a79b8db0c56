"""What plans depend on beside their queries, and what passes have made of a query so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from windrow.optimize.early_costs import EarlyConstants
from windrow.optimize.early_estimates import AUTO, NONE
from windrow.optimize.fold_before_exchange import Folding
from windrow.optimize.negations import NegationPlace
from windrow.optimize.notes import CostNotes
from windrow.optimize.statistics import UNKNOWN, Statistics
from windrow.physical.plan import PhysicalPlan
from windrow.physical.sources import Partials
from windrow.plan.expiring import strategy_under
from windrow.plan.nodes import Plan, Query

Placements = Mapping[str, str]
"""By the names of the inputs of a join under a GROUP BY, those that are aggregated before it."""


@dataclass(frozen=True, slots=True)
class PlanContext:
    """All that the physical plans of some queries depend on, beside the queries.

    Where `auto` chooses by cost, it does so by the statistics, and by defaults where these are
    silent; early aggregation by `constants`, if not by those of this machine. `queued`: whether
    each operator runs when its turn comes, not all of them step by step. `shards`: on how many
    shards plans run, and what `SET partials` says; None in one process. `placements`, by query,
    are those of other plans of theirs, to be taken again: on shards these are all that there are,
    unless there are none for any query, and then they are chosen. Rows cross by them; `followed`
    are those that one shard has changed to since. `merged` names the queries whose tuples are
    merged before they reach a shard; None: that is to be chosen.
    """

    strategy: str = "auto"
    statistics: Statistics = UNKNOWN
    constants: EarlyConstants | None = None
    queued: bool = False
    shards: Folding | None = None
    placements: Mapping[str, Placements] | None = None
    followed: Placements = field(default_factory=dict)
    merged: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Early:
    """What decides which inputs of the joins under a GROUP BY are aggregated before them.

    `asked`: what `SET early_aggregation` says. `given`: placements that are to be taken again.
    `costed`: whether placements are listed with their costs though none is asked for. `shards`: on
    how many the plan runs, 0 in one process. `chooses`: whether `auto` may choose what is not
    given, which is done once for all shards. `moved`: joins whose results would change shards.
    `constants`: what costs go by, if not those of this machine. `versions`: whether joins with NRRs
    have placements.
    """

    asked: str = NONE
    given: Placements = field(default_factory=dict)
    costed: bool = False
    shards: int = 0
    chooses: bool = True
    moved: frozenset[str] = frozenset()
    constants: EarlyConstants | None = None
    versions: bool = False

    @classmethod
    def of(cls, query: Query, context: PlanContext) -> Early:
        """Return what is asked for a query.

        None by itself under an expiry that is asked for, which is about the messages between
        operators.
        """
        asked, by_itself = query.early_aggregation, query.expiry.kind == "auto"
        return cls(
            NONE if asked == AUTO and not by_itself else asked,
            (context.placements or {}).get(query.name, {}),
            costed=asked != AUTO or by_itself,
            shards=0 if context.shards is None else context.shards.shards,
            chooses=context.shards is None,
            constants=context.constants,
            versions=by_itself and not context.queued,
        )

    def again(self, key: str) -> str:
        """Return what `auto` is to take again for a join; `auto` itself where it may choose."""
        return self.given.get(key, AUTO if self.chooses else NONE)


@dataclass(frozen=True, slots=True)
class Spread:
    """A plan with exchanges: what is merged before it comes, or why not, and what is folded.

    `moved`: joins, by their keys, whose results change shards.
    """

    root: Plan
    merging: tuple[Partials, ...] = ()
    refused: tuple[str, ...] = ()
    folded: tuple[CostNotes, ...] = ()
    moved: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class QueryDraft:
    """What the passes so far have made of a query.

    `root`: its logical plan, rewritten; `placed`: where its negations stand, and why. `spread`:
    that plan with exchanges, on shards; `merging`: whether its tuples are merged before they reach
    one, and why. `plan`: the physical plan.
    """

    query: Query
    strategy: str
    root: Plan
    early: Early
    placed: tuple[NegationPlace, ...] = ()
    spread: Spread | None = None
    merging: CostNotes | None = None
    plan: PhysicalPlan | None = None

    @classmethod
    def of(cls, query: Query, context: PlanContext) -> QueryDraft:
        """Return a query before any pass."""
        strategy = strategy_under(query.expiry, context.strategy)
        return cls(query, strategy, query.root, Early.of(query, context))
