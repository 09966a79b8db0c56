"""The join graph of a query before it runs: from its plan and what is known of its streams."""

from __future__ import annotations

from dataclasses import replace

from windrow.optimize.choose_partials import declared_statistics
from windrow.optimize.cost import Model, model_of, scans_of
from windrow.optimize.flatten_joins import Between, Compared, FlatJoin
from windrow.optimize.join_graph import GraphInput, JoinGraph, Share
from windrow.optimize.statistics import Statistics
from windrow.plan.nodes import Filter, Join, Plan, Project, Scan, Table, Versions, Window, nodes_of
from windrow.plan.windows import Range, Rows

HALF = 0.5
"""The share of pairs for which one value is less than the other, if nothing else is known."""


def estimated(
    plan: Join, flat: FlatJoin, statistics: Statistics, *, indexed: bool = True
) -> JoinGraph:
    """Return the graph of a tree of joins: sizes by rates and windows, values as they are known.

    What was measured counts before what streams declare to expect.
    """
    declared = _declared(plan)
    rates = {n: s.rates[n] for n, s in declared.items()} | dict(statistics.rates)
    reaches = reaches_of(flat)
    model = _model(plan, replace(statistics, rates=rates), reaches)
    lives = [_life(model, p, reaches[i]) for i, p in enumerate(flat.inputs)]
    inputs = []
    for i, below in enumerate(flat.inputs):
        rate = model.estimate(below).rate
        size = max(1.0, _rows(below) or rate * lives[i])
        expected = None if statistics.rates else declared.get(_stream_of(below))
        keys = (expected or statistics).keys  # of all time: a small window has few of them
        values = tuple(keys if c.members[i] else 0.0 for c in flat.classes)
        inputs.append(GraphInput(rate, size, values))
    return JoinGraph(tuple(inputs), shares_of(flat, lives), indexed)


def _model(plan: Plan, statistics: Statistics, reaches: list[int | None]) -> Model:
    """Return the model; unknown rates refer to the widest window, of a stream or of a pair."""
    model = model_of(plan, statistics)
    if any(isinstance(n, Window) and isinstance(n.spec, Range) for n in nodes_of(plan)):
        return model
    return Model(statistics, float(max((r for r in reaches if r), default=0)) or model.scale)


def _declared(plan: Plan) -> dict[str, Statistics]:
    """Return what the streams below a node declare to expect, by their names."""
    found = {s.stream.name: declared_statistics(s.stream) for s in scans_of(plan)}
    return {name: known for name, known in found.items() if known is not None}


def streams_of(flat: FlatJoin) -> tuple[str, ...]:
    """Return the first stream that each input reads; "" for none."""
    return tuple(map(_stream_of, flat.inputs))


def _stream_of(plan: Plan) -> str:
    return next((s.stream.name for s in scans_of(plan)), "")


def _life(model: Model, plan: Plan, reach: int | None) -> float:
    """Return how long a row is of use: while its window holds it and partners may come."""
    life = model.estimate(plan).life
    return life if reach is None else min(life, float(reach))


def _rows(plan: Plan) -> float | None:
    """Return how many rows a count window holds; None for other inputs."""
    for node in nodes_of(plan):
        if isinstance(node, Window):
            return float(node.spec.count) if isinstance(node.spec, Rows) else None
    return None


def counts_tuples(plan: Plan) -> bool:
    """Return whether an input is a count window: its rows expire in order of arrival."""
    while isinstance(plan, Filter | Project):
        plan = plan.source
    return isinstance(plan, Window) and isinstance(plan.spec, Rows)


def shares_of(flat: FlatJoin, lives: list[float]) -> tuple[Share, ...]:
    """Return what bands and comparisons let through, for rows that live that long."""
    bands = [
        Share(b.first, b.second, _within(b, lives[b.first] + lives[b.second])) for b in flat.bands
    ]
    parting = (c for c in flat.compares if c.op != "ne" and not _of_versions(flat, c))
    return (*bands, *(Share(c.first, c.second, HALF) for c in parting))


def _of_versions(flat: FlatJoin, compared: Compared) -> bool:
    """Return whether tuples are compared with versions: nearly all meet the newest."""
    return any(isinstance(flat.inputs[i], Versions) for i in (compared.first, compared.second))


def _within(between: Between, spread: float) -> float:
    width = float(between.band.high - between.band.low + 1)
    return min(1.0, width / spread) if spread > 0 else 1.0


def reaches_of(flat: FlatJoin) -> list[int | None]:
    """Return how much later than a row of each input the latest partner may be; None: any."""
    paths = paths_of(flat)
    return [None if None in row else max(0, *(d for d in row if d is not None)) for row in paths]


def paths_of(flat: FlatJoin) -> list[list[int | None]]:
    """Return by how much a row of one input may at most be later than one of another; None: any.

    ``paths[i][j]`` is that of j after i, along the shortest path of bands [WJOIN 5.2].
    """
    n = len(flat.inputs)
    far: list[list[int | None]] = [[0 if i == j else None for j in range(n)] for i in range(n)]
    for b in flat.bands:
        _shorten(far, b.first, b.second, b.band.high)
        _shorten(far, b.second, b.first, -b.band.low)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                first, second = far[i][k], far[k][j]
                if first is not None and second is not None:
                    _shorten(far, i, j, first + second)
    return far


def _shorten(far: list[list[int | None]], i: int, j: int, most: int) -> None:
    known = far[i][j]
    far[i][j] = most if known is None else min(known, most)


def name_of(plan: Plan) -> str:
    """Return what an input is called: the first stream or relation that it reads.

    >>> from windrow.optimize.showing import bound
    >>> name_of(bound("SELECT * FROM bids AS b [RANGE 1 MINUTE]").root)
    'b'
    """
    reads = (node.alias for node in nodes_of(plan) if isinstance(node, Scan | Table))
    return next(reads, "input")
