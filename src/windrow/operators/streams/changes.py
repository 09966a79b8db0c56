"""Streams of what enters or leaves an answer. They close an instant before they speak.

changes of τ   +a +b -a        more at τ may follow, so nothing is said
clock > τ      net: +b         now it is: rows of τ, ordered by value
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from windrow.core.schema import Schema
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.netting import net_per_instant
from windrow.operators.ordering import RowOrder
from windrow.operators.state.backlog import Backlog
from windrow.operators.state.fields import NestedField
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.operators.vector import I64
from windrow.operators.window.slide import next_multiples


class ClosingTask(StatefulTask, ABC):
    """The common part: changes wait until their instant is past.

    A subclass says in `_spoken` what closed instants amount to. Stores the open instant.
    At the root of a plan nobody asks for an order inside an instant: then `ordered` is False.
    """

    state_fields = (NestedField("_open"),)

    lags = True

    def __init__(self, schema: Schema, interner: Interner, *, ordered: bool = True) -> None:
        self.counters = Counters()
        self.schema = schema
        self._order = RowOrder(schema, (), interner) if ordered else None
        self._open = Backlog(schema, signed=True)

    @abstractmethod
    def _spoken(self, delta: Delta) -> Delta:
        """Return what the changes of closed instants amount to."""

    def _timed(self, delta: Delta) -> Delta:
        """Return the changes at the instants they are reported for."""
        return delta

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Take changes; return what instants before `clock` amount to."""
        (delta,) = inputs
        self._open.push(self._timed(delta))
        self.counters.tuples_in += len(delta)
        if delta.weight is not None:
            self.counters.negatives_in += int(np.count_nonzero(delta.weight < 0))
        return self._closed(clock - 1)

    def finish(self, clock: int) -> Delta:
        """Nothing more will come: close the instant of the clock as well."""
        return self._closed(clock)

    def _closed(self, last: int) -> Delta:
        closed = self._open.pop(last)
        if not len(closed):
            return Delta(closed.ts, closed.columns)
        out = self._spoken(closed)
        if self._order is not None:
            out = self._order.sorted_instants(out)
        self.counters.tuples_out += len(out)
        return out

    def state_rows(self) -> int:
        """Return the changes of instants that are still open."""
        return len(self._open)


class IstreamTask(ClosingTask):
    """At each τ the rows of Q(τ) - Q(τ⁻): signed in, stream out."""

    def _spoken(self, delta: Delta) -> Delta:
        net = net_per_instant(delta)
        return net if net.weight is None else copies(net, net.weight)

    def waiting(self) -> Delta:
        """Return what is to be emitted of the open instants if nothing else arrives at them."""
        nothing = Delta.empty(self.schema, signed=True)
        return self._spoken(Delta.concat([nothing, *self._open.batches]))


class ProducedTask(ClosingTask):
    """The results of each instant, each once: their arrivals on an unsigned edge in, stream out."""

    def _timed(self, delta: Delta) -> Delta:
        return Delta(delta.ts, delta.columns)

    def _spoken(self, delta: Delta) -> Delta:
        return delta


class DstreamTask(ClosingTask):
    """At each τ the rows of Q(τ⁻) - Q(τ): signed in, stream out."""

    def _spoken(self, delta: Delta) -> Delta:
        return copies(net := net_per_instant(delta), -net.weights())


class DelayTask(ClosingTask):
    """Each tuple at the next multiple of `slide`: stream in, stream out."""

    def __init__(self, schema: Schema, slide: int, interner: Interner) -> None:
        super().__init__(schema, interner)
        self.slide = slide

    def _timed(self, delta: Delta) -> Delta:
        return Delta(next_multiples(delta.ts, self.slide), delta.columns)

    def _spoken(self, delta: Delta) -> Delta:
        return delta


def copies(delta: Delta, counts: I64) -> Delta:
    """Return each row as often as its count says, if it is positive, as a stream."""
    times = np.maximum(counts, 0)
    rows = np.repeat(np.arange(len(delta)), times)
    return Delta(delta.ts[rows], {n: v.take(rows) for n, v in delta.columns.items()})
