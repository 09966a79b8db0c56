"""Count windows by key: the newest tuples of each."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.kernels.windows import HELD, NEWER, NUMBER, OLDEST, newest_rows
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.state.fields import ArrayField, NestedField, ScalarField
from windrow.operators.state.key_table import KeyTable, grown
from windrow.operators.stateless import StatefulTask
from windrow.operators.task import Counters
from windrow.operators.vector import I64
from windrow.operators.window.slide import SlidChanges

SMALLEST = 64


class PartitionRowsWindow(StatefulTask):
    """For each key its `count` newest tuples: stream in, signed out.

    O(tuples) a step; stores at most `count` tuples a key, in slots that are linked from the
    oldest to the newest of a key. A key that has come stays. With `slide`, changes wait
    for the next multiple. Invariants, asserted by `check`:
      1. a key's chain has HELD slots, of ascending arrival numbers, and at most `count`;
      2. every used slot is in one chain.
    """

    state_fields = (
        NestedField("table"),
        ArrayField("keys", length="table.entries", room="table.capacity"),
        ScalarField("used"),
        ScalarField("arrived"),
        ArrayField("links", length="used"),
        ArrayField("words", length="used", fields="schema"),
        NestedField("_slid"),
    )

    def __init__(
        self, schema: Schema, keys: tuple[str, ...], count: int, slide: int | None = None
    ) -> None:
        assert count > 0, "a count window holds at least one tuple"
        self.counters = Counters()
        self.schema = schema
        self._names = schema.names
        self.count = count
        self.codec = RowCodec(schema.fields)
        self.key_names = keys
        self.key_codec = RowCodec(tuple(schema[name] for name in keys))
        self.table = KeyTable(self.key_codec.width)
        self.keys: I64 = np.zeros((self.table.capacity, 3), np.int64)
        self.links: I64 = np.zeros((SMALLEST, 2), np.int64)
        self.words: I64 = np.zeros((SMALLEST, self.codec.width), np.int64)
        self.used = 0
        self.arrived = 0
        self._slid = None if slide is None else SlidChanges(schema, slide)
        self._empty = Delta.empty(schema, signed=True)

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Let new tuples in and the oldest of their keys out."""
        (delta,) = inputs
        out = self._turned(delta) if len(delta) else self._empty
        if self._slid is not None:
            out = self._slid.turn(out, clock)
        self._count(delta, out)
        self.counters.probes += len(delta)
        return out

    def _turned(self, delta: Delta) -> Delta:
        rows = len(delta)
        fresh = self.codec.words([delta.columns[n] for n in self._names], rows)
        keys = self.key_codec.words([delta.columns[n] for n in self.key_names], rows)
        codes = self.table.encode(keys)
        self._reserve(rows)
        # Each tuple that comes lets at most one of its key go.
        out = np.empty((3, 2 * rows), np.int64)
        out[2, 0] = self.used
        words = np.empty((2 * rows, self.codec.width), np.int64)
        count, self.used = newest_rows(
            delta.ts, codes, fresh, self.count, self.arrived,
            self.keys, self.links, self.words, out, words,
        )  # fmt: skip
        self.arrived += rows
        made = self.codec.columns(words[:count])
        weight = out[1, :count].copy()
        self.counters.expiries += int(np.count_nonzero(weight < 0))
        return Delta(out[0, :count].copy(), dict(zip(self._names, made, strict=True)), None, weight)

    def _reserve(self, more: int) -> None:
        self.keys = grown(self.keys, self.table.capacity)  # type: ignore[assignment]
        self.links = grown(self.links, self.used + more)  # type: ignore[assignment]
        self.words = grown(self.words, self.used + more)  # type: ignore[assignment]

    def state_rows(self) -> int:
        """Return how many tuples are stored."""
        return self.used + (0 if self._slid is None else len(self._slid))

    def invariants(self) -> None:
        """Assert the invariants."""
        held = self.keys[: len(self.table), HELD]
        assert (held > 0).all(), "invariant 1: a key has no tuples"
        assert (held <= self.count).all(), "invariant 1: a key has too many tuples"
        at, numbers = self.keys[: len(self.table), OLDEST].copy(), np.full(len(held), -1)
        seen = []
        for turn in range(int(held.max(initial=0))):
            going = held > turn
            at, numbers, held = at[going], numbers[going], held[going]
            assert (self.links[at, NUMBER] > numbers).all(), "invariant 1: out of order"
            numbers = self.links[at, NUMBER]
            seen.append(at)
            at = self.links[at, NEWER]
        slots = np.concatenate(seen) if seen else np.empty(0, np.int64)
        assert len(np.unique(slots)) == len(slots) == self.used, "invariant 2: slots are lost"
