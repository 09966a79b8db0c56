"""Ways to join windows on one attribute: what the papers' algorithms are as windrow's operators.

    when     new tuples are joined                 windows have       what is emitted
    EAGER    each at its own time                  what is alive      all results
    LOSSY    every interval, equal keys together   what is alive      results alive then
    RESTORE  the same                              and what has died  all; times are looked at last
    LATE     every interval, each by itself        the same           all; in every loop

LOSSY and RESTORE are the thesis' Algorithms 4 and 5, LATE is MULTI's lazy join [MULTI 3.3]. New
tuples of an interval come at its end; what dies in it is kept until then where it may be needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations, pairwise
from typing import Protocol

import numpy as np

from windrow.core.schema import Field, Schema
from windrow.core.types import BIGINT
from windrow.operators.delta import Delta
from windrow.operators.join.fifo import FifoJoin
from windrow.operators.join.hash import HashJoin
from windrow.operators.join.match import Match, MultiMatch, Order, Residual, Side
from windrow.operators.join.multi.program import compile_orders
from windrow.operators.join.multi.task import MultiJoin
from windrow.operators.vector import I64, Bools, Vector
from windrow.optimize.join_costs import Streams
from windrow.physical.conditions import Equality, Form, JoinInput, Method, PairBand, TimeBand
from windrow_lab.experiments.orders.streams import ticks_a_unit, width


class When(Enum):
    """When new tuples are joined, and with what."""

    EAGER = "eager"
    LOSSY = "lossy"
    RESTORE = "restore"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Algorithm:
    """How windows are joined; intervals in units of time.

    `method` None is a tree of binary hash joins. `buckets` are those of each stream's hash table;
    none: one for each value, which is windrow's own. `expire_every` is the interval of expiry, at
    least a tick; of windrow's own, 0 is what it likes best.
    """

    method: Method | None
    when: When = When.EAGER
    interval: int = 0
    buckets: tuple[int, ...] = ()
    expire_every: int = 0

    def __post_init__(self) -> None:
        assert (self.when is When.EAGER) == (self.interval == 0), "lazy is every interval"
        assert not self.buckets or self.method is Method.HASH, "only hash tables have buckets"

    def orders(self, order: Order) -> tuple[Order, ...]:
        """Return the loops' orders for each origin, of a global order [MULTI table 4]."""
        if self.method in (None, Method.NAIVE):
            return (order,) * len(order)
        return tuple((i, *(j for j in order if j != i)) for i in range(len(order)))


