"""MEDIAN, QUANTILE, and MIN and MAX where tuples expire unannounced: sorted bags."""

from __future__ import annotations

import numpy as np

from windrow.kernels.extents import FREE, HEAD, LARGEST, LINE, USED
from windrow.kernels.extremes import BYTES, PLAIN
from windrow.kernels.sorted_bags import (
    COMPARISONS,
    ENTRIES,
    FIRST,
    LEVELS,
    LINKS,
    META,
    NEXT,
    Bags,
    Quantiles,
    list_entries,
    list_separators,
    quantiles,
)
from windrow.operators.aggregate.batch import Accumulator, EventBatch
from windrow.operators.aggregate.comparing import Comparing
from windrow.operators.interner import Interner
from windrow.operators.state.fields import OF_OWNER, ArrayField, NestedField, State, StateLayout
from windrow.operators.state.key_table import grown
from windrow.operators.vector import F64, I64, Bools
from windrow.physical.calls import AccumulatorCall

ROUNDING = 1e-9
"""How far a fraction of a count may be from a whole number and yet be meant as one."""

SPARE_LINES = 16
"""Lines of a bag besides two a value: record, root, and a leaf without a neighbour."""

PATH: I64 = np.zeros((2, LEVELS), np.int64)


class SortedBags(State):
    """A sorted bag a group (see `kernels/sorted_bags.py`).

    Invariants, asserted by `check`:
      1. keys ascend in a leaf and from leaf to leaf; every value has copies;
      2. leaves of a tree are not empty, and are linked in the order of the tree;
      3. a tree's record counts its copies, and those before its cursor;
      4. lines are in use by one bag or free, and are at most two a value and `SPARE_LINES` a bag.

    A leaf is merged only when it becomes sparse itself, so the neighbour of a leaf of one value may
    shrink to `SPARSE`, and a root keeps the extent of the time when it had most blocks below: in
    the worst case 11 values take 16 lines, though a line a value is usual.
    """

    stored_as = StateLayout("sorted-bags")
    state_fields = (
        ArrayField("roots", length=OF_OWNER),
        ArrayField("words", length="used"),
        ArrayField("meta"),
    )

    def __init__(self) -> None:
        self.roots: I64 = np.zeros(0, np.int64)
        self.words: I64 = np.zeros(2 * LINE << LARGEST, np.int64)
        self.meta: I64 = np.zeros(META, np.int64)
        self.meta[USED] = 1 << LARGEST  # so that 0 is none

    @property
    def arrays(self) -> Bags:
        """What the kernels read and write."""
        return Bags(self.roots, self.words, self.meta, np.zeros_like(PATH))

    def reserve(self, groups: int) -> None:
        """Make room for groups."""
        self.roots = grown(self.roots, groups)  # type: ignore[assignment]

    def grow(self) -> None:
        """Make room for values."""
        self.words = grown(self.words, len(self.words) + 1)  # type: ignore[assignment]

    def __len__(self) -> int:
        return int(self.meta[ENTRIES])

    def entries(self, groups: int) -> I64:
        """Return group, key and copies of each value, by group and in order."""
        found = np.empty((3, len(self)), np.int64)
        listed = list_entries(self.arrays, groups, found)
        assert listed == len(self), "values are lost"
        return found

    def values(self, groups: int) -> tuple[I64, I64]:
        """Return the group and the key of each value."""
        found = self.entries(groups)
        return found[0], found[1]

    def keys(self) -> I64:
        """Return all keys that are compared with others: of values, and between blocks."""
        # Separators may be keys that no value has any more, but are compared all the same.
        between = np.empty(int(self.meta[USED]) >> LARGEST, np.int64)
        count = list_separators(self.arrays, len(self.roots), between)
        return np.concatenate([self.entries(len(self.roots))[1], between[:count]])

    def check_groups(self, live: I64, kind: int) -> None:
        """Assert the invariants; `kind`: how keys compare."""
        planted = np.flatnonzero(self.roots)
        assert np.isin(planted, live).all(), "a group without tuples has a bag"
        group, key, copies = self.entries(len(self.roots))
        assert (_ascends(key, kind) | (np.diff(group) > 0)).all(), "invariant 1: order"
        assert (copies > 0).all(), "invariant 1: a value without copies"
        lines = sum(self._lines_of(int(self.roots[g]), copies[group == g]) for g in planted)
        free = sum(self._free(size) for size in range(LARGEST + 1))
        assert lines + free + (1 << LARGEST) == self.meta[USED], "invariant 4: lines are lost"
        most = 2 * len(self) + SPARE_LINES * len(planted)
        assert lines <= most, "invariant 4: lines are wasted"

    def _lines_of(self, root: int, copies: I64) -> int:
        """Return the lines of a bag, and assert what is true of it alone."""
        if root > 0:
            return self._lines(root)
        _, top, height, total, cursor, below, _, _ = self.words[-root * LINE :][:LINE].tolist()
        assert total == copies.sum(), "invariant 3: copies"
        blocks, lines = [top], 1 + self._lines(top)
        for _ in range(height):
            blocks = [b for above in blocks for b in self._below(above)]
            lines += sum(map(self._lines, blocks))
        counts = [int(self.words[b * LINE + HEAD]) >> 2 for b in blocks]
        assert min(counts) > 0, "invariant 2: an empty leaf"
        links = [int(self.words[b * LINE + LINKS]) for b in blocks]
        assert [n & NEXT for n in links] == [*blocks[1:], 0], "invariant 2: leaves after"
        assert [n >> 32 for n in links] == [0, *blocks[:-1]], "invariant 2: leaves before"
        passed = sum(counts[: blocks.index(cursor)])
        assert below == copies[:passed].sum(), "invariant 3: the cursor"
        return lines

    def _lines(self, block: int) -> int:
        return 1 << (int(self.words[block * LINE + HEAD]) & 3)

    def _below(self, block: int) -> list[int]:
        head = int(self.words[block * LINE + HEAD])
        count, values = head >> 2, block * LINE + FIRST + (4 << (head & 3)) - 1
        return [int(x) for x in self.words[values : values + count]]

    def _free(self, size: int) -> int:
        """Return the lines in free extents of one size."""
        found, at = 0, int(self.meta[FREE + size])
        while at:
            found += 1 << size
            at = int(self.words[at * LINE + 2])
        return found

    @property
    def used(self) -> int:
        """How many words were ever used."""
        return int(self.meta[USED]) * LINE


