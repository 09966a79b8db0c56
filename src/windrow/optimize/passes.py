"""From a set of queries to their physical plans: the passes, in their order.

    strategy    windows emit            edges                             state
    negative    insertions, retractions  all signed                        hash by row
    direct      insertions               unsigned below strict operators   plain lists, scanned
    upa, auto   insertions               unsigned below strict operators   by the edge's pattern

Above a negation by keys, `upa` and `auto` may use a partly signed edge (`delta.py`): `upa` where
early departures are expected to be rare, `auto` where that costs less (`negations.py`).

A pass takes drafts and returns drafts; all are values. Most look at one query, some at all of
them. The last walks down the logical plan and gives each node its operator (`physical/`). On the
way columns that nobody reads are dropped, and SLIDE moves to the windows: relational operators
are pointwise in time, so a refreshed answer is the answer over refreshed windows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from windrow.optimize.bound_refreshes import bound_refreshes
from windrow.optimize.choose_merging import choose_merging
from windrow.optimize.context import Early, PlanContext, QueryDraft, Spread
from windrow.optimize.early_estimates import (
    AUTO,
    NONE,
    Asked,
    answers_to,
    asks_for,
    meets_a_version,
    unknown_names,
)
from windrow.optimize.fold_before_exchange import FoldedPlan, fold_before_exchange
from windrow.optimize.grouped_joins import grouped_join, versioned
from windrow.optimize.identify_results import identify_results
from windrow.optimize.meet_versions_before_slides import meet_versions_before_slides
from windrow.optimize.negations import place_negations
from windrow.optimize.notes import EarlyNotes
from windrow.optimize.physical.builder import Builder, Requirements
from windrow.optimize.physical.early_choices import placements_under
from windrow.optimize.physical.relational import lower_relation
from windrow.optimize.physical.streams import lower_stream
from windrow.optimize.place_exchanges import place_exchanges
from windrow.optimize.preaggregate_joins import all_joined, preaggregate_joins
from windrow.optimize.preaggregate_panes import Preaggregated, preaggregate_panes
from windrow.optimize.rewriting import slides_under
from windrow.optimize.rules import MOVES, RULES, apply_rules, prepared
from windrow.physical.node import PhysicalNode
from windrow.physical.plan import PhysicalPlan
from windrow.plan.nodes import Aggregate, Plan, Query, is_stream, nodes_of


def optimize(queries: Sequence[Query], context: PlanContext) -> tuple[PhysicalPlan, ...]:
    """Return the physical plan of each query; its root is a signed edge, or a stream.

    A saved state fits only the plan that it was made by, so a query that is resumed is optimized
    with the statistics and placements of its first start.
    """
    drafts = tuple(QueryDraft.of(query, context) for query in queries)
    for step in PASSES:
        drafts = step.over(drafts, context)
    return tuple(draft.plan for draft in drafts if draft.plan is not None)


@dataclass(frozen=True, slots=True)
class Pass:
    """A step for one query after the other; `when` says for which, if not for all."""

    run: Callable[[QueryDraft, PlanContext], QueryDraft]
    when: Callable[[QueryDraft, PlanContext], bool] = lambda _draft, _context: True

    def over(self, drafts: tuple[QueryDraft, ...], context: PlanContext) -> tuple[QueryDraft, ...]:
        """Return the drafts after it."""
        return tuple(self.run(d, context) if self.when(d, context) else d for d in drafts)


@dataclass(frozen=True, slots=True)
class SetPass:
    """A step that looks at all queries at once: what one may do depends on the others."""

    run: Callable[[tuple[QueryDraft, ...], PlanContext], tuple[QueryDraft, ...]]
    when: Callable[[PlanContext], bool]

    def over(self, drafts: tuple[QueryDraft, ...], context: PlanContext) -> tuple[QueryDraft, ...]:
        """Return the drafts after it."""
        return self.run(drafts, context) if self.when(context) else drafts


def normalize(draft: QueryDraft, context: PlanContext) -> QueryDraft:
    """Bring a plan to the form that rules and operators ask for; it means the same."""
    root = meet_versions_before_slides(prepared(draft.root))
    return replace(draft, root=bound_refreshes(identify_results(root)))


def place_negations_by_cost(draft: QueryDraft, context: PlanContext) -> QueryDraft:
    """Let negations stand above or below joins, whichever costs less."""
    root, placed = place_negations(apply_rules(draft.root, MOVES), context.statistics)
    return replace(draft, root=root, placed=placed)


def simplify(draft: QueryDraft, context: PlanContext) -> QueryDraft:
    """Apply the rules that are always better."""
    return replace(draft, root=apply_rules(draft.root, RULES))


def check_names(draft: QueryDraft, context: PlanContext) -> QueryDraft:
    """Refuse names of early aggregation that no GROUP BY over a join has, if there is any.

    Without one, what is set for all queries is not about this one.
    """
    asked, known = draft.early.asked, list[str]()
    for plan, slide, _ in slides_under(draft.root):
        if not isinstance(plan, Aggregate):
            continue
        joined = grouped_join(plan, versions=draft.early.versions, slide=slide)
        if joined is not None:
            if answers_to(joined, asked):
                return draft
            known += [alias for names in joined.aliases for alias in names]
        elif (found := versioned(plan)) is not None and meets_a_version(asked, found) is not None:
            return draft  # it is refused for another reason, by whoever lowers it
    if known:
        raise unknown_names(asked, known)
    return draft


def choose_placements(draft: QueryDraft, context: PlanContext) -> QueryDraft:
    """Choose what shards aggregate early, by what streams declare.

    It is looked at where that can be at all, were it so everywhere: groups that meet on other
    shards than what is joined must be folded before.
    """
    assert context.shards is not None, "placements are chosen beforehand on shards alone"
    folded = fold_before_exchange(place_exchanges(draft.root), context.shards, lambda _: True)
    early = replace(draft.early, moved=folded.moved, chooses=True, versions=True)
    builder = _builder(replace(draft, early=early), Spread(folded.root), context)
    return replace(draft, early=replace(draft.early, given=placements_under(builder, folded.root)))


def spread_over_shards(draft: QueryDraft, context: PlanContext) -> QueryDraft:
    """Place exchanges; merge tuples before they reach a shard, and fold groups between shards."""
    merges = context.merged is None or draft.query.name in context.merged
    return replace(draft, spread=_spread(draft, context, merges=merges))


def merge_tuples(drafts: tuple[QueryDraft, ...], context: PlanContext) -> tuple[QueryDraft, ...]:
    """Undo the merging of queries whose tuples reach shards as they are, or would better do."""
    assert context.shards is not None, "tuples are merged on their way to shards"
    chosen, reasons = choose_merging(context.shards.mode, drafts)
    return tuple(
        replace(
            draft,
            merging=reasons.get(n),
            spread=draft.spread if n in chosen else _spread(draft, context, merges=False),
        )
        for n, draft in enumerate(drafts)
    )


def choose_operators(draft: QueryDraft, context: PlanContext) -> QueryDraft:
    """Give each node its operator, its state and its edge."""
    spread = draft.spread or Spread(draft.root)
    given = {**draft.early.given, **context.followed}
    early = replace(draft.early, given=given, moved=spread.moved)
    builder = _builder(replace(draft, early=early), spread, context)
    edge = builder.finish(_lowered(builder, spread.root), spread.root.schema)
    plan = PhysicalPlan(
        edge,
        # equal means of other parts are no change
        netted=edge.netted is not None and not spread.merging,
        folded=spread.folded,
        merging=draft.merging,
    )
    taken = given if context.shards is not None else _placements(plan)
    return replace(draft, plan=replace(plan, placements=tuple(taken.items())))


def _by_cost(draft: QueryDraft, context: PlanContext) -> bool:
    return draft.strategy == "auto"


def _names(draft: QueryDraft, context: PlanContext) -> bool:
    return draft.early.asked not in (AUTO, NONE)


def _begins_on_shards(draft: QueryDraft, context: PlanContext) -> bool:
    if context.shards is None or context.placements is not None or draft.early.asked != AUTO:
        return False
    return any(isinstance(node, Aggregate) for node in nodes_of(draft.root))


def _on_shards(draft: QueryDraft, context: PlanContext) -> bool:
    return context.shards is not None


def _chooses_merging(context: PlanContext) -> bool:
    return context.shards is not None and context.merged is None


PASSES: tuple[Pass | SetPass, ...] = (
    Pass(normalize),  # first: what follows looks for versions, results and refreshes in one form
    Pass(place_negations_by_cost, when=_by_cost),  # a pruned column would part ▷ from ⋈
    Pass(simplify),  # before costs: they are those of the plan that will run
    Pass(check_names, when=_names),  # before exchanges, which hide joins from their GROUP BY
    Pass(choose_placements, when=_begins_on_shards),  # exchanges are placed by what is early
    Pass(spread_over_shards, when=_on_shards),  # as if all that can be merged were
    SetPass(merge_tuples, when=_chooses_merging),  # where tuples go is known of all queries now
    Pass(choose_operators),  # last: state and edges depend on where rows come from
)


def _builder(draft: QueryDraft, spread: Spread, context: PlanContext) -> Builder:
    return Builder(
        draft.strategy,
        spread.root,
        statistics=context.statistics,
        placed=draft.placed,
        merging=spread.merging,
        algorithm=draft.query.join_algorithm,
        early=draft.early,
        emits_expirations=context.shards is not None or draft.query.expiry.kind == "auto",
    )


def _lowered(builder: Builder, root: Plan) -> PhysicalNode:
    """Return the root of a whole plan."""
    wanted = Requirements(frozenset(root.schema.names))
    if is_stream(root):
        return lower_stream(builder, root, wanted)
    return builder.signed(lower_relation(builder, root, wanted))


def _placements(plan: PhysicalPlan) -> dict[str, str]:
    """Return what a plan aggregates early, by the names of the inputs of each join."""
    notes = (node.notes for node in plan.nodes)
    return {n.joined.key: n.choice.early_aggregation for n in notes if isinstance(n, EarlyNotes)}


def require_early_inputs(query: Query, plan: PhysicalPlan) -> None:
    """Refuse names that are to be aggregated early in just this query, and that no join of it has.

    What SET says is for all queries: `check_names` passes over those without a GROUP BY over joins.
    """
    asked = query.early_aggregation
    if asked not in (AUTO, NONE) and not plan.placements:
        found = (versioned(n) for n in nodes_of(query.root) if isinstance(n, Aggregate))
        raise unknown_names(asked, [name for v in found if v is not None for name in v.names])


CUT = "rows of the join meet anew before they are grouped"
"""Why inputs of a join are not merged, where the plan cuts it off from its GROUP BY."""


def _spread(draft: QueryDraft, context: PlanContext, *, merges: bool) -> Spread:
    """Return a plan for shards, its tuples merged before if that is wanted and can be.

    An exchange between a join and its GROUP BY is in the way of merged inputs.
    """
    assert context.shards is not None, "exchanges are between shards"
    folding, asked = context.shards, _asked_of(draft.early)

    def folded(plan: Plan) -> FoldedPlan:
        return fold_before_exchange(place_exchanges(plan), folding, lambda j: asks_for(j, asked))

    panes = preaggregate_panes(draft.root) if merges else Preaggregated(draft.root)
    merged = preaggregate_joins(panes.root, asked) if merges else panes
    whole = folded(merged.root)
    if not all_joined(whole.root):
        whole, merged = folded(panes.root), Preaggregated(panes.root, refused=(CUT,))
    return Spread(
        whole.root,
        panes.partials + merged.partials,
        panes.refused + merged.refused,
        whole.choices,
        whole.moved,
    )


def _asked_of(early: Early) -> Asked:
    """Return what is asked of each join, where `auto` is what was given."""
    return lambda joined: early.again(joined.key) if early.asked == AUTO else early.asked
