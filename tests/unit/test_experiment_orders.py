"""Orders of joins: the streams are the papers', all ways to join agree, wrong ones are found."""

from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from windrow.cli.calibrate.digest import digest
from windrow.core.errors import RunError
from windrow.optimize.join_costs import (
    JoinStream,
    all_orders,
    best_general_lazy,
    general_lazy,
    lazy,
    naive_lazy,
)
from windrow.physical.conditions import Method
from windrow_lab.contest.measurement import EQUAL
from windrow_lab.experiments.library.experiment import Experiment, Options
from windrow_lab.experiments.library.ranks import rank_correlation
from windrow_lab.experiments.library.run import Result, run
from windrow_lab.experiments.library.spread import Spread
from windrow_lab.experiments.library.table import Row, Table
from windrow_lab.experiments.library.verdict import Kind, of_kind
from windrow_lab.experiments.orders import contestants, scaling
from windrow_lab.experiments.orders.algorithms import Algorithm, When
from windrow_lab.experiments.orders.buckets import MultiFigure4a, MultiFigure4b, later
from windrow_lab.experiments.orders.contestants import CLOCK, COMPARED, JoinArena, JoinContestant
from windrow_lab.experiments.orders.figure52 import ThesisFigure52
from windrow_lab.experiments.orders.intervals import MultiFigure3, best_orders, streams_with
from windrow_lab.experiments.orders.lazy import EAGER, LAST, LAZY, LOOPED, ThesisLazy
from windrow_lab.experiments.orders.ranking import model_cost
from windrow_lab.experiments.orders.streams import (
    TABLE_5,
    generate,
    longest,
    part,
    ticks_a_unit,
    width,
)
from windrow_lab.experiments.orders.table8 import MultiTable8

pytestmark = pytest.mark.long

SMALL = (JoinStream(3, 20, 8), JoinStream(1, 30, 5), JoinStream(2, 20, 4))
WAYS = {
    "loops": Algorithm(Method.LOOPS),
    "naive": Algorithm(Method.NAIVE),
    "seldom expired": Algorithm(Method.LOOPS, expire_every=7),
    "by value": Algorithm(Method.HASH),
    "by value, seldom expired": Algorithm(Method.HASH, expire_every=7),
    "buckets": Algorithm(Method.HASH, buckets=(3, 3, 3)),
    "one bucket and others": Algorithm(Method.HASH, buckets=(1, 2, 7)),
    "tree": Algorithm(None),
    "lossy": Algorithm(Method.LOOPS, When.LOSSY, 5),
    "lossy by buckets": Algorithm(Method.HASH, When.LOSSY, 5, (3, 3, 3)),
    "lossy tree": Algorithm(None, When.LOSSY, 5),
    "restore": Algorithm(Method.LOOPS, When.RESTORE, 5),
    "restore by buckets": Algorithm(Method.HASH, When.RESTORE, 5, (2, 3, 3)),
    "late": Algorithm(Method.LOOPS, When.LATE, 5, expire_every=5),
    "late and naive": Algorithm(Method.NAIVE, When.LATE, 5),
    "late by buckets": Algorithm(Method.HASH, When.LATE, 5, (2, 3, 3), 5),
}


def in_small(
    kind: type[Experiment[Any]], factors: dict[str, tuple[Any, ...]], **more: Any
) -> Result:
    small = type(kind.__name__, (kind,), {"__doc__": kind.__doc__, **more})
    small.factors = {**kind.factors, **factors}
    return run(small(Options(repeats=1)))


def test_streams_have_the_rates_windows_and_values_that_the_model_speaks_of() -> None:
    unit = ticks_a_unit(TABLE_5)
    tables = generate(TABLE_5, 400 * unit, seed=7)
    ticks = np.concatenate([table["t"].to_numpy() for table in tables.values()])
    assert sorted(ticks.tolist()) == list(range(400 * unit))
    for i, (stream, name) in enumerate(zip(TABLE_5, tables, strict=True)):
        keys = tables[name]["k"].to_numpy()
        assert len(keys) == pytest.approx(400 * stream.rate, rel=0.15)
        assert (keys.min(), keys.max()) == (1, stream.values)
        alive = part(tables, 400 * unit - width(TABLE_5, i), 400 * unit)[name]
        assert len(alive) == pytest.approx(stream.size, rel=0.25)


