"""How half joins know whether a left row has a partner: by counts of keys, or of pairs."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from windrow.core.schema import Field
from windrow.kernels import semi_joins
from windrow.kernels.chains import ROWS
from windrow.kernels.zset_joins import sweep
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.join.bags import BagRows, stored_fields
from windrow.operators.join.keys import JoinKeys
from windrow.operators.join.match import Match, Side
from windrow.operators.join.results import PairBuffer, pair_columns
from windrow.operators.join.zset import ZSetPairs
from windrow.operators.state.fields import (
    ArrayField,
    NestedField,
    ScalarField,
    ScratchField,
    State,
    StateLayout,
)
from windrow.operators.state.key_table import KeyTable, grown
from windrow.operators.task import Counters
from windrow.operators.vector import I64


class HalfJoinKind(IntEnum):
    """Which left rows are in the answer."""

    SEMI = semi_joins.SEMI  # those with a partner: EXISTS, IN
    ANTI = semi_joins.ANTI  # those without: NOT EXISTS
    NOT_IN = semi_joins.NOT_IN  # those unlike every value on the right, NULL being unlike none


class KeyedForm(State):
    """Where equal keys decide.

    Stores left rows by key and, for each key, only how many rows are on the right. A right
    row that turns a key costs O(left rows of the key); where NOT IN turns as a whole (the right
    side becomes empty or not, or gets or loses its NULLs) a step costs O(left rows).
    """

    stored_as = StateLayout("keyed-half-join")
    state_fields = (
        NestedField("keys"),
        NestedField("left"),
        ScalarField("total"),
        ScalarField("nulls"),
    )

    def __init__(self, match: Match, kind: HalfJoinKind) -> None:
        assert match.residual is None
        assert not match.bands
        assert kind is not HalfJoinKind.NOT_IN or len(match.left.keys) == 1, (
            "NOT IN compares one value"
        )
        self.match = match
        self.kind = kind
        self.codec = _key_codec(match.left, nullable=kind is HalfJoinKind.NOT_IN)
        self.keys = JoinKeys(self.codec, copies=True)
        self.buffer = PairBuffer()
        self.left = BagRows(stored_fields(match.left, []))
        self.total = self.nulls = 0
        self.null_code = -1
        if kind is HalfJoinKind.NOT_IN:
            # NULL has a key of its own, so that one look says whether the right side has any.
            self.null_code = int(self.keys.encode(np.array([[0, 1]], np.int64))[0])

    def change(self, left: Delta, right: Delta, counters: Counters) -> Delta:
        """Apply changes; return those of the answer; forget rows and keys of no use any more."""
        codes, more = self._codes(self.match.left, left), self._codes(self.match.right, right)
        slots = self.left.encode(left)
        events = len(left) + len(right)
        keys, rows = (np.empty((events, n), np.int64) for n in (2, 3))
        bag, heads = self.left, self.keys.heads
        state = semi_joins.HalfState(bag.rows, bag.links, heads, keys, rows, self.null_code)
        work = np.zeros(semi_joins.WORK_WORDS, np.int64)
        work[semi_joins.TOTAL], work[semi_joins.NULLS] = self.total, self.nulls
        lefts, rights = (left.ts, left.weights(), slots, codes), (right.ts, right.weights(), more)
        kind = int(self.kind)
        self.buffer.fill(
            lambda out: semi_joins.semi_changes(kind, lefts, rights, state, out, work), events
        )
        self.total, self.nulls = int(work[semi_joins.TOTAL]), int(work[semi_joins.NULLS])
        counters.probes += events
        counters.comparisons += int(work[semi_joins.COMPARED])
        if self.kind is not HalfJoinKind.SEMI:
            counters.premature += int(work[semi_joins.PREMATURE])
        found, _, ts, weight = self.buffer.taken(int(work[semi_joins.MADE]))
        made = Delta(ts, self.left.columns(found, self.match.left.output), None, weight)
        # Only after the columns were read: a released row may be overwritten.
        self.left.sweep(slots)
        self._sweep_keys(codes)
        self._sweep_keys(more)
        return made

    def _codes(self, side: Side, delta: Delta) -> I64:
        columns = [delta.columns[name] for name in side.keys]
        words = self.codec.words(columns, len(delta))
        if self.kind is HalfJoinKind.NOT_IN:
            # All NULLs are one key, whatever bits their value has.
            words[words[:, 1] != 0, 0] = 0
        return self.keys.encode(words)

    def _sweep_keys(self, codes: I64) -> None:
        dead = np.empty(len(codes), np.int64)
        dead = dead[: sweep(codes, self.keys.heads, semi_joins.SEEN, ROWS, semi_joins.COPIES, dead)]
        self.keys.table.release(dead[dead != self.null_code])

    def __len__(self) -> int:
        return len(self.left) + len(self.keys.table)

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`: of right rows, their keys are all that matters."""
        copies = self.keys.heads[:, semi_joins.COPIES]
        right = held_keys(self.match.right, self.codec, self.keys.table, copies, clock)
        return self.left.held([], clock), right

    def invariants(self) -> None:
        """Assert that no key is kept in vain."""
        heads = self.keys.heads
        live = self.keys.table.live()
        useful = heads[live, ROWS:].any(axis=1) | (live == self.null_code)
        assert useful.all(), "a key without rows is kept"
        assert not heads[:, semi_joins.SEEN].any(), "an instant was left open"


