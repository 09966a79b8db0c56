"""Time-based windows: a tuple's `exp` is known on arrival. Stream in, unsigned edge out.

    S [RANGE w]     ●━━━━━━━┫           exp = ts + w
    with SLIDE d    ┊  ●━━━━━━━┫        both ends moved up to the next multiple of d

They store nothing, but for tuples that wait for the next multiple.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from windrow.core.schema import Field, Schema
from windrow.core.time import FOREVER
from windrow.core.types import BIGINT
from windrow.operators.delta import Delta
from windrow.operators.state.backlog import Backlog
from windrow.operators.state.fields import NestedField
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.operators.vector import I64, Vector
from windrow.operators.window.slide import next_multiples


class TimeBasedWindow(StatefulTask, ABC):
    """The common part: hold tuples back until the multiple of `slide` at which they enter.

    A subclass says in `_born` which tuples enter and when each leaves.
    """

    state_fields = (NestedField("_held"),)

    def __init__(self, schema: Schema, slide: int | None) -> None:
        assert slide is None or slide > 0, "a slide is positive"
        self.counters = Counters()
        self.schema = schema
        self.slide = slide
        self._held = Backlog(schema, signed=False)
        self._empty = Delta.empty(schema, signed=False)

    @abstractmethod
    def _born(self, delta: Delta) -> Delta:
        """Return the tuples that enter, each with the time at which it leaves."""

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Give each tuple its time of leaving. O(tuples)."""
        (delta,) = inputs
        out = self._born(delta) if len(delta) else self._empty
        if self.slide is not None:
            self._held.push(_slid(out, self.slide))
            out = self._held.pop(clock)
        self._count(delta, out)
        return out

    def state_rows(self) -> int:
        """Return how many tuples wait for a multiple of the slide."""
        return len(self._held)


class RangeWindow(TimeBasedWindow):
    """{ s ∈ S | s.ts <= τ < s.ts + width }.

    With `expiry_column`, a column of that name has the tuple's `exp`, SLIDE apart.
    """

    def __init__(
        self,
        schema: Schema,
        width: int,
        slide: int | None = None,
        expiry_column: str | None = None,
    ) -> None:
        assert width > 0, "a window is at least one instant wide"
        if expiry_column is not None and expiry_column not in schema:
            schema = schema + Schema((Field(expiry_column, BIGINT, nullable=False),))
        super().__init__(schema, slide)
        self.width = width
        self.expiry_column = expiry_column

    def _born(self, delta: Delta) -> Delta:
        ts = delta.ts
        if int(ts[-1]) > FOREVER - self.width:
            exp = np.where(ts > FOREVER - self.width, FOREVER - self.width, ts) + self.width
        else:
            exp = ts + self.width
        columns = delta.columns
        if self.expiry_column is not None:
            columns = {**columns, self.expiry_column: Vector(BIGINT, exp)}
        return Delta(ts, columns, exp)


class UnboundedWindow(TimeBasedWindow):
    """{ s ∈ S | s.ts <= τ }."""

    def __init__(self, schema: Schema, slide: int | None = None) -> None:
        super().__init__(schema, slide)

    def _born(self, delta: Delta) -> Delta:
        return Delta(delta.ts, delta.columns, np.full(len(delta), FOREVER, np.int64))


class SinceWindow(TimeBasedWindow):
    """{ s ∈ S | start <= s.ts <= τ }."""

    def __init__(self, schema: Schema, start: int, slide: int | None = None) -> None:
        super().__init__(schema, slide)
        self.start = start

    def _born(self, delta: Delta) -> Delta:
        if delta.ts[0] < self.start:
            delta = delta.slice(int(np.searchsorted(delta.ts, self.start)), len(delta))
        return Delta(delta.ts, delta.columns, np.full(len(delta), FOREVER, np.int64))


class UntilWindow(TimeBasedWindow):
    """{ s ∈ S | s.ts <= τ < min(s.columns) }: each tuple brings its own end."""

    def __init__(self, schema: Schema, columns: tuple[str, ...], slide: int | None = None) -> None:
        super().__init__(schema, slide)
        self.columns = columns

    def _born(self, delta: Delta) -> Delta:
        exp: I64 = delta.columns[self.columns[0]].data  # type: ignore[assignment]
        for name in self.columns[1:]:
            exp = np.minimum(exp, delta.columns[name].data)
        return Delta(delta.ts, delta.columns, exp).living()


def _slid(delta: Delta, slide: int) -> Delta:
    """Return the tuples as they are seen at multiples of the slide only."""
    assert delta.exp is not None
    exp = next_multiples(delta.exp, slide)
    return Delta(next_multiples(delta.ts, slide), delta.columns, exp).living()