def test_the_same_seed_gives_the_same_streams() -> None:
    assert generate(TABLE_5, 500, 3) == generate(TABLE_5, 500, 3)
    assert generate(TABLE_5, 500, 3) != generate(TABLE_5, 500, 4)
    assert longest(TABLE_5) == 3_000


def test_all_ways_to_join_tell_what_duckdb_finds() -> None:
    """Each has an arena of its own, whose only run is its last."""
    told = {}
    for name, algorithm in WAYS.items():
        arena = JoinArena.of(SMALL, 70, 1, seed=7)
        one = JoinContestant.filled(arena, algorithm, algorithm.orders((2, 0, 1)))
        found = one.run()
        assert found.check == EQUAL, name
        told[name] = found.counts["results"]
    assert told["loops"] == told["tree"] == told["restore"] == told["late"] > 1_000
    assert 0 < told["lossy"] == told["lossy by buckets"] < told["restore"]


def test_results_are_right_run_after_run_and_wrong_ones_are_found() -> None:
    arena = JoinArena.of(SMALL, 35, 3, seed=3)
    some = [WAYS[name] for name in ("loops", "buckets", "tree")]
    team = [JoinContestant.filled(arena, a, a.orders((0, 1, 2))) for a in some]
    assert {one.run().check for _ in range(2) for one in team} == {EQUAL}
    last = team[0]
    low = arena.start + 2 * arena.stretch
    found = last.join.step(arena.deltas(some[0], low, low + arena.stretch), low + arena.stretch)
    right, emission = last.table(found), last.emission()
    assert "DuckDB's: 0 rows should not be there, 1 are missing" in arena.wrong(
        emission, 2, right.slice(1)
    )
    assert "the first contestant's: which is wrong" in arena.wrong(emission, 2, right)
    twice = pa.concat_tables([right, right.slice(0, 1)])
    assert "1 rows should not be there, 0 are missing" in arena.wrong(emission, 2, twice)


def test_bags_of_equal_rows_have_one_digest() -> None:
    rows = pa.table({"a": [1, 2, 2], "b": [3, 4, 4]})
    assert digest(rows) == digest(rows.take([2, 0, 1]))
    others = [rows.slice(1), rows.take([0, 0, 1]), rows.rename_columns(["b", "a"]).select([1, 0])]
    assert digest(rows) not in [digest(other) for other in others]


def compared_by_hand(arena: JoinArena, order: tuple[int, ...], *, indexed: bool) -> int:
    """Return the rows that eager loops look at in the first run, one by one.

    With an index they are the rows of the key, once a window, and none if one does not have it.
    """
    rows = [list(zip(*t.to_pydict().values(), strict=True)) for t in arena.tables.values()]
    low, looked = arena.start, 0
    for origin, found in enumerate(rows):
        for now, key in (row for row in found if low < row[0] <= low + arena.stretch):
            windows = [
                [k for t, k in rows[j] if now - width(arena.streams, j) < t < now]
                for j in order
                if j != origin
            ]
            if indexed and all(key in alive for alive in windows):
                looked += sum(alive.count(key) for alive in windows)
            elif not indexed:
                before = [1, *accumulate((alive.count(key) for alive in windows), mul)]
                looked += sum(n * len(alive) for n, alive in zip(before, windows, strict=False))
    return looked


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
@pytest.mark.parametrize("name", ["loops", "by value"])
def test_loops_look_at_what_the_algorithm_says(name: str, order: tuple[int, ...]) -> None:
    arena = JoinArena.of(SMALL, 35, 1, seed=7)
    one = JoinContestant.filled(arena, WAYS[name], WAYS[name].orders(order))
    counted = one.run().counts[COMPARED] * arena.units
    assert round(counted) == compared_by_hand(arena, order, indexed=name == "by value") > 1_000


