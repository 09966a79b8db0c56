"""Early calls against their definition: at every instant, a GROUP BY over all results."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.early_reference import COLUMNS, Join, Row, parts, same, stream

from windrow.core.types import BIGINT, BOOLEAN, DOUBLE, STRING
from windrow.operators.aggregate import AccumulatorCall
from windrow.operators.join.aggregation.parts import Contributions, InputChanges
from windrow.physical.calls import folds_early

N, X, S, D, W, B = COLUMNS.fields
SUMMED = pa.decimal128(38, 2)

CALLS = (
    AccumulatorCall("count", (), "n", BIGINT, nullable=False),
    AccumulatorCall("count", (), "n_if", BIGINT, filter="b", nullable=False),
    AccumulatorCall("count", (S,), "n_s", BIGINT, nullable=False),
    AccumulatorCall("count", (S, N), "n_pairs", BIGINT, filter="b", nullable=False),
    AccumulatorCall("sum", (N,), "sum_i", BIGINT),
    AccumulatorCall("sum", (N,), "sum_i_if", BIGINT, filter="b"),
    AccumulatorCall("sum", (D,), "sum_d", SUMMED),
    AccumulatorCall("sum", (W,), "sum_w", SUMMED),
    AccumulatorCall("sum", (X,), "sum_x", DOUBLE),
    AccumulatorCall("avg", (X,), "avg_x", DOUBLE, filter="b"),
    AccumulatorCall("var_samp", (X,), "var_samp", DOUBLE),
    AccumulatorCall("stddev_pop", (X,), "sd_pop", DOUBLE, filter="b"),
    AccumulatorCall("min", (X,), "min_x", DOUBLE),
    AccumulatorCall("max", (X,), "max_x", DOUBLE, filter="b"),
    AccumulatorCall("min", (N,), "min_i", BIGINT, distinct=True),
    AccumulatorCall("max", (S,), "max_s", STRING),
    AccumulatorCall("min", (S,), "min_s", STRING, filter="b"),
    AccumulatorCall("max", (D,), "max_d", D.type),
    AccumulatorCall("min", (W,), "min_w", W.type),
    AccumulatorCall("max", (B,), "max_b", BOOLEAN),
    AccumulatorCall("bool_and", (B,), "all_b", BOOLEAN),
    AccumulatorCall("bool_or", (B,), "any_b", BOOLEAN, distinct=True),
)

HUGE = 2**63 - 1
WHOLE = (0, 1, -7, HUGE, -HUGE - 1, HUGE - 5)
REAL = (0.0, -0.0, 1.0, 1e16, -1e16, 1e-300, 5e-324, -1.7e308, 1.7e308)
SPECIAL = (math.nan, math.inf, -math.inf)
MONEY = (Decimal("9999999.99"), Decimal("-0.01"), Decimal("3.50"))
WIDE = (Decimal(10) ** 27, -(Decimal(10) ** 27), Decimal("0.07"), Decimal("-12345678901234567.89"))


def wild(rng: np.random.Generator) -> tuple[object, ...]:
    """Return values that overflow, cancel, are NULL or no numbers."""

    def one(values: tuple[object, ...]) -> object:
        return None if rng.random() < 0.2 else values[int(rng.integers(len(values)))]

    real = SPECIAL if rng.random() < 0.05 else REAL
    return (
        one(WHOLE), one(real), one(("", "a", "aa", "b", "\u00e9")), one(MONEY), one(WIDE),
        one((True, False)),
    )  # fmt: skip


def tame(rng: np.random.Generator) -> tuple[object, ...]:
    """Return values most of which are worse than a few that come and go."""
    i = int(rng.integers(-50, 50))
    return (i, float(rng.normal()), f"{i:+03}", Decimal(i) / 100, Decimal(i) ** 9, i > 0)


def opened(
    rng: np.random.Generator, inputs: int, calls: tuple[AccumulatorCall, ...] = CALLS
) -> Join:
    which = int(rng.integers(inputs))
    grouped = tuple(j for j in range(inputs) if rng.random() < 0.6)
    return Join(inputs, which, grouped, calls, rng)


def run(join: Join, told: list, *, within: bool = False) -> None:
    """Feed a stream in parts; check the answer wherever an instant ends; crash now and then."""
    rng, at = join.rng, 0
    for part in parts(rng, told, within=within):
        join.take(part)
        at += len(part)
        if at == len(told) or told[at][0] != part[-1][0]:
            wanted = join.truth()
            assert join.shown.keys() == wanted.keys()
            for group, words in wanted.items():
                assert same(words, join.shown[group]), (part[-1][0], group)
        if rng.random() < 0.2:
            join.reopen()
    assert not any(join.rows), "the stream does not end in nothing"


@pytest.mark.parametrize("values", [wild, tame])
@pytest.mark.parametrize("inputs", [2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_early_calls_equal_a_group_by_over_all_results(
    seed: int, inputs: int, values: Callable
) -> None:
    rng = np.random.default_rng([seed, inputs])
    run(opened(rng, inputs), stream(rng, inputs, 40 if inputs < 4 else 20, values))


@pytest.mark.parametrize("seed", range(4))
def test_parts_may_end_within_an_instant(seed: int) -> None:
    rng = np.random.default_rng([seed, 5])
    run(opened(rng, 3), stream(rng, 3, 30, wild), within=True)


@pytest.mark.parametrize("seed", range(4))
def test_a_row_may_stand_for_several_tuples(seed: int) -> None:
    rng = np.random.default_rng([seed, 6])
    calls = tuple(call for call in CALLS if call.name != "count" or call.args)
    run(opened(rng, 3, calls), stream(rng, 3, 30, wild, merged=True))


@pytest.mark.parametrize(("inputs", "crowd"), [(2, 2**16), (2, 2**26), (3, 2**11), (3, 2**16)])
@pytest.mark.parametrize("seed", range(3))
def test_sums_are_exact_however_many_results_a_group_has(
    seed: int, inputs: int, crowd: int
) -> None:
    """`test_aggregate_sums.py` says that those of a GROUP BY are."""
    rng = np.random.default_rng([seed, inputs])
    calls = tuple(c for c in CALLS if c.type in (BIGINT, SUMMED, BOOLEAN))
    calls = tuple(c for c in calls if c.name in ("count", "sum", "bool_and", "bool_or"))
    run(opened(rng, inputs, calls), stream(rng, inputs, 30, wild, crowd=crowd))


def test_partial_sums_may_overflow_where_the_total_does_not() -> None:
    join = Join(2, 0, (1,), CALLS, np.random.default_rng(1))
    rows = [Row(0, a, 1, (v, None, None, None, None, None)) for a, v in enumerate((HUGE, -HUGE))]
    other = Row(0, 0, 1, (None,) * 6)
    told = [(t, 0, row, 3) for t, row in enumerate(rows)]
    join.take([*told, (2, 1, other, 5)])
    (words,) = join.shown.values()
    assert words[4] == (0, True)
    join.take([(3, 0, rows[1], -3)])
    (words,) = join.shown.values()
    assert not words[4][1]


def test_a_group_may_have_results_of_many_entries() -> None:
    join = Join(2, 0, (1,), CALLS, np.random.default_rng(2))
    rows = [Row(0, a, 1, (a, float(a), f"{a:03}", None, None, True)) for a in range(200)]
    other = Row(0, 0, 1, (None,) * 6)
    join.take([*((0, 0, row, 1) for row in rows), (1, 1, other, 2)])
    assert [*join.shown.values()] == [*join.truth().values()]
    run(join, [(2 + t, 0, row, -1) for t, row in enumerate(rows)] + [(300, 1, other, -2)])


def test_a_group_may_have_no_results() -> None:
    join = Join(2, 0, (), CALLS, np.random.default_rng(2))
    none = np.zeros(0, np.int64)
    changes = InputChanges(none, none, none, none, none, ({}, {}))
    met = (np.zeros((2, 1), np.int64), np.zeros(1, np.int64))
    part = Contributions(changes, np.zeros((5, 1), np.int64), *met, {}, 1, np.zeros(1, np.int64))
    for call, fold in zip(CALLS, join.folds, strict=True):
        out, valid = np.ones(1, np.int64), np.ones(1, np.bool_)
        fold.fold(part, out, valid)
        assert (valid[0], out[0]) == (True, 0) if call.name == "count" else not valid[0]


def test_an_extreme_that_stays_costs_its_groups_no_comparison() -> None:
    calls = (AccumulatorCall("min", (N,), "least", BIGINT),)
    join = Join(2, 0, (1,), calls, np.random.default_rng(2))
    rows = [Row(0, 0, 1, (v, None, None, None, None, None)) for v in range(50)]
    others = [Row(0, g, 1, (None,) * 6) for g in range(40)]
    join.take([(0, 0, rows[0], 1), *((1, 1, other, 1) for other in others)])
    before = join.folds[0].comparisons
    join.take([(2 + t, 0, row, 1) for t, row in enumerate(rows[1:])])
    assert join.folds[0].comparisons - before < 50 * 10, "each change has forty contributions"
    assert {*join.shown[7]} == {(0, True)}


def test_more_results_may_change_at_once_than_limbs_can_take() -> None:
    calls = tuple(
        AccumulatorCall(name, (X,), name, DOUBLE)
        for name in ("sum", "avg", "var_pop", "stddev_samp")
    )
    join = Join(3, 0, (1,), calls, np.random.default_rng(1))
    values = (2.0**52 - 1, -1.7e300, 1.7e300, 3.0, -(2.0**52))
    rows = [Row(0, a % 2, 1, (None, v, None, None, None, None)) for a, v in enumerate(values)]
    other = Row(0, 0, 1, (None,) * 6)
    times = 2**17
    join.take([(0, 1, other, times), (1, 0, rows[0], 1), (2, 0, rows[1], 1), (3, 2, other, times)])
    join.take([(4, 0, rows[2], 1), (5, 0, rows[3], 7), (6, 0, rows[4], 1), (6, 1, other, times)])
    join.take([(7, 0, rows[1], -1), (8, 0, rows[2], -1)])
    (got,) = join.shown.values()
    left = [Fraction(values[0]), *[Fraction(3)] * 7, Fraction(values[4])]
    n = len(left) * 2 * times**2
    total = sum(left) * 2 * times**2
    variance = sum(v * v for v in left) * 2 * times**2 / n - (total / n) ** 2
    wanted = [total, total / n, variance, math.sqrt(variance * n / (n - 1))]
    found = np.array([word for word, _ in got]).view(np.float64)
    assert found[:2].tolist() == [float(wanted[0]), float(wanted[1])]
    assert np.allclose(found, [float(w) for w in wanted], rtol=1e-14)


@pytest.mark.parametrize(
    "call",
    [
        AccumulatorCall("sum", (N,), "s", BIGINT, distinct=True),
        AccumulatorCall("count", (N,), "n", BIGINT, distinct=True),
        AccumulatorCall("approx_count_distinct", (X,), "n", BIGINT),
        AccumulatorCall("median", (X,), "m", DOUBLE),
        AccumulatorCall("quantile", (X,), "q", DOUBLE, parameters=(0.5,)),
        AccumulatorCall("topk", (S,), "t", pa.list_(STRING), parameters=(2,)),
    ],
    ids=lambda call: call.name,
)
def test_calls_that_need_every_value_are_late(call: AccumulatorCall) -> None:
    assert not folds_early(call)


def test_calls_that_have_partial_values_are_early() -> None:
    assert all(map(folds_early, CALLS))
