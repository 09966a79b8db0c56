"""Tuples that know which version of a relation they meet, and its versions."""

from __future__ import annotations

from collections.abc import Callable

from windrow.core.schema import Schema
from windrow.operators.lowering.builder import Builder, Requirements
from windrow.physical.node import PhysicalNode
from windrow.physical.operators import StampOp, VersionsOp
from windrow.plan.nodes import Plan, Stamped, Table, Versions
from windrow.plan.patterns import PatternKind

Lower = Callable[[Builder, Plan, Requirements], PhysicalNode]
LowerTable = Callable[[Builder, Table, frozenset[str]], PhysicalNode]


def lower_versions(builder: Builder, plan: Versions, table: LowerTable) -> PhysicalNode:
    """Lower the versions of a relation: once, for all that meet them.

    All of its columns are read, whoever asks first, so that all agree on what a change is.
    """
    if id(plan) not in builder.shared:
        below = table(builder, plan.source, frozenset(plan.source.schema.names))
        schema = below.schema + Schema((plan.first, plan.end))
        builder.shared[id(plan)] = builder.add(
            VersionsOp(plan.life),
            (below,),
            schema,
            PatternKind.STR,
            label="Versions",
            structure="rows by version",
        )
    return builder.shared[id(plan)]


def lower_stamped(
    builder: Builder, plan: Stamped, wanted: Requirements, lower: Lower
) -> PhysicalNode:
    """Lower tuples with the version that each meets, at its own time: before SLIDE holds them.

    They are unsigned under every strategy, and emitted once (see `lower_nrr_join`).
    """
    once = builder.unsigned.unrenewed
    left = lower(once, plan.source, Requirements(wanted.columns - {plan.met.name}))
    assert left.unsigned, "tuples that meet versions carry `exp`"
    versions = lower(builder, plan.versions, Requirements(frozenset()))
    op = StampOp(plan.met.name, (plan.versions.first.name, plan.versions.end.name))
    schema = left.schema + Schema((plan.met,))
    return builder.add(
        op, (left, versions), schema, left.kind, label="Stamp", structure="version met"
    )
