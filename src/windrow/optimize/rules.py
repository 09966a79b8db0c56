"""The rules in their order, and how they are applied.

`pull_negation_above_join` and `push_negation_below_join` are alternatives: the one simplifies
update patterns, the other makes joins smaller [THESIS 3.5.3]. Neither is always better, so
neither is here: `negations.py` tries both and compares costs.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.optimize.bound_produced_joins import bound_produced_joins
from windrow.optimize.filters import (
    merge_filter_into_join,
    merge_filters,
    push_filter_below_join,
    push_filter_below_project,
    push_filter_below_union,
    push_filter_below_window,
)
from windrow.optimize.meet_versions_at_streams import meet_versions_at_streams
from windrow.optimize.narrow_outer_join import narrow_outer_join
from windrow.optimize.projections import merge_projections, prune_columns
from windrow.optimize.rewriting import Rule
from windrow.plan.nodes import Plan, inputs_of
from windrow.plan.rebuilding import with_inputs

PREPARING: tuple[Rule, ...] = (
    meet_versions_at_streams,  # before the others: they would hide the times that it looks for
    bound_produced_joins,  # before columns are pruned: it reads the times of both sides
)

MOVES: tuple[Rule, ...] = (
    merge_projections,  # first: filters then pass one projection, not many
    push_filter_below_project,  # the four pushes: from what stands highest in a plan ...
    push_filter_below_union,
    narrow_outer_join,  # before filters pass: what it makes of the join lets more of them pass
    push_filter_below_join,
    push_filter_below_window,  # ... to what stands lowest, next to the stream
    merge_filter_into_join,  # what reads both sides has come as far as it can
    merge_filters,  # after the pushes, which bring filters together
)

RULES: tuple[Rule, ...] = (
    *MOVES,
    prune_columns,  # last: what is read is known once filters stand where they stay
)

MAX_PASSES = 1_000
"""Passes over a plan: each moves something down by a node at least, so its depth bounds them."""


def apply_rules(plan: Plan, rules: Sequence[Rule] = RULES) -> Plan:
    """Return the plan after the rules, applied bottom-up until none changes anything."""
    for _ in range(MAX_PASSES):
        rewritten = _one_pass(plan, rules)
        if rewritten == plan:
            return plan
        plan = rewritten
    raise AssertionError("the rules undo one another")


def prepared(plan: Plan) -> Plan:
    """Return the plan in the form that the other rules, and operators, ask for."""
    return apply_rules(plan, PREPARING)


def _one_pass(plan: Plan, rules: Sequence[Rule]) -> Plan:
    below = inputs_of(plan)
    passed = tuple(_one_pass(node, rules) for node in below)
    plan = plan if passed == below else with_inputs(plan, passed)
    for rule in rules:
        rewritten = rule(plan)
        assert rewritten.schema.names == plan.schema.names, f"{rule} changes the columns"
        plan = rewritten
    return plan