@pytest.mark.parametrize("name", ["eager NLJ", "eager hash", "lazy NLJ, τ = 10"])
def test_counted_comparisons_are_near_the_models(name: str) -> None:
    """Streams are random; lazy loops look at fewer rows, as they tell times apart."""
    algorithm = MultiTable8.algorithms[name]
    arena = JoinArena.of(TABLE_5, 200, 1, seed=7)
    for order in ((0, 1, 2, 3), (3, 2, 1, 0)):
        counted = JoinContestant.filled(arena, algorithm, algorithm.orders(order)).run()
        predicted = model_cost(TABLE_5, algorithm, order)
        near = 0.2 if algorithm.when is When.EAGER else 0.3
        assert counted.counts[COMPARED] == pytest.approx(predicted, rel=near)


@pytest.mark.parametrize("rate", [1, 10])
@pytest.mark.parametrize("interval", [1, 50])
def test_general_orders_are_never_worse(rate: float, interval: float) -> None:
    streams = streams_with(rate)
    cost = {
        name: general_lazy(streams, best_orders(name, streams, interval), interval)
        for name in ("NAIVE", "LAZY", "GENERAL")
    }
    every = all_orders(4)
    assert cost["NAIVE"] == min(naive_lazy(streams, order, interval) for order in every)
    assert cost["LAZY"] == min(lazy(streams, order, interval) for order in every)
    assert cost["GENERAL"] == pytest.approx(best_general_lazy(streams, interval))
    assert cost["GENERAL"] <= min(cost["NAIVE"], cost["LAZY"])


def test_naive_loops_compare_more_and_the_difference_grows() -> None:
    result = in_small(scaling.MultiFigure2, {"windows": (2, 3, 4)})
    table = result.table
    assert table.number("model_cost", windows=2, algorithm=scaling.MULTI) == 200
    for name in (scaling.MULTI, scaling.NAIVE):
        for n in (3, 4):
            row = table.row(windows=n, algorithm=name)
            assert row.number(COMPARED) == pytest.approx(row.number("model_cost"), rel=0.25)
    (model, _) = of_kind(result.findings, Kind.MODEL)
    assert "1, 12, 15.1 times as much at 2, 3, 4 windows" in model.by
    assert "held" in [f.outcome.value for f in of_kind(result.findings, Kind.PAPER)]


def test_the_lazy_algorithms_draw_figure_3() -> None:
    result = in_small(MultiFigure3, {"interval": (1, 50)})
    assert {f.outcome.value for f in of_kind(result.findings, Kind.MODEL)} == {"held"}
    row = result.table.row(interval=1, algorithm="LAZY")
    assert row.number("cost_equal") == pytest.approx(2868.6, abs=1)
    assert row.number("comparisons_equal") == pytest.approx(2868.6, rel=0.2)


def test_restore_loses_nothing_that_lazy_evaluation_loses() -> None:
    table = in_small(ThesisLazy, {"interval": (5, 20)}).table
    for interval in (5, 20):
        told = {
            name: table.number("results_nlj", interval=interval, algorithm=name)
            for name in (EAGER, LAZY, LAST, LOOPED)
        }
        assert told[EAGER] == told[LAST] == told[LOOPED] > told[LAZY]
        fewer = table.ratio("comparisons_nlj", "algorithm", EAGER, LAZY, interval=interval)
        assert fewer.value > 1.3


def test_a_lazy_answer_that_is_not_true_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(contestants.SELECTED, When.LOSSY, contestants.SELECTED[When.RESTORE])
    with pytest.raises(RunError) as caught:
        in_small(ThesisLazy, {"interval": (10,)})
    assert "0 rows should not be there" in caught.value.detail


def test_more_buckets_compare_less_as_the_model_says() -> None:
    table = in_small(MultiFigure4a, {"interval": (5, 50)}).table
    compared = [
        table.number(COMPARED, algorithm=name, interval=5)
        for name in ("NLJ", "HASH2", "HASH10", "HASH30", "hash by value")
    ]
    assert compared == sorted(compared, reverse=True)
    assert compared[0] == pytest.approx(2 * compared[1], rel=0.1)
    table = in_small(MultiFigure4b, {"buckets": (12,)}).table
    counted, model = (
        table.ratio(measure, "algorithm", "Equal", "5 to slow", buckets=12).value
        for measure in (COMPARED, "model_cost")
    )
    assert counted == pytest.approx(model, rel=0.15)


