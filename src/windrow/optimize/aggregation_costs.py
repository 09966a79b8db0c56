"""The paper's unit-time costs of an aggregation join [AGGJOIN 6.3, 7.1.1, appendix B].

What its prototype does for each tuple that comes and, by the factor 2, for one that goes:

    C = Σ_k 2 λ_k [ U  +  finding matches  +  matches · α/B_g · U_g  +  α_k/B_k · U_g ]
                  window  probes of others    groups of the answer      if early on k

               of a window          of an aggregation set
    size       w_i                  α_i = min(w_i, g_i/σ_i)       (14, 15)
    matches    m_i = σ_i w_i        n_i = min(w_i σ_i, g_i)       (16-19)
    buckets    B_i = min(1/σ_i, B)  the same                      (20, 21)

`cost` is (1)-(4) filled in by (5)-(8) for nested loops and (9)-(12) for hash joins; beyond two
streams, matches multiply and each is looked for in the next stream, in the order of FROM.
(6) is printed with B_g and B_2 in each other's places: (2) and (10) say how it is meant.

windrow's operators do other things, and the choice between plans goes by `early_costs.py`. These
formulas are what experiments hold the paper to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from windrow.optimize.early_grouping import Placement


@dataclass(frozen=True, slots=True)
class AggregationStream:
    """A stream: λ tuples a unit of time, w in its window, g groups, and its selectivity σ."""

    rate: float
    window: float
    groups: float
    selectivity: float

    def __post_init__(self) -> None:
        assert min(self.rate, self.window, self.groups) > 0, "rate, window and groups are counts"
        assert 0 < self.selectivity <= 1, "a selectivity is in (0, 1]"

    @property
    def set_size(self) -> float:
        """α_i (14, 15): an entry for each group and join value, of those that are in the window."""
        return min(self.window, self.groups / self.selectivity)

    @property
    def matches(self) -> float:
        """m_i (16, 17): tuples of the window with one join value."""
        return self.selectivity * self.window

    @property
    def set_matches(self) -> float:
        """n_i (18, 19): entries of the aggregation set with one join value."""
        return min(self.window * self.selectivity, self.groups)

    def buckets(self, most: float) -> float:
        """B_i (20, 21): one for each join value, if there may be so many."""
        return min(1 / self.selectivity, most)


Streams = Sequence[AggregationStream]


@dataclass(frozen=True, slots=True)
class Tuning:
    """P, U and U_g: what it costs to probe a tuple, update a window, find and update a group.

    `most` is B, the most buckets that a hash table may have.
    """

    probe: float = 1.0
    update: float = 1.0
    group: float = 1.0
    most: float = 1021.0


def answer_size(streams: Streams) -> float:
    """α (13): the groups of the answer, all combinations of those in the windows."""
    return prod(min(s.window, s.groups) for s in streams)


def group_buckets(streams: Streams, most: float) -> float:
    """B_g (22): the answer is hashed by the grouping attribute of the first stream."""
    return min(streams[0].groups, most)


def work(
    streams: Streams, placement: Placement, *, hashed: bool, most: float = 1021.0
) -> dict[str, float]:
    """Return how often a placement probes, updates windows and updates groups a unit of time."""
    each = answer_size(streams) / group_buckets(streams, most)
    done = {"probe": 0.0, "update": 0.0, "group": 0.0}
    for k, stream in enumerate(streams):
        found, hits = _finding(streams, placement, k, most if hashed else None)
        own = stream.set_size / stream.buckets(most) if placement[k] else 0.0
        done["probe"] += 2 * stream.rate * found
        done["update"] += 2 * stream.rate
        done["group"] += 2 * stream.rate * (hits * each + own)
    return done


def cost(streams: Streams, placement: Placement, tuning: Tuning, *, hashed: bool) -> float:
    """Return the unit-time cost of a placement: (5)-(8), or hashed (9)-(12).

    >>> default = [AggregationStream(300, 5000, 150, 0.1), AggregationStream(300, 5000, 1, 0.1)]
    >>> cost(default, (False, False), Tuning(), hashed=True)
    1201200.0
    >>> cost(default, (True, True), Tuning(), hashed=True)
    273000.0
    """
    done = work(streams, placement, hashed=hashed, most=tuning.most)
    return sum(float(getattr(tuning, name)) * count for name, count in done.items())


def _finding(
    streams: Streams, placement: Placement, origin: int, most: float | None
) -> tuple[float, float]:
    """Return what a tuple of a stream probes in the others, and the combinations it matches.

    `most`: how many buckets a hash table may have; None: there is none.
    """
    looked, hits = 0.0, 1.0
    for j, (stream, early) in enumerate(zip(streams, placement, strict=True)):
        if j != origin:
            size = stream.set_size if early else stream.window
            looked += hits * (size if most is None else size / stream.buckets(most))
            hits *= stream.set_matches if early else stream.matches
    return looked, hits


def placements(count: int) -> list[Placement]:
    """Return the 2^m placements, none first.

    >>> placements(2)
    [(False, False), (False, True), (True, False), (True, True)]
    """
    return list(product((False, True), repeat=count))


def name_of(placement: Placement) -> str:
    """Return a plan as the paper names it.

    >>> name_of((False, False)), name_of((True, False))
    ('LAP', 'EAP10')
    """
    digits = "".join("1" if early else "0" for early in placement)
    return f"EAP{digits}" if any(placement) else "LAP"


def placement_of(name: str, count: int) -> Placement:
    """Return the placement of a name.

    >>> placement_of("EAP01", 2)
    (False, True)
    """
    digits = name.removeprefix("EAP") if name != "LAP" else "0" * count
    return tuple(d == "1" for d in digits)
