"""The oracle against answers worked out by hand, for every window and operator."""

from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.build import (
    above,
    aggregate,
    column,
    compare,
    count,
    count_star,
    equal,
    history,
    project,
    scan,
    ticks,
    values,
    window,
)
from tests.reference.histories import NAN, Row, StreamHistory, World
from tests.reference.oracle import Oracle, same_rows

from windrow.core.time import FOREVER
from windrow.core.types import BIGINT, DOUBLE
from windrow.plan.nodes import (
    AggregateCall,
    AntiJoin,
    Band,
    Distinct,
    Dstream,
    Except,
    Filter,
    Intersect,
    Istream,
    Join,
    JoinOn,
    Named,
    Plan,
    Project,
    SemiJoin,
    SortKey,
    TopN,
    UnionAll,
    Window,
)
from windrow.plan.windows import PartitionRows, Range, Rows, Since, Unbounded, Until, WindowSpec

FOR_EVER = Unbounded()


def s(*rows: Row) -> World:
    return World({"s": ticks(*rows)})


def s_and_r(left: list[Row], right: list[Row]) -> World:
    return World({"s": ticks(*left), "r": ticks(*right)})


# ------------------------------------------------------------------ windows


def test_a_tuple_is_in_a_range_window_from_its_time_until_before_its_expiry():
    assert history(values(window("s", 5)), s((1, 10), (3, 20))) == [
        "1: +10",
        "3: +20",
        "6: -10",
        "8: -20",
    ]


def test_now_is_one_instant_long():
    assert history(values(window("s", 1)), s((1, 10), (2, 20))) == [
        "1: +10",
        "2: -10 +20",
        "3: -20",
    ]


def test_outside_the_history_a_window_is_empty():
    oracle = Oracle(values(window("s", 5)), s((1, 10)))
    assert [oracle.answer(at) for at in (-100, 0, 6, 100)] == [Counter()] * 4


def test_a_stream_without_tuples_has_an_answer_but_no_changes():
    oracle = Oracle(count(window("s", 5)), s())
    assert oracle.instants() == []
    assert oracle.changes() == []
    assert oracle.answer(7) == Counter({(0,): 1})


def test_a_width_beyond_all_time_never_ends():
    oracle = Oracle(values(window("s", FOREVER)), s((1, 10)))
    assert oracle.answer(FOREVER - 1) == Counter({(10,): 1})


def test_a_rows_window_orders_equal_times_by_arrival():
    world = s((1, 10), (2, 30), (2, 20), (2, 40), (5, 50))
    assert history(values(window("s", Rows(2))), world) == [
        "1: +10",
        "2: -10 +20 +40",
        "5: -20 +50",
    ]