class PairedForm(State):
    """Where bands or a residual decide.

    Counts the partners of each distinct left row, from the changes of pairs; a row enters or
    leaves as its count leaves or reaches 0. Costs and stores what the join of Z-sets does.
    """

    stored_as = StateLayout("paired-half-join")
    state_fields = (
        NestedField("pairs"),
        ArrayField("copies", length="pairs.left.table.entries", room="pairs.left.table.capacity"),
        ArrayField("partners", length="pairs.left.table.entries", room="pairs.left.table.capacity"),
        ScratchField("marks", room="pairs.left.table.capacity"),
    )

    def __init__(self, match: Match, kind: HalfJoinKind) -> None:
        assert kind is not HalfJoinKind.NOT_IN
        self.match = match
        self.kind = kind
        self.pairs = ZSetPairs(match, as_set=True)
        self.copies, self.partners, self.marks = self._room()

    def _room(self) -> tuple[I64, I64, I64]:
        a, b, c = np.zeros((3, self.pairs.left.table.capacity), np.int64)
        return a, b, c

    def change(self, left: Delta, right: Delta, counters: Counters) -> Delta:
        """Apply changes; return those of the answer."""
        bags = self.pairs
        lefts, rights, ts, weight = bags.change(left, right, counters)
        # Pairs that the residual drops count for nobody.
        if self.match.residual is not None and len(ts):
            _, kept = pair_columns(
                self.match,
                len(ts),
                lambda names: bags.left.columns(lefts, names),
                lambda names: bags.right.columns(rights, names),
            )
            lefts, ts, weight = lefts[kept], ts[kept], weight[kept]
        capacity = bags.left.table.capacity
        self.copies = grown(self.copies, capacity)  # type: ignore[assignment]
        self.partners = grown(self.partners, capacity)  # type: ignore[assignment]
        self.marks = grown(self.marks, capacity)  # type: ignore[assignment]
        assert bags.changed is not None
        # Left rows that changed, by their slots: these may enter or leave without any pair.
        slots = bags.changed[0][2]
        events = len(left) + len(ts)
        out = np.empty((3, events), np.int64)
        made = semi_joins.count_partners(
            int(self.kind),
            (left.ts, left.weights(), slots),
            (ts, weight, lefts),
            self.copies,
            self.partners,
            self.marks,
            np.empty((events, 2), np.int64),
            (out[0], out[1], out[2]),
        )
        rows, ts, weight = out[:, :made]
        columns = bags.left.columns(rows, self.match.left.output)
        bags.settle()
        return Delta(ts, columns, None, weight)

    def __len__(self) -> int:
        return len(self.pairs)

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        bands = self.match.bands
        left = self.pairs.left.held([b.left for b in bands], clock)
        return left, self.pairs.right.held([b.right for b in bands], clock)

    def invariants(self) -> None:
        """Assert that rows that are gone count nothing."""
        # Codes are given out again: what a row left behind would count for another.
        dead = np.ones(len(self.copies), np.bool_)
        dead[self.pairs.left.table.live()] = False
        assert not self.copies[dead].any(), "a row that is gone has copies"
        assert not self.partners[dead].any(), "a row that is gone has partners"


def held_keys(side: Side, codec: RowCodec, keys: KeyTable, copies: I64, clock: int) -> Delta:
    """Return the keys that are counted on the right of a half join, with their copies."""
    live = keys.live()
    live = live[copies[live] > 0]
    columns = codec.columns(keys.words[live])
    named = dict(zip(side.keys, columns, strict=True))
    return Delta(np.full(len(live), clock), named, None, copies[live])


def _key_codec(side: Side, *, nullable: bool) -> RowCodec:
    fields = (side.schema[name] for name in side.keys)
    return RowCodec(tuple(Field(f.name, f.type, nullable) for f in fields))
