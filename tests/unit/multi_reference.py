"""Joins of many inputs by definition, trying all combinations; and random joins to try it on."""

from __future__ import annotations

import operator
import random
from collections import Counter
from collections.abc import Callable
from itertools import product
from math import prod

import numpy as np

from windrow.core.schema import Field, Schema
from windrow.core.time import FOREVER
from windrow.core.types import BIGINT, DOUBLE
from windrow.operators.delta import Delta
from windrow.operators.join.match import MultiMatch
from windrow.operators.vector import Vector
from windrow.physical.conditions import Compare, Equality, Form, JoinInput, PairBand, TimeBand

Row = dict[str, int | float | None]
Event = tuple[int, int, Row]
"""A tuple: ts, exp and columns."""
Result = tuple[int, int, tuple[int | float | None, ...]]

COMPARES: dict[str, Callable[[float, float], bool]] = {
    name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "ne")
}


def schema(i: int) -> Schema:
    """Columns k, x, y (keys, may be NULL), f (a float, may be NULL), v (a number), t (the time)."""
    keys = tuple(Field(f"s{i}.{n}", BIGINT) for n in "kxy")
    rest = (Field(f"s{i}.f", DOUBLE), Field(f"s{i}.v", BIGINT, nullable=False))
    return Schema((*keys, *rest, Field(f"s{i}.t", BIGINT, nullable=False)))


def odd(columns: dict[str, Vector], rows: int) -> np.ndarray:
    return sum(v.data for n, v in columns.items() if n.endswith(".v")) % 2 == 1


def a_match(rng: random.Random, n: int, shape: str, lag: int | None = 0) -> MultiMatch:
    """Return a random join of n inputs of one of the shapes."""
    reads = rng.random() < 0.3
    inputs = tuple(
        JoinInput(schema(i), (f"s{i}.t", f"s{i}.k"), (f"s{i}.v",) if reads else ())
        for i in range(n)
    )
    bands: list[PairBand] = []
    compares: list[Compare] = []
    if shape in ("bands", "any"):
        for i in range(1, n):
            if rng.random() < 0.8:
                low, high = rng.choice([(-3, 3), (0, 4), (-6, 0), (-9, 9)])
                bands.append(PairBand(*_pair(rng, i), _band(rng, i, low, high, lag)))
        bands = [PairBand(b.first, b.second, _named(b)) for b in bands]
    if shape in ("compares", "any"):
        for i in range(1, n):
            if rng.random() < 0.5:
                column, op = rng.choice("vf"), rng.choice(sorted(COMPARES))
                j = rng.randrange(i)
                compares.append(Compare(i, f"s{i}.{column}", op, j, f"s{j}.{column}"))
    return MultiMatch(
        inputs, equalities(rng, n, shape), tuple(bands), tuple(compares), odd if reads else None
    )


def _pair(rng: random.Random, i: int) -> tuple[int, int]:
    j = rng.randrange(i)
    return (i, j) if rng.random() < 0.5 else (j, i)


def _band(rng: random.Random, i: int, low: int, high: int, lag: int | None) -> TimeBand:
    return TimeBand("", "", low, high, lag, lag)


def _named(b: PairBand) -> TimeBand:
    band = b.band
    left, right = f"s{b.first}.t", f"s{b.second}.t"
    return TimeBand(left, right, band.low, band.high, band.left_lag, band.right_lag)


def equalities(rng: random.Random, n: int, shape: str) -> tuple[Equality, ...]:
    if shape == "none":
        return ()
    if shape in ("star", "bands", "compares"):
        return (Equality(tuple((f"s{i}.k",) for i in range(n))),)
    if shape == "composite":
        return (Equality(tuple((f"s{i}.k", f"s{i}.x") for i in range(n))),)
    classes = []
    for name in "kxy":
        members = [(f"s{i}.{name}",) if rng.random() < 0.6 else () for i in range(n)]
        if sum(map(bool, members)) >= 2:
            classes.append(Equality(tuple(members)))
    return tuple(classes)


def holds(match: MultiMatch, rows: tuple[Row, ...]) -> bool:
    """Tell whether rows of all inputs make a result, by definition."""
    for e in match.equalities:
        values = [tuple(rows[i][c] for c in e.columns[i]) for i in e.inputs]
        if len(set(values)) > 1 or None in values[0]:
            return False
    for b in match.bands:
        apart = rows[b.second][b.band.right] - rows[b.first][b.band.left]
        if not b.band.low <= apart <= b.band.high:
            return False
    for c in match.compares:
        mine, theirs = rows[c.first][c.column], rows[c.second][c.other]
        if mine is None or theirs is None or not COMPARES[c.op](mine, theirs):
            return False
    total = sum(row[f"s{i}.v"] for i, row in enumerate(rows))
    return match.residual is None or total % 2 == 1


