"""Count windows by key: the newest tuples of each."""

from __future__ import annotations

import numpy as np

from windrow.core.schema import Schema
from windrow.kernels.windows import HELD, NEWER, NUMBER, OLDEST, newest_rows
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.state.key_table import KeyTable, grown
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64, is_interned
from windrow.operators.window.slide import SlidChanges

SMALLEST = 64


class PartitionRowsWindow:
    """For each key its `count` newest tuples: stream in, signed out.

    O(tuples) a step; stores at most `count` tuples a key, in slots that are linked from the
    oldest to the newest of a key. A key that has come stays. With `slide`, changes wait
    for the next multiple. Invariants, asserted by `check`:
      1. a key's chain has HELD slots, of ascending arrival numbers, and at most `count`;
      2. every used slot is in one chain.
    """

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

    def begin(self, start: int) -> Delta | None:
        """Nothing is there before any tuple is."""
        return None

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Let new tuples in and the oldest of their keys out."""
        (delta,) = inputs
        out = self._turned(delta) if len(delta) else self._empty
        if self._slid is not None:
            out = self._slid.turn(out, clock)
        counters = self.counters
        counters.tuples_in += len(delta)
        counters.tuples_out += len(out)
        counters.probes += len(delta)
        if out.weight is not None:
            counters.negatives_out += int(np.count_nonzero(out.weight < 0))
        return out

    def _turned(self, delta: Delta) -> Delta:
        rows = len(delta)
        fresh = self.codec.words([delta.columns[n] for n in self._names], rows)
        keys = self.key_codec.words([delta.columns[n] for n in self.key_names], rows)
        codes = self.table.encode(keys)
        self._reserve(rows)
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
        return self.used + (0 if self._slid is None else len(self._slid.waiting))

    def state_bytes(self) -> int:
        """Return the exact size of keys, chains, tuples and of what waits."""
        arrays = (self.keys, self.links, self.words)
        waiting = 0 if self._slid is None else self._slid.waiting.nbytes
        return self.table.nbytes + sum(a.nbytes for a in arrays) + waiting

    def save(self) -> Saved:
        """Return keys, chains and tuples."""
        return {
            "table": self.table.save(),
            "keys": self.keys[: self.table.capacity].copy(),
            "links": self.links[: self.used].copy(),
            "words": self.words[: self.used].copy(),
            "arrived": self.arrived,
            "slid": None if self._slid is None else self._slid.save(),
        }

    def load(self, saved: Saved) -> None:
        """Take over a saved window."""
        table, slid = saved["table"], saved["slid"]
        keys, links, words = saved["keys"], saved["links"], saved["words"]
        assert isinstance(table, dict)
        assert isinstance(keys, np.ndarray)
        assert isinstance(links, np.ndarray)
        assert isinstance(words, np.ndarray)
        self.table = KeyTable.load(table)
        self.keys, self.links, self.words = keys.copy(), links.copy(), words.copy()
        self.used = len(links)
        self.arrived = int(saved["arrived"])  # type: ignore[call-overload]
        self._reserve(SMALLEST)
        if self._slid is not None:
            assert isinstance(slid, dict)
            self._slid.load(slid)

    def check(self) -> None:
        """Assert the invariants."""
        self.table.check()
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
        if self._slid is not None:
            self._slid.waiting.check()

    def live_codes(self) -> list[I64]:
        """Return the interned codes that stored tuples refer to."""
        places = [i for i, f in enumerate(self.schema) if is_interned(f.type)]
        codes = [np.ascontiguousarray(self.words[: self.used, i]) for i in places]
        return codes + ([] if self._slid is None else self._slid.waiting.live_codes())