def test_a_rows_window_slides_by_whole_steps():
    world = s((1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (6, 60), (7, 70))
    assert history(values(window("s", Rows(3, 2))), world) == [
        "2: +10 +20",
        "4: -10 +30 +40",
        "6: -20 -30 +50 +60",
    ]
    assert history(values(window("s", Rows(1, 3))), world) == ["3: +30", "6: -30 +60"]


def test_a_step_may_end_among_tuples_of_one_instant():
    world = s((1, 30), (1, 20), (1, 10))
    assert history(values(window("s", Rows(1, 2))), world) == ["1: +20"]


def test_a_partitioned_window_keeps_the_newest_of_each_key_and_null_is_a_key():
    plan = project(window("s", PartitionRows(("s.k",), 1), "k", "v"), "s.k", "s.v")
    world = s((1, 1, 10), (2, None, 20), (3, 1, 60), (3, None, 40), (3, 1, 50))
    assert history(plan, world) == [
        "1: +(1,10)",
        "2: +(NULL,20)",
        "3: -(NULL,20) -(1,10) +(NULL,40) +(1,50)",
    ]


def test_an_unbounded_window_only_grows():
    assert history(values(window("s", FOR_EVER)), s((1, 10), (3, 20))) == ["1: +10", "3: +20"]


def test_a_landmark_window_begins_with_its_start():
    world = s((2, 10), (3, 20), (4, 30))
    assert history(values(window("s", Since(3))), world) == ["3: +20", "4: +30"]


def test_until_ends_each_tuple_by_its_own_columns():
    plan = values(window("s", Until(("s.end", "s.cap")), "v", "end", "cap"))
    world = s((1, 10, 4, 9), (2, 20, 9, 3), (2, 30, 2, 9), (2, 40, 1, 9))
    assert history(plan, world) == ["1: +10", "2: +20", "3: -20", "4: -10"]


def test_a_window_tells_when_its_tuples_leave():
    ranged = Window(scan("s", "v"), Range(5), "exp")
    endless = Window(scan("s", "v"), FOR_EVER, "exp")
    assert history(project(ranged, "s.v", "exp"), s((1, 10))) == ["1: +(10,6)", "6: -(10,6)"]
    assert Oracle(project(endless, "exp"), s((1, 10))).answer(1) == Counter({(FOREVER,): 1})


def test_on_a_timestamp_clock_times_are_microseconds():
    plan = window("s", 5_000_000, "ts:timestamp", "v")
    world = s((10_000_000, 7))
    row = (10_000_000, 7)
    assert Oracle(plan, world).changes() == [(10_000_000, 1, row), (15_000_000, -1, row)]


def held(spec: WindowSpec, tuples: list[tuple[int, int]], at: int) -> list[int]:
    """The values of ``(ts, value)`` tuples that a window holds: its definition in Python."""
    past = [t for t in tuples if t[0] <= at]
    match spec:
        case Range(width):
            past = [t for t in past if at < t[0] + width]
        case Rows(count, step):
            past = past[: len(past) // step * step][-count:]
        case PartitionRows(_, count):
            keys = {v: [t for t in past if t[1] == v] for _, v in past}
            past = [t for own in keys.values() for t in own[-count:]]
        case Since(start):
            past = [t for t in past if t[0] >= start]
        case Until():
            past = [t for t in past if at < t[1]]
    return [value for _, value in past]


small = st.integers(1, 4)
windows = st.one_of(
    st.builds(Range, small),
    st.builds(Rows, small, small),
    st.builds(PartitionRows, st.just(("s.v",)), small),
    st.builds(Since, small),
    st.just(Until(("s.v",))),
    st.just(FOR_EVER),
)


@settings(max_examples=40, deadline=None)
@given(windows, st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9))))
def test_every_window_holds_what_its_definition_says(spec, tuples):
    tuples.sort(key=lambda t: t[0])
    oracle = Oracle(values(window("s", spec)), s(*tuples))
    for at, answer in oracle.answers(range(15)).items():
        assert answer == Counter((v,) for v in held(spec, tuples, at))


# ------------------------------------------------------------------ tuple by tuple


def test_a_filter_keeps_what_is_true_not_what_is_unknown():
    plan = values(Filter(window("s", 5), above("s.v", 15)))
    assert history(plan, s((1, 10), (1, None), (1, 20))) == ["1: +20", "6: -20"]


def test_a_filter_below_a_count_window_lets_older_tuples_stay():
    world = s((1, 10), (2, 20), (3, 5))
    outer = values(Filter(window("s", Rows(2)), above("s.v", 7)))
    inner = values(Window(Filter(scan("s", "v"), above("s.v", 7)), Rows(2)))
    assert history(outer, world) == ["1: +10", "2: +20", "3: -10"]
    assert history(inner, world) == ["1: +10", "2: +20"]


@pytest.mark.parametrize(
    "filtered",
    [
        Filter(window("s", 5), above("s.v", 7)),
        Window(Filter(scan("s", "v"), above("s.v", 7)), Range(5)),
    ],
    ids=["above the window", "below the window"],
)
def test_a_changelog_begins_with_the_first_tuple_even_if_a_filter_drops_it(filtered):
    assert history(count(filtered), s((1, 5), (3, 20))) == ["1: +0", "3: -0 +1", "8: -1 +0"]


def test_a_projection_keeps_duplicates():
    assert history(values(window("s", 5)), s((1, 10), (1, 10))) == ["1: +10 +10", "6: -10 -10"]


def test_a_projection_reads_its_input_not_its_own_columns():
    swapped = (Named("ts", column("v")), Named("v", column("ts")))
    plan = Project(project(window("s", 5), "s.ts", "s.v"), swapped)
    assert history(plan, s((1, 10))) == ["1: +(10,1)", "6: -(10,1)"]


