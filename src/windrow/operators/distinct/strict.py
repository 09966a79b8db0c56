"""DISTINCT of signed changes: how many copies a row has."""

from __future__ import annotations

from windrow.core.schema import Schema
from windrow.operators.delta import Delta
from windrow.operators.setops import BagOperator


class StrictDistinct(BagOperator):
    """δ with counters: signed in, signed out [THESIS 3.2.2].

    It is EXCEPT of nothing: each row with copies, once. O(changes) a step; stores each
    distinct row and its copies.
    """

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema, schema, "except")

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Report rows that get their first copy, or lose their last."""
        return super().step((*inputs, self._empty), clock)

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        return (self._copies(0, clock),)
