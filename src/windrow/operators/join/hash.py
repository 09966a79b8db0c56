"""The symmetric hash join of unsigned edges."""

from __future__ import annotations

from functools import partial

import numpy as np

from windrow.core.time import BEGINNING, FOREVER
from windrow.kernels.chains import ROWS
from windrow.kernels.joins import (
    COMPARED,
    GONE_LEFT,
    GONE_RIGHT,
    MADE,
    SCAN_AT,
    SCAN_EVERY,
    WORK_WORDS,
    join_arrivals,
)
from windrow.operators.delta import Delta
from windrow.operators.join.fifo import sliced
from windrow.operators.join.match import Match
from windrow.operators.join.results import PairBuffer, pair_columns
from windrow.operators.join.rows import NONE
from windrow.operators.join.sides import StoredSides
from windrow.operators.state.fields import ScalarField
from windrow.operators.vector import I64
from windrow.physical.conditions import Form


class HashJoin(StoredSides):
    """L ⋈ R at work: unsigned × unsigned → unsigned.  ts = max, exp = min.

    Each arrival meets the rows of its key that are alive on the other side; departures are never
    seen, only forgotten. Costs O(arrivals + rows of the key looked at + departures) a step, and
    stores the rows of both windows. Without keys all rows have one key: a nested loop.
    `renews`: a left row has at most one partner at a time, so its results renew one another.
    """

    state_fields = (*StoredSides.state_fields, ScalarField("scan_at"))

    def __init__(
        self,
        match: Match,
        left: Form = Form.CALENDAR,
        right: Form = Form.CALENDAR,
        *,
        scan_every: int = 1,
        renews: bool = False,
    ) -> None:
        super().__init__(match, left, right)
        self.renews = renews
        self.direct = Form.DIRECT in (left, right)
        self.scan_every = scan_every
        self.scan_at = BEGINNING if self.direct else FOREVER
        self.buffer = PairBuffer()
        self.nothing = Delta.empty(match.output, signed=False)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Join the arrivals with what is alive, then forget what has expired by `clock`.

        Many arrivals are taken in slices: a probe looks at all rows of its key, and those that
        left while a step of many windows goes on would be looked at again and again. A join of
        three, a hundred thousand tuples and sixteen windows a step, takes a third of the time.
        """
        left, right = inputs
        self.counters.tuples_in += len(left) + len(right)
        left, right = self.match.left.joinable(left), self.match.right.joinable(right)
        parts = [self._joined(*slices) for slices in sliced(left, right, clock)]
        return Delta.concat(parts)

    def _joined(self, left: Delta, right: Delta, clock: int) -> Delta:
        """Join some arrivals, and forget what has expired after them."""
        made = self.join(left, right) if len(left) or len(right) else 0
        output = self._results(made) if made else self.nothing
        self.expire(clock)
        return output

    def join(self, left: Delta, right: Delta) -> int:
        """Enter the new rows and fill the buffer with the pairs they make; return how many."""
        arrived = self.left.arrive(left, self.keys), self.right.arrive(right, self.keys)
        work = np.zeros(WORK_WORDS, np.int64)
        work[SCAN_AT], work[SCAN_EVERY] = self.scan_at, self.scan_every
        sides = self.left, self.right
        # Plain lists are scanned inside the loop, as the papers' baseline is.
        gone = tuple(np.empty(s.capacity, np.int64) if self.direct else NONE for s in sides)
        shapes = (self.left.shape, self.right.shape)
        rest = (shapes, self.keys.heads, self.match.bounds, gone)
        loop = partial(join_arrivals, *arrived, self.left.links, self.right.links, *rest)
        self.buffer.fill(lambda out: loop(out, work), len(left) + len(right))
        if self.direct:
            self.scan_at = int(work[SCAN_AT])
            self._scanned(gone, work)
        self.counters.probes += len(left) + len(right)
        self.counters.comparisons += int(work[COMPARED])
        return int(work[MADE])

    def _results(self, made: int) -> Delta:
        lefts, rights, ts, exp = self.buffer.taken(made)
        columns, kept = pair_columns(
            self.match,
            len(ts),
            lambda _: self.left.payload.take(lefts),
            lambda _: self.right.payload.take(rights),
        )
        if kept is not None:
            ts, exp = ts[kept], exp[kept]
        self.counters.tuples_out += len(ts)
        return Delta(ts, columns, exp)

    def _scanned(self, gone: tuple[I64, ...], work: I64) -> None:
        """Reclaim the slots that a scan freed, and the codes that no row is left of."""
        for side, rows in enumerate((self.left, self.right)):
            slots = gone[side][: work[GONE_LEFT + side]]
            rows.release(slots)
            self.counters.expiries += len(slots)
        if work[GONE_LEFT] + work[GONE_RIGHT]:
            # A scan does not say which keys have lost their last row, so all are looked at.
            live = self.keys.table.live()
            self.keys.table.release(live[~self.keys.heads[live, ROWS:].any(axis=1)])
