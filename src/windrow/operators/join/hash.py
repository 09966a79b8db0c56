"""The symmetric hash join of unsigned edges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windrow.core.time import BEGINNING, FOREVER
from windrow.kernels.chains import ALIVE, HEAD_WORDS, LEFT, RIGHT
from windrow.kernels.joins import (
    COMPARED,
    GONE_LEFT,
    GONE_RIGHT,
    MADE,
    NEXT_LEFT,
    NEXT_RIGHT,
    SCAN_AT,
    SCAN_EVERY,
    WORK_WORDS,
    join_arrivals,
)
from windrow.operators.delta import Delta
from windrow.operators.join.fifo import sliced
from windrow.operators.join.match import Match
from windrow.operators.join.pairs import PairBuffer, pair_columns
from windrow.operators.join.rows import NONE, PoolRows, SideRows, check_chains, held_rows, rows_of
from windrow.operators.state.key_table import KeyTable, grown, interned_words, with_room
from windrow.operators.state.row_columns import interned_codes
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64
from windrow.physical.conditions import Form

Arrivals = tuple[I64, I64, I64, I64, I64, I64]


class HashJoin:
    """L ⋈ R at work: unsigned × unsigned → unsigned.  ts = max, exp = min.

    Each arrival meets the rows of its key that are alive on the other side; departures are never
    seen, only forgotten. Costs O(arrivals + rows of the key looked at + departures) a step, and
    stores the rows of both windows. Without keys all rows have one key: a nested loop.
    `renews`: a left row has at most one partner at a time, so its results renew one another.
    """

    def __init__(
        self,
        match: Match,
        left: Form = Form.CALENDAR,
        right: Form = Form.CALENDAR,
        *,
        scan_every: int = 1,
        renews: bool = False,
    ) -> None:
        self.match = match
        self.renews = renews
        self.counters = Counters()
        self.keys = KeyTable(len(match.left.keys))
        self.heads = np.zeros((self.keys.capacity, HEAD_WORDS), np.int64)
        self.left: SideRows = rows_of(left, match.left, len(match.bands), LEFT)
        self.right: SideRows = rows_of(right, match.right, len(match.bands), RIGHT)
        self.direct = Form.DIRECT in (left, right)
        self.scan_every = scan_every
        self.scan_at = BEGINNING if self.direct else FOREVER
        self.buffer = PairBuffer()
        self.nothing = Delta.empty(match.output, signed=False)
        no_times = np.empty((0, len(match.bands)), np.int64)
        self.no_arrivals: Arrivals = (NONE, NONE, NONE, NONE, NONE, no_times)

    def begin(self, start: int) -> Delta | None:
        """Nothing is there before any tuple is."""

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
        arrived = self.arrived(left, right)
        work = np.zeros(WORK_WORDS, np.int64)
        self.buffer.reserve(len(left) + len(right))
        self._run(arrived, work)
        self.counters.probes += len(left) + len(right)
        self.counters.comparisons += int(work[COMPARED])
        return int(work[MADE])

    def _run(self, arrived: tuple[Arrivals, Arrivals], work: I64) -> None:
        """Run the loop until it has taken all arrivals, with more room each time."""
        work[SCAN_AT], work[SCAN_EVERY] = self.scan_at, self.scan_every
        gone = tuple(
            np.empty(len(s.rows), np.int64) if self.direct else NONE
            for s in (self.left, self.right)
        )
        states = (self.left.walk, self.left.rows), (self.right.walk, self.right.rows)
        shapes = (self.left.shape, self.right.shape)
        rest = (shapes, self.heads, self.match.bounds, gone)
        left, right = len(arrived[0][0]), len(arrived[1][0])
        join_arrivals(*arrived, *states, *rest, self.buffer.arrays, work)
        while work[NEXT_LEFT] < left or work[NEXT_RIGHT] < right:
            self.buffer.reserve(2 * self.buffer.room)
            join_arrivals(*arrived, *states, *rest, self.buffer.arrays, work)
        if self.direct:
            self.scan_at = int(work[SCAN_AT])
            self._scanned(gone, work)

    def arrived(self, left: Delta, right: Delta) -> tuple[Arrivals, Arrivals]:
        """Store new rows; return for each side what the loop reads of them."""
        match = self.match
        arrived = (
            self._entered(left, self.left, match.left_times, match.left_keep),
            self._entered(right, self.right, match.right_times, match.right_keep),
        )
        self.heads = grown(self.heads, self.keys.capacity)  # type: ignore[assignment]
        return arrived

    def _entered(
        self,
        delta: Delta,
        rows: SideRows,
        times_of: Callable[[Delta], I64],
        keep_of: Callable[[I64, I64], I64],
    ) -> Arrivals:
        """Store the new rows of one side."""
        if not len(delta):
            return self.no_arrivals
        assert delta.exp is not None
        codes = self.keys.encode(rows.side.key_words(delta))
        times = times_of(delta)
        keep = keep_of(delta.exp, times)
        refs = rows.add(delta)
        rows.schedule(refs, keep)
        return delta.ts, delta.exp, refs, keep, codes, times

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

    def expire(self, clock: int) -> None:
        """Forget what has expired by `clock`."""
        for rows in (self.left, self.right):
            count, dead = rows.expire(clock, self.heads)
            self.counters.expiries += count
            self.keys.release(dead)

    def _scanned(self, gone: tuple[I64, ...], work: I64) -> None:
        """Reclaim the slots that a scan freed, and the codes that no row is left of."""
        for side, rows in enumerate((self.left, self.right)):
            slots = gone[side][: work[GONE_LEFT + side]]
            if isinstance(rows, PoolRows) and len(slots):
                rows.release(slots)
                self.counters.expiries += len(slots)
        if not work[GONE_LEFT] + work[GONE_RIGHT]:
            return
        live = self.keys.live()
        self.keys.release(live[self.heads[live, ALIVE] == 0])

    def state_rows(self) -> int:
        """Return how many rows of both sides are stored."""
        return len(self.left) + len(self.right)

    def state_bytes(self) -> int:
        """Return the exact size of rows, chains and keys."""
        return self.left.nbytes + self.right.nbytes + self.heads.nbytes + self.keys.nbytes

    def save(self) -> Saved:
        """Return the state for `load`."""
        return {
            "keys": self.keys.save(),
            "heads": self.keys.used(self.heads),
            "left": self.left.save(),
            "right": self.right.save(),
            "scan_at": self.scan_at,
        }

    def load(self, saved: Saved) -> None:
        """Take over a saved state."""
        keys, heads, scan_at = saved["keys"], saved["heads"], saved["scan_at"]
        left, right = saved["left"], saved["right"]
        assert isinstance(keys, dict)
        assert isinstance(heads, np.ndarray)
        assert isinstance(left, dict)
        assert isinstance(right, dict)
        assert isinstance(scan_at, int)
        self.keys = KeyTable.loaded(keys)
        self.heads = with_room(heads, self.keys.capacity)  # type: ignore[assignment]
        self.left.load(left)
        self.right.load(right)
        self.scan_at = scan_at

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        bands = self.match.bands
        left = held_rows(self.left, self.keys, [b.left for b in bands], clock)
        right = held_rows(self.right, self.keys, [b.right for b in bands], clock)
        return left, right

    def live_codes(self) -> list[I64]:
        """Return the interned codes that keys and rows refer to."""
        found = interned_words(self.match.left.key_codec.fields, self.keys)
        for rows in (self.left, self.right):
            columns = rows.payload.take(rows.live())
            found += interned_codes(rows.payload.fields, columns)
        return found

    def check(self) -> None:
        """Assert the invariants of the state."""
        self.keys.check()
        self.left.check()
        self.right.check()
        check_chains(self.left, self.right, self.heads, self.keys.live())
