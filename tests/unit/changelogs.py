"""Deltas as lists of plain tuples, random ones, and a driver that cuts them into steps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from windrow.core.schema import Field, Schema
from windrow.core.types import BIGINT, DOUBLE, STRING
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.vector import Vector, is_interned

KEY = Schema((Field("k", BIGINT, nullable=False),))
ROW = Schema((Field("k", BIGINT), Field("x", DOUBLE), Field("s", STRING)))
TEXTS = ("", "a", "ab", "b", "é", "zzzzzzzzzzzz")

Row = tuple[Any, ...]
Net = dict[tuple[int, Row], int]

keys = st.tuples(st.integers(0, 3))
rows = st.tuples(
    st.none() | st.integers(-2, 2),
    st.none() | st.sampled_from((-1.5, -0.0, 0.0, 2.0, math.inf, -math.inf, math.nan)),
    st.none() | st.sampled_from(TEXTS),
)


@dataclass(frozen=True)
class Change:
    """One row of an edge: on input `port`; `exp` on predicted edges, `weight` on signed ones."""

    ts: int
    row: Row
    weight: int = 1
    exp: int | None = None
    port: int = 0


def vector(values: list[Any], type_: pa.DataType, interner: Interner) -> Vector:
    """Return values, None for NULL, as a column."""
    valid = np.array([v is not None for v in values], np.bool_)
    if is_interned(type_):
        data = interner.encode(pa.array(values, type_))
    else:
        kind = np.float64 if type_ == DOUBLE else np.int64
        data = np.array([0 if v is None else v for v in values], kind)
    return Vector(type_, data, None if valid.all() else valid)


def delta(
    changes: list[Change], schema: Schema, interner: Interner, *, unsigned: bool = False
) -> Delta:
    """Return changes as a batch; weights are left out if all are one."""
    columns = {
        f.name: vector([c.row[i] for c in changes], f.type, interner) for i, f in enumerate(schema)
    }
    ts = np.array([c.ts for c in changes], np.int64)
    if unsigned:
        return Delta(ts, columns, np.array([c.exp for c in changes], np.int64))
    weight = np.array([c.weight for c in changes], np.int64)
    return Delta(ts, columns, None, None if (weight == 1).all() else weight)


def plain_value(value: Any) -> Any:
    """Return a value that is equal iff the engine's is."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def plain_rows(columns: dict[str, Vector], interner: Interner) -> list[Row]:
    """Return columns as tuples."""
    lists = []
    for v in columns.values():
        if is_interned(v.type):
            values = interner.decode(v.data, v.type, v.valid).to_pylist()
        else:
            values = v.data.tolist()
            if v.valid is not None:
                values = [x if ok else None for x, ok in zip(values, v.valid, strict=True)]
        lists.append([plain_value(x) for x in values])
    length = len(lists[0]) if lists else 0
    return [tuple(column[i] for column in lists) for i in range(length)]


def signed_changes(made: Delta, interner: Interner) -> list[Change]:
    """Return a signed batch as tuples."""
    got = plain_rows(made.columns, interner)
    assert (np.diff(made.ts) >= 0).all(), "changes are in time order"
    return [Change(int(t), r, int(w)) for t, r, w in zip(made.ts, got, made.weights(), strict=True)]


def predicted_changes(made: Delta, interner: Interner) -> list[Change]:
    """Return a predicted batch as tuples."""
    assert made.exp is not None
    assert (made.exp > made.ts).all(), "a tuple lives"
    return [
        Change(int(t), r, 1, int(e))
        for t, r, e in zip(made.ts, plain_rows(made.columns, interner), made.exp, strict=True)
    ]


def net(changes: list[Change]) -> Net:
    """Return the net change of each row at each instant."""
    total: Counter[tuple[int, Row]] = Counter()
    for c in changes:
        total[c.ts, tuple(map(plain_value, c.row))] += c.weight
    return {k: n for k, n in total.items() if n}


def expired(changes: list[Change], clock: int) -> list[Change]:
    """Return births and deaths of predicted tuples up to a clock."""
    deaths = [Change(c.exp, c.row, -1) for c in changes if c.exp is not None and c.exp <= clock]
    return sorted([*changes, *deaths], key=lambda c: c.ts)


