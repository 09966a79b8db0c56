"""A mixed edge tells early ends only; its expirer tells the others, each copy once."""

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.test_state_expirer import SCHEMA, changes_of, live_of, net

from windrow.core.time import FOREVER
from windrow.operators.delta import Delta
from windrow.operators.state.partly_signed_expirer import PartlySignedExpirer
from windrow.operators.vector import Vector

Change = tuple[int, int, int, int | None]  # ts, exp, weight, k


def mixed_delta(changes: list[Change]) -> Delta:
    keys = np.array([c[3] or 0 for c in changes], np.int64)
    valid = np.array([c[3] is not None for c in changes], np.bool_)
    return Delta(
        np.array([c[0] for c in changes], np.int64),
        {
            "k": Vector(pa.int64(), keys, None if valid.all() else valid),
            "s": Vector(pa.string(), keys + 100),
            "x": Vector(pa.float64(), keys / 2),
        },
        np.array([c[1] for c in changes], np.int64),
        np.array([c[2] for c in changes], np.int64),
    )


def there(changes: list[Change], clock: int) -> Counter:
    """The copies by (end, k) that are there after `clock`, by definition."""
    copies: Counter = Counter()
    for _, exp, weight, k in changes:
        if exp > clock:
            copies[exp, k] += weight
    return +copies


def expected(changes: list[Change], clock: int) -> Counter:
    """What is told: all changes, and at each end the copies that no change has taken back."""
    told = [(ts, weight, k) for ts, _, weight, k in changes]
    left: Counter = Counter()
    for _, exp, weight, k in changes:
        left[exp, k] += weight
    told += [(exp, -n, k) for (exp, k), n in left.items() if n and exp <= clock]
    return net(told)


@st.composite
def mixed_steps(draw: st.DrawFn) -> list[tuple[list[Change], int, bool]]:
    """Births, early ends and returns, cut into steps; each with its clock and a reload or not."""
    now, steps = 0, []
    copies: Counter = Counter()  # there now
    for _ in range(draw(st.integers(0, 8))):
        batch: list[Change] = []
        for _ in range(draw(st.integers(0, 7))):
            now += draw(st.integers(0, 2))
            alive = sorted(((e, k) for (e, k), n in copies.items() if n and e > now), key=str)
            if alive and draw(st.booleans()):
                exp, k = draw(st.sampled_from(alive))
                weight = -1
            else:
                k = draw(st.integers(0, 1) | st.none())
                exp = draw(st.sampled_from([now + 1, now + 3, now + 9, FOREVER]))
                weight = 1
            copies[exp, k] += weight
            batch.append((now, exp, weight, k))
        now += draw(st.integers(0, 3))
        steps.append((batch, now, draw(st.booleans())))
    return steps


@given(mixed_steps())
def test_each_copy_ends_once_early_or_at_its_time(steps: list) -> None:
    expirer = PartlySignedExpirer(SCHEMA)
    changes: list[Change] = []
    told: list = []
    for batch, clock, reload in steps:
        changes += batch
        out = expirer.turn(mixed_delta(batch), clock)
        told += [] if not len(out) else [*zip_changes(out)]
        expirer.check()
        assert net(told) == expected(changes, clock)
        alive = {key: n for key, n in there(changes, clock).items() if key[0] < FOREVER}
        live = Counter((exp, k) for _, exp, k in live_of(expirer).elements())
        assert live == Counter(alive)
        assert len(expirer) == sum(alive.values())
        if reload:
            saved, expirer = expirer.save(), PartlySignedExpirer(SCHEMA)
            expirer.load(saved)
            expirer.check()


def zip_changes(delta: Delta) -> list[tuple[int, int, object]]:
    """Rows of a signed delta; within an instant early ends and births may come in any order."""
    order = np.lexsort((delta.weights(), delta.ts))
    assert (np.diff(delta.ts) >= 0).all(), "in time order"
    return changes_of(delta.take(order))


def test_a_withdrawal_takes_the_copy_with_its_end_and_no_other() -> None:
    expirer = PartlySignedExpirer(SCHEMA)
    expirer.turn(mixed_delta([(1, 5, 1, 7), (1, 9, 1, 7), (2, 9, -1, 7)]), 2)
    assert changes_of(expirer.turn(mixed_delta([]), 20)) == [(5, -1, 7)]
    assert len(expirer.withdrawn) == len(expirer.pool) == 0


def test_a_copy_that_comes_and_goes_waits_once() -> None:
    expirer = PartlySignedExpirer(SCHEMA)
    expirer.turn(mixed_delta([(0, 100, 1, 7)]), 0)
    for ts in range(1, 40):
        expirer.turn(mixed_delta([(ts, 100, -1, 7), (ts, 100, 1, 7)]), ts)
        expirer.check()
    assert len(expirer.queue) == len(expirer) == 1
