"""Sorted bags against a sorted list: they grow, split, merge and shrink, and find every copy."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from windrow.core.types import STRING
from windrow.kernels.extents import LINE
from windrow.kernels.extremes import BYTES, PLAIN, KeyOrder
from windrow.kernels.sorted_bags import FIRST, add_copies, find_copy, has_room
from windrow.operators.aggregate.quantile import SortedBags
from windrow.operators.arrow import vector_from_arrow
from windrow.operators.interner import Interner

NUMBERS = KeyOrder(PLAIN, np.zeros(1, np.uint8), np.zeros(1, np.int64), np.zeros(1, np.int64))


class Driven:
    """Bags, and what should be in them."""

    def __init__(self, groups: int, order: KeyOrder = NUMBERS) -> None:
        self.bags = SortedBags()
        self.bags.reserve(groups)
        self.order = order
        self.wanted = [Counter[int]() for _ in range(groups)]

    def add(self, group: int, key: int, w: int) -> None:
        while not has_room(self.bags.arrays, group):
            self.bags.grow()
        add_copies(self.bags.arrays, group, key, w, self.order)
        wanted = self.wanted[group]
        wanted[key] += w
        if not wanted[key]:
            del wanted[key]

    def check(self) -> None:
        live = np.arange(len(self.wanted))
        self.bags.check_groups(live, self.order.kind)
        found: list[Counter[int]] = [Counter() for _ in self.wanted]
        for group, key, copies in self.bags.entries(len(self.wanted)).T.tolist():
            found[group][key] = copies
        assert found == self.wanted

    def copy_at(self, group: int, k: int) -> int:
        leaf, i, end = find_copy(self.bags.arrays, group, k)
        assert k < end
        return int(self.bags.words[leaf * LINE + FIRST + i])


@pytest.mark.parametrize("span", [3, 60, 500, 100_000])
def test_bags_hold_what_was_put_in_while_they_grow_and_shrink(span: int) -> None:
    random, driven = Random(span), Driven(2)
    for step in range(2_400):
        group = random.randrange(2)
        growing = step // 600 % 2 == 0
        held = driven.wanted[group]
        if held and random.random() > (0.85 if growing else 0.15):
            driven.add(group, random.choice(list(held)), -1)
        else:
            driven.add(group, random.randrange(-span, span), random.choice((1, 1, 2)))
        if step % 40 == 0:
            driven.check()
            copies = sorted(held.elements())
            for k in {0, len(copies) // 2, len(copies) - 1} if copies else ():
                assert driven.copy_at(group, k) == copies[k]
    for group in range(2):
        for key, w in list(driven.wanted[group].items()):
            driven.add(group, key, -w)
    driven.check()
    assert not driven.bags.roots.any()


@pytest.mark.parametrize("keys", [range(2_000), range(2_000, 0, -1)], ids=["rising", "falling"])
def test_a_window_that_moves_takes_no_more_room(keys: range) -> None:
    driven = Driven(1)
    for i, key in enumerate(keys):
        driven.add(0, key, 1)
        if i >= 300:
            driven.add(0, keys[i - 300], -1)
            assert driven.copy_at(0, 150) == sorted(keys[i - 299 : i + 1])[150]
    driven.check()
    assert driven.bags.nbytes <= 64 * 1_024


def test_a_retraction_may_come_before_its_insertion() -> None:
    driven = Driven(1)
    for key in range(100):
        driven.add(0, key, -1)
    for key in reversed(range(100)):
        driven.add(0, key, 1)
    driven.check()
    assert len(driven.bags) == 0


def test_texts_are_ordered_by_their_bytes_and_stay_known_between_blocks() -> None:

    interner = Interner()
    texts = [f"item {n}" for n in range(400)]
    codes = vector_from_arrow(pa.array(texts), STRING, interner).data.tolist()
    order = KeyOrder(BYTES, interner.arena, interner.starts, interner.lengths)
    driven = Driven(1, order)
    for code in codes:
        driven.add(0, code, 1)
    for code in codes[::3]:
        driven.add(0, code, -1)
    driven.check()
    left = sorted(t for i, t in enumerate(texts) if i % 3)
    assert [texts[codes.index(driven.copy_at(0, k))] for k in (0, 100, 265)] == [
        left[k] for k in (0, 100, 265)
    ]
    assert set(driven.bags.keys().tolist()) >= set(driven.wanted[0])


def test_a_bag_goes_on_from_where_it_was_saved() -> None:
    driven = Driven(1)
    for key in range(200):
        driven.add(0, key * 7 % 200, 1)
    driven.copy_at(0, 120)
    other = Driven(1)
    other.bags.load(driven.bags.save(1))
    other.wanted = driven.wanted
    other.add(0, 1_000, 1)
    other.check()
    assert other.copy_at(0, 120) == 120


def test_no_bag_takes_more_than_64_bytes_a_value() -> None:
    for size in (1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 100, 1_000):
        driven = Driven(1)
        for key in range(size):
            driven.add(0, key * 37 % 1_009, 1)
        driven.check()


def test_a_sparse_leaf_beside_one_that_shrinks_to_the_limit_is_allowed() -> None:
    """Neither is merged: only a leaf that becomes sparse looks at its neighbours."""
    driven = Driven(1)
    for key in range(32):  # ascending values leave a full leaf, and one of a single value
        driven.add(0, key, 1)
    for key in range(21):
        driven.add(0, key, -1)
        driven.check()
    assert len(driven.bags) == 11
    driven.add(0, 21, -1)  # now it is sparse: both become one leaf
    driven.check()
    assert driven.bags.roots[0] > 0


def test_a_root_that_had_many_leaves_below_may_stay_large() -> None:
    driven = Driven(1)
    for key in range(600):
        driven.add(0, key * 7 % 600, 1)
    for key in range(580):
        driven.add(0, key, -1)
        driven.check()
