"""All expirers tell one truth: a row is there from its birth until its end, and no longer."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.core.schema import Field, Schema
from windrow.core.time import FOREVER
from windrow.operators.delta import Delta
from windrow.operators.state.expirer import (
    CalendarExpirer,
    Expirer,
    FifoExpirer,
    ScanningExpirer,
)
from windrow.operators.vector import Vector

SCHEMA = Schema((Field("k", pa.int64()), Field("s", pa.string()), Field("x", pa.float64())))

Birth = tuple[int, int, int | None]  # ts, exp, k


def delta_of(births: list[Birth]) -> Delta:
    keys = np.array([k or 0 for *_, k in births], np.int64)
    valid = np.array([k is not None for *_, k in births], np.bool_)
    return Delta(
        np.array([b[0] for b in births], np.int64),
        {
            "k": Vector(pa.int64(), keys, None if valid.all() else valid),
            "s": Vector(pa.string(), keys + 100),
            "x": Vector(pa.float64(), keys / 2),
        },
        np.array([b[1] for b in births], np.int64),
    )


def net(changes: list[tuple[int, int, object]]) -> Counter:
    """Net weight by instant and row."""
    total: Counter = Counter()
    for ts, weight, row in changes:
        total[ts, row] += weight
    return Counter({key: n for key, n in total.items() if n})


def changes_of(delta: Delta) -> list[tuple[int, int, object]]:
    """Rows of a signed delta, whose order is looked at on the way."""
    assert delta.signed
    k = delta.columns["k"]
    valid = np.ones(len(k), np.bool_) if k.valid is None else k.valid
    assert (np.diff(delta.ts) >= 0).all(), "in time order"
    falling = (np.diff(delta.ts) == 0) & (np.diff(delta.weights()) < 0)
    assert not falling.any(), "ends before births at one instant"
    assert (delta.columns["s"].data == k.data + 100).all()
    assert (delta.columns["x"].data == k.data / 2).all()
    return [
        (int(t), int(w), int(n) if ok else None)
        for t, w, n, ok in zip(delta.ts, delta.weights(), k.data, valid, strict=True)
    ]


def expected(births: list[Birth], clock: int) -> Counter:
    """The definition, row by row."""
    told = [(ts, 1, k) for ts, exp, k in births if exp > ts]
    told += [(exp, -1, k) for ts, exp, k in births if ts < exp <= clock]
    return net(told)


def waiting(births: list[Birth], clock: int) -> Counter:
    return Counter((ts, exp, k) for ts, exp, k in births if exp > clock and ts < exp < FOREVER)


def live_of(expirer: Expirer) -> Counter:
    live = expirer.live()
    assert (np.diff(live.ts) >= 0).all()
    k = live.columns["k"]
    valid = np.ones(len(k), np.bool_) if k.valid is None else k.valid
    assert live.exp is not None
    return Counter(
        (int(t), int(e), int(n) if ok else None)
        for t, e, n, ok in zip(live.ts, live.exp, k.data, valid, strict=True)
    )


STEPS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12), st.integers(0, 2) | st.none())),
        st.integers(0, 4),
        st.booleans(),
    ),
    max_size=12,
)


def run(make: Callable[[], Expirer], steps: list, exp_of: Callable[[int, int], int]) -> None:
    """Feed births at gaps of 0 to 3, with lives of 0 to 12; reload where a step says so."""
    expirer, clock = make(), 0
    births: list[Birth] = []
    told: list = []
    for drawn, pause, reload in steps:
        fresh = []
        for gap, life, k in drawn:
            clock += gap
            fresh.append((clock, exp_of(clock, life), k))
        clock += pause
        births += fresh
        told += changes_of(expirer.turn(delta_of(fresh), clock))
        expirer.check()
        assert net(told) == expected(births, clock)
        assert live_of(expirer) == waiting(births, clock)
        assert len(expirer) == waiting(births, clock).total()
        if reload:
            saved = expirer.save()
            expirer = make()
            expirer.load(saved)
            expirer.check()


@given(STEPS, st.sampled_from([1, 2, 5, 30, None]))
def test_first_in_first_out(steps: list, life: int | None) -> None:
    run(lambda: FifoExpirer(SCHEMA), steps, lambda ts, _: FOREVER if life is None else ts + life)


@given(STEPS)
@pytest.mark.parametrize("kind", [CalendarExpirer, ScanningExpirer])
def test_ends_in_any_order(kind: type, steps: list) -> None:
    run(lambda: kind(SCHEMA), steps, lambda ts, life: FOREVER if life == 12 else ts + life)


@given(STEPS)
def test_all_expirers_agree_where_all_apply(steps: list) -> None:
    for kind in (FifoExpirer, CalendarExpirer, ScanningExpirer):
        run(lambda kind=kind: kind(SCHEMA), steps, lambda ts, _: ts + 4)


@pytest.mark.parametrize("kind", [FifoExpirer, CalendarExpirer, ScanningExpirer])
def test_what_never_ends_is_not_kept(kind: type) -> None:
    expirer = kind(SCHEMA)
    empty = expirer.nbytes
    for ts in range(100):
        out = expirer.turn(delta_of([(ts, FOREVER, 1)] * 10), ts)
        assert len(out) == 10
    assert len(expirer) == 0
    assert expirer.nbytes == empty


@pytest.mark.parametrize("kind", [FifoExpirer, CalendarExpirer, ScanningExpirer])
def test_only_the_named_columns_are_kept(kind: type) -> None:
    expirer = kind(SCHEMA, keep=("s",))
    out = expirer.turn(delta_of([(1, 3, 7), (2, 4, 8)]), 2)
    assert list(out.columns) == ["s"]
    out = expirer.turn(delta_of([(3, 5, 9)]), 3)
    assert list(out.columns) == ["s"]
    assert out.columns["s"].data.tolist() == [107, 109]
    assert [c.tolist() for c in expirer.live_codes()] == [[108, 109]]
    assert list(expirer.turn(delta_of([]), 3).columns) == ["s"]


def test_ends_are_counted() -> None:
    for kind in (FifoExpirer, CalendarExpirer, ScanningExpirer):
        expirer = kind(SCHEMA)
        expirer.turn(delta_of([(1, 3, 7), (2, 4, 8)]), 3)
        assert expirer.counters.expiries == 1


def test_a_plain_list_is_scanned_at_every_instant() -> None:
    expirer = ScanningExpirer(SCHEMA)
    expirer.turn(delta_of([(0, 100, 1)] * 10), 0)  # one instant, nothing in the list yet
    assert expirer.counters.comparisons == 0
    expirer.turn(delta_of([(5, 200, 1), (6, 200, 1), (6, 200, 1)]), 50)
    assert expirer.counters.comparisons == 10 + 11  # the instants 5 and 6
    expirer.turn(delta_of([]), 99)
    assert expirer.counters.comparisons == 21  # no instant
    expirer.turn(delta_of([]), 150)
    assert expirer.counters.comparisons == 21 + 13  # the end at 100
