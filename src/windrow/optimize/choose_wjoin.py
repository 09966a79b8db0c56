"""Which W-join: nested, hashed or merged loops [WJOIN 4.3].

What is counted is rows looked at a unit of time. An arrival of stream i has λ_j · w_ij rows of
stream j within its window. Of those that are looked at, a share meets the predicate and goes on:

    nested   loops in the order of FROM, over all of them
    hash     over those of the key: the share, where the predicate is an equality
    merge    nothing if some stream has no row; else loops that begin with the fewest

A stream's rows come evenly, or swing between a low and a high rate; merge goes by what is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, prod

NESTED, HASH, MERGE = "nested_w", "hash_w", "merge_w"
ALIKE = 1.1
"""Costs within this factor are alike: merged loops are taken, which take no longer a row."""


@dataclass(frozen=True, slots=True)
class WJoinFacts:
    """What is known of a W-join.

    `rates`: tuples a unit of time of each stream. `windows[i][j]`: how long a row of stream j is
    within the window of a later one of stream i, in the same unit; shortest paths where none is
    given. `equi`: an equality ties all streams. `share`: of pairs of rows that meet the
    predicate. `swings`: of each stream the highest rate over the lowest; 1 if it is even.
    """

    rates: tuple[float, ...]
    windows: tuple[tuple[float, ...], ...]
    equi: bool
    share: float
    swings: tuple[float, ...]

    def __post_init__(self) -> None:
        n = len(self.rates)
        assert n == len(self.windows) == len(self.swings), "one of each for each stream"
        assert all(len(row) == n for row in self.windows), "a window for each pair"
        assert 0 < self.share <= 1, "a share is in (0, 1]"
        assert min(self.rates) > 0, "a stream has tuples"
        assert min(self.swings) >= 1, "the highest rate is not below the lowest"

    def rows(self, i: int, j: int) -> float:
        """Return the rows of stream j in the window of an arrival of stream i."""
        return self.rates[j] * self.windows[i][j]

    def quiet_rows(self, i: int, j: int) -> float:
        """Return `rows` while stream j is at its lowest rate; it is at the highest as often."""
        return self.rows(i, j) * 2 / (1 + self.swings[j])


@dataclass(frozen=True, slots=True)
class WJoinChoice:
    """An algorithm, the reason in words, and what each costs: rows looked at a unit of time."""

    name: str
    why: str
    costs: dict[str, float]


def choose_wjoin(facts: WJoinFacts) -> WJoinChoice:
    """Return the cheapest algorithm that can do the join; of those alike, merged loops.

    >>> even = ((1.0,) * 3,) * 3
    >>> choose_wjoin(WJoinFacts((100.0,) * 3, even, True, 0.01, (1.0,) * 3)).name
    'hash_w'
    >>> choose_wjoin(WJoinFacts((100.0, 100.0, 0.5), even, False, 0.5, (1.0,) * 3)).name
    'merge_w'
    >>> choose_wjoin(WJoinFacts((100.0,) * 3, even, False, 0.5, (1.0,) * 3)).name
    'merge_w'
    """
    costs = {NESTED: nested_cost(facts), MERGE: merge_cost(facts)}
    if facts.equi:
        costs[HASH] = hash_cost(facts)
    least = min(costs.values())
    name = next(n for n in (MERGE, HASH, NESTED) if n in costs and costs[n] <= least * ALIKE)
    return WJoinChoice(name, _reason(facts, name, costs), costs)


def nested_cost(facts: WJoinFacts) -> float:
    """Return the rows that nested loops look at, in the order of FROM."""
    return _all_arrivals(facts, lambda i: _loops(_others(facts, i), facts.share))


def hash_cost(facts: WJoinFacts) -> float:
    """Return the rows that hashed loops look at, and a probe for each loop."""
    return _all_arrivals(
        facts, lambda i: _loops(_others(facts, i), facts.share, hashed=True) + len(facts.rates) - 1
    )


def merge_cost(facts: WJoinFacts) -> float:
    """Return the rows that merged loops look at, and a look at the stretch of each stream."""
    return _all_arrivals(facts, lambda i: _merged(facts, i) + len(facts.rates) - 1)


def _others(facts: WJoinFacts, i: int) -> list[float]:
    return [facts.rows(i, j) for j in range(len(facts.rates)) if j != i]


def _merged(facts: WJoinFacts, i: int) -> float:
    others = [j for j in range(len(facts.rates)) if j != i]
    quiet = {j: facts.quiet_rows(i, j) for j in others}
    present = prod(1 - (exp(-quiet[j]) + exp(-facts.rows(i, j))) / 2 for j in others)
    ordered = sorted(others, key=quiet.__getitem__)
    busy = _loops(sorted(_others(facts, i)), facts.share)
    calm = _loops([quiet[ordered[0]], *(facts.rows(i, j) for j in ordered[1:])], facts.share)
    return present * (busy + calm) / 2


def _all_arrivals(facts: WJoinFacts, cost: Callable[[int], float]) -> float:
    return sum(rate * cost(i) for i, rate in enumerate(facts.rates))


def _loops(sizes: list[float], share: float, *, hashed: bool = False) -> float:
    """Return the rows that loops of these sizes look at for one arrival."""
    reach, cost = 1.0, 0.0
    for size in sizes:
        cost += reach * size * (share if hashed else 1)
        reach *= size * share
    return cost


def _reason(facts: WJoinFacts, name: str, costs: dict[str, float]) -> str:
    total = sum(facts.rates) or 1.0
    looks = ", ".join(f"{n} {cost / total:,.3g}" for n, cost in sorted(costs.items()))
    tie = "an equality ties all streams" if facts.equi else "no equality ties all streams"
    reasons = {
        HASH: tie,
        MERGE: f"{tie}, and merged loops begin with the fewest rows",
        NESTED: f"{tie}, and windows hold next to nothing",
    }
    return f"{reasons[name]}; rows looked at for a tuple: {looks}"
