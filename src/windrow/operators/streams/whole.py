"""The stream of whole answers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from windrow.core.schema import Schema
from windrow.core.time import last_multiple, next_multiple
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.ordering import RowOrder
from windrow.operators.state.backlog import Backlog
from windrow.operators.state.bag import Bag
from windrow.operators.state.fields import NestedField, ScalarField
from windrow.operators.stateless import StatefulTask
from windrow.operators.streams.changes import copies
from windrow.operators.task import Counters
from windrow.operators.vector import I64
from windrow.operators.window.slide import next_multiples


class RstreamTask(StatefulTask):
    """Q(k·d) at each k·d from the first event on: signed in, stream out.

    The answer of a multiple leaves once the clock has passed it. O(changes + rows emitted);
    keeps the answer as of the last multiple, and the changes since. `seen` and `by`: see the
    plan's node.
    """

    state_fields = (ScalarField("next"), NestedField("_bag"), NestedField("_changes"))

    lags = True

    def __init__(
        self,
        schema: Schema,
        slide: int,
        interner: Interner,
        seen: int | None = None,
        by: int = 1,
    ) -> None:
        assert slide > 0, "a slide is positive"
        self.seen, self.by = seen, by
        self.counters = Counters()
        self.schema = schema
        self.slide = slide
        self.next: int | None = None  # the multiple to be emitted next
        self._order = RowOrder(schema, (), interner)
        self._bag = Bag(schema)
        self._changes = Backlog(schema, signed=True)

    def begin(self, start: int) -> Delta | None:
        """Answers are emitted from the first multiple at or after `start` on."""
        self.next = next_multiple(start, self.slide)
        return None

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Take changes; return the answers at multiples before `clock`."""
        (delta,) = inputs
        self._changes.push(delta)
        self.counters.tuples_in += len(delta)
        if delta.weight is not None:
            self.counters.negatives_in += int(np.count_nonzero(delta.weight < 0))
        return self._answers_up_to(clock - 1)

    def finish(self, clock: int) -> Delta:
        """Nothing more will come: the answer at the clock can be emitted too."""
        return self._answers_up_to(clock)

    def _answers_up_to(self, last: int) -> Delta:
        """Return the whole answers at the multiples up to an instant."""
        assert self.next is not None, "a query begins before it steps"
        end = last_multiple(last, self.slide)
        if end < self.next:
            return Delta.empty(self.schema, signed=True)
        changes = self._changes.pop(end)
        # Changes by the first multiple that shows them; before each, the answer as it was.
        at = np.maximum(next_multiples(changes.ts, self.slide), self.next)
        bounds = np.append(np.flatnonzero(np.diff(at, prepend=at[:1] - 1)), len(at)).tolist()
        parts = [Delta.empty(self.schema, signed=True)]
        for start, stop in pairwise(bounds):
            parts.append(self._held_until(int(at[start])))
            part = changes.slice(start, stop)
            self._bag.add(part.columns, part.weights())
        parts.append(self._held_until(end + self.slide))
        out = Delta.concat(parts)
        self.counters.tuples_out += len(out)
        return out

    def _held_until(self, stop: int) -> Delta:
        """Return the answer, unchanged, at each multiple before `stop`."""
        assert self.next is not None
        first, self.next = self.next, max(self.next, stop)
        if not len(self._bag) or first >= stop:
            return Delta.empty(self.schema, signed=True)
        columns, counts = self._bag.rows()
        one = copies(Delta(np.full(len(counts), first), columns), counts)
        one = self._order.sorted_instants(one)
        times = self._seen_times(first, stop, len(one))
        rows = np.tile(np.arange(len(one)), len(times))
        taken = {n: v.take(rows) for n, v in one.columns.items()}
        return Delta(np.repeat(times, len(one)), taken)

    def _seen_times(self, first: int, stop: int, rows: int) -> I64:
        """Return the multiples of [first, stop) that matter: all, or those at either end."""
        refreshes = -((first - stop) // self.slide)
        if self.seen is None or (rows > 1 and self.by > 1):
            return np.arange(first, stop, self.slide)
        skipped = max(0, refreshes - 2 * self.seen) // self.by * self.by
        numbers = np.arange(refreshes - skipped)
        numbers[self.seen :] += skipped
        return first + numbers * self.slide

    def state_rows(self) -> int:
        """Return the rows of the answer and the changes since."""
        return len(self._bag) + len(self._changes)

    def invariants(self) -> None:
        """Assert the invariants."""
        assert self.next is None or self.next % self.slide == 0, "only multiples are emitted"
