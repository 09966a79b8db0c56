"""Result tuples as individuals with lifetimes: what is produced, what expires.

THESIS 3.2.1: "let P_S(τ) be the multi-set of result tuples produced at time τ and let E_S(τ) be the
multi-set of result tuples that expire at time τ ... Q(τ + 1) = Q(τ) ∪ P_S(τ + 1) − E_S(τ + 1)".
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.reference.papers.values import Row, sort_key
from tests.reference.papers.worlds import Arrival, Run

Bags = dict[int, Counter[Row]]
"""The answer, a multi-set of rows, at each instant."""


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One result tuple: its row, its timestamp, the instants at which it is alive.

    `ts` is None where no tuple of a stream stands behind it. `end` is when the first of its
    external tuples expires, where internal windows stand beside external ones.
    """

    row: Row
    ts: int | None
    alive: frozenset[int]
    end: int | None = None


def productions(result: Result) -> list[int]:
    """The instants at which a result is produced: it is alive, and was not just before.

    THESIS 3.2.1: "the updated answer of Q is obtained from the previous answer by adding the new
    result tuples produced and subtracting expired tuples".
    """
    return sorted(at for at in result.alive if at - 1 not in result.alive)


def produced(results: Iterable[Result]) -> list[Arrival]:
    """P(τ) of all instants as a stream; inside an instant in the order of values."""
    return in_order(Arrival(at, r.row) for r in results for at in productions(r))


def in_order(arrivals: Iterable[Arrival]) -> list[Arrival]:
    """A stream of results: by time, then by values.

    THESIS 3.3.3, footnote: "If more than N results are generated at the same time, then ties are
    assumed to be broken arbitrarily". windrow breaks them by values: ascending, NULLs first.
    """
    return sorted(arrivals, key=lambda t: (t.ts, sort_key(t.row)))


def bags_of(results: Iterable[Result], run: Run) -> Bags:
    """Q(τ) at each instant: the rows of the results that are alive."""
    bags: Bags = {at: Counter() for at in run.instants}
    for result in results:
        for at in result.alive:
            bags[at][result.row] += 1
    return bags


def individuals(bags: Mapping[int, Counter[Row]], run: Run, *, timed: bool) -> list[Result]:
    """Make result tuples of answers that are known as multi-sets only.

    Of n equal copies the last inserted is the first deleted; a row that goes and comes at one
    instant has not changed. A copy's timestamp is the instant of its appearing, if `timed`. Else a
    copy that goes and comes again is the same result: a relation is "an unordered multi-set of
    tuples" [THESIS 3.3.1], whose rows are told apart by their values alone.
    """
    stacks: dict[Row, list[int]] = defaultdict(list)
    alive: dict[tuple[Row, int, int | None], list[int]] = {}
    for at in run.instants:
        bag = bags[at]
        for row in {*stacks, *bag}:
            stack = stacks[row]
            del stack[bag[row] :]
            stack += [at] * (bag[row] - len(stack))
            for copy, since in enumerate(stack):
                alive.setdefault((row, copy, since if timed else None), []).append(at)
    return [Result(row, since, frozenset(instants)) for (row, _, since), instants in alive.items()]


def net_increases(bags: Bags, run: Run, sign: int = 1) -> list[Arrival]:
    """What enters (+1) or leaves (-1) the answer, as multi-sets, net per instant.

    THESIS 2.1.3: "The Istream operator returns a stream of all those tuples which exist in a
    relation at the current time, but did not exist at the current time minus one ... Dstream
    returns a stream of tuples that existed in the given relation in the previous time unit, but not
    at the current time."
    """
    before: Counter[Row] = Counter()
    found: list[Arrival] = []
    for at in run.instants:
        now = bags[at]
        found += [
            Arrival(at, row) for row in (now - before if sign > 0 else before - now).elements()
        ]
        before = now
    return in_order(found)


def rows_in_order(rows: Sequence[Row]) -> list[Row]:
    """Rows by their values."""
    return sorted(rows, key=sort_key)