def test_a_stream_may_be_projected_before_it_is_windowed():
    plan = Window(values(scan("s", "v")), Rows(1))
    assert history(plan, s((1, 20), (1, 10))) == ["1: +10"]


# ------------------------------------------------------------------ joins


def joined(on: JoinOn, left: int = 5, right: int = 3) -> Project:
    return project(Join(window("s", left), window("r", right), on), "s.v", "r.ts")


def test_a_join_lives_from_its_youngest_tuple_to_its_first_expiry():
    world = s_and_r([(2, 10)], [(3, 10)])
    assert history(joined(equal("s.v", "r.v")), world) == ["3: +(10,3)", "6: -(10,3)"]


def test_at_one_instant_tuples_expire_before_others_arrive():
    assert history(joined(equal("s.v", "r.v")), s_and_r([(1, 10)], [(6, 10)])) == []
    assert history(joined(equal("s.v", "r.v")), s_and_r([(1, 10)], [(5, 10)])) == [
        "5: +(10,5)",
        "6: -(10,5)",
    ]


def test_null_joins_nothing_and_duplicates_multiply():
    world = s_and_r([(1, None), (1, 10), (1, 10)], [(1, None), (1, 10), (1, 10)])
    assert history(joined(equal("s.v", "r.v")), world) == [
        "1: +(10,1) +(10,1) +(10,1) +(10,1)",
        "4: -(10,1) -(10,1) -(10,1) -(10,1)",
    ]


def test_a_join_without_condition_pairs_all():
    assert history(joined(JoinOn()), s_and_r([(1, 10)], [(2, None)])) == [
        "2: +(10,2)",
        "5: -(10,2)",
    ]


def test_a_band_includes_both_its_ends():
    on = JoinOn(bands=(Band("s.ts", "r.ts", -1, 2),))
    plan = values(Join(window("s", FOR_EVER), window("r", FOR_EVER), on), "r.ts")
    world = s_and_r([(5, 0)], [(3, 0), (4, 0), (7, 0), (8, 0)])
    assert history(plan, world) == ["5: +4", "7: +7"]


def test_a_band_over_timestamps_counts_microseconds():
    on = JoinOn(bands=(Band("s.ts", "r.ts", 0, 2),))
    left, right = (window(name, FOR_EVER, "ts:timestamp", "v") for name in "sr")
    world = s_and_r([(5, 0)], [(4, 1), (5, 2), (7, 3), (8, 4)])
    plan = values(Join(left, right, on), "r.v")
    assert history(plan, world) == ["5: +2", "7: +3"]


def test_the_rest_of_a_join_predicate_must_be_true():
    bigger = compare(column("r.x"), "gt", column("s.w"))
    left, right = window("s", 9, "v", "w"), window("r", 9, "v", "x")
    plan = project(Join(left, right, equal("s.v", "r.v", residual=bigger)), "s.w", "r.x")
    world = s_and_r([(1, 1, 5)], [(1, 1, 5), (1, 1, 6), (1, 1, None), (1, 2, 9)])
    assert history(plan, world) == ["1: +(5,6)", "10: -(5,6)"]


def test_a_semi_join_keeps_a_tuple_once_while_it_has_a_partner():
    plan = values(SemiJoin(window("s", 10), window("r", 2), equal("s.v", "r.v")))
    world = s_and_r([(1, 10), (2, 20), (3, None)], [(4, 10), (5, 10), (5, None)])
    assert history(plan, world) == ["4: +10", "7: -10"]


def test_an_anti_join_keeps_a_tuple_while_it_has_no_partner_and_null_has_none():
    plan = values(AntiJoin(window("s", 10), window("r", 2), equal("s.v", "r.v")))
    world = s_and_r([(1, 10), (2, 20), (3, None)], [(4, 10), (5, 10), (5, None)])
    assert history(plan, world) == [
        "1: +10",
        "2: +20",
        "3: +NULL",
        "4: -10",
        "7: +10",
        "11: -10",
        "12: -20",
        "13: -NULL",
    ]


