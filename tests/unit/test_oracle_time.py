"""The oracle by hand where time itself is the matter: versions, slides, streams, expiry."""

from collections import Counter

import pytest
from tests.reference.build import (
    above,
    aggregate,
    always,
    column,
    count,
    count_star,
    equal,
    history,
    project,
    scan,
    table,
    ticks,
    updates,
    values,
    window,
)
from tests.reference.histories import Row, World
from tests.reference.oracle import Oracle

from windrow.core.types import BIGINT
from windrow.plan.functions.moments import FIRST_MOMENT
from windrow.plan.nodes import (
    AggregateCall,
    Delay,
    Distinct,
    Dstream,
    Except,
    Filter,
    Istream,
    Join,
    NrrJoin,
    Plan,
    Query,
    Refresh,
    Rstream,
    SemiJoin,
    UnionAll,
    Window,
)
from windrow.plan.windows import Range, Rows, Unbounded, Until

FOR_EVER = Unbounded()


def s(*rows: Row) -> World:
    return World({"s": ticks(*rows)})


def s_and_r(left: list[Row], right: list[Row]) -> World:
    return World({"s": ticks(*left), "r": ticks(*right)})


# ------------------------------------------------------------------ relations


def test_a_relation_holds_the_net_of_its_changes():
    world = World(
        relations={
            "t": updates(
                (1, 1, (10,)), (2, 1, (10,)), (2, 1, (20,)), (2, -1, (20,)), (4, -1, (10,))
            )
        }
    )
    assert history(values(table("t", "v"), "t.v"), world) == ["1: +10", "2: +10", "4: -10"]


def test_what_was_always_in_a_relation_is_an_event_of_queries_of_relations_alone():
    """Before any time is known they stand at the first moment, and are kept as any other query."""
    always_there = {"t": always((10,), (10,))}
    oracle = Oracle(table("t", "v"), World(relations=always_there))
    assert oracle.instants() == [FIRST_MOMENT]
    assert oracle.answer(0) == Counter({(10,): 2})
    both = UnionAll((values(window("s", 5), "s.v"), values(table("t", "v"), "t.v")))
    assert Oracle(both, World({"s": ticks()}, always_there)).instants() == []


RENAMED = updates((0, 1, (1, 100)), (3, -1, (1, 100)), (3, 1, (1, 200)))
LATER = updates((0, 1, (1, 100)), (4, -1, (1, 100)), (4, 1, (1, 200)))
NAMES = table("n", "k", "name", retroactive=False)


def test_a_retroactive_relation_reaches_back():
    plan = Join(window("s", 5), table("n", "k", "name"), equal("s.v", "n.k"))
    world = World({"s": ticks((2, 1), (3, 1), (4, 1))}, {"n": RENAMED})
    assert history(project(plan, "s.ts", "n.name"), world) == [
        "2: +(2,100)",
        "3: -(2,100) +(2,200) +(3,200)",
        "4: +(4,200)",
        "7: -(2,200)",
        "8: -(3,200)",
        "9: -(4,200)",
    ]


def test_a_non_retroactive_relation_is_seen_as_of_each_tuples_time():
    plan = NrrJoin(window("s", 5), NAMES, equal("s.v", "n.k"))
    world = World({"s": ticks((2, 1), (3, 1), (4, 1))}, {"n": RENAMED})
    assert history(project(plan, "s.ts", "n.name"), world) == [
        "2: +(2,100)",
        "3: +(3,200)",  # an update at the tuple's own time counts
        "4: +(4,200)",
        "7: -(2,100)",
        "8: -(3,200)",
        "9: -(4,200)",
    ]


def named(left: Plan, key: str, world: World, names: object = LATER) -> list[str]:
    """The history of the names that the rows of `left` get from the relation n."""
    plan = values(NrrJoin(left, NAMES, equal(key, "n.k")), "n.name")
    return history(plan, World(world.streams, {**world.relations, "n": names}))


def test_a_join_result_sees_the_relation_as_of_its_youngest_tuple():
    left = Join(window("s", 5), window("r", 5), equal("s.v", "r.v"))
    assert named(left, "s.v", s_and_r([(1, 1)], [(5, 1)])) == ["5: +200", "6: -200"]


