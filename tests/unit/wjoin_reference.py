"""W-joins by definition: all combinations of rows, tried one by one; and random streams."""

from __future__ import annotations

import operator
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from windrow.core.schema import Field, Schema
from windrow.core.time import FOREVER
from windrow.core.types import BIGINT
from windrow.operators.delta import Delta
from windrow.operators.join.match import MultiMatch
from windrow.operators.task import Task
from windrow.operators.vector import Bools, Vector
from windrow.physical.conditions import Compare, Equality, JoinInput, PairBand, TimeBand

Row = tuple[int, int | None, int | None, int]
"""t, k, x, v: its time, two columns that may be NULL, and a number."""
Results = Counter[tuple[int, tuple[Row, ...]]]
COLUMNS = ("t", "k", "x", "v")
OPS = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "ne": operator.ne,
}


def schema(i: int) -> Schema:
    return Schema(tuple(Field(f"s{i}.{c}", BIGINT, nullable=c in "kx") for c in COLUMNS))


def band(first: int, second: int, low: int, high: int) -> PairBand:
    return PairBand(first, second, TimeBand(f"s{first}.t", f"s{second}.t", low, high, 0, 0))


def equality(n: int, inputs: tuple[int, ...], columns: str) -> Equality:
    return Equality(
        tuple(tuple(f"s{i}.{c}" for c in columns) if i in inputs else () for i in range(n))
    )


def even_sum(columns: dict[str, Vector], rows: int) -> Bools:
    total = sum(v.data for name, v in columns.items() if name.endswith(".v"))
    return np.asarray(total % 2 == 0)


def a_match(
    n: int,
    bands: list[PairBand],
    *,
    equalities: tuple[Equality, ...] = (),
    compares: tuple[Compare, ...] = (),
    residual: bool = False,
) -> MultiMatch:
    inputs = tuple(JoinInput(schema(i), schema(i).names) for i in range(n))
    return MultiMatch(inputs, equalities, tuple(bands), compares, even_sum if residual else None)


def some_bands(rng: random.Random, n: int, kind: str) -> list[PairBand]:
    """Draw windows: one for all, of each pair, of a tree, directed along a path, or any."""
    pairs = [(i, j) for j in range(n) for i in range(j)]
    tree = [(rng.randrange(j), j) for j in range(1, n)]
    width = rng.randint(1, 12)
    match kind:
        case "one":
            return [band(i, j, -width, width) for i, j in pairs]
        case "pairs":
            widths = [rng.randint(0, 12) for _ in pairs]
            return [band(i, j, -w, w) for (i, j), w in zip(pairs, widths, strict=True)]
        case "tree":
            widths = [rng.randint(1, 8) for _ in tree]
            return [band(i, j, -w, w) for (i, j), w in zip(tree, widths, strict=True)]
        case "path":
            path = rng.sample(range(n), n)
            return [band(a, b, 0, rng.randint(1, 9)) for a, b in pairwise(path)]
        case _:
            extra = [p for p in pairs if rng.random() < 0.3]
            lows = [rng.randint(-8, 4) for _ in tree + extra]
            ends = [low + rng.randint(0, 10) for low in lows]
            return [band(*p, low, h) for p, low, h in zip(tree + extra, lows, ends, strict=True)]


def some_match(rng: random.Random, n: int, kind: str) -> MultiMatch:
    """Draw windows, equalities, comparisons and a residual."""
    all_streams = tuple(range(n))
    part = tuple(sorted(rng.sample(all_streams, rng.randint(2, n))))
    equalities = rng.choice(
        [
            (equality(n, all_streams, "k"),),
            (equality(n, all_streams, "kx"),),
            (equality(n, part, "k"),),
            (equality(n, part, "k"), equality(n, (0, n - 1), "x")),
            (),
        ]
    )
    compares = []
    for _ in range(rng.choice([0, 0, 1, 2])):
        i, j = rng.sample(all_streams, 2)
        one, other = rng.choice("kxv"), rng.choice("kxv")
        compares.append(Compare(i, f"s{i}.{one}", rng.choice(list(OPS)), j, f"s{j}.{other}"))
    return a_match(
        n,
        some_bands(rng, n, kind),
        equalities=equalities,
        compares=tuple(compares),
        residual=rng.random() < 0.3,
    )


def some_streams(rng: random.Random, n: int, rows: int, span: int) -> list[list[Row]]:
    """Draw streams; some are silent, some come in bursts, many rows share an instant."""
    streams = []
    for _ in range(n):
        count = 0 if rng.random() < 0.03 else rng.randint(1, rows)
        low = rng.randrange(span) if rng.random() < 0.2 else 0
        wide = rng.choice([1, 3, span])
        times = sorted(min(low + rng.randrange(wide), span - 1) for _ in range(count))
        if rng.random() < 0.7:
            times = sorted(rng.randrange(span) for _ in range(count))
        streams.append(
            [
                (
                    t,
                    None if rng.random() < 0.1 else rng.randrange(2),
                    None if rng.random() < 0.1 else rng.randrange(2),
                    rng.randrange(4),
                )
                for t in times
            ]
        )
    return streams