def test_not_in_is_unknown_beside_null():
    plan = values(AntiJoin(window("s", 20), window("r", 2), equal("s.v", "r.v"), null_aware=True))
    world = s_and_r([(1, 10), (2, 20), (3, None)], [(4, 10), (8, None)])
    assert history(plan, world) == [
        "1: +10",
        "2: +20",
        "3: +NULL",  # not in nothing: true even of NULL
        "4: -NULL -10",
        "6: +NULL +10",
        "8: -NULL -10 -20",
        "10: +NULL +10 +20",
        "21: -10",
        "22: -20",
        "23: -NULL",
    ]


def test_not_in_minds_only_rows_that_the_rest_of_the_predicate_allows():
    on = equal("s.v", "r.v", residual=compare(column("r.ts"), "lt", column("s.ts")))
    plan = values(AntiJoin(window("s", FOR_EVER), window("r", FOR_EVER), on, null_aware=True))
    assert history(plan, s_and_r([(1, 10), (2, 20)], [(1, None)])) == ["1: +10"]


# ------------------------------------------------------------------ bags and sets


def test_a_union_adds_up():
    plan = UnionAll((values(window("s", 5)), values(window("r", 5), "r.v")))
    assert history(plan, s_and_r([(1, 10)], [(2, 10)])) == ["1: +10", "2: +10", "6: -10", "7: -10"]


BAGS = s_and_r([(1, 10), (2, 10), (3, None)], [(4, 10), (4, None), (5, 10)])


def both(right: int) -> tuple[Plan, Plan]:
    return values(window("s", 10)), values(window("r", right), "r.v")


def test_an_intersection_has_each_common_row_once_or_as_often_as_both():
    assert history(Intersect(*both(10)), BAGS) == ["4: +NULL +10", "12: -10", "13: -NULL"]
    assert history(Intersect(*both(10), all=True), BAGS) == [
        "4: +NULL +10",
        "5: +10",
        "11: -10",
        "12: -10",
        "13: -NULL",
    ]


def test_a_difference_has_rows_without_a_twin_or_the_surplus():
    assert history(Except(*both(2)), BAGS) == [
        "1: +10",
        "3: +NULL",
        "4: -NULL -10",
        "6: +NULL",
        "7: +10",
        "12: -10",
        "13: -NULL",
    ]
    assert history(Except(*both(2), all=True), BAGS) == [
        "1: +10",
        "2: +10",
        "3: +NULL",
        "4: -NULL -10",
        "5: -10",
        "6: +NULL +10",
        "7: +10",
        "11: -10",
        "12: -10",
        "13: -NULL",
    ]


def test_distinct_takes_nulls_for_equal():
    plan = Distinct(values(window("s", 5)))
    assert history(plan, s((1, None), (2, None), (2, 10))) == ["1: +NULL", "2: +10", "7: -NULL -10"]


def test_a_row_that_leaves_and_returns_at_one_instant_is_no_change():
    world = s((1, 10), (6, 10))
    assert history(Distinct(values(window("s", 5))), world) == ["1: +10", "11: -10"]
    assert history(Istream(values(window("s", 5))), world) == ["1: +10"]
    assert history(Dstream(values(window("s", 5))), world) == ["11: +10"]


# ------------------------------------------------------------------ aggregates and order


def test_null_is_a_group():
    plan = aggregate(window("s", 5), ("s.v",), count_star())
    assert history(plan, s((1, None), (2, None), (2, 10))) == [
        "1: +(NULL,1)",
        "2: -(NULL,1) +(NULL,2) +(10,1)",
        "6: -(NULL,2) +(NULL,1)",
        "7: -(NULL,1) -(10,1)",
    ]


def test_without_groups_there_is_one_row_even_of_nothing():
    known = AggregateCall("known", "count", (column("s.v"),), BIGINT)
    total = AggregateCall("total", "sum", (column("s.v"),), BIGINT)
    plan = aggregate(window("s", 5), (), count_star(), known, total)
    world = s((1, 10), (3, None))
    assert history(plan, world) == [
        "1: +(1,1,10)",
        "3: -(1,1,10) +(2,1,10)",
        "6: -(2,1,10) +(1,0,NULL)",
        "8: -(1,0,NULL) +(0,0,NULL)",
    ]
    assert Oracle(plan, world).answer(0) == Counter({(0, 0, None): 1})


