"""The whole answers of the last while, as changes.

refreshes    k·d   ─A───A───B───B───B───B───────   answers of a width of 3·d
enters             +A  +A  +B  +B  +B  +B
leaves                         -A  -A  -B           the answer of 3·d ago
difference         +A  +A  +B  B-A B-A  0           nothing changes any more, however long it lasts
"""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.core.time import FOREVER, last_multiple, next_multiple
from windrow.operators.delta import Delta
from windrow.operators.state.backlog import Backlog
from windrow.operators.state.bag import Bag
from windrow.operators.state.fields import NestedField, ScalarField
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.operators.window.slide import next_multiples


class RecentAnswersTask(StatefulTask):
    """⊎ { Q(k·d) | τ - width < k·d <= τ }: signed in, signed out.

    At k·d the answer changes by Q(k·d) - Q(k·d - width). A change of Q enters that difference at
    the next multiple, and leaves it `width` later; while the difference is empty, refreshes are
    passed over. O(changes + rows emitted). Invariants, asserted by `check`:
      1. what leaves the difference later is what it is made of: it ends up empty;
      2. refreshes are multiples of the slide.
    """

    state_fields = (
        ScalarField("next"),
        NestedField("_difference"),
        NestedField("_changes"),
        NestedField("_leaving"),
    )

    lags = True

    def __init__(self, schema: Schema, slide: int, width: int) -> None:
        assert slide > 0, "a slide is positive"
        assert width % slide == 0, "answers enter and leave at one instant"
        self.counters = Counters()
        self.schema = schema
        self.slide, self.width = slide, width
        self.next: int | None = None  # the refresh that comes next
        self._difference = Bag(schema, signed=True)
        self._changes = Backlog(schema, signed=True)
        self._leaving = Backlog(schema, signed=True)

    def begin(self, start: int) -> Delta | None:
        """Answers enter from the first multiple at or after `start` on."""
        self.next = next_multiple(start, self.slide)
        return None

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Take changes; return those of the recent answers at multiples before `clock`."""
        (delta,) = inputs
        assert self.next is not None, "a query begins before it steps"
        # Not before the refresh that comes next: earlier ones have been emitted.
        at = np.maximum(next_multiples(delta.ts, self.slide), self.next)
        self._changes.push(Delta(at, delta.columns, None, delta.weights()))
        self.counters.tuples_in += len(delta)
        if delta.weight is not None:
            self.counters.negatives_in += int(np.count_nonzero(delta.weight < 0))
        return self._emitted(clock - 1)

    def finish(self, clock: int) -> Delta:
        """Nothing more will come: the instant of the clock is closed too."""
        return self._emitted(clock)

    def _emitted(self, last: int) -> Delta:
        assert self.next is not None, "a query begins before it steps"
        end = last_multiple(last, self.slide)
        parts = [Delta.empty(self.schema, signed=True)]
        while self.next <= end:
            self._fold(self.next)
            # Between two changes all refreshes show the same rows.
            until = min(self._changes.first, self._leaving.first, end + self.slide)
            parts.append(self._constant(until))
            self.next = until
        out = Delta.concat(parts)
        self.counters.tuples_out += len(out)
        return out

    def _fold(self, now: int) -> None:
        """Bring the difference to a refresh: what enters now leaves it `width` later."""
        entering = self._changes.pop(now)
        leaving = self._leaving.pop(now)
        self._difference.add(entering.columns, entering.weights())
        self._difference.add(leaving.columns, leaving.weights())
        if len(entering) and now < FOREVER - self.width:
            later = np.full(len(entering), now + self.width)
            self._leaving.push(Delta(later, entering.columns, None, -entering.weights()))

    def _constant(self, until: int) -> Delta:
        """Return the difference at each multiple from the next one on before `until`."""
        assert self.next is not None
        columns, counts = self._difference.rows()
        if not len(counts):
            return Delta.empty(self.schema, signed=True)
        times = np.arange(self.next, until, self.slide)
        rows = np.tile(np.arange(len(counts)), len(times))
        taken = {n: v.take(rows) for n, v in columns.items()}
        return Delta(np.repeat(times, len(counts)), taken, None, np.tile(counts, len(times)))

    def state_rows(self) -> int:
        """Return the rows of the difference and the changes that wait."""
        return len(self._difference) + len(self._changes) + len(self._leaving)

    def invariants(self) -> None:
        """Assert the invariants."""
        rest = Bag(self.schema)
        columns, counts = self._difference.rows()
        rest.add(columns, counts)
        for batch in self._leaving.batches:
            rest.add(batch.columns, batch.weights())
        assert not len(rest), "invariant 1: something would stay in the difference"
        assert self.next is None or self.next % self.slide == 0, "invariant 2: no multiple"
