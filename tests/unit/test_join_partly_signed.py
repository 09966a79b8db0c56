"""NOT EXISTS in its mixed form: natural ends by timestamp, early ones by negative tuples."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.join_reference import (
    Event,
    Net,
    a_match,
    add_net,
    arrivals,
    changes,
    clocks_of,
    cut,
    departures,
    instants,
    net_of_answers,
    run,
    schema,
    to_delta,
)
from tests.unit.test_join_semi import answer_of

from windrow.core.schema import Schema
from windrow.operators.delta import Delta
from windrow.operators.expire import ExpireTask
from windrow.operators.join.half import HalfJoinKind
from windrow.operators.join.partly_signed import PartlySignedAntiJoin
from windrow.operators.join.semi import AntiJoinTask
from windrow.operators.state.partly_signed_expirer import PartlySignedExpirer
from windrow.operators.task import Counters, Saved
from windrow.physical.conditions import Form


class Told:
    """A mixed negation and its expirer as one task, so that its output is a signed edge."""

    def __init__(self, keyed: bool, form: Form) -> None:
        self.negation = PartlySignedAntiJoin(a_match(keyed=keyed, odd=False), form)
        self.expire = ExpireTask(PartlySignedExpirer(self.negation.output))
        self.counters = Counters()

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        made = self.negation.step(inputs, clock)
        assert made.exp is not None
        assert (made.exp > made.ts).all(), "a result and its withdrawal come before its end"
        assert set(np.unique(made.weights())) <= {-1, 1}, "each row is one copy"
        return self.expire.step((made,), clock)

    def save(self) -> Saved:
        return {"negation": self.negation.save(), "expire": self.expire.save()}

    def load(self, saved: dict) -> None:
        self.negation.load(saved["negation"])
        self.expire.load(saved["expire"])

    def check(self) -> None:
        self.negation.check()
        self.expire.check()


def sides(rng: random.Random, life: str) -> tuple[list[Event], list[Event]]:
    lefts = arrivals(rng, 30, 12, life)
    lefts = [Event(e.ts, (e.row[0], e.row[1], e.ts // 4), e.exp) for e in lefts]  # equal rows
    rights = changes(rng, 20, 12) if rng.random() < 0.5 else departures(arrivals(rng, 20, 12, life))
    return lefts, rights


@pytest.mark.parametrize(
    ("form", "life"), [(Form.FIFO, "fifo"), (Form.CALENDAR, "any"), (Form.CALENDAR, "mixed")]
)
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9), keyed=st.booleans())
def test_the_answer_is_that_of_the_definition_and_of_the_signed_form(form, life, seed, keyed):
    rng = random.Random(seed)
    lefts, rights = sides(rng, life)
    match = a_match(keyed=keyed, odd=False)
    times = instants(lefts, rights)
    clocks = clocks_of(rng, max(times, default=0))
    right = (schema("r"), cut(rng, rights, clocks), True)
    inputs = [(schema("l"), cut(rng, lefts, clocks), False), right]
    got = run(lambda: Told(keyed, form), inputs, clocks, rng.randrange(len(clocks)))
    assert got == net_of_answers(times, answer_of(match, HalfJoinKind.ANTI, lefts, rights))
    signed = (schema("l"), cut(rng, departures(lefts), clocks), True)
    assert got == run(lambda: AntiJoinTask(match), [signed, right], clocks)


def step_both(lefts: list[Event], rights: list[Event], clock: int) -> tuple[Delta, Delta]:
    """One step of both forms; their outputs: mixed, signed."""
    match = a_match(odd=False)
    right = to_delta(schema("r"), rights, signed=True)
    partly_signed = PartlySignedAntiJoin(match, Form.FIFO)
    told = partly_signed.step((to_delta(schema("l"), lefts, signed=False), right), clock)
    signed = AntiJoinTask(match)
    all_told = signed.step((to_delta(schema("l"), departures(lefts), signed=True), right), clock)
    assert partly_signed.counters.premature == signed.counters.premature
    assert partly_signed.counters.negatives_out == np.count_nonzero(told.weights() < 0)
    assert signed.counters.negatives_out == np.count_nonzero(all_told.weights() < 0)
    return told, all_told


def test_with_no_common_key_nothing_negative_is_told_but_by_the_signed_form() -> None:
    lefts = [Event(t, (t % 7, 0, t), t + 10) for t in range(200)]
    rights = departures([Event(t, (100 + t % 7, 0, t), t + 10) for t in range(200)])
    partly_signed, signed = step_both(lefts, rights, 300)
    assert np.count_nonzero(partly_signed.weights() < 0) == 0
    assert np.count_nonzero(signed.weights() < 0) == len(lefts)


def test_a_blocked_row_is_taken_back_with_its_end_and_given_again() -> None:
    lefts = [Event(1, (1, 0, 1), 11), Event(2, (2, 0, 2), 12)]
    partly_signed, _ = step_both(lefts, departures([Event(4, (1, 0, 4), 7)]), 20)
    assert partly_signed.exp is not None
    told = [
        *zip(
            partly_signed.ts.tolist(),
            partly_signed.exp.tolist(),
            partly_signed.weights().tolist(),
            strict=True,
        )
    ]
    assert told == [(1, 11, 1), (2, 12, 1), (4, 11, -1), (7, 11, 1)]


def test_a_row_that_ends_as_its_blocker_comes_is_not_taken_back() -> None:
    partly_signed, _ = step_both([Event(1, (1, 0, 1), 4)], [Event(4, (1, 0, 4))], 20)
    assert partly_signed.weights().tolist() == [1]


def test_what_has_ended_is_forgotten() -> None:
    task = PartlySignedAntiJoin(a_match(odd=False), Form.CALENDAR)
    lefts = [Event(t, (t, 0, t), t + 5) for t in range(50)]
    no_right = to_delta(schema("r"), [], signed=True)
    task.step((to_delta(schema("l"), lefts, signed=False), no_right), 100)
    assert task.state_rows() == 0
    assert task.counters.expiries == 50


def test_the_output_of_a_quiet_step_is_an_empty_mixed_batch() -> None:
    task = PartlySignedAntiJoin(a_match(odd=False))
    nothing = (to_delta(schema("l"), [], signed=False), to_delta(schema("r"), [], signed=True))
    made = task.step(nothing, 5)
    net: Net = {}
    add_net(net, made, 5)
    assert net == {}
    assert made.exp is not None
    assert isinstance(task.output, Schema)


@pytest.mark.parametrize("form", [Form.FIFO, Form.CALENDAR])
def test_rows_that_have_ended_are_met_once_however_often_their_key_turns(form: Form) -> None:
    task = PartlySignedAntiJoin(a_match(odd=False), form)
    lefts = [Event(t, (1, 0, t), t + 1) for t in range(1000)]
    rights = departures([Event(t, (1, 0, t), t + 1) for t in range(2000, 3000, 2)])
    deltas = to_delta(schema("l"), lefts, signed=False), to_delta(schema("r"), rights, signed=True)
    assert len(task.step(deltas, 4000)) == 1000
    assert task.counters.comparisons <= 1000 + len(rights)
    task.check()
    assert task.state_rows() == 0
