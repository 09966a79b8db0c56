"""The materialised answer of a query: its recipient [NEG 5.7]."""

from __future__ import annotations

from windrow.core.schema import Schema
from windrow.operators.delta import Delta
from windrow.operators.netting import net_per_instant
from windrow.operators.state.backlog import Backlog
from windrow.operators.state.bag import Bag
from windrow.operators.state.fields import NestedField, State, StateLayout
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Vector

__all__ = ["View", "net_per_instant"]

PENDING = 100_000
"""Changes that may wait before they are folded in unasked."""


class View(State):
    """The answer as a bag of rows, folded from its changes when it is asked for.

    Folding in bulk costs less than keeping up with every batch, and changes that take each
    other back meet before they cost anything. What waits stays within twice the view and a
    constant, so it never costs more than O(changes).
    """

    stored_as = StateLayout("view")
    state_fields = (NestedField("_bag"), NestedField("_pending"))

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._bag = Bag(schema)
        self._pending = Backlog(schema, signed=True)
        self._shrinks = False

    def apply(self, delta: Delta) -> None:
        """Count signed changes. While none is a retraction, folding would save nothing."""
        self._pending.push(delta)
        self._shrinks = self._shrinks or delta.weight is not None
        if self._shrinks and len(self._pending) > PENDING + 2 * len(self._bag):
            self._fold()

    def settle(self) -> None:
        """Fold in what waits."""
        self._fold()

    def rows(self) -> tuple[dict[str, Vector], I64]:
        """Return the distinct rows of the answer and the copies of each."""
        self._fold()
        return self._bag.rows()

    def _fold(self) -> None:
        if len(self._pending):
            changes = self._pending.drain()
            self._bag.add(changes.columns, changes.weights())

    def content(self, rows: int) -> Saved:
        """Return the answer, folded."""
        self._fold()
        return super().content(rows)
