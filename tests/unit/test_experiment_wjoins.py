"""W-joins against each other: the streams are as told, contestants agree, wrong ones are found."""

from typing import Any

import numpy as np
import pytest

from windrow.cli.calibrate.digest import digest
from windrow.core.errors import RunError
from windrow.operators.delta import Delta
from windrow.operators.join.wjoin import NestedWJoin
from windrow_lab.experiments.library.experiment import Options
from windrow_lab.experiments.library.run import Result, run
from windrow_lab.experiments.wjoins import contestants
from windrow_lab.experiments.wjoins.base import WJoinExperiment
from windrow_lab.experiments.wjoins.contestants import (
    ALGORITHMS,
    WJoinArena,
    WJoinContestant,
    results_of,
)
from windrow_lab.experiments.wjoins.rates import (
    WJoinFigure9a,
    WJoinFigure9b,
    WJoinFigure9c,
    WJoinWindows,
)
from windrow_lab.experiments.wjoins.stores import WJoinFigures78
from windrow_lab.experiments.wjoins.streams import (
    CLOSES,
    HOUR,
    OPENS,
    SECOND,
    Source,
    Streams,
    generate,
    one_window,
    path,
    stores,
)
from windrow_lab.experiments.wjoins.variations import WJoinFigure13, WJoinFigure14

pytestmark = pytest.mark.long


def test_a_stream_swings_between_its_rates() -> None:
    (even, swings) = generate([Source(1_000), Source(1_000, 10, 100, 100)], 30, 50, seed=7).times
    assert len(even) == pytest.approx(30_000, rel=0.05)
    a_second = np.bincount(swings // SECOND)
    assert np.median(a_second) == pytest.approx(10, abs=4)
    assert a_second.max() == pytest.approx(110, abs=30)


def test_stores_sell_by_day_and_common_items_more_often() -> None:
    sold = stores(2, 200, 3, 100, seed=1)
    hours = sold.times[0] % (24 * HOUR)
    assert (hours >= OPENS).all()
    assert (hours < CLOSES).all()
    assert len(hours) == pytest.approx(3 * 12.5 * 200, rel=0.1)
    shares = np.bincount(sold.keys[0], minlength=100)
    assert shares[:10].sum() > 1.5 * shares[-10:].sum()


def arena(streams: Streams, runs: int = 2) -> WJoinArena:
    return WJoinArena(streams, [one_window(3, SECOND)], SECOND, SECOND, SECOND // 4, runs)


def test_all_contestants_tell_what_duckdb_finds() -> None:
    shared = arena(generate([Source(150)] * 3, 3, 40, seed=3))
    for make in ALGORITHMS.values():
        contestant = WJoinContestant.filled(shared, make)
        found = [contestant.run() for _ in range(2)]
        assert [m.check for m in found] == ["equal", "equal"]
        assert found[1].counts["results"] > 1


def test_a_wrong_answer_has_no_speed() -> None:
    """A join of a shorter window is found by the second contestant, or by DuckDB."""
    short = {"NLW": lambda _: NestedWJoin(one_window(4, SECOND // 2))}
    small = type("Small", (WJoinFigure9c,), {"__doc__": WJoinFigure9c.__doc__, "seconds": 1})
    small.factors = {"slow_rate": (100,), "algorithm": ("NLW", "HW")}
    small.ways = {**ALGORITHMS, **short}
    with pytest.raises(RunError, match="the answer is wrong"):
        run(small(Options(repeats=1)))
    small.factors = {"slow_rate": (100,), "algorithm": ("NLW",)}
    with pytest.raises(RunError, match="the answer is wrong") as failed:
        run(small(Options(repeats=1)))
    assert "DuckDB" in (failed.value.detail or "")


def test_a_digest_is_of_the_bag() -> None:
    streams = generate([Source(100)], 2, 9, seed=5)
    rows = streams.part(0, 0, 2 * SECOND)
    turned = rows.take(np.arange(len(rows))[::-1].copy())
    assert digest(results_of(rows)) == digest(results_of(turned))
    assert digest(results_of(rows)) != digest(results_of(rows.take(np.arange(len(rows) - 1))))
    assert digest(results_of(Delta.concat([rows, rows]))) != digest(results_of(rows))


def test_a_path_has_a_window_for_each_pair_of_neighbours() -> None:
    match = path((2, 1, 0), [5, 7])
    told = [(p.first, p.second, p.band.low, p.band.high) for p in match.bands]
    assert told == [(2, 1, 0, 4), (1, 0, 0, 6)]


SMALL: dict[type[WJoinExperiment], dict[str, tuple[Any, ...]]] = {
    WJoinFigures78: {"streams": (2, 3)},
    WJoinFigure9a: {"streams": (2, 3)},
    WJoinFigure9b: {"streams": (2, 3)},
    WJoinFigure9c: {"slow_rate": (1_000, 10)},
    WJoinWindows: {"window_ms": (20, 200)},
    WJoinFigure13: {},
    WJoinFigure14: {},
}


def in_small(kind: type[WJoinExperiment], factors: dict[str, tuple[Any, ...]]) -> Result:
    less = {"seconds": 1, "an_hour": 100, "warmups": 0}  # for the clock, which nobody reads here
    small = type(kind.__name__, (kind,), {"__doc__": kind.__doc__, **less})
    small.factors = {**kind.factors, **factors}
    return run(small(Options(repeats=1)))


@pytest.mark.long
@pytest.mark.parametrize("kind", SMALL)
def test_an_experiment_runs_and_its_contestants_agree(kind: type[WJoinExperiment]) -> None:
    result = in_small(kind, SMALL[kind])
    others = [name for name in result.table.rows[0].levels if name != "algorithm"]
    for row in result.table.rows:
        rest = result.table.where(**{name: row.levels[name] for name in others})
        assert len({other.number("results") for other in rest.rows}) == 1
        assert row.number("results") > 0
    assert result.findings


@pytest.mark.long
def test_loops_that_do_not_know_of_windows_hold_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contestants, "CLEAN_EVERY", 1_000)
    table = in_small(WJoinFigures78, {"streams": (3,)}).table
    for plain, knowing in (("ripple", "NLW"), ("XJoin", "HW")):
        more = table.ratio("rows_looked_at", "algorithm", plain, knowing, streams=3)
        assert more.value > 1
