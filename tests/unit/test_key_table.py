"""The exact hash table behind all operators: codes, release, growth, saved state."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from windrow.kernels import hashing
from windrow.operators.state.key_table import KeyTable

ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(-2, 2)), max_size=30)
STEPS = st.lists(st.tuples(st.sampled_from(["encode", "release", "reload"]), ROWS), max_size=12)


def words(rows: list[tuple[int, int]]) -> np.ndarray:
    return np.array(rows, np.int64).reshape(len(rows), 2)


@given(STEPS)
def test_it_is_a_dictionary_with_stable_codes(steps: list) -> None:
    table, model = KeyTable(2), {}
    for action, rows in steps:
        if action == "encode":
            for row, code in zip(rows, table.encode(words(rows)).tolist(), strict=True):
                assert model.setdefault(row, code) == code
        elif action == "release":
            gone = [model.pop(row) for row in dict.fromkeys(rows) if row in model]
            table.release(np.array(gone, np.int64))
        else:
            saved, table = table.save(), KeyTable(2)
            table.load(saved)
        table.check()
        assert len(set(model.values())) == len(model) == len(table)
        assert table.find(words(rows)).tolist() == [model.get(row, -1) for row in rows]


@given(ROWS)
def test_equal_hashes_never_make_equal_keys(rows: list) -> None:
    table = KeyTable(2)
    table.encode(words(rows))
    live = table.live()
    table.hashes[live] = 7
    table.slots[:] = 0
    hashing.rebuild_slots(table.slots, table.hashes, live)
    at = table.words[live]
    assert all(hashing.same_words(table.words, int(c), at, i) for i, c in enumerate(live))
    for i in range(len(live)):
        others = [j for j in range(len(live)) if j != i]
        assert not any(hashing.same_words(at, i, at, j) for j in others)


def test_it_grows_past_every_capacity() -> None:
    table = KeyTable(1)
    rows = np.arange(10_000, dtype=np.int64).reshape(-1, 1)
    assert np.array_equal(table.encode(rows), np.arange(10_000))
    table.check()
    assert table.nbytes > rows.nbytes


def test_tables_of_several_threads_do_not_disturb_each_other() -> None:
    def fill(number: int) -> None:
        table, rng = KeyTable(1), np.random.default_rng(number)
        for _ in range(300):
            table.encode(rng.integers(0, 5_000, (500, 1)))
        table.check()

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(fill, number) for number in range(3)]:
            done.result()
