"""A shard follows its streams: it measures what it has, and changes what it aggregates early.

    version v of a shard      placements, state ── rows of batch v+1 ─► state ── a look is due ─►
                              another placement, the state handed over

Each shard does so for itself, between two batches: what crosses to other shards, and what is
emitted, is the same under every placement, row by row. So shards need not agree, and a batch that
is run again may be emitted in part by a shard that has changed since. When to look and what is
found follow from the shard's state, the constants from the program: whoever is brought to the same
version has the same placement.

What crosses stays as it was when the checkpoint was begun, so groups that are not folded before
they cross stay so, and inputs that are merged before they come are aggregated early for good.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace

from windrow.core.errors import StateError
from windrow.operators.early_measures import CountedStages, better_placements, go_on, watches_of
from windrow.operators.handover import PlanMatching, counterparts, has_state, transfer
from windrow.operators.levels import LeveledFlow
from windrow.operators.open import OpenPlan, open_plan
from windrow.runtime.shards.layout import Wiring
from windrow.runtime.shards.optimized import followed_plan
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.query import ShardQuery


def follow(program: Program, query: ShardQuery) -> None:
    """Let a query go on under a clearly cheaper placement, if a look is due and finds one.

    One that its state cannot be handed over to is not tried again. Nobody has asked for it, so no
    batch fails with it: whatever goes wrong, the plan stays.
    """
    stages = query.flow.flow.stages
    due = [watch for watch in watches_of(stages) if watch.due]
    if not due:
        return
    better: dict[str, str] = {}
    try:
        since = query.start if query.since is None else query.since
        better = better_placements(CountedStages(stages, query.clock, since))
        if better:
            _change(program, query, better)
    except StateError as refused:
        for watch in due:
            if watch.key in better:
                watch.stays(str(refused))
    except Exception as failure:  # also an assertion: the old plan is as it was
        reason = f"a change of early aggregation failed with {failure!r}"
        for watch in due:
            watch.fails(reason)
        warnings.warn(f'"{query.output.query}" goes on as it was: {reason}', stacklevel=2)


def _change(program: Program, query: ShardQuery, better: Mapping[str, str]) -> None:
    """Let a query go on under other placements. Raises `StateError` if its state does not fit."""
    old, stages = query.wiring, query.flow.flow.stages
    followed = query.followed | dict(better)
    wiring = rewired(old, _opened(program, old, followed))
    flow = LeveledFlow(wiring.physical, query.shard)
    _require_same_above(query.flow, flow)
    again = open_plan(old.physical.plan, old.interner)
    transfer(query.flow.flow, again.stages, flow.flow)
    go_on(stages, flow.flow.stages)
    flow.begun = query.flow.begun
    query.rewire(wiring, followed)
    query.flow, query.since = flow, query.clock


def resume(program: Program, query: ShardQuery, followed: Mapping[str, str]) -> None:
    """Give a query that is to be loaded the placements that its shard had changed to."""
    if followed:
        physical = _opened(program, query.wiring, followed)
        query.rewire(rewired(query.wiring, physical), followed)


def _opened(program: Program, wiring: Wiring, followed: Mapping[str, str]) -> OpenPlan:
    plan = followed_plan(program, wiring.query, followed, merges=bool(wiring.merged))
    return open_plan(plan, wiring.interner)


def rewired(old: Wiring, physical: OpenPlan) -> Wiring:
    """Return another plan of a query on the ports that it has.

    Raises `StateError` if its rows do not cross as those of the plan before.
    """
    same = counterparts(old.physical.sources, physical.sources)
    sources = {stage: old.sources[before] for stage, before in same.items()}
    merged = {stage: old.merged[before] for stage, before in same.items() if before in old.merged}
    pairs = list(zip(old.exchanges, physical.exchanges, strict=False))
    if len(pairs) != len(physical.exchanges) or not all(
        _crosses(old.physical, before, physical, stage) for before, stage in pairs
    ):
        raise StateError(
            "rows would change shards otherwise",
            detail="Other shards have been sent their rows.",
            hint="Keep early_aggregation, or start the query anew.",
        )
    exchanges = {stage: old.exchanges[before] for before, stage in pairs}
    return replace(old, physical=physical, sources=sources, exchanges=exchanges, merged=merged)


def _crosses(old: OpenPlan, before: int, new: OpenPlan, stage: int) -> bool:
    """Return whether rows of two exchanges are of one form, and go the same way."""
    one, other = old.stages[before].schema, new.stages[stage].schema
    types = [(f.name, f.type) for f in one] == [(f.name, f.type) for f in other]
    return types and old.exchanges[before] == new.exchanges[stage]


def _require_same_above(old: LeveledFlow, new: LeveledFlow) -> None:
    """Refuse a plan in which what has crossed is stored in another form."""
    matching = PlanMatching(old.flow.stages, new.flow.stages)
    assert not matching.istream_differs, "groups stand between the joins and any output stream"
    for i, stage in enumerate(new.flow.stages):
        if new.levels[i] and has_state(stage) and i not in matching.kept:
            raise StateError(
                f"{stage.label} would store rows that have changed shards in another form",
                detail="What came from other shards is not kept row by row.",
                hint="Keep early_aggregation, or start the query anew.",
            )