class Join(Protocol):
    """A join of all windows at work."""

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Take new tuples up to a clock; return the results."""

    def compared(self) -> int:
        """Return how many rows were looked at so far, those of outermost loops left out."""

    def state_rows(self) -> int:
        """Return how many rows are stored."""


@dataclass(frozen=True, slots=True)
class AtOnce:
    """A multi-way join."""

    task: MultiJoin

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """See `Join`."""
        return self.task.step(inputs, clock)

    def compared(self) -> int:
        """See `Join`."""
        return int(self.task.statistics().looked[:, 1:].sum())

    def state_rows(self) -> int:
        """See `Join`."""
        return self.task.state_rows()


@dataclass(frozen=True, slots=True)
class Tree:
    """Binary hash joins, each with the next window of an order: as windrow lowers a tree."""

    order: Order
    tasks: tuple[FifoJoin | HashJoin, ...]

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """See `Join`."""
        left = inputs[self.order[0]]
        for task, i in zip(self.tasks, self.order[1:], strict=True):
            left = task.step((left, inputs[i]), clock)
        return left

    def compared(self) -> int:
        """See `Join`."""
        return sum(task.counters.comparisons for task in self.tasks)

    def state_rows(self) -> int:
        """See `Join`."""
        return sum(task.state_rows() for task in self.tasks)


def join_of(streams: Streams, algorithm: Algorithm, orders: tuple[Order, ...]) -> Join:
    """Return a join that has seen nothing yet."""
    if algorithm.method is None:
        return _tree(streams, algorithm, orders[0])
    own = algorithm.method is Method.HASH and not algorithm.buckets
    every = max(0 if own else 1, algorithm.expire_every * ticks_a_unit(streams))
    task = MultiJoin(
        _match(streams, algorithm),
        (Form.FIFO,) * len(streams),
        orders,
        algorithm.method,
        expire_every=every or None,
    )
    if algorithm.buckets:
        sizes = np.array([0, *sorted(set(algorithm.buckets))])
        led = np.equal.outer(algorithm.buckets, sizes).astype(np.int64)
        task.loops.program = compile_orders(task.layout, orders, algorithm.method, led)
    return AtOnce(task)


def arrivals(streams: Streams, algorithm: Algorithm, i: int, t: I64, k: I64) -> Delta:
    """Return new tuples of a stream as the algorithm takes them."""
    late = algorithm.interval * ticks_a_unit(streams)
    ts = -(-t // late) * late if late else t
    longer = late - 1 if algorithm.when in (When.RESTORE, When.LATE) else 0
    columns = {f"t{i + 1}": t, f"k{i + 1}": k}
    columns |= {_bucket(i, size): k % size for size in sorted(set(algorithm.buckets))}
    vectors = {name: Vector(BIGINT, np.array(c)) for name, c in columns.items()}
    return Delta(np.array(ts), vectors, t + width(streams, i) + longer)


def _bucket(i: int, size: int) -> str:
    return f"b{size}_{i + 1}"


def _schema(i: int, sizes: Sequence[int] = ()) -> Schema:
    names = (f"t{i + 1}", f"k{i + 1}", *(_bucket(i, size) for size in sizes))
    return Schema(tuple(Field(name, BIGINT, nullable=False) for name in names))


def _match(streams: Streams, algorithm: Algorithm) -> MultiMatch:
    """Return the join on k; of hash tables, an equality for each number of buckets besides.

    k stands first: of the rows of a bucket, it is compared before anything else.
    """
    every, sizes = range(len(streams)), sorted(set(algorithm.buckets))
    return MultiMatch(
        tuple(JoinInput(_schema(i, sizes), (f"t{i + 1}",)) for i in every),
        (
            Equality(tuple((f"k{i + 1}",) for i in every)),
            *(Equality(tuple((_bucket(i, size),) for i in every)) for size in sizes),
        ),
        bands=_bands(streams) if algorithm.when is When.LATE else (),
        residual=_together(streams) if algorithm.when is When.RESTORE else None,
    )


def _bands(streams: Streams) -> tuple[PairBand, ...]:
    """Each of two tuples is alive when the other comes."""
    return tuple(
        PairBand(
            i,
            j,
            TimeBand(f"t{i + 1}", f"t{j + 1}", 1 - width(streams, j), width(streams, i) - 1),
        )
        for i, j in combinations(range(len(streams)), 2)
    )


def _together(streams: Streams) -> Residual:
    """Return the test that the newest tuple came before the first one ended."""
    widths = {f"t{i + 1}": width(streams, i) for i in range(len(streams))}

    def were_alive(columns: dict[str, Vector], rows: int) -> Bools:
        del rows
        times = {name: columns[name].data for name in widths}
        newest = np.maximum.reduce(list(times.values()))
        ends = np.minimum.reduce([times[name] + wide for name, wide in widths.items()])
        found: Bools = newest < ends
        return found

    return were_alive


def _tree(streams: Streams, algorithm: Algorithm, order: Order) -> Tree:
    """Return the tree as it is lowered: rings for windows, a calendar for results between."""
    assert algorithm.when in (When.EAGER, When.LOSSY), "trees do not restore"
    tasks: list[FifoJoin | HashJoin] = []
    left = _schema(order[0])
    for outer, i in pairwise(order):
        right = _schema(i)
        key = f"k{order[0] + 1}"
        match = Match(Side(left, (key,), left.names), Side(right, (f"k{i + 1}",), (f"t{i + 1}",)))
        first = outer == order[0]
        tasks.append(FifoJoin(match) if first else HashJoin(match, Form.CALENDAR, Form.FIFO))
        left = match.output
    return Tree(order, tuple(tasks))
