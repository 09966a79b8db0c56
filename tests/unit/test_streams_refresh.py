"""SLIDE holds the answer between multiples; RESTORE tells what was born and died in between."""

from collections import Counter

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

from windrow.core.time import last_multiple
from windrow.operators.interner import Interner
from windrow.operators.streams import RefreshTask

LAST = 80


def restored(bags, slide):
    """The definition: of a row p + m copies at k·d, where the last inserted expires first.

    THESIS 3.3.4: "all the short-lived results that were generated since the last re-evaluation
    (and have already expired) are reported during the subsequent re-evaluation".
    """
    found = {}
    for end in range(0, LAST + 1, slide):
        shown = bags[end - slide] if end >= slide else Counter()
        least, produced = shown.copy(), Counter()
        for now in range(max(0, end - slide + 1), end + 1):
            before = bags[now - 1] if now else Counter()
            produced.update(bags[now] - before)
            least &= bags[now]
        found[end] = least + produced
    return found


@given(st.data(), histories(rows), st.integers(1, 7))
def test_the_answer_is_held_between_multiples(data, history, slide):
    interner = Interner()
    driver = Driver(data.draw, (ROW,), interner)
    made = driver.run(lambda: RefreshTask(ROW, slide, False), history, LAST)
    got = [c for d in made for c in signed_changes(d, interner)]
    bags = answers(history, LAST)
    assert net(got) == changes_between({n: bags[last_multiple(n, slide)] for n in bags})


@given(st.data(), histories(rows), st.integers(1, 7))
def test_restore_also_holds_what_was_there_in_between(data, history, slide):
    interner = Interner()
    driver = Driver(data.draw, (ROW,), interner)
    made = driver.run(lambda: RefreshTask(ROW, slide, True), history, LAST)
    got = [c for d in made for c in signed_changes(d, interner)]
    assert net(got) == changes_between(restored(answers(history, LAST), slide))


def test_a_step_inside_the_instant_of_a_multiple_is_taken_back():
    task, interner = RefreshTask(KEY, 5, True), Interner()
    task.step((delta([Change(1, (1,))], KEY, interner),), 1)
    got = signed_changes(task.step((delta([Change(5, (2,), 1)], KEY, interner),), 5), interner)
    task.check()
    got += signed_changes(task.step((delta([Change(5, (2,), -1)], KEY, interner),), 5), interner)
    task.check()
    assert net(got) == {(5, (1,)): 1}


def test_rows_that_are_there_before_any_tuple_are_told_at_once():
    for restore in (False, True):
        task, interner = RefreshTask(KEY, 10, restore), Interner()
        task.initial = delta([Change(3, (0,))], KEY, interner)
        given_first = [Change(3, (0,)), Change(3, (0,), -1), Change(3, (1,))]
        got = signed_changes(task.step((delta(given_first, KEY, interner),), 4), interner)
        assert net(got) == {(3, (0,)): 1}
        task.check()
        got = signed_changes(task.step((delta([], KEY, interner),), 10), interner)
        assert net(got) == {(10, (0,)): -1, (10, (1,)): 1}


def test_state_is_let_go_when_nothing_is_left_of_a_row():
    task, interner = RefreshTask(KEY, 10, True), Interner()
    for t in range(0, 2000, 20):
        task.step((delta([Change(t, (t,)), Change(t + 1, (t,), -1)], KEY, interner),), t + 1)
        task.check()
    task.step((delta([], KEY, interner),), 5000)
    assert task.state_rows() == 0


def test_many_changes_that_cancel_are_netted_while_they_wait():
    task, interner = RefreshTask(KEY, 10**9, False), Interner()
    for t in range(1, 20_000, 100):
        pairs = [Change(t + i // 2, (t,), -1 if i % 2 else 1) for i in range(100)]
        task.step((delta(pairs, KEY, interner),), t + 50)
    assert task.state_rows() < 5000
