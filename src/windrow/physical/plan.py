"""The physical plan of a query: its root, and what is known of it as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from windrow.physical.identity import computed_name, digest, identities
from windrow.physical.node import PhysicalNode, PlanNotes
from windrow.physical.operators import ExchangeOp, ProjectOp, SourceOp
from windrow.physical.sources import Crossing, Partials, SourceScan
from windrow.plan.expressions import Expr


@dataclass(frozen=True)
class PhysicalPlan:
    """The physical plan of one query.

    `netted`: the root's changes of an instant are net already. `placements` says, by the names of
    inputs, which are aggregated before they are joined: on shards, when they began. There `folded`
    says of groups that rows change shards for whether they are folded before, and `merging` whether
    and why tuples are merged before they reach a shard, where they could be.
    """

    root: PhysicalNode
    netted: bool
    placements: tuple[tuple[str, str], ...] = ()
    folded: tuple[PlanNotes, ...] = field(default=(), compare=False)
    merging: PlanNotes | None = field(default=None, compare=False)

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

    @cached_property
    def identity(self) -> str:
        """What a saved state must agree with to be taken over (`identity.py`)."""
        known = identities(self.nodes)
        return digest([[i, self.inputs_of(n)] for i, n in zip(known, self.nodes, strict=True)])

    @property
    def computed(self) -> dict[str, Expr]:
        """The columns that operators compute for themselves, by name (`computed_name`)."""
        projections = (node.op for node in self.nodes if isinstance(node.op, ProjectOp))
        found = (column for op in projections for column in op.columns)
        return {c.name: c.expr for c in found if c.name == computed_name(c.expr)}

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
