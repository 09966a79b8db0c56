"""GROUP BY against its definition: at every instant, fold the tuples that are there."""

import itertools
import math
import operator
import statistics
from collections import Counter, defaultdict
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.core.schema import Field, Schema
from windrow.core.types import BIGINT, BOOLEAN, DOUBLE, STRING
from windrow.operators.aggregate import AccumulatorCall, GroupBy, GroupByTask
from windrow.operators.arrow import columns_to_table, vector_from_arrow
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.state.expirer import CalendarExpirer, FifoExpirer, ScanningExpirer
from windrow.physical.calls import IN_ORDER

MONEY = pa.decimal128(9, 2)
WIDE = pa.decimal128(30, 2)
K = Field("k", STRING)
X = Field("x", DOUBLE)
N = Field("i", BIGINT)
S = Field("s", STRING)
D = Field("d", MONEY)
W = Field("w", WIDE)
B = Field("b", BOOLEAN)
Y = Field("y", DOUBLE)
THERE = Field("s_there", BOOLEAN)
INPUT = Schema((K, X, N, S, D, W, B, Y, THERE))

SUMMED = pa.decimal128(38, 2)
CALLS = (
    AccumulatorCall("count", (), "n", BIGINT, nullable=False),
    AccumulatorCall("count", (), "n_if", BIGINT, filter="b", nullable=False),
    AccumulatorCall("count", (S,), "n_s", BIGINT, nullable=False),
    AccumulatorCall("count", (S, N), "n_pairs", BIGINT, distinct=True, nullable=False),
    AccumulatorCall("sum", (N,), "sum_i", BIGINT),
    AccumulatorCall("sum", (D,), "sum_d", SUMMED),
    AccumulatorCall("sum", (W,), "sum_w", SUMMED),
    AccumulatorCall("sum", (X,), "sum_x", DOUBLE),
    AccumulatorCall("sum", (X,), "sum_distinct", DOUBLE, distinct=True, filter="b"),
    AccumulatorCall("avg", (X,), "avg_x", DOUBLE),
    AccumulatorCall("var_samp", (X,), "var_samp", DOUBLE),
    AccumulatorCall("var_pop", (X,), "var_pop", DOUBLE),
    AccumulatorCall("stddev_samp", (X,), "sd_samp", DOUBLE),
    AccumulatorCall("stddev_pop", (X,), "sd_pop", DOUBLE, filter="b"),
    AccumulatorCall("min", (X,), "min_x", DOUBLE),
    AccumulatorCall("max", (X,), "max_x", DOUBLE, filter="b"),
    AccumulatorCall("min", (N,), "min_i", BIGINT),
    AccumulatorCall("max", (S,), "max_s", STRING),
    AccumulatorCall("min", (W,), "min_w", WIDE),
    AccumulatorCall("max", (B,), "max_b", BOOLEAN),
    AccumulatorCall("bool_and", (B,), "all_b", BOOLEAN),
    AccumulatorCall("bool_or", (B,), "any_b", BOOLEAN),
    AccumulatorCall("median", (X,), "median", DOUBLE),
    AccumulatorCall("quantile", (X,), "q", DOUBLE, parameters=(0.3,)),
    AccumulatorCall("median", (X,), "median_distinct", DOUBLE, distinct=True),
    AccumulatorCall("topk", (S,), "top_s", pa.list_(STRING), parameters=(2,)),
    AccumulatorCall("approx_topk", (X,), "top_x", pa.list_(DOUBLE), parameters=(3,)),
    AccumulatorCall("approx_count_distinct", (X,), "about", BIGINT, nullable=False),
    AccumulatorCall("approx_quantile", (X,), "about_q", DOUBLE, parameters=(1.0,)),
    AccumulatorCall("mode", (N,), "mode_i", BIGINT),
    AccumulatorCall("bit_and", (N,), "bits_and", BIGINT),
    AccumulatorCall("bit_or", (N,), "bits_or", BIGINT),
    AccumulatorCall("bit_xor", (N,), "bits_xor", BIGINT, distinct=True),
    AccumulatorCall("covar_pop", (X, Y), "covar_pop", DOUBLE),
    AccumulatorCall("covar_samp", (Y, X), "covar_samp", DOUBLE, filter="b"),
    AccumulatorCall("skewness", (X,), "skewness", DOUBLE),
    AccumulatorCall("kurtosis", (Y,), "kurtosis", DOUBLE, distinct=True),
    AccumulatorCall("first", (S, X), "first_s", STRING, parameters=("aA",)),
    AccumulatorCall("first", (W, S, N), "last_w", WIDE, filter="b", parameters=("dDd",)),
    AccumulatorCall("collect_list", (X, S), "xs", pa.list_(DOUBLE), parameters=("Dd",)),
    AccumulatorCall(
        *("collect_list", (S,), "s_set", pa.list_(STRING)),
        distinct=True,
        filter="s_there",
        parameters=("d",),
        nullable=False,
    ),
    AccumulatorCall("string_agg", (S, N), "ss", STRING, filter="s_there", parameters=("aa", "; ")),
)


