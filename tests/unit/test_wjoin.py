"""W-joins against their definition: three algorithms, windows of all sorts, steps of any size."""

import math
import random
from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.changelogs import Change, plain_rows
from tests.unit.changelogs import delta as changes_to_delta
from tests.unit.wjoin_reference import (
    Cuts,
    Row,
    a_match,
    band,
    equality,
    run,
    some_bands,
    some_match,
    some_streams,
    to_delta,
    truth,
)

from windrow.core.schema import Field, Schema
from windrow.core.time import FOREVER
from windrow.core.types import BIGINT, DOUBLE, STRING
from windrow.kernels.wjoin_loops import join_arrivals
from windrow.kernels.wjoin_rows import count_codes, link_rows
from windrow.operators.interner import Interner
from windrow.operators.join.match import MultiMatch
from windrow.operators.join.multi import loops
from windrow.operators.join.results import GatheredResults
from windrow.operators.join.wjoin import (
    HashWJoin,
    MergeWJoin,
    NestedWJoin,
    Windows,
    unfit,
)
from windrow.operators.join.wjoin import task as wjoin
from windrow.operators.join.wjoin.windows import reach_of
from windrow.physical.conditions import Compare, Equality, JoinInput, PairBand, TimeBand

ALGORITHMS = {"nested": NestedWJoin, "hash": HashWJoin, "merge": MergeWJoin}
KINDS = ("one", "pairs", "tree", "path", "any")
SPAN = 40


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_every_algorithm_gives_the_join_once_and_in_time(name, kind, seed):
    rng = random.Random(seed)
    n = rng.randint(2, 6)
    match = some_match(rng, n, kind)
    streams = some_streams(rng, n, {2: 30, 3: 16, 4: 10, 5: 7, 6: 6}[n], SPAN)
    cuts = Cuts.of(rng, streams, SPAN)
    orders = [(i, *rng.sample([j for j in range(n) if j != i], n - 1)) for i in range(n)]
    make = partial(
        ALGORITHMS[name],
        match,
        orders if rng.random() < 0.7 else None,
        windows=rng.choice(list(Windows)),
        fewest_first=rng.random() < 0.5,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "SLICE", rng.choice([1, 3, loops.SLICE]))
        patch.setattr(wjoin, "ROOM", rng.choice([1, 2, 7, wjoin.ROOM]))
        got = run(make, cuts, n, rng.randrange(len(cuts.clocks)))
    assert got.results == truth(match, streams)


def dense_streams(rng: random.Random, n: int, rows: int, span: int) -> list[list[Row]]:
    """Draw streams of so many rows, of which several are always within a window."""
    keys = [[rng.randrange(6) for _ in range(rows)] for _ in range(n)]
    return [sorted((rng.randrange(span), k, 1, v) for v, k in enumerate(some)) for some in keys]


@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_many_rows_come_and_go(name, seed):
    """Stretches grow and move; the answer is that of the definition, in windows of few rows."""
    rng = random.Random(seed)
    n = rng.randint(2, 3)
    span = 300
    match = a_match(
        n, some_bands(rng, n, rng.choice(KINDS)), equalities=(equality(n, tuple(range(n)), "k"),)
    )
    streams = dense_streams(rng, n, 150, span)
    cuts = Cuts.of(rng, streams, span)
    got = run(partial(ALGORITHMS[name], match), cuts, n, rng.randrange(len(cuts.clocks)))
    assert got.results == truth(match, streams)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("bounds", [(2, 5), (-5, -2), (0, 0), (-3, 4)])
def test_a_window_has_both_its_ends(name, bounds):
    """It may lie wholly before or after the other tuple."""
    rng = random.Random(9)
    streams = dense_streams(rng, 3, 40, SPAN)
    match = a_match(3, [band(0, 1, *bounds), band(1, 2, -1, 1)])
    cuts = Cuts.of(rng, streams, SPAN)
    want = truth(match, streams)
    assert len(want) > 20
    assert run(partial(ALGORITHMS[name], match), cuts, 3).results == want


