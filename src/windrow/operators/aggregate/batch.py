"""What the accumulators of a GROUP BY have in common: the batch they fold, and their protocol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from windrow.kernels.groups import CLOSES, WEIGHT
from windrow.operators.state.fields import State
from windrow.operators.vector import I64, Bools, Vector
from windrow.physical.calls import EXPIRY_COLUMN, IN_ORDER, AccumulatorCall

ALL_TAKEN: Bools = np.empty(0, np.bool_)
"""Stands for a mask that is true everywhere."""


def taken_rows(call: AccumulatorCall, columns: dict[str, Vector]) -> Bools:
    """Return which rows a call folds: no argument is NULL, and the filter is true.

    Rows in an order are folded with their NULLs.
    """
    found: Bools | None = None
    for arg in () if call.name in IN_ORDER else call.args:
        valid = columns[arg.name].valid
        if valid is not None:
            found = valid if found is None else found & valid
    if call.filter is not None:
        chosen = columns[call.filter]
        truth = chosen.data != 0
        if chosen.valid is not None:
            truth &= chosen.valid
        found = truth if found is None else found & truth
    return ALL_TAKEN if found is None else np.ascontiguousarray(found)


def column_bits(column: Vector) -> I64:
    """Return a column as int64s; of doubles, their bits."""
    data = np.ascontiguousarray(column.data)
    return data.view(np.int64) if data.dtype == np.float64 else data  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events in time order (see `kernels/groups.py`), the rows they are about, the emissions."""

    events: I64
    columns: dict[str, Vector]
    emissions: int
    rows_after: I64

    def __len__(self) -> int:
        return int(self.events.shape[1])

    def column(self, call: AccumulatorCall) -> Vector:
        """Return the call's first argument."""
        return self.columns[call.args[0].name]

    def bits(self, call: AccumulatorCall) -> I64:
        """Return the first argument as int64s; of doubles, their bits."""
        return column_bits(self.column(call))

    @property
    def expiries(self) -> I64:
        """When each row expires; only if the input says so."""
        return self.columns[EXPIRY_COLUMN].data  # type: ignore[return-value]

    def takes(self, call: AccumulatorCall) -> Bools:
        """Return which events a call folds."""
        return taken_rows(call, self.columns)

    def places(self, call: AccumulatorCall) -> I64:
        """Return the events that a call folds."""
        takes = self.takes(call)
        return np.arange(len(self)) if takes is ALL_TAKEN else np.flatnonzero(takes)

    def reweighted(self, weights: I64) -> EventBatch:
        """Return the same events with other weights, 0 among them."""
        events = self.events.copy()
        events[WEIGHT] = weights
        return replace(self, events=events)

    def lightened(self, most: int) -> EventBatch:
        """Return the same events with weights up to `most`: a heavier one is several."""
        weight = self.events[WEIGHT]
        if not len(weight) or (weight.max() <= most and weight.min() >= -most):
            return self
        pieces, sign = np.maximum(1, -(-np.abs(weight) // most)), np.sign(weight)
        index, ends = np.repeat(np.arange(len(weight)), pieces), np.cumsum(pieces) - 1
        events = self.events.take(index, axis=1)
        events[WEIGHT] = most * sign[index]
        events[WEIGHT, ends] = weight - most * sign * (pieces - 1)
        events[CLOSES, : self.emissions] = ends[self.events[CLOSES, : self.emissions]]
        columns = {name: v.take(index) for name, v in self.columns.items()}
        return replace(self, events=events, columns=columns)


class Accumulator(State, ABC):
    """One call's values, by group code.

    Groups that are released have no tuples; whoever has their code next starts from nothing.
    """

    @property
    def comparisons(self) -> int:
        """Return how many values have been compared."""
        return 0

    @abstractmethod
    def reserve(self, groups: int) -> None:
        """Make room for group codes below `groups`."""

    @abstractmethod
    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Fold the events; fill in the word of each emission, and whether it is not NULL.

        `valid` comes as true everywhere; words that are not valid may be anything.
        """

    def release(self, groups: I64) -> None:
        """Forget groups, each of which has no tuples: what they hold is nothing already."""

    def entries(self) -> int:
        """Return how many values are stored, besides sums and counts."""
        return 0

    @abstractmethod
    def check_groups(self, live: I64) -> None:
        """Assert what is true of live groups, and of those without tuples."""