ROW = {
    "k": "a",
    "x": 0.1,
    "i": 2,
    "s": "v",
    "d": Decimal("1.5"),
    "w": Decimal(7),
    "b": True,
    "y": -3.0,
    "s_there": True,
}


def quantile(values: list[float], fraction: float) -> float:
    ordered = sorted(values)
    place = (len(ordered) - 1) * fraction
    low = math.floor(place)
    if place == low or ordered[low] == ordered[low + 1]:
        return ordered[low]
    return ordered[low] * (1 - (place - low)) + ordered[low + 1] * (place - low)


def variance(values: list[float], over: int) -> float:
    mean = sum(map(Fraction, values)) / len(values)
    return float(sum((Fraction(v) - mean) ** 2 for v in values) / over)


def moment(call: AccumulatorCall, rows: list[tuple[Fraction, ...]]) -> float | None:
    if call.name.startswith("covar"):
        return covariance(rows, len(rows) - call.name.endswith("samp"))
    return shape([x for (x,) in rows], 3 if call.name == "skewness" else 4)


BITS = {"bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor}


def covariance(pairs: list[tuple[Fraction, ...]], over: int) -> float:
    means = [sum(column) / len(pairs) for column in zip(*pairs, strict=True)]
    total = sum((x - means[0]) * (y - means[1]) for x, y in pairs) / over
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def shape(values: list[Fraction], power: int) -> float | None:
    """The central moment of a power over that of 2, to scale; of kurtosis, less 3."""
    mean = sum(values) / len(values)
    two, other = (sum((v - mean) ** p for v in values) / len(values) for p in (2, power))
    if not two:
        return None
    if power == 4:
        return float(other / two**2 - 3)
    square = float(other**2 / two**3)  # of doubles, the root is near enough
    return math.copysign(math.sqrt(square), other)


def in_order(call: AccumulatorCall, names: list[str], rows: list[dict]) -> object:
    """Sort by the last key first: by keys, then by the value itself."""
    letters = call.parameters[0]
    for name, letter in reversed(list(zip([*names[1:], names[0]], letters, strict=True))):
        there = [r for r in rows if r[name] is not None]
        there.sort(key=itemgetter(name), reverse=letter in "dD")
        missing = [r for r in rows if r[name] is None]
        rows = missing + there if letter in "aD" else there + missing
    values = [r[names[0]] for r in rows]
    if call.name == "first":
        return values[0] if values else None
    if call.name == "string_agg":
        return call.parameters[1].join(values) if values else None
    return list(dict.fromkeys(values)) if call.distinct else values


def fold(call: AccumulatorCall, rows: list[dict]) -> object:
    """The definition of each aggregate, over plain Python values."""
    if call.filter is not None:
        rows = [r for r in rows if r[call.filter]]
    names = [a.name for a in call.args]
    if call.name in IN_ORDER:
        return in_order(call, names, rows)
    taken = [r for r in rows if all(r[n] is not None for n in names)]
    if call.distinct or call.name == "approx_count_distinct":
        taken = list({tuple(r[n] for n in names): r for r in taken}.values())
    if call.name in {"count", "approx_count_distinct"}:
        return len(taken)
    values = [r[names[0]] for r in taken]
    if not values or (call.name.endswith("samp") and len(values) == 1):
        return None
    match call.name:
        case "sum":
            return math.fsum(values) if call.type == DOUBLE else sum(values)
        case "avg":
            return math.fsum(values) / len(values)
        case "var_samp" | "var_pop":
            return variance(values, len(values) - call.name.endswith("samp"))
        case "stddev_samp" | "stddev_pop":
            return math.sqrt(variance(values, len(values) - call.name.endswith("samp")))
        case "min":
            return min(values)
        case "max":
            return max(values)
        case "bool_and":
            return all(values)
        case "bool_or":
            return any(values)
        case "median":
            return statistics.median(values) if call.distinct else quantile(values, 0.5)
        case "covar_pop" | "covar_samp" | "skewness" | "kurtosis":
            return moment(call, [tuple(Fraction(r[n]) for n in names) for r in taken])
        case "bit_and" | "bit_or" | "bit_xor":
            return reduce(BITS[call.name], values)
        case "mode":
            return min(values, key=lambda v: (-values.count(v), v))
        case "topk" | "approx_topk":
            counts = Counter(values)
            return sorted(counts, key=lambda v: (-counts[v], v))[: call.parameters[0]]
        case _:
            return quantile(values, call.parameters[0])


def near(got: object, wanted: object) -> bool:
    if isinstance(got, float) and isinstance(wanted, float):
        return math.isclose(got, wanted, rel_tol=1e-12, abs_tol=1e-300)
    return got == wanted


@st.composite
def rows(draw: st.DrawFn) -> dict:
    row = {
        "k": draw(st.sampled_from(["a", "b", None])),
        "x": draw(st.none() | st.sampled_from([0.1, -2.5, 1e9, 3.0, 0.0, 1e-3])),
        "i": draw(st.none() | st.integers(-3, 3)),
        "s": draw(st.none() | st.sampled_from(["", "u", "uv", "v"])),
        "d": draw(st.none() | st.integers(-999, 999).map(lambda n: Decimal(n) / 100)),
        "w": draw(st.none() | st.integers(-(10**25), 10**25).map(lambda n: Decimal(n) / 100)),
        "b": draw(st.none() | st.booleans()),
        "y": draw(st.sampled_from([1e300, -0.1, 1e9 + 1.0, 1e9, 5e-324])),
    }
    return row | {"s_there": row["s"] is not None}


def births_of(draw: st.DrawFn, fifo: bool) -> list[tuple[int, int, dict]]:
    """(ts, exp, row) in order of ts."""
    times = sorted(draw(st.lists(st.integers(0, 12), max_size=10)))
    return [(t, t + (4 if fifo else draw(st.integers(1, 9))), draw(rows())) for t in times]


@st.composite
def histories(draw: st.DrawFn) -> tuple[bool, list[tuple[int, int, dict]], list[int]]:
    fifo = draw(st.booleans())
    cuts = draw(st.lists(st.integers(0, 20), max_size=5).map(sorted))
    return fifo, births_of(draw, fifo), cuts


def delta_of(given: list[tuple[int, int, dict]], interner: Interner, *, signed: bool) -> Delta:
    """Rows of (ts, exp or weight, row) as a delta."""
    columns = {
        f.name: vector_from_arrow(
            pa.array([r[f.name] for *_, r in given], f.type), f.type, interner
        )
        for f in INPUT
    }
    ts, other = (np.array([g[j] for g in given], np.int64) for j in (0, 1))
    return Delta(ts, columns, *((None, other) if signed else (other, None)))


class View:
    """The answer as its changelog builds it up."""

    def __init__(self, op: GroupBy, interner: Interner) -> None:
        self.op, self.interner = op, interner
        self.changes: dict[int, Counter] = defaultdict(Counter)

    def take(self, delta: Delta | None) -> None:
        if delta is None:
            return
        assert (np.diff(delta.ts) >= 0).all()
        table = columns_to_table(delta.columns, self.op.schema, self.interner)
        for ts, weight, row in zip(
            delta.ts.tolist(), delta.weights().tolist(), table.to_pylist(), strict=True
        ):
            values = tuple(tuple(v) if isinstance(v, list) else v for v in row.values())
            self.changes[ts][values] += weight

    def at(self, instant: int) -> list[tuple]:
        total: Counter = Counter()
        for ts, changes in self.changes.items():
            if ts <= instant:
                for row, weight in changes.items():
                    total[row] += weight
        assert all(n >= 0 for n in total.values())
        return list(total.elements())

    def net(self) -> dict[int, dict]:
        found = {t: {r: w for r, w in c.items() if w} for t, c in self.changes.items()}
        return {t: c for t, c in found.items() if c}


def expected(op: GroupBy, alive: list[dict]) -> list[tuple]:
    groups: dict[tuple, list[dict]] = {} if op.keys else {(): []}
    for row in alive:
        groups.setdefault(tuple(row[f.name] for f in op.keys), []).append(row)
    return [key + tuple(fold(c, members) for c in op.calls) for key, members in groups.items()]


def assert_same(op: GroupBy, got: list[tuple], wanted: list[tuple]) -> None:
    keys = len(op.keys)
    by_key = {row[:keys]: row[keys:] for row in wanted}
    assert len(got) == len(wanted)
    for row in got:
        for call, value, right in zip(op.calls, row[keys:], by_key[row[:keys]], strict=True):
            wanted_value = tuple(right) if isinstance(right, list) else right
            assert near(value, wanted_value), (call, value, right)


def run(
    op: GroupBy,
    births: list[tuple[int, int, dict]],
    cuts: list[int],
    expirer: type | None,
    reload_at: int = -1,
) -> View:
    """Feed births, or births and deaths, cut at some positions in steps of their own."""
    interner = Interner()
    rows = births
    if expirer is None:
        deaths = [(exp, -1, row) for _, exp, row in births]
        rows = sorted([*deaths, *((t, 1, r) for t, _, r in births)], key=lambda e: e[:2])
    task, view = GroupByTask(op, interner, expirer), View(op, interner)
    view.take(task.begin(0))
    edges = [0, *(min(c, len(rows)) for c in cuts), len(rows)]
    for n, (start, stop) in enumerate(itertools.pairwise(edges)):
        part = rows[start:stop]
        clock = part[-1][0] if part else (rows[start - 1][0] if start else 0)
        view.take(task.step((delta_of(part, interner, signed=expirer is None),), clock))
        task.check()
        if n == reload_at:
            fresh = GroupByTask(op, interner, expirer)
            fresh.load(task.save())
            assert fresh.state_rows() == task.state_rows()
            task = fresh
        interner.sweep(task.live_codes())  # later steps intern their rows anew
    view.take(task.step((delta_of([], interner, signed=expirer is None),), 100))
    task.check()
    assert not op.keys or task.state_rows() == 0
    return view


@pytest.mark.parametrize("keys", [(K,), ()], ids=["keys", "no keys"])
@given(history=histories(), reload_at=st.integers(0, 3))
@settings(max_examples=25)
def test_every_aggregate_is_that_of_the_tuples_alive(keys, history, reload_at):
    fifo, births, cuts = history
    op = GroupBy(keys, CALLS)
    kinds = [None, CalendarExpirer, ScanningExpirer, *([FifoExpirer] if fifo else [])]
    views = [run(op, births, cuts, kind, reload_at) for kind in kinds]
    for now in {0, *(t for b in births for t in b[:2])}:
        alive = [row for ts, exp, row in births if ts <= now < exp]
        for view in views:
            assert_same(op, view.at(now), expected(op, alive))


@given(history=histories())
def test_batch_splits_are_invisible(history):
    _, births, cuts = history
    op = GroupBy((K,), CALLS)
    assert (
        run(op, births, cuts, CalendarExpirer).net() == run(op, births, [], CalendarExpirer).net()
    )


def test_nothing_is_emitted_where_nothing_changes():
    interner = Interner()
    op = GroupBy((K,), (AccumulatorCall("max", (N,), "top", BIGINT),))
    task = GroupByTask(op, interner)
    row = dict.fromkeys(INPUT.names) | {"k": "a", "i": 5}
    first = task.step((delta_of([(1, 1, row)], interner, signed=True),), 1)
    assert first.weights().tolist() == [1]
    lower = task.step((delta_of([(2, 1, row | {"i": 4})], interner, signed=True),), 2)
    assert len(lower) == 0
    assert task.counters.tuples_out == 1


def test_a_group_that_comes_back_starts_from_nothing():
    interner = Interner()
    calls = tuple(c for c in CALLS if c.name != "count")
    op = GroupBy((N,), calls)
    task = GroupByTask(op, interner)
    row = dict.fromkeys(INPUT.names) | {"x": 7.25, "s": "z", "b": True}
    for n in range(200):
        events = [(2 * n, 1, row | {"i": n}), (2 * n + 1, -1, row | {"i": n})]
        out = task.step((delta_of(events, interner, signed=True),), 2 * n + 1)
        assert out.weights().tolist() == [1, -1]
        assert out.columns["sum_x"].data.tolist() == [7.25, 7.25]
        task.check()
    assert len(task.groups.rows) < 200
    assert task.state_rows() == 0


def test_weights_stand_for_that_many_copies():
    interner = Interner()
    op = GroupBy((), CALLS)
    task, view = GroupByTask(op, interner), View(op, interner)
    view.take(task.begin(0))
    row = dict(ROW)
    other = row | {"x": 3.0, "s": "u"}
    changes = [(1, 1000, row), (1, 3, other), (2, -997, row)]
    view.take(task.step((delta_of(changes, interner, signed=True),), 2))
    task.check()
    assert_same(op, view.at(1), expected(op, [row] * 1000 + [other] * 3))
    assert_same(op, view.at(2), expected(op, [row] * 3 + [other] * 3))


def test_a_row_may_leave_before_it_comes_within_an_instant():
    interner = Interner()
    op = GroupBy((K,), CALLS)
    task, view = GroupByTask(op, interner), View(op, interner)
    row = dict(ROW)
    other = row | {"x": -4.0, "s": "u", "i": 1}
    changes = [(1, -2, row), (1, 2, other), (1, 3, row), (5, -1, row), (5, -2, other)]
    view.take(task.step((delta_of(changes, interner, signed=True),), 5))
    task.check()
    assert_same(op, view.at(1), expected(op, [row, other, other]))
    assert view.at(5) == []


def test_sums_that_overflow_are_null_until_they_fit_again():
    interner = Interner()
    op = GroupBy(
        (), (AccumulatorCall("sum", (N,), "i", BIGINT), AccumulatorCall("sum", (W,), "w", SUMMED))
    )
    task, view = GroupByTask(op, interner), View(op, interner)
    wide = Decimal(10**27 - 1)
    row = dict.fromkeys(INPUT.names) | {"i": 2**62, "w": wide}
    changes = [(1, 1, row), (2, 1, row), (3, -1, row), (4, -1, row), (5, 2 * 10**9, row)]
    view.take(task.step((delta_of(changes, interner, signed=True),), 5))
    assert view.at(1) == [(2**62, wide)]
    assert view.at(2) == [(None, 2 * wide)]
    assert view.at(3) == [(2**62, wide)]
    assert view.at(4) == [(None, None)]
    assert view.at(5) == [(None, None)]


def test_without_keys_there_is_a_row_before_any_tuple():
    interner = Interner()
    op = GroupBy((), CALLS)
    view = View(op, interner)
    view.take(GroupByTask(op, interner, FifoExpirer).begin(17))
    assert_same(op, view.at(17), expected(op, []))
    assert view.at(16) == []
    assert GroupByTask(GroupBy((K,), CALLS), interner).begin(17) is None


def test_a_group_by_without_calls_tells_which_groups_there_are():
    op = GroupBy((K,), ())
    row = dict.fromkeys(INPUT.names)
    births = [(1, 5, row | {"k": "a"}), (2, 4, row | {"k": "b"}), (3, 6, row | {"k": "a"})]
    net = run(op, births, [1], CalendarExpirer).net()
    assert net == {1: {("a",): 1}, 2: {("b",): 1}, 4: {("b",): -1}, 6: {("a",): -1}}


def test_an_empty_step_costs_nothing_and_says_nothing():
    interner = Interner()
    task = GroupByTask(GroupBy((K,), CALLS), interner, FifoExpirer)
    assert len(task.step((delta_of([], interner, signed=False),), 10)) == 0
    assert task.state_rows() == 0
    assert task.state_bytes() > 0
