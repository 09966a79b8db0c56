"""The view holds the answer; netting cancels what comes and goes at one instant."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.changelogs import (
    KEY,
    ROW,
    Change,
    answers,
    delta,
    histories,
    net,
    plain_rows,
    rows,
    signed_changes,
)

from windrow.operators.interner import Interner
from windrow.operators.view import View, net_per_instant


def shown(view, interner):
    columns, copies = view.rows()
    found = zip(plain_rows(columns, interner), copies.tolist(), strict=True)
    return Counter(dict(found))


@given(st.data(), histories(rows))
def test_the_view_is_the_sum_of_its_changes(data, history):
    interner, view = Interner(), View(ROW)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(history)), max_size=4)))
    for start, stop in zip([0, *cuts], [*cuts, len(history)], strict=True):
        view.apply(delta(history[start:stop], ROW, interner))
        view.check()
        if data.draw(st.booleans()):
            now = answers([Change(0, c.row, c.weight) for c in history[:stop]], 0)[0]
            assert shown(view, interner) == now
        if data.draw(st.booleans()):
            saved, view = view.save(), View(ROW)
            view.load(saved)
            view.check()
    everything = answers([Change(0, c.row, c.weight) for c in history], 0)[0]
    assert shown(view, interner) == everything


def test_changes_wait_only_as_long_as_they_are_few(monkeypatch):
    monkeypatch.setattr("windrow.operators.view.PENDING", 1_000)
    view, interner = View(KEY), Interner()
    once = delta([Change(1, (1,), 1), Change(1, (1,), -1)], KEY, interner)
    many = once.take(np.tile([0, 1], 400))
    for _ in range(100):
        view.apply(many)
    assert view.nbytes < 100 * 800 * 24 // 10
    assert shown(view, interner) == {}


def test_interned_codes_of_the_answer_and_of_what_waits_are_live():
    view, interner = View(ROW), Interner()
    view.apply(delta([Change(1, (1, 1.0, "a"))], ROW, interner))
    view.rows()
    view.apply(delta([Change(1, (1, 1.0, "b"))], ROW, interner))
    live = np.concatenate(view.live_codes())
    assert interner.decode(np.unique(live), ROW["s"].type).to_pylist() == ["a", "b"]


@given(histories(rows, most=3))
def test_netting_keeps_the_net_and_the_order(history):
    interner = Interner()
    out = net_per_instant(delta(history, ROW, interner))
    got = signed_changes(out, interner)
    assert net(got) == net(history)
    by_instant: dict[int, list[Change]] = {}
    for c in got:
        by_instant.setdefault(c.ts, []).append(c)
    for changes in by_instant.values():
        signs = [c.weight > 0 for c in changes]
        assert signs == sorted(signs), "what leaves comes first"
        ups = {c.row for c in changes if c.weight > 0}
        assert not ups & {c.row for c in changes if c.weight < 0}, "no row has both signs"


def test_what_has_one_sign_is_left_alone():
    ups = delta([Change(1, (1,)), Change(1, (1,)), Change(2, (2,))], KEY, Interner())
    assert net_per_instant(ups) is ups
    downs = delta([Change(1, (1,), -1), Change(2, (1,), 1)], KEY, Interner())
    assert net_per_instant(downs) is downs