@pytest.mark.parametrize("kind", [MultiTable8, ThesisFigure52])
def test_all_orders_and_algorithms_agree(kind: type[Experiment[Any]]) -> None:
    result = in_small(kind, {"order": ("2134", "1234", "4312")}, stretch=20)
    assert len(result.table.rows) == 3 * len(kind.factors["algorithm"])
    worst = max(result.table.rows, key=lambda row: row.number(COMPARED))
    assert worst.value("order") == "4312"


def four_orders(*clocks: float, hashed: float = 0.5) -> Table:
    """Return a table of the thesis' four orders with such clocks, each sure to 1 %.

    By hash, orders are as far apart as to the power of `hashed`.
    """
    costs = {"2134": 16200.0, "1234": 21000.0, "2341": 42600.0, "4312": 135150.0}
    rows = []
    for name, algorithm in ThesisFigure52.algorithms.items():
        power = hashed if algorithm.buckets or algorithm.interval else 1.0
        for (order, cost), ms in zip(costs.items(), clocks, strict=True):
            seen = clocks[0] * (ms / clocks[0]) ** power
            rows.append(
                Row(
                    {"algorithm": name, "order": order},
                    {CLOCK: Spread(seen, seen * 0.99, seen * 1.01, 5)},
                    {"model_cost": cost, COMPARED: 1.0},
                )
            )
    return Table(tuple(rows))


@pytest.mark.parametrize(
    "clocks, hashed, outcomes",
    [
        ((10, 13, 25, 60), 0.9, ("held", "held", "held", "too close to call", "held")),
        ((10, 13, 12, 60), 0.9, ("held", "not held", "held", "too close to call", "held")),
        ((10, 10, 10, 10), 0.9, ("held", "not held", "held", "too close to call", "too close")),
        ((10, 13, 25, 99), 0.9, ("held", "held", "not held", "too close to call", "held")),
        ((10, 13, 25, 60), 1.1, ("held", "held", "held", "not held", "not held")),
        ((20, 13, 25, 60), 0.9, ("not held", "not held", "held", "too close to call", "held")),
    ],
)
def test_every_rank_and_distance_of_orders_is_judged(
    clocks: tuple[float, ...], hashed: float, outcomes: tuple[str, ...]
) -> None:
    found = ThesisFigure52(Options(repeats=1)).findings(four_orders(*clocks, hashed=hashed))
    told = [f.outcome.value for f in of_kind(found, Kind.PAPER)]
    assert len(told) == len(outcomes)
    assert [a.startswith(b) for a, b in zip(told, outcomes, strict=True)] == [True] * 5, told


def curve(*clocks: float) -> Table:
    """Return times at intervals 1, 2, 4, each sure to 1 %."""
    return Table(
        tuple(
            Row({"interval": n}, {CLOCK: Spread(ms, ms * 0.99, ms * 1.01, 5)})
            for n, ms in zip((1, 2, 4), clocks, strict=True)
        )
    )


@pytest.mark.parametrize(
    "few, many, outcome",
    [
        ((10, 12, 14), (9, 8, 7), "held"),
        ((10, 12, 14), (7, 8, 9), "too close to call"),
        ((14, 12, 10), (7, 8, 9), "not held"),
        ((10, 12, 14), (7.1, 7.05, 7), "too close to call"),
    ],
)
def test_an_optimal_interval_is_later_if_the_other_one_costs(
    few: tuple[float, ...], many: tuple[float, ...], outcome: str
) -> None:
    assert later(curve(*few), curve(*many)).value == outcome


def test_ranks_that_are_equal_share_their_mean() -> None:
    assert rank_correlation([1, 1, 2], [5, 6, 7]) == pytest.approx(0.866, abs=1e-3)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) == 0