def test_a_semi_join_does_not_make_its_tuple_younger():
    left = SemiJoin(window("s", 9), window("r", 9), equal("s.v", "r.v"))
    assert named(left, "s.v", s_and_r([(1, 1)], [(5, 1)])) == ["5: +100", "10: -100"]


def test_filters_projections_and_unions_leave_times_alone():
    left = UnionAll((values(Filter(window("s", 9), above("s.v", 0))), values(window("s", 9))))
    assert named(left, "v", s((1, 1), (5, 1))) == [
        "1: +100 +100",
        "5: +200 +200",
        "10: -100 -100",
        "14: -200 -200",
    ]


def test_a_group_sees_the_relation_as_of_its_rows_appearance():
    # The row (1, count 1) appears at 1, goes at 2, and appears anew at 6.
    assert named(aggregate(window("s", 5), ("s.v",), count_star()), "v", s((1, 1), (2, 1))) == [
        "1: +100",
        "6: -100 +200",
        "7: -200",
    ]


def test_a_row_with_nulls_appears_like_any_other():
    total = AggregateCall("total", "sum", (column("s.w"),), BIGINT)
    left = aggregate(window("s", 5, "v", "w"), ("s.v",), total)
    assert named(left, "v", s((1, 1, None))) == ["1: +100", "6: -100"]


def test_a_copy_that_leaves_does_not_make_the_others_younger():
    left = Except(values(window("s", 5)), values(window("r", 5), "r.v"), all=True)
    assert named(left, "v", s_and_r([(1, 1), (2, 1)], [])) == [
        "1: +100",
        "2: +100",
        "6: -100",
        "7: -100",
    ]


def test_a_distinct_row_is_as_old_as_its_unbroken_presence():
    assert named(Distinct(values(window("s", 5))), "v", s((1, 1), (6, 1))) == [
        "1: +100",
        "11: -100",
    ]


def test_a_group_joined_with_a_tuple_counts_by_its_own_appearance():
    groups = aggregate(window("r", 9), ("r.v",), count_star())
    left = Join(window("s", 9), groups, equal("s.v", "v"))
    assert named(left, "s.v", s_and_r([(1, 1)], [(2, 1), (5, 1)])) == [
        "2: +100",
        "5: -100 +200",
        "10: -200",
    ]


def test_rows_of_a_table_lend_no_time_to_a_tuple_but_have_their_own_alone():
    owners = updates((5, 1, (1,)))
    left = Join(window("s", 9), table("t", "k"), equal("s.v", "t.k"))
    world = World({"s": ticks((1, 1))}, {"t": owners})
    assert named(left, "s.v", world) == ["5: +100", "10: -100"]
    assert named(table("t", "k"), "t.k", world) == ["5: +200"]


def test_updates_are_events_where_they_reach_back():
    world = World({"s": ticks((2, 1))}, {"n": updates((0, 1, (1, 100)))})
    reaching = Join(window("s", 5), table("n", "k", "name"), equal("s.v", "n.k"))
    assert history(count(reaching), world) == ["0: +0", "2: -0 +1", "7: -1 +0"]
    versions = NrrJoin(window("s", 5), NAMES, equal("s.v", "n.k"))
    assert history(count(versions), world) == ["2: +1", "7: -1 +0"]


# ------------------------------------------------------------------ SLIDE


def refreshed(width: int, *, restore: bool = False) -> Refresh:
    return Refresh(values(window("s", width)), 5, restore)


def test_a_refreshed_answer_is_held_between_multiples_of_the_slide():
    assert history(refreshed(2), s((6, 10), (9, 20))) == ["10: +20", "15: -20"]


def test_restore_also_tells_what_lived_between_two_refreshes():
    assert history(refreshed(2, restore=True), s((6, 10), (9, 20))) == [
        "10: +10 +20",
        "15: -10 -20",
    ]