class Quantile(Accumulator):
    """QUANTILE, MEDIAN; MIN and MAX of signed input: a bag a group, in order.

    APPROX_QUANTILE is a value of the bag: the least that a fraction of the values do not exceed,
    at rank ⌈n·fraction⌉, as Spark's percentile_approx. With k + part = (n - 1)·fraction that is
    the value at k if part + fraction <= 1, else the next.
    """

    stored_as = StateLayout("quantile")
    state_fields = (NestedField("bags"),)

    def __init__(self, call: AccumulatorCall, interner: Interner) -> None:
        self.call = call
        self.comparing = Comparing.of(call.args[0].type, interner)
        self.bags = SortedBags()
        known = {"min": 0.0, "max": 1.0, "median": 0.5}
        self.fraction = known[call.name] if call.name in known else float(call.parameters[0])

    @property
    def comparisons(self) -> int:
        """Values compared so far."""
        return int(self.bags.meta[COMPARISONS])

    def reserve(self, groups: int) -> None:
        """Make room."""
        self.bags.reserve(groups)

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Change the bags; interpolate between neighbours."""
        n = batch.emissions
        found = Quantiles(out, np.empty(n, np.int64), np.empty(n, np.float64), valid)
        takes, bits = batch.takes(self.call), batch.bits(self.call)
        order = self.comparing.order
        start = 0
        while True:
            bags = self.bags.arrays
            start = quantiles(batch.events, takes, bits, self.fraction, order, bags, found, start)
            if start == len(batch):
                break
            self.bags.grow()
        if self.call.name == "approx_quantile":
            above = np.flatnonzero(valid[:n] & (found.part + self.fraction > 1.0 + ROUNDING))
            out[above] = found.high[above]
        elif not self.call.extreme:
            low, high, part = out[:n].view(np.float64), found.high.view(np.float64), found.part
            between = np.flatnonzero(valid[:n] & (part > 0.0))
            low[between] = _between(low[between], high[between], part[between])

    def entries(self) -> int:
        """Return how many different values are stored."""
        return len(self.bags)

    def live_codes(self) -> list[I64]:
        """Return the codes of the values in the bags, and of those between blocks."""
        return [self.bags.keys()] if self.comparing.interned else []

    def check_groups(self, live: I64) -> None:
        """Assert the invariants of the bags."""
        self.bags.check_groups(live, self.comparing.kind)


def _ascends(keys: I64, kind: int) -> Bools:
    """Return of each key but the first whether it is greater than the one before.

    NaN is greater than every number; codes of texts do not show their order.
    """
    if kind == BYTES:
        return np.ones(max(0, len(keys) - 1), np.bool_)
    if kind == PLAIN:
        return np.diff(keys) > 0
    reals = keys.view(np.float64)
    above: Bools = (reals[1:] > reals[:-1]) | (np.isnan(reals[1:]) & ~np.isnan(reals[:-1]))
    return above


def _between(low: F64, high: F64, part: F64) -> F64:
    """Return the point that divides low to high as `part`. Equal ends are the point itself."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(low == high, low, low * (1.0 - part) + high * part)
