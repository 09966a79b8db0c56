"""Physical plans: operators that read each other's edges, as values.

A node refers to its inputs, so that a plan is tried by building it, and dropped by forgetting it.
What an operator stores and how it runs follows from its parameters alone (`operators/open.py`).

    edge          kind           every change on it
    unsigned      MON, WKS, WK   an insertion that carries its `exp`; nothing ends earlier
    signed        STR            an insertion or a retraction; every expiration travels
    partly signed STR            an insertion with its `exp`; a retraction if it ends before
    append-only   None           an insertion of a stream
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from windrow.core.schema import Schema
from windrow.physical.operators import ExchangeOp, Op, SourceOp
from windrow.physical.sources import Crossing, Partials, SourceScan
from windrow.plan.expressions import Column
from windrow.plan.nodes import Named, Plan
from windrow.plan.patterns import PatternKind


class PlanNotes(Protocol):
    """Why an operator was chosen: what EXPLAIN shows of it beside its structure."""


@dataclass(frozen=True, slots=True)
class PhysicalNode:
    """An operator, the nodes that it reads, and the edge that leaves it.

    `kind` is the update pattern of an unsigned edge, STR of a signed or partly signed one, None of
    a stream. `netted` names columns that, while they are kept, make each instant's changes net
    already. `label`, `structure` and `notes` are shown by EXPLAIN; `logical` is the part of the
    logical plan that the operator was made for. None of these is part of what the node is.
    """

    op: Op
    inputs: tuple[PhysicalNode, ...]
    schema: Schema
    kind: PatternKind | None
    partly_signed: bool = False
    netted: frozenset[str] | None = field(default=None, compare=False)
    label: str = field(default="", compare=False)
    structure: str = field(default="", compare=False)
    logical: Plan | None = field(default=None, compare=False, repr=False)
    notes: PlanNotes | None = field(default=None, compare=False, repr=False)

    @property
    def signed(self) -> bool:
        """Return whether a retraction travels for every tuple that expires or is deleted."""
        return self.kind is PatternKind.STR and not self.partly_signed

    @property
    def unsigned(self) -> bool:
        """Return whether every tuple carries its `exp`, and none ends earlier."""
        return self.kind not in (None, PatternKind.STR)

    def net_after(self, columns: tuple[Named, ...]) -> frozenset[str] | None:
        """Return `netted` of a projection of this edge: renamed, or lost."""
        if self.netted is None:
            return None
        kept = {c.expr.name: c.name for c in columns if isinstance(c.expr, Column)}
        return frozenset(kept[n] for n in self.netted) if self.netted <= kept.keys() else None


@dataclass(frozen=True)
class PhysicalPlan:
    """The physical plan of one query.

    `netted`: the root's changes of an instant are net already. `placements` says, by the names of
    inputs, which are aggregated before they are joined. On shards `folded` says of groups that rows
    change shards for whether they are folded before, and `unmerged` why inputs of joins that are
    aggregated early are not merged.
    """

    root: PhysicalNode
    netted: bool
    placements: tuple[tuple[str, str], ...] = ()
    folded: tuple[str, ...] = field(default=(), compare=False)
    unmerged: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def nodes(self) -> tuple[PhysicalNode, ...]:
        """All nodes, inputs first; the root is the last. A node that two read is there once."""
        found: dict[int, PhysicalNode] = {}
        _collect(self.root, found)
        return tuple(found.values())

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The position of each node among `nodes`, by its `id`."""
        return {id(node): i for i, node in enumerate(self.nodes)}

    def inputs_of(self, node: PhysicalNode) -> tuple[int, ...]:
        """Return the positions of the nodes that a node reads."""
        return tuple(self.numbers[id(below)] for below in node.inputs)

    def _sources(self) -> Iterator[tuple[int, SourceOp]]:
        for i, node in enumerate(self.nodes):
            if isinstance(node.op, SourceOp):
                yield i, node.op

    @cached_property
    def sources(self) -> dict[int, SourceScan]:
        """What enters the plan, by position."""
        return {i: op.scan for i, op in self._sources()}

    @cached_property
    def entries(self) -> dict[int, Crossing]:
        """On shards, whom the rows of an input go to, by position."""
        return {i: op.crossing for i, op in self._sources() if op.crossing is not None}

    @cached_property
    def partials(self) -> dict[int, Partials]:
        """On shards, the inputs whose rows may be merged before they enter, by position."""
        return {i: op.partials for i, op in self._sources() if op.partials is not None}

    @cached_property
    def exchanges(self) -> dict[int, Crossing]:
        """On shards, nodes whose changes come from the same node's input on all shards."""
        nodes = enumerate(self.nodes)
        return {i: n.op.crossing for i, n in nodes if isinstance(n.op, ExchangeOp)}


def _collect(node: PhysicalNode, found: dict[int, PhysicalNode]) -> None:
    if id(node) not in found:
        for below in node.inputs:
            _collect(below, found)
        found[id(node)] = node
