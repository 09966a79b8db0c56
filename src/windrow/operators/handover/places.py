"""Which edges of two physical plans carry the same rows.

A *place* stands for a relation of the logical plan. Expirers, columns that are computed or put in
order, and projections that only leave columns out do not change which rows there are, so the edges
below and above them are of one place.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.operators.dataflow import Stage
from windrow.operators.rowwise import ProjectTask
from windrow.optimize.negations import pull_negation_above_join
from windrow.optimize.rules import apply_rules
from windrow.plan.expressions import Column
from windrow.plan.nodes import (
    AntiJoin,
    Except,
    Intersect,
    Join,
    Named,
    NrrJoin,
    OuterJoin,
    Plan,
    Project,
    SemiJoin,
    UnionAll,
    Window,
    as_column,
    inputs_of,
)
from windrow.plan.rebuilding import with_inputs

PASSING = frozenset(
    {"Expire", "Store rows", "Insertions", "Compute", "Order columns", "Output", "Exchange"}
)
"""Stages that were not made for a node of their own."""


@dataclass(frozen=True, slots=True)
class RelationPlace:
    """A relation of the logical plan; `turn` counts those that read alike."""

    meaning: Plan
    turn: int


def places_of(stages: list[Stage]) -> list[RelationPlace]:
    """Return the place of the edge that leaves each stage."""
    places: list[RelationPlace] = []
    known: dict[int, Plan] = {}
    for stage in stages:
        if passes(stage):
            places.append(places[stage.inputs[0]])
            continue
        assert stage.node is not None, "a stage that makes rows was made for a node"
        meaning = _meaning(stage.node, known)
        while isinstance(meaning, Project) and _narrows(meaning):  # a source leaves columns out
            meaning = meaning.source
        last = max((p.turn for p in places if p.meaning == meaning), default=0)
        places.append(RelationPlace(meaning, last + 1))
    return places


def origins(
    stages: list[Stage], places: list[RelationPlace], place: RelationPlace
) -> dict[str, frozenset[str]]:
    """Return the columns that are computed at a place, each with those that it is made of."""
    return {
        name: made_of
        for stage, own in zip(stages, places, strict=True)
        if own == place and passes(stage) and isinstance(stage.task, ProjectTask)
        for name, made_of in stage.task.origins.items()
    }


def passes(stage: Stage) -> bool:
    """Return whether a stage hands on the rows of its input, as far as a place is concerned."""
    return stage.label in PASSING or (stage.label == "Project" and _narrows(stage.node))


def _narrows(plan: Plan | None) -> bool:
    """Return whether a node only leaves columns out."""
    return isinstance(plan, Project) and all(
        isinstance(c.expr, Column) and c.expr.name == c.name for c in plan.columns
    )


def _columns_of(plan: Plan, given: Plan) -> Plan:
    """Return a plan with the columns of another, which stand in it under the same names."""
    if plan.schema.names == given.schema.names:
        return plan
    return Project(plan, tuple(Named(f.name, as_column(f)) for f in given.schema))


def _meaning(plan: Plan, known: dict[int, Plan]) -> Plan:
    """Return a plan that reads alike wherever its negations stand and columns are left out.

    `known` are the meanings found so far, by the identity of their nodes.
    """
    if id(plan) not in known:
        below = tuple(_meaning(p, known) for p in inputs_of(plan))
        if isinstance(plan, Window | Join | SemiJoin | AntiJoin | OuterJoin | NrrJoin):
            below = tuple(p.source if isinstance(p, Project) and _narrows(p) else p for p in below)
        elif isinstance(plan, UnionAll | Intersect | Except):  # columns are matched by position
            both = zip(below, inputs_of(plan), strict=True)
            below = tuple(_columns_of(mine, given) for mine, given in both)
        known[id(plan)] = apply_rules(with_inputs(plan, below), (pull_negation_above_join,))
    return known[id(plan)]
