"""Groups folded before rows change shards: exact parts, fewer rows, and states that go on."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.shards import ShardSet

from windrow.core.schema import Field
from windrow.core.types import BIGINT, BINARY, DOUBLE
from windrow.operators.aggregate import AccumulatorCall, GroupBy, GroupByTask
from windrow.operators.aggregate.contributions import ContributeTask
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.state.saved import from_bytes, to_bytes
from windrow.operators.vector import Vector
from windrow.physical.parts import Contribute
from windrow.runtime.shards.layout import layout_of
from windrow.runtime.shards.ports import TIME
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.wire import Stepped
from windrow_lab.bench.data import STREAMS, Scale, streams
from windrow_lab.bench.workloads import WORKLOADS

K, X, V = Field("k", BIGINT), Field("x", DOUBLE), Field("v", BIGINT)
MONEY = Field("d", pa.decimal128(9, 2))
CALLS = (
    AccumulatorCall("count", (), "n", BIGINT, nullable=False),
    AccumulatorCall("count", (X,), "c", BIGINT, nullable=False),
    AccumulatorCall("sum", (X,), "s", DOUBLE),
    AccumulatorCall("avg", (X,), "m", DOUBLE),
    AccumulatorCall("sum", (V,), "t", BIGINT),
    AccumulatorCall("sum", (MONEY,), "d", pa.decimal128(38, 2)),
)

Event = tuple[int, int, float | None, int | None, int]
"""Group, shard, x, v and the weight of a change."""


def delta_of(rows: list[Event], ts: int) -> Delta:
    x = np.array([0.0 if r[2] is None else r[2] for r in rows])
    v = np.array([0 if r[3] is None else r[3] for r in rows], np.int64)
    has_x = np.array([r[2] is not None for r in rows], np.bool_)
    has_v = np.array([r[3] is not None for r in rows], np.bool_)
    columns = {
        "k": Vector(BIGINT, np.array([r[0] for r in rows], np.int64)),
        "x": Vector(DOUBLE, x, has_x),
        "v": Vector(BIGINT, v, has_v),
        "d": Vector(MONEY.type, v % 1_000_000, has_v),
    }
    weight = np.array([r[4] for r in rows], np.int64)
    return Delta(np.full(len(rows), ts), columns, weight=weight)


class Folding:
    """Two shards that fold, and one task that merges; beside it, one that sees all rows."""

    def __init__(self, keys: tuple[Field, ...]) -> None:
        self.interner = Interner()
        op = Contribute(keys, CALLS)
        self.folds = [ContributeTask(op, self.interner) for _ in range(2)]
        self.merges = GroupByTask(GroupBy(keys, op.merging), self.interner)
        self.whole = GroupByTask(GroupBy(keys, CALLS), self.interner)
        self.merges.begin(0)
        self.whole.begin(0)

    def feed(self, rows: list[Event], ts: int) -> Delta:
        """Let changes of one instant through; return what crossed, having compared answers."""
        crossed = [
            fold.step((delta_of([r for r in rows if r[1] == n], ts),), ts)
            for n, fold in enumerate(self.folds)
        ]
        told = Delta.concat(crossed)
        mine = self.merges.step((told,), ts)
        theirs = self.whole.step((delta_of(rows, ts),), ts)
        self.merges.check()
        assert shown(mine, self.interner) == shown(theirs, self.interner)
        assert shown(self.merges.current(), self.interner) == shown(
            self.whole.current(), self.interner
        )
        return told

    def restart(self) -> None:
        """Go on from saved bytes."""
        saved = from_bytes(to_bytes(self.merges.save()))
        self.merges = GroupByTask(self.merges.op, self.interner)
        self.merges.load(saved)


def shown(delta: Delta, interner: Interner) -> Counter[tuple[object, ...]]:
    """Rows with their weights, doubles by their bits."""
    found: Counter[tuple[object, ...]] = Counter()
    columns = []
    for vector in delta.columns.values():
        words = vector.data.view(np.int64).tolist()
        valid = [True] * len(delta) if vector.valid is None else vector.valid.tolist()
        columns.append([w if ok else None for w, ok in zip(words, valid, strict=True)])
    for row, weight in zip(zip(*columns, strict=True), delta.weights().tolist(), strict=True):
        found[row] += weight
    return Counter({row: n for row, n in found.items() if n})


REALS = st.floats(allow_nan=True, allow_infinity=True) | st.none()
WHOLES = st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5) | st.none()
BIRTHS = st.tuples(st.integers(1, 3), st.integers(0, 1), REALS, WHOLES, st.integers(1, 3))


@pytest.mark.parametrize("keys", [(), (K,)], ids=["one group", "groups"])
@given(steps=st.lists(st.tuples(st.lists(BIRTHS, max_size=6), st.integers(0, 7)), max_size=5))
def test_parts_of_any_values_add_up_to_the_last_bit(keys, steps):
    folding = Folding(keys)
    alive: list[Event] = []
    for ts, (births, leaving) in enumerate([*steps, ([], 99)], 1):
        gone, alive = alive[:leaving], alive[leaving:] + births
        folding.feed([*((*r[:4], -r[4]) for r in gone), *births], ts)
        if leaving % 3 == 0:
            folding.restart()


def test_a_sum_of_many_bits_spills_and_one_of_few_does_not():
    folding = Folding((K,))
    told = folding.feed([(1, 0, 0.1, 1, 1), (1, 0, 1e16, 1, 1)], 1)
    assert told.columns["#1.rest"].type == BINARY
    assert told.columns["#1.rest"].data.tolist() == [0]
    told = folding.feed([(1, 0, 1e300, 1, 1), (1, 0, 1.0, 1, 1), (1, 0, 1e-300, 1, 1)], 2)
    assert told.columns["#1.rest"].data.tolist() != [0]
    folding.feed([(1, 0, 1e300, 1, -1), (1, 0, math.nan, 1, 1)], 3)
    folding.feed([(1, 0, math.nan, 1, -1), (1, 1, 1.7e308, 1, 3)], 4)
    folding.feed([(1, 1, 1.7e308, 1, -3)], 5)


def test_what_comes_and_goes_at_once_does_not_cross():
    folding = Folding((K,))
    assert len(folding.feed([(1, 0, 0.5, 7, 1), (1, 0, 0.5, 7, -1)], 1)) == 0
    assert len(folding.feed([(1, 0, 0.5, 7, 1), (1, 0, 0.25, 7, 1), (2, 0, 0.5, 7, 1)], 2)) == 2
    moved = folding.feed([(1, 0, 0.5, 7, -1), (1, 0, 2.5, 7, 1)], 3)
    assert moved.weights().tolist() == [0]  # as many tuples as before, of another sum


class Counted(ShardSet):
    """Shards, and how many rows have crossed between levels."""

    crossed = 0

    def _exchange(self, stepped: list[Stepped]) -> None:
        self.crossed += sum(len(t) for one in stepped for t in one.forwarded.values())
        super()._exchange(stepped)


W6 = next(work for work in WORKLOADS if work.name == "join_group")
SCALE = replace(Scale.of(20_000), rows=2_000)
TABLES = {
    name: table.append_column(TIME, table["ts"].cast(pa.int64()))
    for name, table in streams(SCALE).items()
}


def w6(
    mode: str, shards: int, restart_at: int | None = None, early: str = "auto"
) -> tuple[Counted, Counter[str]]:
    """Run the workload; return its shards and the net changes, by instant and row."""
    sets = f"SET partials = '{mode}'; SET early_aggregation = '{early}'"
    script = f"{sets}; {'; '.join(STREAMS)}; CREATE QUERY q AS {W6.sql(SCALE)}"
    run = Counted(Program(script, ("q",), shards=shards))
    net: Counter[str] = Counter()
    for n, start in enumerate(range(0, SCALE.rows, 500)):
        given = {
            port.number: TABLES[port.entry.name].slice(start, 500)
            for port in run.layout.ports
            if port.entry is not None
        }
        for table in run.batch(given, {}, drain=start + 500 == SCALE.rows):
            for row in table.to_pylist():
                sign = row.pop("_sign")
                net[str(row)] += sign
        if n == restart_at:
            run.restart()
    return run, Counter({row: n for row, n in net.items() if n})


def test_fewer_rows_cross_and_the_answer_is_the_same_on_any_number_of_shards():
    plain, truth = w6("off", 2)
    folded, found = w6("auto", 2, restart_at=1)
    assert found == truth
    assert folded.crossed < 0.7 * plain.crossed, (folded.crossed, plain.crossed)
    assert w6("auto", 1)[1] == truth
    assert w6("auto", 3, restart_at=2)[1] == truth


@pytest.mark.parametrize("early", ["{a}", "{b}", "{a,b}"])
def test_inputs_that_are_aggregated_early_fold_into_the_same_rows(early):
    folded, truth = w6("auto", 2)
    run, found = w6("auto", 2, restart_at=1, early=early)
    assert run.program.joins() == [f"entries of 2, early {early}"]
    assert run.crossed == folded.crossed
    assert found == truth


EXPECTED = "USING parquet OPTIONS (path 'x', expect_rate '{rate}', expect_keys '{keys}')"


@pytest.mark.parametrize(("rate", "keys", "folded"), [(1000, 200, ["q"]), (10, 10_000, [])])
def test_declared_rates_decide_under_auto(rate, keys, folded):
    source = EXPECTED.format(rate=rate, keys=keys)
    declared = "; ".join(s.replace("TIMESTAMP BY", f"{source} TIMESTAMP BY") for s in STREAMS)
    assert Program(f"{declared}; CREATE QUERY q AS {W6.sql(Scale())}", ("q",)).folded() == folded


def test_a_checkpoint_is_of_one_way_or_the_other():
    text = W6.sql(SCALE)
    one, other = (
        Program(f"SET partials = '{mode}'; {'; '.join(STREAMS)}; CREATE QUERY q AS {text}", ("q",))
        for mode in ("auto", "off")
    )
    assert one.folded() == ["q"]
    assert other.folded() == []
    assert one.fingerprint != other.fingerprint
    assert len(layout_of(one).ports) == len(layout_of(other).ports)


def test_merged_inputs_of_a_join_stay_single_where_sums_would_round():
    window = "[RANGE 9 SECONDS SLIDE 1 SECOND]"
    sums = f"SELECT a.src, SUM(b.k) AS s FROM a {window}, b {window} WHERE a.k = b.k GROUP BY a.src"

    def said(text: str, early: str) -> str:
        sets = f"SET partials = 'on'; SET early_aggregation = '{early}'"
        script = f"{sets}; {'; '.join(STREAMS)}; CREATE QUERY q AS {text}"
        (plan,) = Program(script, ("q",)).physical()
        lines = [] if plan.merging is None else plan.merging.notes()
        return "".join(lines[:1]).removeprefix("tuples are ")

    assert said(sums, "{b}") == "merged: partials is on"
    assert said(sums.replace("b.k)", "b.v)"), "{b}") == (
        "not merged: b: Spark would round sums of doubles"
    )
    assert said(sums.replace("SUM", "MAX"), "{b}") == (
        "not merged: rows of the join meet anew before they are grouped"
    )
    assert said(sums, "none") == ""
