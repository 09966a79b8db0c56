"""The join of signed edges."""

from __future__ import annotations

import numpy as np

from windrow.kernels.joins import COMPARED, MADE, WORK_WORDS
from windrow.kernels.zset_joins import join_changes
from windrow.operators.delta import Delta
from windrow.operators.join.bags import BagRows, Changes, stored_fields
from windrow.operators.join.keys import JoinKeys
from windrow.operators.join.match import Match
from windrow.operators.join.results import PairBuffer, Quad, pair_columns
from windrow.operators.state.fields import NestedField, State, StateLayout
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.operators.vector import I64


class ZSetPairs(State):
    """The pairs of two Z-sets that have equal keys and lie within the bands, as they change.

    With `as_set` a left row counts as one, however many copies there are of it.
    Costs O(changes + rows of their keys); stores the distinct rows of both sides.
    """

    stored_as = StateLayout("z-set-pairs")
    state_fields = (NestedField("keys"), NestedField("left"), NestedField("right"))

    def __init__(self, match: Match, *, as_set: bool = False) -> None:
        self.match = match
        self.as_set = int(as_set)
        bands = match.bands
        self.keys = JoinKeys(match.left.key_codec, copies=True)
        left = stored_fields(match.left, [b.left for b in bands])
        right = stored_fields(match.right, [b.right for b in bands])
        self.left = BagRows(left, len(bands))
        self.right = BagRows(right, len(bands))
        self.buffer = PairBuffer()
        self.changed: tuple[Changes, Changes] | None = None

    def change(self, left: Delta, right: Delta, counters: Counters) -> Quad:
        """Apply changes of rows without NULL keys; return those of pairs.

        Their slots can be read until `settle`, which must follow.
        """
        match, work = self.match, np.zeros(WORK_WORDS, np.int64)
        # Codes of both sides before the loops: new keys must have heads.
        codes = self.keys.encode(match.left.key_words(left))
        more = self.keys.encode(match.right.key_words(right))
        lefts = (left.ts, left.weights(), self.left.encode(left), codes, match.left_times(left))
        rights = (
            right.ts, right.weights(), self.right.encode(right), more, match.right_times(right)
        )  # fmt: skip
        self.changed = (lefts, rights)
        sides = (self.left.rows, self.left.links), (self.right.rows, self.right.links)
        rest = (*sides, self.keys.heads, match.bounds, self.as_set)
        # Often a change makes about one pair; the buffer grows where it makes more.
        self.buffer.fill(
            lambda out: join_changes(lefts, rights, *rest, out, work), len(left) + len(right)
        )
        counters.probes += len(left) + len(right)
        counters.comparisons += int(work[COMPARED])
        return self.buffer.taken(int(work[MADE]))

    def settle(self) -> None:
        """Release the rows and keys that the last changes left without copies."""
        assert self.changed is not None, "changes are settled once"
        (_, _, lefts, codes, _), (_, _, rights, more, _) = self.changed
        self.left.sweep(lefts)
        self.right.sweep(rights)
        # Keys last: sweeping rows has counted them out of their heads.
        self.keys.sweep(codes, more)
        self.changed = None

    def __len__(self) -> int:
        return len(self.left) + len(self.right)

    def invariants(self) -> None:
        """Assert that heads count rows."""
        self.keys.check_rows(self.left.codes(), self.right.codes())


def count_in(counters: Counters, *inputs: Delta) -> None:
    """Count what comes in."""
    for delta in inputs:
        counters.tuples_in += len(delta)
        if delta.weight is not None:
            counters.negatives_in += int(np.count_nonzero(delta.weight < 0))


def count_out(counters: Counters, ts: I64, weight: I64) -> None:
    """Count what goes out."""
    counters.tuples_out += len(ts)
    counters.negatives_out += int(np.count_nonzero(weight < 0))


class ZSetJoin(StatefulTask):
    """L ⋈ R at work: signed × signed → signed. The changes of an instant add up to Δ(L ⋈ R)."""

    state_fields = (NestedField("pairs"),)

    def __init__(self, match: Match) -> None:
        self.match = match
        self.counters = Counters()
        self.pairs = ZSetPairs(match)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Apply the changes in time order; return those of the join."""
        left, right = inputs
        if not (len(left) or len(right)):
            return Delta.empty(self.match.output, signed=True)
        count_in(self.counters, left, right)
        match, bags = self.match, self.pairs
        lefts, rights, ts, weight = bags.change(
            match.left.joinable(left), match.right.joinable(right), self.counters
        )
        if len(ts):
            columns, kept = pair_columns(
                match,
                len(ts),
                lambda names: bags.left.columns(lefts, names),
                lambda names: bags.right.columns(rights, names),
            )
            if kept is not None:
                ts, weight = ts[kept], weight[kept]
            output = Delta(ts, columns, None, weight)
        else:
            output = Delta.empty(match.output, signed=True)
        bags.settle()
        count_out(self.counters, ts, weight)
        return output

    def state_rows(self) -> int:
        """Return how many distinct rows of both sides are stored."""
        return len(self.pairs)

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        bands = self.match.bands
        left = self.pairs.left.held([b.left for b in bands], clock)
        return left, self.pairs.right.held([b.right for b in bands], clock)
