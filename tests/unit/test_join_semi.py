"""EXISTS, IN, NOT EXISTS and NOT IN over signed edges."""

import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.join_reference import (
    Bag,
    Event,
    a_match,
    add_net,
    alive,
    changes,
    clocks_of,
    cut,
    holds,
    instants,
    net_of_answers,
    run,
    schema,
    to_delta,
)

from windrow.operators.join.half import HalfJoinKind, KeyedForm, PairedForm
from windrow.operators.join.match import Match
from windrow.operators.join.semi import AntiJoinTask, HalfJoinTask, SemiJoinTask


def excluded(match: Match, left: tuple, right: tuple) -> bool:
    """Tell whether a right row keeps a left row out of NOT IN: like it, or perhaps like it."""
    if left[0] is None or right[0] is None:
        right = (left[0] or 0, *right[1:])
        left = (left[0] or 0, *left[1:])
    return holds(match, left, right)


def answer_of(
    match: Match, kind: HalfJoinKind, lefts: list[Event], rights: list[Event]
) -> Callable:
    def answer(now: int) -> Bag:
        bag: Bag = Counter()
        right = alive(rights, now)
        for left, n in alive(lefts, now).items():
            if kind is HalfJoinKind.NOT_IN:
                is_in = not any(m and excluded(match, left, r) for r, m in right.items())
            else:
                partner = any(m and holds(match, left, r) for r, m in right.items())
                is_in = partner == (kind is HalfJoinKind.SEMI)
            if is_in:
                bag[left[2], left[0]] += n
        return bag

    return answer


def check_random(match: Match, kind: HalfJoinKind, seed: int) -> None:
    rng = random.Random(seed)
    lefts, rights = changes(rng, 30, 12), changes(rng, 20, 12)
    times = instants(lefts, rights)
    clocks = clocks_of(rng, max(times, default=0))
    inputs = [
        (schema("l"), cut(rng, lefts, clocks), True),
        (schema("r"), cut(rng, rights, clocks), True),
    ]
    got = run(lambda: HalfJoinTask(match, kind), inputs, clocks, rng.randrange(len(clocks)))
    assert got == net_of_answers(times, answer_of(match, kind, lefts, rights))


@pytest.mark.parametrize("kind", HalfJoinKind)
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_keys_decide(kind, seed):
    check_random(a_match(odd=False), kind, seed)


@pytest.mark.parametrize("kind", HalfJoinKind)
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    band=st.sampled_from([None, (0, 2), (-1, 1)]),
    odd=st.booleans(),
)
def test_pairs_decide(kind, seed, band, odd):
    check_random(a_match(band=band, odd=odd), kind, seed)


@pytest.mark.parametrize("kind", [HalfJoinKind.SEMI, HalfJoinKind.ANTI])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9), odd=st.booleans())
def test_without_keys_any_right_row_will_do(kind, seed, odd):
    check_random(a_match(keyed=False, odd=odd), kind, seed)


def test_the_right_form_is_chosen() -> None:
    assert isinstance(AntiJoinTask(a_match(odd=False), null_aware=True).form, KeyedForm)
    assert isinstance(AntiJoinTask(a_match(odd=True)).form, PairedForm)
    assert isinstance(SemiJoinTask(a_match(band=(0, 1), odd=False)).form, PairedForm)


def test_a_right_row_invalidates_what_was_told_and_its_departure_restores_it() -> None:
    """The W-Minus example with windows of 6 [Ghanem 2007, fig. 6], where no value is repeated."""
    task = AntiJoinTask(a_match(odd=False))
    left = [Event(t, (v, 0, 0)) for t, v in ((1, 2), (3, 1), (5, 3), (7, 5))]
    right = [Event(2, (5, 0, 0)), Event(6, (1, 0, 0)), Event(8, (5, 0, 0), weight=-1)]
    net: dict = {}
    sides = (to_delta(schema(s), e, signed=True) for s, e in (("l", left), ("r", right)))
    add_net(net, task.step(tuple(sides), 8), 8)
    told = {(t, row[1]): n for (t, row), n in net.items()}
    assert told == {(1, 2): 1, (3, 1): 1, (5, 3): 1, (6, 1): -1, (8, 5): 1}


def test_what_an_instant_undoes_is_not_told() -> None:
    task = AntiJoinTask(a_match(odd=False))
    left = to_delta(schema("l"), [Event(1, (1, 0, 0))], signed=True)
    right = [Event(1, (1, 0, 0)), Event(2, (1, 0, 0), weight=-1), Event(2, (1, 1, 0))]
    assert len(task.step((left, to_delta(schema("r"), right, signed=True)), 2)) == 0
    assert task.state_rows() == 2