def column(row: Row, name: str) -> int | None:
    return row[COLUMNS.index(name.partition(".")[2])]


def pair_holds(match: MultiMatch, i: int, one: Row, j: int, other: Row) -> bool:
    """Tell whether two rows meet all that is said of their streams."""
    for p in match.bands:
        if (p.first, p.second) in ((i, j), (j, i)):
            apart = other[0] - one[0] if p.first == i else one[0] - other[0]
            if not p.band.low <= apart <= p.band.high:
                return False
    for e in match.equalities:
        for a, b in zip(e.columns[i], e.columns[j], strict=False):
            if column(one, a) is None or column(one, a) != column(other, b):
                return False
    for c in match.compares:
        if (c.first, c.second) in ((i, j), (j, i)):
            a, b = (one, other) if c.first == i else (other, one)
            left, right = column(a, c.column), column(b, c.other)
            if left is None or right is None or not OPS[c.op](left, right):
                return False
    return True


def combinations_of(
    match: MultiMatch, streams: list[list[Row]], chosen: tuple[Row, ...] = ()
) -> Iterator[tuple[Row, ...]]:
    """Yield what fits together; of streams that follow there are only rows that meet the chosen."""
    i = len(chosen)
    if not streams:
        yield chosen
        return
    for one in streams[0]:
        left = [
            [other for other in rows if pair_holds(match, i, one, j, other)]
            for j, rows in enumerate(streams[1:], i + 1)
        ]
        if all(left):
            yield from combinations_of(match, left, (*chosen, one))


def truth(match: MultiMatch, streams: list[list[Row]]) -> Results:
    """Return all results with the time of their newest row."""
    found: Results = Counter()
    for rows in combinations_of(match, streams):
        if match.residual is None or sum(row[3] for row in rows) % 2 == 0:
            found[max(row[0] for row in rows), rows] += 1
    return found


def to_delta(i: int, rows: list[Row]) -> Delta:
    columns = {}
    for at, name in enumerate(COLUMNS):
        cells = [row[at] for row in rows]
        valid = np.array([c is not None for c in cells], np.bool_)
        data = np.array([0 if c is None else c for c in cells], np.int64)
        columns[f"s{i}.{name}"] = Vector(BIGINT, data, None if valid.all() else valid)
    ts = np.array([row[0] for row in rows], np.int64)
    return Delta(ts, columns, np.full(len(rows), FOREVER))


def add_results(found: Results, out: Delta, n: int) -> None:
    assert (np.diff(out.ts) >= 0).all(), "results leave in time order"
    assert out.exp is not None
    assert (out.exp == FOREVER).all(), "a result stays"
    cells = []
    for v in out.columns.values():
        valid = np.ones(len(out), np.bool_) if v.valid is None else v.valid
        cells.append([int(x) if ok else None for x, ok in zip(v.data, valid, strict=True)])
    for r, ts in enumerate(out.ts.tolist()):
        flat = [line[r] for line in cells]
        rows = tuple(tuple(flat[4 * i : 4 * i + 4]) for i in range(n))
        found[ts, rows] += 1  # type: ignore[index]


@dataclass(slots=True)
class Cuts:
    """Steps of any size: clocks, and which rows come in each; those at a clock may come later."""

    clocks: list[int]
    steps: list[list[list[Row]]]

    @classmethod
    def of(cls, rng: random.Random, streams: list[list[Row]], span: int) -> Cuts:
        count = rng.choice([1, 2, 5, 20])
        clocks = [*sorted(rng.choices(range(span), k=count - 1)), span]
        steps: list[list[list[Row]]] = [[[] for _ in streams] for _ in clocks]
        for i, rows in enumerate(streams):
            at = 0
            for row in rows:
                while clocks[at] < row[0]:
                    at += 1
                while clocks[at] == row[0] and clocks[at + 1 : at + 2] == [row[0]]:
                    if rng.random() < 0.5:
                        break
                    at += 1
                steps[at][i].append(row)
        return cls(clocks, steps)


@dataclass(slots=True)
class Run:
    """What a task told, and the most rows that it remembered after a step."""

    results: Results
    rows: int = 0


def run(make: type[Task] | object, cuts: Cuts, n: int, reload_at: int = -1) -> Run:
    """Run a task over steps; save and load it before one of them."""
    task: Task = make()  # type: ignore[operator]
    found = Run(Counter())
    for at, (clock, streams) in enumerate(zip(cuts.clocks, cuts.steps, strict=True)):
        if at == reload_at:
            saved, task = task.save(), make()  # type: ignore[operator]
            task.load(saved)
            task.check()
        out = task.step(tuple(to_delta(i, rows) for i, rows in enumerate(streams)), clock)
        assert not len(out) or out.ts[-1] <= clock, "nothing is told too early"
        add_results(found.results, out, n)
        task.check()
        found.rows = max(found.rows, task.state_rows())
    return found