@pytest.mark.parametrize(
    "width, tuples, expected",
    [
        pytest.param(3, (6, 8), ["10: +10 +10", "15: -10 -10"], id="p exceeds n"),
        pytest.param(3, (6, 10), ["10: +10 +10", "15: -10 -10"], id="p counts births at k·d"),
        pytest.param(2, (6,), ["10: +10", "15: -10"], id="the last to change is told only once"),
        pytest.param(7, (4, 9), ["5: +10", "10: +10", "15: -10", "20: -10"], id="n exceeds p"),
        pytest.param(5, (1, 6), ["5: +10", "15: -10"], id="an exchange is no increase"),
        pytest.param(2, (5,), ["5: +10", "10: -10"], id="born at a refresh is told there only"),
    ],
)
def test_restore_has_as_many_copies_as_live_or_were_born(width, tuples, expected):
    world = s(*((ts, 10) for ts in tuples))
    assert history(refreshed(width, restore=True), world) == expected


def test_before_its_first_refresh_an_answer_is_that_of_nothing():
    assert history(Refresh(count(window("s", 10)), 5), s((7, 1))) == [
        "7: +0",
        "10: -0 +1",
        "20: -1 +0",
    ]


def test_an_answer_is_refreshed_from_the_first_event_on_be_it_a_change_of_a_relation():
    plan = Refresh(UnionAll((values(window("s", 5)), values(table("t", "v"), "t.v"))), 5)
    world = World({"s": ticks((6, 10))}, {"t": updates((1, 1, (7,)))})
    assert history(plan, world) == ["5: +7", "10: +10", "15: -10"]


def test_multiples_of_a_slide_are_counted_from_zero_also_before_it():
    assert history(refreshed(2), s((-6, 10), (-5, 20))) == ["-5: +10 +20", "0: -10 -20"]


def test_a_relation_alone_is_refreshed_from_its_first_change():
    world = World(relations={"t": updates((3, 1, (10,)), (6, -1, (10,)))})
    assert history(Refresh(values(table("t", "v"), "t.v"), 5), world) == ["5: +10", "10: -10"]


# ------------------------------------------------------------------ streams


def test_istream_has_what_comes_and_dstream_what_goes():
    world = s((1, 10), (3, 20))
    assert history(Istream(values(window("s", 5))), world) == ["1: +10", "3: +20"]
    assert history(Dstream(values(window("s", 5))), world) == ["6: +10", "8: +20"]
    assert history(Istream(count(window("s", 5))), world) == ["1: +1", "3: +2", "6: +1", "8: +0"]
    assert history(Dstream(count(window("s", 5))), world) == ["3: +1", "6: +2", "8: +1"]


def test_a_stream_has_copies_as_the_answer_does():
    assert history(Istream(values(window("s", 5))), s((1, 10), (1, 10))) == ["1: +10 +10"]


def test_rstream_repeats_the_whole_answer_at_each_refresh():
    plan = Rstream(Refresh(values(window("s", 10)), 5))
    assert history(plan, s((6, 20), (9, 10))) == ["10: +10 +20", "15: +10 +20"]


def test_rstream_goes_on_until_it_is_told():
    plan = Rstream(Refresh(values(window("s", FOR_EVER)), 5))
    assert Oracle(plan, s((6, 10))).changes() == [(10, 1, (10,))]
    assert Oracle(plan, s((6, 10)), until=20).changes() == [(ts, 1, (10,)) for ts in (10, 15, 20)]


def test_whole_answers_may_be_windowed_again():
    plan = Window(Rstream(Refresh(values(window("s", 10)), 5)), Range(2))
    assert history(plan, s((6, 10))) == ["10: +10", "12: -10", "15: +10", "17: -10"]


def test_delay_moves_times_up_and_keeps_the_order_of_arrival():
    delayed = Delay(values(scan("s", "v")), 5)
    world = s((3, 30), (4, 10), (5, 20), (6, 5))
    assert Oracle(delayed, world).changes() == [
        (5, 1, (30,)),
        (5, 1, (10,)),
        (5, 1, (20,)),
        (10, 1, (5,)),
    ]
    assert history(Window(delayed, Rows(1)), world) == ["5: +20", "10: -20 +5"]


def test_delayed_derived_rows_are_ordered_by_value():
    delayed = Delay(Istream(values(window("s", FOR_EVER))), 5)
    assert history(Window(delayed, Rows(1)), s((3, 30), (4, 10))) == ["5: +30"]