def joined(match: MultiMatch, inputs: list[list[Event]]) -> Counter[Result]:
    """Return all results: each with the latest ts and the first end of its tuples."""
    found: Counter[Result] = Counter()

    def extend(chosen: list[Event]) -> None:
        ts = max((e[0] for e in chosen), default=-FOREVER)
        exp = min((e[1] for e in chosen), default=FOREVER)
        if ts >= exp:
            return
        if len(chosen) < len(inputs):
            for event in inputs[len(chosen)]:
                extend([*chosen, event])
        elif holds(match, tuple(e[2] for e in chosen)):
            found[ts, exp, output(match, chosen)] += 1

    extend([])
    return found


def output(match: MultiMatch, chosen: list[Event]) -> tuple[int | float | None, ...]:
    return tuple(e[2][n] for i, e in zip(match.inputs, chosen, strict=True) for n in i.output)


def events(rng: random.Random, i: int, count: int, form: Form, spread: int = 20) -> list[Event]:
    """Return random tuples in time order; they leave in order if the form needs it."""
    ts = sorted(rng.randrange(spread) for _ in range(count))
    width, forever = rng.choice([3, 8, 15]), rng.random() < 0.1
    made = []
    for t in ts:
        exp = t + width if form is Form.FIFO else t + rng.choice([0, 1, 4, 9, 30])
        row: Row = {f"s{i}.{n}": rng.choice([None, 0, 1, 1, 2]) for n in "kxy"}
        row |= {f"s{i}.f": rng.choice([None, -0.0, 0.0, -1.5, 2.5]), f"s{i}.v": rng.randrange(4)}
        made.append((t, FOREVER if forever else exp, row | {f"s{i}.t": t}))
    return made


def to_delta(of: Schema, found: list[Event]) -> Delta:
    columns = {}
    for field in of:
        cells = [e[2][field.name] for e in found]
        kind = np.float64 if field.type == DOUBLE else np.int64
        valid = np.array([c is not None for c in cells], np.bool_)
        data = np.array([0 if c is None else c for c in cells], kind)
        columns[field.name] = Vector(field.type, data, None if valid.all() else valid)
    ts = np.array([e[0] for e in found], np.int64)
    return Delta(ts, columns, np.array([e[1] for e in found], np.int64))


def results_of(delta: Delta) -> Counter[Result]:
    """Return the rows of a predicted delta, checking that they are in time order."""
    assert (np.diff(delta.ts) >= 0).all()
    cells = []
    for v in delta.columns.values():
        valid = np.ones(len(v), np.bool_) if v.valid is None else v.valid
        pairs = zip(v.data.tolist(), valid, strict=True)
        cells.append([value if there else None for value, there in pairs])
    rows = zip(*cells, strict=True) if cells else [()] * len(delta)
    return Counter(zip(delta.ts.tolist(), delta.exp.tolist(), rows, strict=True))


def clocks(rng: random.Random, end: int) -> list[int]:
    """Return clocks to step to, the last beyond all arrivals."""
    return [*sorted(rng.sample(range(end), rng.randrange(5))), end + 100]


def cut(found: list[Event], start: int | None, stop: int) -> list[Event]:
    """Return the tuples after `start`, up to and at `stop`."""
    return [e for e in found if (start is None or e[0] > start) and e[0] <= stop]


Change = tuple[int, int, Row]
"""A signed change: ts, weight and columns."""


def changes(rng: random.Random, i: int, count: int, *, ordered: bool) -> list[Change]:
    """Return random changes in time order; rows leave in order of arrival if asked."""
    there: list[Row] = []
    made = []
    for t in sorted(rng.randrange(12) for _ in range(count)):
        if there and rng.random() < 0.4:
            made.append((t, -1, there.pop(0 if ordered else rng.randrange(len(there)))))
        else:
            (_, _, row), copies = events(rng, i, 1, Form.FIFO, 4)[0], rng.choice([1, 1, 1, 2])
            there += [row] * copies
            made.append((t, copies, row))
    return made


def net_of_joins(match: MultiMatch, inputs: list[list[Change]]) -> Counter[Result]:
    """Return the net changes of the join at each instant: (ts, 0, row) -> copies."""
    net: Counter[Result] = Counter()
    before: Counter[Result] = Counter()
    for now in sorted({c[0] for found in inputs for c in found}):
        bags = [[(0, w, row) for t, w, row in found if t <= now] for found in inputs]
        after: Counter[Result] = Counter()
        for chosen in product(*bags):
            if holds(match, tuple(c[2] for c in chosen)):
                after[0, 0, output(match, list(chosen))] += prod(c[1] for c in chosen)
        for key in before.keys() | after.keys():
            if after[key] != before[key]:
                net[now, 0, key[2]] = after[key] - before[key]
        before = after
    return net


def to_changes(of: Schema, found: list[Change]) -> Delta:
    delta = to_delta(of, found)
    return Delta(delta.ts, delta.columns, None, delta.exp)


def net_of(delta: Delta) -> Counter[Result]:
    """Return the net changes that a signed delta tells."""
    rows = results_of(Delta(delta.ts, delta.columns, np.arange(len(delta))))
    net: Counter[Result] = Counter()
    for ts, number, row in rows:
        net[ts, 0, row] += int(delta.weights()[number])
    return net
