"""A world: what streams and relations did, as the papers see it.

THESIS 3.2.1: "assume that time is a set of natural numbers and that zero, one, or more tuples may
arrive at one clock tick". Instants are whole numbers; the instant before τ is τ - 1.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.reference.papers.description import Query, Stream, Table, sources_of
from tests.reference.papers.values import Row


@dataclass(frozen=True, slots=True)
class Arrival:
    """A tuple of a stream: when it is generated, and its values."""

    ts: int
    row: Row


@dataclass(frozen=True, slots=True)
class Change:
    """A row of a relation appears (+1) or goes (-1); without a `ts`, before every instant."""

    ts: int | None
    sign: int
    row: Row


@dataclass(frozen=True, slots=True)
class World:
    """The tuples of each stream in the order of arrival, the changes of each relation.

    `columns` has the names of both.
    """

    columns: dict[str, tuple[str, ...]]
    streams: dict[str, tuple[Arrival, ...]] = field(default_factory=dict)
    relations: dict[str, tuple[Change, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """A query's time in a world: from its first event to the last instant that is looked at.

    With `nothing` no stream has had a tuple yet, and relations have the rows they began with.
    """

    world: World
    begin: int
    end: int
    nothing: bool = False

    @property
    def instants(self) -> range:
        """All instants, in order."""
        return range(self.begin, self.end + 1)

    def refreshes(self, period: int) -> range:
        """The multiples of a SLIDE from the first event on."""
        return range(-(-self.begin // period) * period, self.end + 1, period)


def state_of(changes: tuple[Change, ...], at: int | None) -> Counter[Row]:
    """R(τ): the net of all changes at or before τ; with None, what was always there.

    THESIS 3.3.1: "a relation is an unordered multi-set of tuples with the same schema that
    supports arbitrary insertions, deletions, and updates".
    """
    bag: Counter[Row] = Counter()
    for change in changes:
        if change.ts is None or (at is not None and change.ts <= at):
            bag[change.row] += change.sign
    assert min(bag.values(), default=0) >= 0, "a row is deleted that is not there"
    return +bag


def first_event(query: Query, world: World) -> int | None:
    """When a query begins: a tuple of a stream, or a change, with a time, of a relation.

    windrow's rule [semantics.md 7]; an NRR's change alone is no event: "only the incoming stream
    tuples trigger the probing of the NRR" [THESIS 3.3.1].
    """
    times: list[int] = []
    for source in sources_of(query.body):
        match source:
            case Stream(name):
                times += [t.ts for t in world.streams.get(name, ())]
            case Table(name, retroactive=True):
                times += [c.ts for c in world.relations.get(name, ()) if c.ts is not None]
    return min(times, default=None)
