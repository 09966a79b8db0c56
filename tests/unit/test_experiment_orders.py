"""Orders of joins: the streams are the papers', trees of all orders agree, wrong ones are found."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from windrow.core.errors import RunError
from windrow.experiments.library.experiment import Experiment, Options
from windrow.experiments.library.ranks import rank_correlation
from windrow.experiments.library.run import Result, run
from windrow.experiments.library.spread import Spread
from windrow.experiments.library.table import Row, Table
from windrow.experiments.library.verdict import Kind, Outcome, of_kind
from windrow.experiments.orders import lazy, ranking, scaling
from windrow.experiments.orders.lazy_models import MultiFigure3
from windrow.experiments.orders.streams import (
    TABLE_5,
    JoinFeed,
    generate,
    longest,
    ticks_a_unit,
    width,
)


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
    alive = JoinFeed(TABLE_5, tables).alive(400 * unit - 1)
    for i, (stream, name) in enumerate(zip(TABLE_5, tables, strict=True)):
        keys = tables[name]["k"].to_numpy()
        assert len(keys) == pytest.approx(400 * stream.rate, rel=0.15)
        assert (keys.min(), keys.max()) == (1, stream.values)
        assert len(alive[name]) == pytest.approx(stream.size, rel=0.25)
        assert alive[name]["t"][0].as_py() > 400 * unit - 1 - width(TABLE_5, i)


def test_the_same_seed_gives_the_same_streams() -> None:
    assert generate(TABLE_5, 500, 3) == generate(TABLE_5, 500, 3)
    assert generate(TABLE_5, 500, 3) != generate(TABLE_5, 500, 4)
    assert longest(TABLE_5) == 3_000


@pytest.mark.long
@pytest.mark.parametrize("kind", [ranking.MultiTable8, ranking.ThesisFigure52])
def test_trees_of_all_orders_agree_and_are_true(kind: type[ranking.OrderExperiment]) -> None:
    orders = ("1234", "2134", "4321")
    table = in_small(kind, {"order": orders}, stretch=150).table
    assert table.levels("order") == list(orders)
    answers = {row.number("answer_rows") for row in table.rows}
    assert len(answers) == 1
    assert answers.pop() > 0
    taken = {order: table.number("join_rows", order=order) for order in orders}
    assert taken["1234"] == taken["2134"] != taken["4321"]


@pytest.mark.long
def test_costs_of_more_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "STRETCH", 20)
    result = in_small(scaling.MultiFigure2, {"windows": (2, 3, 4)})
    table = result.table
    assert table.number("work_a_unit", windows=2, algorithm=scaling.EAGER) == 200
    for one, other in pairwise((2, 3, 4)):
        less, more = (table.where(windows=n, algorithm=scaling.TREE).rows[0] for n in (one, other))
        assert more.number("work_a_unit") > less.number("work_a_unit")
    assert result.verdict == "held (by the model)"
    assert "1, 12, 15.1 times as much at 2, 3, 4 windows" in result.findings[0].by


def test_the_lazy_models_draw_figure_3() -> None:
    result = run(MultiFigure3())
    assert result.verdict == "held (by the model)"
    assert result.table.number("cost_1", interval=1, algorithm="LAZY") == pytest.approx(
        2868.6, abs=1
    )


@pytest.mark.long
def test_eager_lazy_and_restore_tell_what_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy, "STRETCH", 20)
    table = in_small(lazy.ThesisLazy, {"interval": (5, 20)}).table
    kept = [
        table.ratio("results", "algorithm", lazy.LAZY, lazy.RESTORE, interval=interval).value
        for interval in (5, 20)
    ]
    assert 1 > kept[0] > kept[1]


@pytest.mark.long
def test_a_lazy_answer_that_is_not_true_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy, "STRETCH", 20)
    monkeypatch.setitem(lazy.TELLS, lazy.LAZY, lazy.TELLS[lazy.RESTORE])
    with pytest.raises(RunError) as caught:
        in_small(lazy.ThesisLazy, {"interval": (10,)})
    assert "0 rows should not be there" in caught.value.detail


def four_orders(*clocks: float) -> Table:
    """Return a table of the thesis' four orders with such clocks, each sure to 1 %."""
    costs = {"2134": 16200.0, "1234": 21000.0, "2341": 42600.0, "4312": 120000.0}
    return Table(
        tuple(
            Row(
                {"order": order},
                {"ms_per_1000": Spread(ms, ms * 0.99, ms * 1.01, 5)},
                {"model_cost": cost, "tree_rows": cost, "join_rows": 1.0},
            )
            for (order, cost), ms in zip(costs.items(), clocks, strict=True)
        )
    )


@pytest.mark.parametrize(
    "clocks, outcomes",
    [
        ((10, 13, 25, 60), ("held", "held", "held", "held")),
        ((10, 13, 12, 60), ("held", "not held", "not held", "held")),
        ((10, 10.2, 25, 60), ("held", "too close to call", "held", "held")),
        ((10, 10, 10, 10), ("held", "too close to call", "not held", "held")),
        ((10, 13, 25, 99), ("held", "held", "held", "not held")),
        ((20, 13, 25, 60), ("not held", "not held", "not held", "held")),
    ],
)
def test_every_rank_and_distance_of_orders_is_judged(
    clocks: tuple[float, ...], outcomes: tuple[str, ...]
) -> None:
    found = ranking.ThesisFigure52(Options(repeats=1)).findings(four_orders(*clocks))
    assert [f.outcome for f in of_kind(found, Kind.PAPER)] == [Outcome.WAITING]
    assert tuple(f.outcome.value for f in of_kind(found, Kind.OURS)) == outcomes


def test_ranks_that_are_equal_share_their_mean() -> None:
    assert rank_correlation([1, 1, 2], [5, 6, 7]) == pytest.approx(0.866, abs=1e-3)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) == 0