def answers(changes: list[Change], upto: int) -> dict[int, Counter[Row]]:
    """Return the bag of rows at every instant from 0 to `upto`."""
    bag: Counter[Row] = Counter()
    by_time: dict[int, list[Change]] = {}
    for c in changes:
        by_time.setdefault(c.ts, []).append(c)
    found = {}
    for now in range(upto + 1):
        for c in by_time.get(now, []):
            bag[tuple(map(plain_value, c.row))] += c.weight
        found[now] = Counter({r: n for r, n in bag.items() if n})
    return found


def changes_between(bags: dict[int, Counter[Row]]) -> Net:
    """Return the net changes that lead from each instant's bag to the next."""
    before: Counter[Row] = Counter()
    found: Net = {}
    for now in sorted(bags):
        for row in {*before, *bags[now]}:
            n = bags[now][row] - before[row]
            if n:
                found[now, row] = n
        before = bags[now]
    return found


@st.composite
def streams(draw: st.DrawFn, row: st.SearchStrategy[Row] = keys, ports: int = 1) -> list[Change]:
    """Tuples of one or more streams, in time order, often several at one instant."""
    gaps = draw(st.lists(st.integers(0, 3), max_size=25))
    times = np.cumsum(gaps).tolist()
    return [Change(t, draw(row), port=draw(st.integers(0, ports - 1))) for t in times]


@st.composite
def lives(draw: st.DrawFn, row: st.SearchStrategy[Row] = keys, longest: int = 12) -> list[Change]:
    """Predicted tuples, in any order of ends; some never end."""
    ends = st.integers(1, longest) | st.just(2**62)
    return [Change(c.ts, c.row, 1, c.ts + draw(ends)) for c in draw(streams(row))]


@st.composite
def histories(
    draw: st.DrawFn, row: st.SearchStrategy[Row] = keys, ports: int = 1, most: int = 2
) -> list[Change]:
    """Signed changes under which no row ever has fewer than no copies."""
    bags: list[Counter[Row]] = [Counter() for _ in range(ports)]
    made = []
    for c in draw(streams(row, ports)):
        bag = bags[c.port]
        value, weight = c.row, draw(st.integers(1, most))
        if +bag and draw(st.booleans()):
            value = draw(st.sampled_from(sorted(+bag, key=repr)))
            weight = -draw(st.integers(1, min(most, bag[value])))
        bag[value] += weight
        made.append(Change(c.ts, value, weight, port=c.port))
    return made


@dataclass
class Driver:
    """Runs a task over changes, cut at random places, saved and loaded at some of them."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    schemas: tuple[Schema, ...]
    interner: Interner
    unsigned: bool = False

    def run(self, make: Callable[[], Any], changes: list[Change], last: int) -> list[Delta]:
        """Return the outputs of all steps; the clock ends at `last`."""
        cuts = sorted(self.draw(st.lists(st.integers(0, len(changes)), max_size=5)))
        cuts.append(len(changes))
        task, made, done = make(), [], 0
        task.begin(changes[0].ts if changes else 0)
        for n, cut in enumerate(cuts):
            part, done = changes[done:cut], cut
            after = changes[cut].ts if cut < len(changes) else last
            low = changes[cut - 1].ts if cut else 0
            clock = last if n == len(cuts) - 1 else self.draw(st.integers(min(low, after), after))
            inputs = tuple(
                delta(
                    [c for c in part if c.port == port],
                    schema, self.interner, unsigned=self.unsigned,
                )
                for port, schema in enumerate(self.schemas)
            )  # fmt: skip
            made.append(task.step(inputs, clock))
            task.check()
            assert not len(made[-1]) or made[-1].ts[-1] <= clock, "nothing is told too early"
            if self.draw(st.booleans()):
                saved, task = task.save(), make()
                task.load(saved)
                task.check()
        if getattr(task, "lags", False):
            made.append(task.finish(last))
        assert task.state_rows() >= 0
        assert task.state_bytes() >= 0
        task.live_codes()
        return made