def test_a_count_window_orders_derived_rows_by_value_nulls_first():
    derived = Istream(values(window("s", 10)))
    world = s((1, 20), (1, None), (1, 10))
    assert history(Window(derived, Rows(1)), world) == ["1: +20"]
    assert history(Window(derived, Rows(2)), world) == ["1: +10 +20"]


def test_a_derived_stream_is_windowed_from_each_rows_birth():
    plan = Window(Istream(count(window("s", 5))), Range(2))
    assert history(plan, s((1, 10), (3, 20))) == [
        "1: +1",
        "3: -1 +2",
        "5: -2",
        "6: +1",
        "8: -1 +0",
        "10: -0",
    ]


def test_wstream_is_the_newest_rows_of_the_insertions():
    plan = Window(Istream(count(window("s", 5))), Rows(2))
    assert history(plan, s((1, 10), (3, 20))) == ["1: +1", "3: +2", "8: -2 +0"]


def test_results_of_internal_windows_stay():
    results = Join(window("s", 5), window("r", 3), equal("s.v", "r.v"))
    plan = Window(Istream(values(results, "r.ts")), FOR_EVER)
    assert history(plan, s_and_r([(1, 10)], [(3, 10)])) == ["3: +3"]


def test_beside_an_internal_window_the_external_one_ends_the_result():
    left = Window(scan("s", "v"), Range(5), "s.exp")
    both_sides = Join(left, window("r", 2), equal("s.v", "r.v"))
    plan = values(Window(Istream(both_sides), Until(("s.exp",))))
    assert history(plan, s_and_r([(1, 10)], [(3, 10)])) == ["3: +10", "6: -10"]


def test_the_tuples_of_a_stream_are_its_answer_so_far():
    oracle = Oracle(Query(Istream(values(window("s", 5)))), s((1, 10), (1, 10), (9, 20)))
    assert oracle.answer(0) == Counter()
    assert oracle.answer(8) == Counter({(10,): 2})
    assert oracle.answer(9) == Counter({(10,): 2, (20,): 1})


# ------------------------------------------------------------------ the papers' examples


def test_a_count_falls_by_expiry_though_nothing_joins():
    """[NEG 4.1, fig. 2]: input-triggered evaluation would still say 4 at 5 and 6."""
    plan = count(Join(window("s", 5), table("favorites", "v"), equal("s.v", "favorites.v")))
    sold = ticks((0, 4), (1, 5), (2, 3), (3, 4), (4, 5), (5, 2), (7, 5))
    oracle = Oracle(plan, World({"s": sold}, {"favorites": always((4,), (5,))}))
    counts = [next(iter(oracle.answer(at)))[0] for at in range(8)]
    assert counts == [1, 2, 2, 3, 4, 3, 2, 3]


def test_a_difference_invalidates_and_revives():
    """[NEG 5.3, fig. 6]: 1 is taken back at 6; 5 waits from 7 until R's 5 expires at 8."""
    plan = Except(values(window("s", 6)), values(window("r", 6), "r.v"), all=True)
    world = s_and_r([(3, 2), (4, 1), (5, 3), (7, 5)], [(2, 5), (6, 1)])
    assert history(plan, world) == [
        "3: +2",
        "4: +1",
        "5: +3",
        "6: -1",
        "8: +5",
        "9: -2",
        "11: -3",
        "13: -5",
    ]


def test_a_duplicate_takes_the_place_of_an_expired_distinct_tuple():
    """[NEG 5.2, fig. 5]: 1 expires at 7 and 4 at 9, and both still occur.

    The paper's operator puts them out anew; in net nothing changes at these instants.
    """
    plan = Distinct(values(window("s", 6)))
    world = s((1, 1), (3, 4), (5, 1), (6, 5), (8, 4))
    oracle = Oracle(plan, world)
    assert oracle.answer(7) == oracle.answer(9) == Counter({(1,): 1, (4,): 1, (5,): 1})
    assert history(plan, world) == [
        "1: +1",
        "3: +4",
        "6: +5",
        "11: -1",
        "12: -5",
        "14: -4",
    ]
