"""What a plan costs a unit of time: operators, state, negative tuples [THESIS 3.5.3].

Rates are tuples a unit of time; a cost is nanoseconds a unit of time. Every change on an edge costs
its consumer once, so a departure that travels costs as much as an arrival:

    changes on an edge   unsigned       r            insertions; ends are known
                         partly signed  r · (1 + p)  and those that end early, a share p
                         signed         r · 2        and every end

A negation's result that ends early comes again when its blocker expires: of r emitted results,
r · (1 - p) live to their end, so r grows as results are retracted more often.

The constants are measured on batches of 100,000 tuples; only their proportions matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import exp

from windrow.optimize.statistics import COMMON_KEYS, WINDOW_ROWS, Statistics
from windrow.plan.nodes import (
    AntiJoin,
    Filter,
    Join,
    Plan,
    Project,
    Scan,
    Stamped,
    Window,
    inputs_of,
)
from windrow.plan.patterns import PatternKind, pattern_of
from windrow.plan.windows import Range

ROWWISE = 5.0  # a change that passes σ or π
RING, CALENDAR = 15.0, 40.0  # an insertion and its expiration, by an expirer
WITHDRAW = 110.0  # an early end and the return after it, each hashed by an expirer
CHAIN = 30.0  # a left row of a partly signed negation: stored, linked by key, forgotten
COUNTED = 70.0  # a change of a left row of a signed negation: row and key hashed
BLOCK = 25.0  # a change of a right row of a negation
ARRIVE, ZSET, PAIR = 40.0, 60.0, 20.0  # a change that meets a hash join or a Z-set join; a result

MOST = 0.99
"""Results that end early, at most: some must live on for the rate to be finite."""


class EdgeKind(Enum):
    """The kinds of edge of `operators/delta.py`."""

    UNSIGNED = "unsigned"
    PARTLY_SIGNED = "partly signed"
    SIGNED = "signed"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A plan's edge and its cost so far.

    `rate` of insertions, the share of these that end early, and how long one lives.
    """

    rate: float
    life: float
    cost: float
    edge_kind: EdgeKind = EdgeKind.UNSIGNED
    early: float = 0.0
    in_order: bool = True

    @property
    def changes(self) -> float:
        """Changes that travel, a unit of time."""
        share = {EdgeKind.UNSIGNED: 0.0, EdgeKind.PARTLY_SIGNED: self.early, EdgeKind.SIGNED: 1.0}
        return self.rate * (1 + share[self.edge_kind])

    def signed(self) -> Estimate:
        """Return the edge behind an expirer."""
        if self.edge_kind is EdgeKind.SIGNED:
            return self
        more = self.rate * (RING if self.in_order else CALENDAR)
        if self.edge_kind is EdgeKind.PARTLY_SIGNED:
            more = self.rate * ((1 - self.early) * CALENDAR + self.early * WITHDRAW)
        return Estimate(self.rate, self.life, self.cost + more, EdgeKind.SIGNED, self.early)


@dataclass(frozen=True, slots=True)
class Model:
    """Estimates plans by statistics; `scale` is the width that unknown rates refer to."""

    statistics: Statistics
    scale: float

    def total(self, plan: Plan) -> float:
        """Return the cost of a plan whose answer is a signed edge."""
        return self.estimate(plan).signed().cost

    def estimate(self, plan: Plan) -> Estimate:
        """Return the estimate of a plan's output edge."""
        match plan:
            case Window(spec=spec):
                life = float(spec.width) if isinstance(spec, Range) else self.scale
                kind = pattern_of(plan).kind
                edge_kind = EdgeKind.SIGNED if kind is PatternKind.STR else EdgeKind.UNSIGNED
                return Estimate(sum(map(self.rate, scans_of(plan))), life, 0.0, edge_kind)
            case Filter(source=source) | Project(source=source) | Stamped(source=source):
                below = self.estimate(source)
                cost = below.cost + ROWWISE * below.changes
                return Estimate(below.rate, below.life, cost, below.edge_kind, below.early)
            case Join(left=left, right=right):
                return self._join(self.estimate(left), self.estimate(right))
            case AntiJoin():
                return min(self.negations(plan), key=lambda e: e.signed().cost)
            case _:
                return self._other(plan)

    def rate(self, scan: Scan) -> float:
        """Return the rate of a stream."""
        return self.statistics.rates.get(scan.stream.name, WINDOW_ROWS / self.scale)

    def _join(self, left: Estimate, right: Estimate) -> Estimate:
        pairs = left.rate * right.rate * (left.life + right.life) / self.statistics.keys
        life = left.life * right.life / (left.life + right.life)
        if left.edge_kind is right.edge_kind is EdgeKind.UNSIGNED:
            cost = left.cost + right.cost + ARRIVE * (left.rate + right.rate) + PAIR * pairs
            return Estimate(pairs, life, cost, in_order=False)
        left, right = left.signed(), right.signed()
        cost = left.cost + right.cost + ZSET * (left.changes + right.changes) + 2 * PAIR * pairs
        return Estimate(pairs, life, cost, EdgeKind.SIGNED, max(left.early, right.early))

    def negations(self, plan: AntiJoin) -> tuple[Estimate, ...]:
        """Return the estimates of a negation's forms: signed, and partly signed where it can be."""
        left, right = self.estimate(plan.left), self.estimate(plan.right).signed()
        met = self._met(plan, right.rate)
        early = self.statistics.premature
        early = met * left.life / (1 + met * left.life) if early is None else early
        early = min(early, MOST)
        rate = left.rate * exp(-met * right.life) / (1 - early)
        below = right.cost + BLOCK * right.changes
        ended = left.signed()
        cost = below + ended.cost + COUNTED * ended.changes
        signed = Estimate(rate, left.life, cost, EdgeKind.SIGNED, early)
        if left.edge_kind is not EdgeKind.UNSIGNED:
            return (signed,)
        cost = below + left.cost + CHAIN * left.rate
        return signed, Estimate(rate, left.life, cost, EdgeKind.PARTLY_SIGNED, early)

    def _met(self, plan: AntiJoin, rate: float) -> float:
        """Return how many right tuples a unit of time have the key of a given left tuple."""
        if not plan.on.left_keys:
            return rate
        names = {s.stream.name for s in scans_of(plan.left)}
        shared = any(s.stream.name in names for s in scans_of(plan.right))
        return rate * (1.0 if shared else COMMON_KEYS) / self.statistics.keys

    def _other(self, plan: Plan) -> Estimate:
        """Any other node: as many results as its largest input has, all changes looked at."""
        below = [self.estimate(p) for p in inputs_of(plan)]
        if not below:
            return Estimate(WINDOW_ROWS / self.scale, self.scale, 0.0)
        cost = sum(e.signed().cost + COUNTED * e.signed().changes for e in below)
        largest = max(below, key=lambda e: e.rate)
        return Estimate(largest.rate, largest.life, cost, EdgeKind.SIGNED, largest.early)


def model_of(plan: Plan, statistics: Statistics) -> Model:
    """Return the model for a plan: unknown rates are relative to its widest window."""
    specs = [node.spec for node in _nodes(plan) if isinstance(node, Window)]
    widths = [float(spec.width) for spec in specs if isinstance(spec, Range)]
    return Model(statistics, max(widths, default=0.0) or WINDOW_ROWS)


def scans_of(plan: Plan) -> list[Scan]:
    """Return the streams that a plan reads."""
    return [n for n in _nodes(plan) if isinstance(n, Scan)]


def _nodes(plan: Plan) -> list[Plan]:
    return [plan, *(node for below in inputs_of(plan) for node in _nodes(below))]
