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

from dataclasses import dataclass, field
from typing import Protocol

from windrow.core.schema import Schema
from windrow.physical.operators import Op
from windrow.plan.expressions import Column
from windrow.plan.nodes import Named, Plan
from windrow.plan.patterns import PatternKind


class PlanNotes(Protocol):
    """Why an operator was chosen, and what the alternatives that lost would cost."""

    def notes(self) -> list[str]:
        """Return in lines what EXPLAIN shows of it."""

    def facts(self) -> dict[str, object]:
        """Return the same for other programs."""


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
