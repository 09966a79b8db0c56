"""Aggregation joins by definition: all combinations, grouped and folded; and random ones."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from math import fsum, prod

import numpy as np
from tests.unit.multi_reference import (
    COMPARES,
    Change,
    Row,
    equalities,
    holds,
    odd,
    schema,
)

from windrow.core.schema import Field
from windrow.core.types import BIGINT, DOUBLE
from windrow.operators.aggregate import AccumulatorCall
from windrow.operators.join.aggregation.op import AggregationJoin
from windrow.operators.join.match import MultiMatch
from windrow.operators.vector import Vector
from windrow.physical.calls import PlacedCall, folds_early
from windrow.physical.conditions import Compare, JoinInput

Shown = dict[tuple, tuple]
"""The row that each group shows: keys -> calls."""

MIX = "mix"
"""A key that is computed of the columns x of the first two inputs."""


@dataclass(frozen=True)
class Case:
    """An aggregation join, and the plain join whose GROUP BY it equals."""

    op: AggregationJoin
    plain: MultiMatch


def mixed(columns: dict[str, Vector], rows: int) -> dict[str, Vector]:
    """(s0.x + s1.x) % 2, NULL if one of them is."""
    left, right = columns["s0.x"], columns["s1.x"]
    valid = np.ones(rows, np.bool_)
    for v in (left, right):
        valid &= True if v.valid is None else v.valid
    return {MIX: Vector(BIGINT, np.where(valid, (left.data + right.data) % 2, 0), valid)}


def a_call(rng: random.Random, number: int, inputs: int) -> tuple[AccumulatorCall, int | None]:
    """Return a random call, and the input that it reads, if any."""
    name = rng.choice(["count", "count", "sum", "sum", "sum", "avg", "min", "max"])
    which = rng.randrange(inputs)
    column = schema(which)[f"s{which}.{rng.choice('xfv')}"]
    output = f"c{number}"
    if name == "count":
        if rng.random() < 0.5:
            return AccumulatorCall("count", (), output, BIGINT, nullable=False), None
        distinct = rng.random() < 0.3
        call = AccumulatorCall(
            "count", (column,), output, BIGINT, distinct=distinct, nullable=False
        )
        return call, which
    if name == "avg":
        column = schema(which)[f"s{which}.f"]
    type_ = DOUBLE if name == "avg" else column.type
    return AccumulatorCall(name, (column,), output, type_), which


def a_case(rng: random.Random, n: int, shape: str) -> Case:
    """Return a random aggregation join of n inputs."""
    placed = tuple(rng.random() < 0.6 for _ in range(n))
    computed = rng.random() < 0.2
    keys = [
        schema(i)[f"s{i}.{name}"]
        for i in range(n)
        for name in "kyf"
        if rng.random() < rng.choice([0.0, 0.2, 0.6])
    ]
    rng.shuffle(keys)
    calls = [a_call(rng, c, n) for c in range(rng.randrange(1, 5))]
    folds, read = [], {f.name for f in keys} | ({"s0.x", "s1.x"} if computed else set())
    for call, which in calls:
        pushed = which is not None and placed[which] and folds_early(call)
        folds.append(PlacedCall(call, which if pushed else None))
        read |= set() if pushed else {a.name for a in call.args}
    if computed:
        keys.append(Field(MIX, BIGINT))
    residual = odd if rng.random() < 0.3 else None
    plain = a_match(rng, n, shape, residual)
    inputs = tuple(
        replace(i, output=tuple(c for c in i.schema.names if c in read)) for i in plain.inputs
    )
    op = AggregationJoin(
        replace(plain, inputs=inputs),
        placed,
        tuple(keys),
        tuple(folds),
        mixed if computed else None,
    )
    return Case(op, plain)


def a_match(rng: random.Random, n: int, shape: str, residual) -> MultiMatch:
    compares = [
        Compare(i, f"s{i}.v", rng.choice(sorted(COMPARES)), 0, "s0.v")
        for i in range(1, n)
        if shape == "compares" and rng.random() < 0.6
    ]
    reads = (lambda i: (f"s{i}.v",)) if residual else (lambda i: ())
    inputs = tuple(JoinInput(schema(i), schema(i).names, reads(i)) for i in range(n))
    return MultiMatch(inputs, equalities(rng, n, shape), (), tuple(compares), residual)


def shown(case: Case, bags: list[list[Change]]) -> Shown:
    """Return the row of each group, given the changes of each input so far."""
    groups: dict[tuple, list[tuple[Row, int]]] = {} if case.op.keys else {(): []}
    for chosen in product(*bags):
        if holds(case.plain, tuple(c[2] for c in chosen)):
            row: Row = {}
            for c in chosen:
                row |= c[2]
            a, b = row["s0.x"], row["s1.x"]
            row[MIX] = None if a is None or b is None else (a + b) % 2
            key = tuple(row[f.name] for f in case.op.keys)
            groups.setdefault(key, []).append((row, prod(c[1] for c in chosen)))
    return {
        key: tuple(folded(f.call, found) for f in case.op.folds)
        for key, found in groups.items()
        if not case.op.keys or sum(w for _, w in found)
    }


def folded(call: AccumulatorCall, found: list[tuple[Row, int]]) -> int | float | None:
    """Fold rows with their copies, some of which take others back, by definition."""
    if not call.args:
        return sum(w for _, w in found)
    net: Counter = Counter()
    for row, w in found:
        if row[call.args[0].name] is not None:
            net[row[call.args[0].name]] += w
    values = [v for v, w in net.items() for _ in range(w)]
    match call.name:
        case "count":
            return len(set(values)) if call.distinct else len(values)
        case _ if not values:
            return None
        case "sum":
            return fsum(values) if call.type == DOUBLE else sum(values)
        case "avg":
            return fsum(values) / len(values)
        case "min":
            return min(values)
        case _:
            return max(values)


def net_changes(case: Case, inputs: list[list[Change]]) -> Counter:
    """Return the net changes of what groups show at each instant: (ts, 0, row) -> +1 or -1."""
    net: Counter = Counter()
    before: Shown = {} if case.op.keys else shown(case, [[] for _ in inputs])
    for now in sorted({c[0] for found in inputs for c in found}):
        after = shown(case, [[c for c in found if c[0] <= now] for found in inputs])
        for sign, rows in ((-1, before), (1, after)):
            for key, values in rows.items():
                net[now, 0, key + values] += sign
        before = after
    return Counter({k: w for k, w in net.items() if w})