def test_a_result_is_told_once_though_all_its_rows_are_new_at_one_instant() -> None:
    """Each is made by the last of its rows, so none is made twice [WJOIN 3.1]."""
    match = a_match(4, some_bands(random.Random(1), 4, "one"))
    rows = [(5, 0, 0, v) for v in range(3)]
    for make in ALGORITHMS.values():
        task = make(match)
        first = task.step(tuple(to_delta(i, rows[:2]) for i in range(4)), 5)
        later = task.step(tuple(to_delta(i, rows[2:]) for i in range(4)), 5)
        assert (len(first), len(later)) == (2**4, 3**4 - 2**4)
        assert task.counters.tuples_out == 3**4


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_row_goes_when_no_later_one_can_match_it(name):
    """Streams a and c are 4 and 6 from b, so 10 from each other."""
    match = a_match(3, [band(0, 1, -4, 4), band(1, 2, -6, 6)])
    task = ALGORITHMS[name](match)
    rows = [[(0, 1, 1, 0)]] * 3
    task.step(tuple(to_delta(i, r) for i, r in enumerate(rows)), 0)
    nothing = tuple(to_delta(i, []) for i in range(3))
    seen = []
    for clock in (6, 7, 10, 11):
        task.step(nothing, clock)
        seen.append(task.state_rows())
    assert seen == [3, 2, 2, 0]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_last_stream_of_a_path_is_not_remembered(name):
    """Nothing of a, b or c may come after d: its rows match at once or never."""
    match = a_match(4, [band(0, 1, 0, 5), band(1, 2, 0, 5), band(2, 3, 0, 5)])
    task = ALGORITHMS[name](match)
    task.step(tuple(to_delta(i, [(t, 1, 1, 0) for t in range(3)]) for i in range(4)), 3)
    assert [len(rows) for rows in task.held(3)] == [3, 3, 3, 0]


def test_a_path_is_found_in_both_directions() -> None:
    """The union of two joins: a, b, c, d and d, c, b, a [WJOIN 5.2]."""
    rng = random.Random(4)
    streams = [sorted((rng.randrange(SPAN), 1, 1, v) for v in range(12)) for _ in range(4)]
    there = a_match(4, [band(i, i + 1, 0, 7) for i in range(3)])
    back = a_match(4, [band(i + 1, i, 0, 7) for i in range(3)])
    for match in (there, back):
        cuts = Cuts.of(rng, streams, SPAN)
        want = truth(match, streams)
        assert len(want) > 50
        for make in ALGORITHMS.values():
            assert run(partial(make, match), cuts, 4).results == want


@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_step_waits_for_a_silent_stream_and_none_remembers_for_it(name):
    match = a_match(3, [band(0, 1, -5, 5), band(0, 2, -5, 5)])
    task = ALGORITHMS[name](match)
    for t in range(0, 1000, 2):
        rows = [(t, 1, 1, 0)], [(t, 1, 1, 0)], []
        assert not len(task.step(tuple(to_delta(i, r) for i, r in enumerate(rows)), t))
        assert task.state_rows() <= 10
    made = task.step((to_delta(0, []), to_delta(1, []), to_delta(2, [(999, 1, 1, 0)])), 999)
    assert made.ts.tolist() == [999] * 12  # 3 rows of the first, of each 4 or 5 of the second


def test_merged_loops_look_at_no_row_while_a_stream_is_silent() -> None:
    match = a_match(3, some_bands(random.Random(1), 3, "one"))
    rows = [(t, 1, 1, 0) for t in range(100)]
    looked = {}
    for name, make in ALGORITHMS.items():
        task = make(match)
        task.step((to_delta(0, rows), to_delta(1, rows), to_delta(2, [])), 100)
        looked[name] = task.counters.comparisons
    assert looked["merge"] == 0 < looked["nested"]


