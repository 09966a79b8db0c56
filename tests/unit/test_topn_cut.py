"""ORDER BY LIMIT: what is shown is the cut of the sorted bag, at every instant."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.changelogs import (
    KEY,
    ROW,
    Change,
    Driver,
    answers,
    changes_between,
    delta,
    histories,
    net,
    rows,
    signed_changes,
)

from windrow.operators.interner import Interner
from windrow.operators.topn import TopNTask

LAST = 80


class Down:
    """Compares the other way round."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value

    __hash__ = None

    def __lt__(self, other):
        return other.value < self.value


def sort_key(row, keys):
    """The definition of the order: the keys, then all columns ascending with NULLs first."""
    made = []
    for name, descending, nulls_first in (*keys, *((n, False, True) for n in ROW.names)):
        value = row[ROW.index(name)]
        if value is None:
            made.append((not nulls_first, 0))
            continue
        if isinstance(value, str) and name == "s":
            value = value.encode()
        value = (value == "NaN", 0.0 if value == "NaN" else value)
        made.append((nulls_first, Down(value) if descending else value))
    return tuple(made)


def cut(bag, keys, limit, offset):
    ordered = sorted(bag.elements(), key=lambda r: sort_key(r, keys))
    return type(bag)(ordered[offset : offset + limit])


terms = st.tuples(st.sampled_from(ROW.names), st.booleans(), st.booleans())


@given(
    st.data(),
    histories(rows, most=4),
    st.lists(terms, max_size=2, unique_by=lambda t: t[0]),
    st.integers(0, 5),
    st.integers(0, 3),
)
def test_the_cut_of_the_sorted_bag(data, history, keys, limit, offset):
    interner, keys = Interner(), tuple(keys)
    driver = Driver(data.draw, (ROW,), interner)
    made = driver.run(lambda: TopNTask(ROW, keys, limit, offset, interner), history, LAST)
    got = [c for d in made for c in signed_changes(d, interner)]
    bags = answers(history, LAST)
    expected = {now: cut(bag, keys, limit, offset) for now, bag in bags.items()}
    assert net(got) == changes_between(expected)


def test_an_instant_that_takes_a_row_back_before_it_gives_it():
    task, interner = TopNTask(KEY, (), 2, 0, Interner()), Interner()
    out = task.step((delta([Change(1, (5,), -1), Change(1, (5,), 2)], KEY, interner),), 1)
    assert net(signed_changes(out, interner)) == {(1, (5,)): 1}


def test_a_large_tree_stays_in_order():
    random = np.random.default_rng(7)
    task, interner = TopNTask(KEY, (("k", True, True),), 10, 5, Interner()), Interner()
    values = random.integers(0, 5000, 6000)
    batch = delta([Change(i, (int(v),)) for i, v in enumerate(values)], KEY, interner)
    got = signed_changes(task.step((batch,), 6000), interner)
    task.check()
    leaving = random.permutation(6000)[:5000]
    gone = [Change(6001 + i, (int(values[j]),), -1) for i, j in enumerate(leaving)]
    got += signed_changes(task.step((delta(gone, KEY, interner),), 20_000), interner)
    task.check()
    left = np.sort(np.delete(values, leaving))[::-1][5:15]
    shown = answers([Change(0, c.row, c.weight) for c in got], 0)[0]
    assert sorted(shown.elements()) == sorted((int(v),) for v in left)
