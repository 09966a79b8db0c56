"""Early aggregation: what is considered of a GROUP BY over joins, what is chosen, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.core.errors import SemanticError
from windrow.optimize.choose_early import EarlyChoice, EarlyFacts, choose_early
from windrow.optimize.choose_join import HASH, LOOPS
from windrow.optimize.choose_partials import MOVED, RATE, declared_statistics
from windrow.optimize.context import Early
from windrow.optimize.cost import scans_of
from windrow.optimize.early_costs import EarlyConstants, Moved
from windrow.optimize.early_estimates import (
    AUTO,
    NONE,
    answers_to,
    asked_placement,
    chosen_early,
    estimated_facts,
    meets_a_version,
)
from windrow.optimize.early_grouping import EntryColumns, early_calls, entry_columns
from windrow.optimize.fold_before_exchange import sunk
from windrow.optimize.grouped_joins import GroupedJoin, grouped_join, versioned
from windrow.optimize.notes import EarlyNote, EarlyNotes
from windrow.optimize.physical.builder import Builder
from windrow.optimize.place_exchanges import is_leaf
from windrow.optimize.preaggregate_joins import copies_of
from windrow.optimize.rewriting import slides_under
from windrow.physical.conditions import Method
from windrow.plan.nodes import (
    Aggregate,
    Exchange,
    Plan,
    nodes_of,
)

BEGUN = "it was when the checkpoint was begun"
APART = "results change shards before they are grouped, and are not folded before"

TWO = 2
"""Inputs up to which loops have one order only."""

KEEPS = "results keep the versions that they met"
"""Why a placement is not changed while it runs."""

METHODS = {AUTO: Method.HASH, HASH: Method.HASH, LOOPS: Method.LOOPS}
"""How loops find entries, by what `SET join_algorithm` asks for."""


@dataclass(frozen=True)
class Considered:
    """A GROUP BY over joins: what may be folded before them, and what is chosen."""

    joined: GroupedJoin
    choice: EarlyChoice
    early: tuple[int | None, ...]
    slide: int | None

    @property
    def entries(self) -> tuple[EntryColumns, ...]:
        """What the entries of each input have."""
        everyone = range(len(self.joined.flat.inputs))
        return tuple(entry_columns(self.joined, self.early, i) for i in everyone)


def considered(builder: Builder, plan: Aggregate, slide: int | None) -> Considered | None:
    """Return what is chosen for an aggregate; None if it is over no join, or nobody may choose.

    `slide` is the SLIDE by which its inputs are refreshed.
    """
    early = builder.early
    if early.asked == NONE and not early.costed:
        return None
    joined = grouped_join(plan, versions=early.versions, slide=slide)
    if joined is None:
        return None
    asked = early.asked
    if asked == AUTO and _is_free(builder):
        asked = early.again(joined.key)
    if asked not in (AUTO, NONE) and not answers_to(joined, asked):
        asked = NONE
    facts = estimated_facts(joined, builder.statistics, slide)
    facts = facts_on_shards(joined, facts, early)
    choice = chosen_early(joined, facts, asked)
    if asked == AUTO and not _is_free(builder):
        none = (False,) * len(joined.names)
        choice = replace(choice, placement=none, reason=_bound(builder))
    elif early.shards and early.asked == AUTO:
        choice = chosen_on_shards(joined, facts, asked, early.constants)
    elif asked != AUTO == early.asked:
        measured = "by what was measured while it ran"
        choice = replace(choice, reason=KEEPS if joined.versioned else measured)
    elif asked != early.asked:
        choice = replace(choice, reason=f"early_aggregation is {early.asked}")
    if any(choice.placement):
        _require_method(builder, choice)
    return Considered(joined, choice, early_calls(joined, choice.placement), slide)


def folded_source(source: Plan) -> tuple[Plan, bool]:
    """Return what γ folds, and whether it does so before an exchange."""
    match source:
        case Exchange(source=below, folds=True):
            return below, True
        case _:
            return source, False


def unplaced(builder: Builder, plan: Aggregate, slide: int | None) -> EarlyNote | EarlyNotes | None:
    """Return why an aggregate has no placements, where that is not plain from its query.

    Raises `SemanticError` for names of what cannot be aggregated early.
    """
    asked, found = builder.early.asked, versioned(plan)
    if asked == NONE:
        return None
    if found is None:
        return _note_apart(builder, plan, slide)
    if asked != AUTO and (refused := meets_a_version(asked, found)) is not None:
        raise refused
    if not builder.early.versions:
        return EarlyNote(f"versions of {found.table} are not followed under a processor")
    return EarlyNote(found.reason)


def _note_apart(
    builder: Builder, plan: Aggregate, slide: int | None
) -> EarlyNote | EarlyNotes | None:
    """Note the groups whose results change shards before anything has folded them."""
    found = considered_apart(builder, plan, slide)
    if found is not None:
        return replace(notes_on(builder, found), adapts=False, replans=False)
    apart = results_apart(plan)
    return None if apart is None or grouped_join(apart) is None else EarlyNote(APART)


def considered_apart(builder: Builder, plan: Aggregate, slide: int | None) -> Considered | None:
    """Return what is chosen for a GROUP BY whose joined rows change shards as they are."""
    apart = results_apart(plan)
    joined = None if apart is None else grouped_join(apart)
    if apart is None or joined is None or joined.key not in builder.early.moved:
        return None
    return considered(builder, apart, slide) if builder.early.asked == AUTO else None


def placements_under(builder: Builder, root: Plan) -> dict[str, str]:
    """Return what would be aggregated early of each join under a GROUP BY, by its inputs' names."""
    found = dict[str, str]()
    for plan, slide, once in slides_under(root):
        if isinstance(plan, Aggregate):
            near = builder.unsigned if once else builder
            whole = replace(plan, source=folded_source(plan.source)[0])
            chosen = considered(near, whole, slide) or considered_apart(near, plan, slide)
            if chosen is not None:
                found[chosen.joined.key] = chosen.choice.early_aggregation
    return found


def _is_free(builder: Builder) -> bool:
    """Return whether `auto` may choose: neither strategy nor algorithm says how state is kept."""
    return builder.strategy in ("auto", "upa") and builder.algorithm == AUTO


def _bound(builder: Builder) -> str:
    if builder.algorithm != AUTO:
        return f"join_algorithm is {builder.algorithm}"
    return f"the strategy is {builder.strategy}"


def _require_method(builder: Builder, choice: EarlyChoice) -> None:
    if builder.algorithm not in METHODS:
        raise SemanticError(
            f"early_aggregation {choice.early_aggregation} cannot be"
            f" with join_algorithm {builder.algorithm}",
            detail="Aggregation sets are joined by hash, or by loops.",
            hint="SET join_algorithm = 'auto', or early_aggregation = 'none'.",
        )


def notes_on(builder: Builder, found: Considered) -> EarlyNotes:
    """Return what is known of a GROUP BY over joins, whatever was chosen for it."""
    late_only = any(i.not_early for i in found.choice.facts.inputs)
    free = builder.early.asked == AUTO and _is_free(builder) and not late_only
    free = free and (not builder.early.shards or follows(found.joined))
    replans = free and not found.joined.versioned
    orders = any(found.choice.placement) and len(found.joined.names) > TWO
    return EarlyNotes(
        found.joined,
        found.choice,
        adapts=replans or orders,
        replans=replans,
        slide=found.slide,
        constants=builder.early.constants,
        refused=KEEPS if free and not replans else "",
    )


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