def test_merged_loops_begin_with_the_fewest_rows() -> None:
    keys = (equality(3, (0, 1, 2), "k"),)
    match = a_match(3, [band(i, j, -50, 50) for i, j in ((0, 1), (0, 2), (1, 2))], equalities=keys)
    many = [(t, t % 7, 1, 0) for t in range(200)]
    few = [(t, 3, 1, 0) for t in range(0, 200, 40)]
    inputs = tuple(to_delta(i, rows) for i, rows in enumerate((many, many, few)))
    looked = {}
    for fewest in (True, False):
        task = MergeWJoin(match, fewest_first=fewest)
        task.step(inputs, 200)
        looked[fewest] = task.counters.comparisons
    assert 3 * looked[True] < looked[False]


def test_windows_of_pairs_look_at_fewer_rows_than_the_widest_for_all() -> None:
    pairs = [(0, 1), (0, 2), (1, 2)]
    match = a_match(3, [band(i, j, -w, w) for (i, j), w in zip(pairs, (40, 4, 4), strict=True)])
    rows = [(t, 1, 1, 0) for t in range(100)]
    inputs = tuple(to_delta(i, rows) for i in range(3))
    for make in ALGORITHMS.values():
        found = {}
        for windows in Windows:
            task = make(match, windows=windows)
            made = len(task.step(inputs, 100))
            found[windows] = made, task.counters.comparisons
        assert found[Windows.LOCAL][0] == found[Windows.GLOBAL][0] > 0
        assert 4 * found[Windows.LOCAL][1] < found[Windows.GLOBAL][1]


def test_a_missing_window_is_the_shortest_path() -> None:
    """WJOIN figure 11: of A and D it is the least of w1 + w2 + w3 and w1 + w4."""
    bands = [band(0, 1, -1, 1), band(1, 2, -2, 2), band(2, 3, -3, 3), band(1, 3, -4, 4)]
    most = reach_of(a_match(4, bands)).most
    assert (most[0, 2], most[0, 3], most[2, 3]) == (3, 5, 3)
    assert (reach_of(a_match(4, bands), Windows.GLOBAL).most + np.eye(4) * 5 == 5).all()


def test_directed_windows_have_directed_paths() -> None:
    reach = reach_of(a_match(3, [band(0, 1, 0, 5), band(1, 2, 0, 7)]))
    assert reach.most.tolist() == [[0, 5, 12], [0, 0, 7], [0, 0, 0]]
    assert reach.keep.tolist() == [12, 7, 0]


def test_windows_that_contradict_each_other_let_nothing_through() -> None:
    """The second is after the first, and the first after the second."""
    match = a_match(2, [band(0, 1, 1, 5), band(1, 0, 1, 5)])
    rows = [(t, 1, 1, 0) for t in range(20)]
    for make in ALGORITHMS.values():
        task = make(match)
        assert not len(task.step((to_delta(0, rows), to_delta(1, rows)), 20))
        assert task.state_rows() == 0


