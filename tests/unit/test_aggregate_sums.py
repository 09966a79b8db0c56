"""Float sums are exact: equal to a fresh, correctly rounded sum however long tuples come and go."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.core.schema import Field
from windrow.core.types import BIGINT, DOUBLE
from windrow.kernels.sums import sum_real
from windrow.operators.aggregate import AccumulatorCall, GroupBy, GroupByTask
from windrow.operators.arrow import vector_from_arrow, vector_to_arrow
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.vector import Vector

X = Field("x", DOUBLE)
SUM = AccumulatorCall("sum", (X,), "sum", DOUBLE)
AVG = AccumulatorCall("avg", (X,), "avg", DOUBLE)
SPREADS = tuple(
    AccumulatorCall(name, (X,), name, DOUBLE)
    for name in ("var_samp", "var_pop", "stddev_samp", "stddev_pop")
)


def opened(*calls: AccumulatorCall) -> GroupByTask:
    task = GroupByTask(GroupBy((), calls), Interner())
    task.begin(0)
    return task


def feed(task: GroupByTask, values: list[float], weights: list[int], ts: int = 1) -> dict:
    """Feed values at one instant; return the row that the group shows then, {} if unchanged."""
    columns = {"x": Vector(DOUBLE, np.array(values, np.float64))}
    delta = Delta(np.full(len(values), ts), columns, weight=np.array(weights, np.int64))
    out = task.step((delta,), ts)
    task.check()
    if not len(out):
        return {}
    return {
        name: None if v.valid is not None and not v.valid[-1] else float(v.data[-1])
        for name, v in out.columns.items()
    }


DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


def rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@given(st.lists(DOUBLES, min_size=1, max_size=30))
def test_a_sum_is_correctly_rounded(values):
    got = feed(opened(SUM), values, [1] * len(values))
    assert got["sum"] == rounded(sum(map(Fraction, values), Fraction()))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_a_sum_is_that_of_fsum(values):
    assert feed(opened(SUM), values, [1] * len(values))["sum"] == math.fsum(values)


@given(st.lists(st.tuples(DOUBLES, st.booleans()), min_size=1, max_size=30))
def test_what_was_added_is_taken_back_exactly(values):
    task = opened(AccumulatorCall("count", (), "n", BIGINT, nullable=False), SUM, *SPREADS)
    feed(task, [v for v, _ in values], [1] * len(values))
    gone = [v for v, leaves in values if leaves]
    left = [v for v, leaves in values if not leaves]
    got = feed(task, [*gone, 0.0], [*([-1] * len(gone)), 1], 2)
    fresh = feed(opened(*task.op.calls), [*left, 0.0], [1] * (len(left) + 1))
    assert got in ({}, fresh)
    if got:
        assert got["sum"] == rounded(sum(map(Fraction, left), Fraction()))


def test_a_small_value_survives_a_large_one():
    task = opened(SUM)
    assert feed(task, [1e16, 1.0], [1, 1])["sum"] == 1e16
    assert feed(task, [1e16], [-1], 2)["sum"] == 1.0


def test_infinities_and_nans_come_and_go():
    task = opened(SUM, AVG, SPREADS[1])
    assert feed(task, [1.5], [1])["sum"] == 1.5
    assert feed(task, [math.inf], [1], 2)["sum"] == math.inf
    assert math.isnan(feed(task, [-math.inf], [1], 3)["sum"])
    assert feed(task, [math.inf], [-1], 4)["sum"] == -math.inf
    assert math.isnan(feed(task, [math.nan], [1], 5)["avg"])
    got = feed(task, [math.nan, -math.inf], [-1, -1], 6)
    assert got == {"sum": 1.5, "avg": 1.5, "var_pop": 0.0}


def test_a_sum_too_large_is_infinite_but_its_mean_is_not():
    task = opened(SUM, AVG)
    assert feed(task, [1.7e308, 1.7e308], [1, 1]) == {"sum": math.inf, "avg": 1.7e308}
    assert feed(task, [1.7e308], [-1], 2) == {"sum": 1.7e308, "avg": 1.7e308}


def test_subnormals_are_exact():
    tiny = 5e-324
    task = opened(SUM)
    assert feed(task, [tiny, tiny, 1e300], [1, 1, 1])["sum"] == 1e300
    assert feed(task, [1e300], [-1], 2)["sum"] == 2 * tiny
    assert feed(task, [2.5e-308], [-1], 3)["sum"] == 2 * tiny - 2.5e-308


def test_a_soak_ends_at_the_sum_of_what_is_alive():
    rng = np.random.default_rng(5)
    rounds, size = (100, 50_000) if hasattr(sum_real, "signatures") else (4, 300)  # compiled?
    task = opened(SUM)
    alive: list[np.ndarray] = []
    for n in range(rounds):
        fresh = rng.normal(0, 1, size) * 10.0 ** rng.integers(-12, 13, size)
        alive.append(fresh)
        old = alive.pop(0) if len(alive) > 2 else np.empty(0)
        values = np.concatenate([fresh, old])
        weights = np.concatenate([np.ones(len(fresh)), -np.ones(len(old))]).astype(np.int64)
        delta = Delta(np.full(len(values), n), {"x": Vector(DOUBLE, values)}, weight=weights)
        out = task.step((delta,), n)
    assert out.columns["sum"].data[-1] == math.fsum(np.concatenate(alive))


def test_carries_are_taken_before_limbs_are_full():
    task = opened(SUM, SPREADS[0])
    big = float(2**53 - 1)
    for n in range(40):
        got = feed(task, [big, -big, 1.0], [2**23, 2**23 - 1, 1], n)
    total = Fraction(big) * 40 + 40
    assert got["sum"] == float(total)
    count = 40 * 2**24
    squares = Fraction(big) ** 2 * 40 * (2**24 - 1) + 40
    wanted = (squares - total**2 / count) / (count - 1)
    assert math.isclose(got["var_samp"], float(wanted), rel_tol=1e-14)


def two_pass(values: list[float], over: int) -> float:
    mean = sum(map(Fraction, values)) / len(values)
    return float(sum((Fraction(v) - mean) ** 2 for v in values) / over)


@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=20),
    st.sampled_from([0.0, 1.0, 1e9, -1e15, 1e-9]),
    st.sampled_from([1.0, 1e-3, 1e-150, 1e150]),
)
def test_a_variance_is_that_of_two_passes(parts, mean, scale):
    values = [mean + scale * p for p in parts]
    got = feed(opened(*SPREADS), values, [1] * len(values))
    samp, pop = two_pass(values, len(values) - 1), two_pass(values, len(values))
    for name, wanted in (("var_samp", samp), ("var_pop", pop)):
        assert math.isclose(got[name], wanted, rel_tol=1e-14, abs_tol=1e-322)
        assert math.isclose(
            got[name.replace("var", "stddev")], math.sqrt(wanted), rel_tol=1e-14, abs_tol=1e-160
        )


def test_a_small_deviation_about_a_large_mean():
    rng = np.random.default_rng(3)
    values = rng.normal(1e9, 1e-3, 500).tolist()
    task = opened(*SPREADS)
    feed(task, [*values, 1e300, 1e-300], [1] * 502)
    got = feed(task, [1e300, 1e-300], [-1, -1], 2)
    assert math.isclose(got["var_samp"], two_pass(values, 499), rel_tol=1e-14)
    assert math.isclose(got["stddev_pop"], math.sqrt(two_pass(values, 500)), rel_tol=1e-14)


def test_a_saved_sum_goes_on_exactly():
    task = opened(SUM, SPREADS[2])
    feed(task, [1e16, 0.1, -3e-9], [1, 1, 1])
    fresh = GroupByTask(task.op, Interner())
    fresh.load(task.save())
    both = [feed(t, [1e16, 1e20], [-1, 1], 2) for t in (task, fresh)]
    assert both[0] == both[1]
    assert feed(fresh, [1e20], [-1], 3)["sum"] == math.fsum([0.1, -3e-9])


@pytest.mark.parametrize("call", [SUM, AVG, *SPREADS], ids=lambda c: c.name)
def test_sums_of_groups_do_not_mix(call):
    key = Field("k", BIGINT, nullable=False)
    task = GroupByTask(GroupBy((key,), (call,)), Interner())
    rng = np.random.default_rng(2)
    keys, values = rng.integers(0, 300, 3000), rng.normal(5, 2, 3000)
    columns = {"k": Vector(BIGINT, keys), "x": Vector(DOUBLE, values)}
    out = task.step((Delta(np.arange(3000), columns),), 3000)
    shown = {}
    for k, v, w in zip(
        out.columns["k"].data, out.columns[call.output].data, out.weights(), strict=True
    ):
        if w > 0:
            shown[int(k)] = v
    formula = {
        "sum": math.fsum,
        "avg": lambda v: math.fsum(v) / len(v),
        "var_samp": lambda v: np.var(v, ddof=1),
        "var_pop": np.var,
        "stddev_samp": lambda v: np.std(v, ddof=1),
        "stddev_pop": np.std,
    }[call.name]
    for k, got in shown.items():
        group = values[keys == k]
        if len(group) > 1:
            assert math.isclose(got, formula(group), rel_tol=1e-9)


@pytest.mark.parametrize("copies", [2**28, 2**28 + 1, 5 * 2**29 + 3])
def test_any_number_of_copies_comes_and_goes_at_once(copies):
    task = opened(SUM, SPREADS[1])
    got = feed(task, [1.5, 0.1], [1, copies])
    exact = [(Fraction(1.5), 1), (Fraction(0.1), copies)]
    total = sum(v * n for v, n in exact)
    assert got["sum"] == rounded(total)
    mean = total / (copies + 1)
    spread = sum((v - mean) ** 2 * n for v, n in exact) / (copies + 1)
    assert math.isclose(got["var_pop"], float(spread), rel_tol=1e-12)
    assert feed(task, [0.1], [-copies], 2) == {"sum": 1.5, "var_pop": 0.0}


MANY = 2**62
WHOLE = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3) | st.just(-(2**63))
MONEY = pa.decimal128(18, 3)
LARGE = pa.decimal128(38, 3)
OF_TYPE = {BIGINT: WHOLE, MONEY: st.integers(1 - 10**18, 10**18 - 1)}
OF_TYPE[LARGE] = st.integers(1 - 10**38, 10**38 - 1) | OF_TYPE[MONEY]


def values_of(type_: pa.DataType, whole: list[int]) -> list[object]:
    if type_ == BIGINT:
        return [*whole]
    with localcontext(prec=60):
        return [Decimal(v).scaleb(-3) for v in whole]


def shown_sum(task: GroupByTask, interner: Interner) -> object:
    return vector_to_arrow(task.current().columns["sum"], interner)[0].as_py()


@pytest.mark.parametrize("type_", [BIGINT, MONEY, LARGE], ids=str)
@given(data=st.data())
def test_sums_of_whole_numbers_are_exact_for_any_number_of_copies(type_, data):
    """Tuples come one after the other, and go again; NULL is a sum that has no room, then alone."""
    summed = BIGINT if type_ == BIGINT else LARGE
    call = AccumulatorCall("sum", (Field("v", type_),), "sum", summed)
    rest, told = MANY, []
    for value in data.draw(st.lists(OF_TYPE[type_], min_size=1, max_size=8)):
        copies = data.draw(
            st.integers(1, 3) | st.integers(2**30, 2**34) | st.integers(1, rest // 2)
        )
        rest -= copies
        told.append((value, copies))
    going = data.draw(st.permutations(told))
    told += [(value, -copies) for value, copies in going[1:]]
    interner = Interner()
    task = GroupByTask(GroupBy((), (call,)), interner)
    task.begin(0)
    exact, limit = 0, 2**63 if type_ == BIGINT else 10**38
    for ts, (value, copies) in enumerate(told, 1):
        column = vector_from_arrow(pa.array(values_of(type_, [value]), type_), type_, interner)
        weight = np.array([copies], np.int64)
        task.step((Delta(np.array([ts]), {"v": column}, weight=weight),), ts)
        exact += value * copies
        fits = -limit <= exact < limit if type_ == BIGINT else abs(exact) < limit
        assert shown_sum(task, interner) == (values_of(type_, [exact])[0] if fits else None)