def test_an_aggregate_may_filter_and_drop_duplicates():
    big = AggregateCall("big", "count", (), BIGINT, filter=above("s.v", 15))
    total = AggregateCall("total", "sum", (column("s.v"),), BIGINT, distinct=True)
    plan = aggregate(window("s", 5), (), big, total)
    assert history(plan, s((1, 10), (1, 20), (1, 20))) == ["1: +(2,30)", "6: -(2,30) +(0,NULL)"]


def test_a_float_sum_of_the_same_values_is_the_same():
    total = AggregateCall("total", "sum", (column("x:double"),), DOUBLE)
    left, right = (project(window(name, 5, "x:double"), f"{name}.x") for name in "sr")
    plan = aggregate(UnionAll((left, right)), (), total)
    # 0.1 + 0.2 + 0.3 differs from 0.2 + 0.3 + 0.1 in the last bit.
    world = s_and_r([(1, 0.1), (6, 0.2)], [(1, 0.2), (1, 0.3), (6, 0.3), (6, 0.1)])
    changes = Oracle(plan, world).changes()
    assert [(ts, sign) for ts, sign, _ in changes] == [(1, 1), (11, -1), (11, 1)]
    assert same_rows([changes[0][2]], [(0.6,)])


def ordered(limit: int, offset: int, *, descending: bool, nulls_first: bool) -> TopN:
    pairs = project(window("s", 5, "v", "w"), "s.v", "s.w")
    return TopN(pairs, (SortKey(column("v"), descending, nulls_first),), limit, offset)


TIED = s((1, 10, 2), (1, 10, 1), (2, 20, 5), (2, None, 0))


def test_ties_of_an_order_are_broken_by_all_columns_ascending():
    plan = ordered(2, 0, descending=True, nulls_first=False)
    assert history(plan, TIED) == [
        "1: +(10,1) +(10,2)",
        "2: -(10,2) +(20,5)",
        "6: -(10,1) +(NULL,0)",
        "7: -(NULL,0) -(20,5)",
    ]


def test_an_offset_skips_the_first_rows():
    plan = ordered(1, 1, descending=False, nulls_first=True)
    assert history(plan, TIED) == [
        "1: +(10,2)",
        "2: -(10,2) +(10,1)",
        "6: -(10,1) +(20,5)",
        "7: -(20,5)",
    ]


# ------------------------------------------------------------------ values


def test_nan_is_one_value_and_zero_has_no_sign():
    plan = Distinct(project(window("s", 5, "x:double"), "s.x"))
    world = s((1, 0.0), (1, -0.0), (1, float("nan")), (1, -float("nan")), (1, None))
    assert Oracle(plan, world).answer(1) == Counter({(0.0,): 1, (NAN,): 1, (None,): 1})


def test_decimals_strings_dates_and_booleans_come_back_as_they_went_in():
    columns = ("d:decimal(10,2)", "t:string", "day:date", "b:boolean", "i:interval", "y:binary")
    row = (Decimal("1.10"), "ä'\"", 19_000, True, 1_500_000, b"\x00a")
    source = window("s", 5, *columns)
    assert Oracle(source, s((1, *row))).answer(1) == Counter({(1, *row): 1})


def test_rows_are_the_same_if_their_floats_nearly_are():
    assert same_rows([(1, 0.1 + 0.2), (NAN, "a")], [(float("nan"), "a"), (1, 0.3)])
    assert same_rows(Counter({(0.3,): 2}), [(0.1 + 0.2,), (0.3,)])
    assert not same_rows([(0.3,)], [(0.3000001,)])
    assert not same_rows([(0.3,)], [(0.3,), (0.3,)])
    assert not same_rows([(None,)], [(0.0,)])


def test_a_stream_out_of_order_is_refused():
    with pytest.raises(AssertionError, match="time order"):
        StreamHistory([(2, 2), (1, 1)])


def test_instants_after_until_are_left_out():
    assert Oracle(values(window("s", 5)), s((1, 10), (3, 20)), until=6).instants() == [1, 3, 6]