def test_what_w_joins_cannot_do_is_told() -> None:
    assert unfit(a_match(3, [band(0, 1, -1, 1)])) == "windows do not tie all streams together"
    assert unfit(a_match(2, [band(0, 1, -1, 1)])) == ""


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_order_may_change_at_any_time(name):
    rng = random.Random(8)
    match = some_match(rng, 3, "pairs")
    streams = some_streams(rng, 3, 16, SPAN)
    clocks = range(SPAN)
    want = truth(match, streams)
    task = ALGORITHMS[name](match)
    made = 0
    for clock in clocks:
        task.reorder([(i, *rng.sample([j for j in range(3) if j != i], 2)) for i in range(3)])
        now = ([row for row in rows if row[0] == clock] for rows in streams)
        made += len(task.step(tuple(to_delta(i, rows) for i, rows in enumerate(now)), clock))
    assert made == want.total()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_loops_that_let_go_of_rows_now_and_then_give_the_same(seed):
    rng = random.Random(seed)
    match = some_match(rng, 3, rng.choice(KINDS))
    streams = some_streams(rng, 3, 16, SPAN)
    cuts = Cuts.of(rng, streams, SPAN)
    make = rng.choice([NestedWJoin, HashWJoin])
    every = rng.choice([2, 7, 1000])
    got = run(partial(make, match, clean_every=every), cuts, 3, rng.randrange(len(cuts.clocks)))
    assert got.results == truth(match, streams)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_texts_are_equal_and_numbers_of_any_kind_are_compared(name):
    """NaN is above all numbers, -0.0 is 0.0, and NULL is like nothing."""
    interner = Interner()
    kind = Schema((Field("s", STRING), Field("x", DOUBLE), Field("t", BIGINT, nullable=False)))
    sides = [Schema(tuple(Field(f"{a}.{f.name}", f.type, f.nullable) for f in kind)) for a in "lr"]
    inputs = tuple(JoinInput(side, side.names[:2]) for side in sides)
    equal = Equality((("l.s",), ("r.s",)))
    bands = (PairBand(0, 1, TimeBand("l.t", "r.t", -9, 9, 0, 0)),)
    match = MultiMatch(inputs, (equal,), bands, (Compare(0, "l.x", "lt", 1, "r.x"),))
    values = [-math.inf, -2.5, -0.0, 0.0, 1.5, math.inf, math.nan, None]
    rows = [Change(0, (s, x, 0), exp=FOREVER) for s in ("a", "b", None) for x in values]
    deltas = tuple(changes_to_delta(rows, side, interner, unsigned=True) for side in sides)
    task = ALGORITHMS[name](match)
    made = task.step(deltas, 0)
    got = Counter((r[0], str(r[1]), str(r[3])) for r in plain_rows(made.columns, interner))
    order = ["-inf", "-2.5", "0.0", "inf", "NaN"]
    order.insert(3, "1.5")
    copies = {"0.0": 2}
    want = {
        (s, a, b): copies.get(a, 1) * copies.get(b, 1)
        for s in "ab"
        for i, a in enumerate(order)
        for b in order[i + 1 :]
    }
    assert got == want
    assert len(task.live_codes()) == 2
    loaded = ALGORITHMS[name](match)
    loaded.load(task.save())
    assert loaded.state_rows() == task.state_rows() == 2 * 2 * 7


def test_loops_are_compiled_once_for_all_algorithms_and_numbers_of_streams() -> None:
    for n in range(2, 5):
        for make in ALGORITHMS.values():
            for keys in ((), (equality(n, tuple(range(n)), "kx"),)):
                task = make(a_match(n, some_bands(random.Random(n), n, "path"), equalities=keys))
                task.step(tuple(to_delta(i, [(1, 1, 1, 1)]) for i in range(n)), 1)
                fresh = make(task.match)
                fresh.load(task.save())
                fresh.step(tuple(to_delta(i, [(9, 1, 1, 1)]) for i in range(n)), 99)
    for kernel in (join_arrivals, link_rows, count_codes):
        assert len(getattr(kernel, "nopython_signatures", [()])) == 1


def test_room_for_results_grows_by_more_than_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of very many results does not copy them again and again."""
    grown = []
    resize = GatheredResults.resize
    monkeypatch.setattr(wjoin, "ROOM", 4)
    monkeypatch.setattr(
        GatheredResults, "resize", lambda self, room: (grown.append(room), resize(self, room))[1]
    )
    match = a_match(2, [band(0, 1, -9, 9)])
    rows = [(0, 1, 1, v) for v in range(64)]
    made = MergeWJoin(match).step((to_delta(0, rows), to_delta(1, rows)), 0)
    assert len(made) == 64 * 64
    assert len(grown) < 20
