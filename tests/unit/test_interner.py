"""Codes are exact: equal iff the values are, for as long as somebody refers to them."""

from decimal import Decimal
from functools import cmp_to_key

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow.operators.interner
from windrow.kernels.text import compare_codes, find_bytes, put_slot, tag_of
from windrow.operators.interner import Interner

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")  # hashes, interpreted

TEXTS = st.text(alphabet="ab\0é€😀", max_size=20)
WIDE = pa.decimal128(38, 4)
WIDE_NUMBERS = st.decimals(
    min_value=-(10**33), max_value=10**33, places=4, allow_nan=False, allow_infinity=False
)


def ordered(interner: Interner, codes: list[int]) -> list[int]:
    """Sort codes as kernels compare them."""
    arrays = interner.arena, interner.starts, interner.lengths
    return sorted(codes, key=cmp_to_key(lambda a, b: compare_codes(*arrays, a, b)))


@given(st.lists(st.lists(TEXTS | st.none(), max_size=30), max_size=6))
def test_equal_codes_mean_equal_text_over_all_batches(batches: list[list[str | None]]) -> None:
    interner = Interner()
    known: dict[str, int] = {}
    for batch in batches:
        codes = interner.encode(pa.array(batch, pa.string()))
        interner.check()
        for text, code in zip(batch, codes.tolist(), strict=True):
            assert code == (0 if text is None else known.setdefault(text, code))
    assert len(set(known.values())) == len(known)
    values = list(known)
    decoded = interner.decode(np.array([known[v] for v in values], np.int64), pa.string())
    decoded.validate(full=True)
    assert decoded.to_pylist() == values


@given(st.lists(TEXTS, max_size=30), st.integers(0, 5), st.integers(0, 5))
def test_all_arrow_forms_of_text_have_the_same_codes(
    texts: list[str], skipped: int, cut: int
) -> None:
    interner = Interner()
    array = pa.array(["x"] * skipped + texts + ["y"] * cut, pa.string())
    array = array.slice(skipped, len(texts))
    codes = interner.encode(array).tolist()
    for form in (
        array.cast(pa.large_string()),
        array.cast(pa.binary()),
        array.cast(pa.large_binary()),
        array.dictionary_encode(),
    ):
        assert interner.encode(form).tolist() == codes, form.type


def test_nulls_of_a_dictionary_are_code_0() -> None:
    array = pa.DictionaryArray.from_arrays([0, None, 1], ["a", "b"])
    assert Interner().encode(array).tolist() == [1, 0, 2]


@given(st.lists(TEXTS, min_size=1, max_size=20, unique=True))
def test_codes_compare_as_utf8_bytes_do(texts: list[str]) -> None:
    interner = Interner()
    codes = interner.encode(pa.array(texts, pa.string())).tolist()
    by_bytes = sorted(zip(texts, codes, strict=True), key=lambda pair: pair[0].encode())
    assert ordered(interner, codes) == [code for _, code in by_bytes]


@given(st.lists(WIDE_NUMBERS, min_size=1, max_size=20, unique=True))
def test_wide_decimals_compare_as_numbers_do(numbers: list[Decimal]) -> None:
    interner = Interner()
    codes = interner.encode(pa.array(numbers, WIDE)).tolist()
    by_value = [code for _, code in sorted(zip(numbers, codes, strict=True))]
    assert ordered(interner, codes) == by_value
    assert interner.decode(np.array(codes), WIDE).to_pylist() == numbers


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 40), max_size=30), st.sets(st.integers(0, 40)))
        | st.just("reload"),
        max_size=8,
    )
)
def test_sweeps_free_what_is_not_live_and_nothing_else(steps: list) -> None:
    interner = Interner()
    live: dict[str, int] = {}
    for step in steps:
        if step == "reload":
            interner = Interner.loaded(interner.save())
        else:
            numbers, kept = step
            texts = ["" if n == 0 else f"text {n} " * (n % 5) + str(n) for n in numbers]
            codes = interner.encode(pa.array(texts, pa.string())).tolist()
            for text, code in zip(texts, codes, strict=True):
                assert live.setdefault(text, code) == code
            live = {t: c for t, c in live.items() if int(t.split()[-1] if t else 0) in kept}
            halves = np.array(list(live.values()), np.int64)
            interner.sweep([halves[::2], halves[1::2]])
            assert len(interner) == len(set(live) | {""})
            assert interner.meta[2] == sum(len(t.encode()) for t in live)
        interner.check()
        decoded = interner.decode(np.array(list(live.values()), np.int64), pa.string())
        assert decoded.to_pylist() == list(live)


def test_a_stream_of_fresh_text_does_not_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windrow.operators.interner, "SWEEP_FROM", 4_000)
    interner = Interner()
    sizes = []
    for batch in range(20):
        texts = [f"{batch:2}-{i:2}-{'x' * 30}" for i in range(50)]
        codes = interner.encode(pa.array(texts))
        if interner.wants_sweep:
            interner.sweep([codes])
            assert len(interner) == len(texts) + 1
        sizes.append(interner.nbytes)
    assert max(sizes[10:]) == max(sizes[:10])


def test_a_sweep_is_wanted_when_twice_as_much_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windrow.operators.interner, "SWEEP_FROM", 4_000)
    interner = Interner()
    assert not interner.wants_sweep
    codes = interner.encode(pa.array(["x" * 4_000, "y"]))
    assert interner.wants_sweep
    interner.sweep([codes])
    assert not interner.wants_sweep
    interner.encode(pa.array(["z" * 4_200]))
    assert interner.wants_sweep


def test_equal_hashes_are_not_taken_for_equality() -> None:
    """Two texts of one length are put behind the same tag: bytes still tell them apart."""
    data = np.frombuffer(b"abcdefghijABCDEFGHIJ", np.uint8).copy()
    tag = tag_of(data, 0, 10)
    slots = np.zeros(8, np.int64)
    arena, starts, lengths = data.copy(), np.array([0, 10]), np.array([10, 10])
    for code in (1, 0):  # the other one stands first in the search
        put_slot(slots, np.int64((np.uint64(tag) << np.uint64(32)) | np.uint64(code + 1)))
    at = find_bytes(data, 0, 10, tag, arena, starts, lengths, slots)
    assert slots[at] & 0xFFFFFFFF == 1
    other = np.frombuffer(b"abcdefghiJ", np.uint8).copy()
    assert slots[find_bytes(other, 0, 10, tag, arena, starts, lengths, slots)] == 0


@pytest.mark.parametrize("rows", [1, 300])
def test_growth_keeps_codes(rows: int) -> None:
    interner = Interner()
    first = interner.encode(pa.array([f"{i}" for i in range(rows)]))
    interner.encode(pa.array([f"more {i}" for i in range(500)]))
    interner.check()
    again = interner.encode(pa.array([f"{i}" for i in range(rows)]))
    assert first.tolist() == again.tolist()
