"""Ports: where rows enter a level, and how queries share them.

Queries that read the same input, brought together by the same key, share a port: its rows cross
once, with the columns that any of them reads. The times of tuples cross as `_ts`, so a stream's
time column never does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.core.schema import Field, Schema
from windrow.core.types import BOOLEAN
from windrow.operators.levels import levels_of
from windrow.physical.plan import PhysicalPlan
from windrow.physical.sources import Crossing, Partials, SourceScan
from windrow.plan.catalog import Relation, Stream
from windrow.plan.expressions import Call, Column, Expr, plain
from windrow.plan.nodes import Query, Route, Window, nodes_of
from windrow.plan.windows import PartitionRows, Rows

WEIGHT, EXPIRY, TIME, SIGN = "_weight", "_exp", "_ts", "_sign"
FIRST, TUPLES = "_first", "_tuples"


@dataclass(frozen=True, slots=True)
class Merged:
    """What the rows of a port are made of: tuples of port `of`, merged by pane and group.

    `source` says which of those tuples, and what each contributes; `partials` how these merge.
    """

    of: int
    source: SourceScan
    partials: Partials


@dataclass(frozen=True, slots=True)
class Port:
    """Where rows enter a level. Of level 0 from a declared input, else from the level below.

    `keys` are over the entry's declared columns, or over `schema` on a higher level. `carries`
    are int64 columns that go with the rows. `predicate` holds for all rows that anybody uses.
    `ordered`: among rows of one time, order matters (count windows). `merges`: its rows are merged
    rows of another port; they carry the first of their times, and how many tuples they are.
    `upserts`: a row replaces the one of its key.
    """

    number: int
    level: int
    route: Route
    keys: tuple[Expr, ...]
    schema: Schema
    entry: Stream | Relation | None = None
    predicate: Expr | None = None
    carries: tuple[str, ...] = ()
    ordered: bool = False
    merges: Merged | None = None
    upserts: bool = False


class Ports:
    """Ports made so far: level 0 by what they carry, then one for each exchange."""

    def __init__(self) -> None:
        self.made: list[Port] = []
        self._known: dict[tuple[str, Route, tuple[Expr, ...]], int] = {}

    def enter(self, query: Query, plan: PhysicalPlan) -> dict[int, int]:
        """Tie each source of a plan to a port of level 0."""
        ordered = counts_rows(query)
        found = {}
        for stage, source in plan.sources.items():
            crossing = plan.entries.get(stage, Crossing(Route.ALL))
            found[stage] = self._entered(source, crossing, ordered=ordered)
        return found

    def _entered(self, source: SourceScan, crossing: Crossing, *, ordered: bool) -> int:
        entry = source.entry
        keys = tuple(plain(k) for k in crossing.keys)
        carries = (WEIGHT,) if isinstance(entry, Relation) else ()
        reads, upserts = source.reads, False
        if isinstance(entry, Relation) and _replaces(entry, crossing.route, keys):
            reads, upserts = reads | {*entry.key}, True
        number = self._known.setdefault((entry.name, crossing.route, keys), len(self.made))
        schema = _crossing(entry, reads)
        predicate = source.predicate if isinstance(entry, Stream) else None
        head = (number, 0, crossing.route, keys, schema, entry, predicate, carries)
        port = Port(*head, ordered or upserts, upserts=upserts)
        if number == len(self.made):
            self.made.append(port)
        else:
            self.made[number] = _shared(self.made[number], port)
        return number

    def merge(self, plan: PhysicalPlan, sources: dict[int, int]) -> dict[int, int]:
        """Give each input whose rows may be merged a port beside that of its tuples."""
        found = {}
        for stage, partials in plan.partials.items():
            raw, source = self.made[sources[stage]], plan.sources[stage]
            found[stage] = len(self.made)
            merged = Merged(raw.number, source, partials)
            self.made.append(
                Port(
                    len(self.made),
                    0,
                    raw.route,
                    (),
                    source.schema,
                    raw.entry,
                    carries=(FIRST, TUPLES),
                    merges=merged,
                )
            )
        return found

    def cross(self, query: Query, plan: PhysicalPlan) -> dict[int, int]:
        """Give each exchange of a plan a port of its own."""
        levels, found = levels_of(plan), {}
        for stage, crossing in plan.exchanges.items():
            made = plan.nodes[stage]
            carries = (EXPIRY,) * crossing.ends + (WEIGHT,) * crossing.weighs
            found[stage] = len(self.made)
            schema = Schema(tuple(Field(f.name, f.type, f.nullable) for f in made.schema))
            self.made.append(
                Port(
                    len(self.made),
                    levels[stage],
                    crossing.route,
                    crossing.keys,
                    schema,
                    carries=carries,
                    ordered=counts_rows(query),
                )
            )
        return found


def counts_rows(query: Query) -> bool:
    """Return whether a query has a count window: the order of rows of one time then matters."""
    return any(
        isinstance(p, Window) and isinstance(p.spec, Rows | PartitionRows)
        for p in nodes_of(query.root)
    )


def _shared(one: Port, other: Port) -> Port:
    """Return the port of two queries: columns and rows that either uses."""
    assert one.entry is not None, "ports of level 0 have a declared input"
    predicate = None
    if one.predicate is not None and other.predicate is not None:
        nullable = one.predicate.nullable or other.predicate.nullable
        either = Call("or", (one.predicate, other.predicate), BOOLEAN, nullable)
        predicate = one.predicate if one.predicate == other.predicate else either
    names = {*one.schema.names, *other.schema.names}
    schema = Schema(tuple(f for f in one.entry.schema if f.name in names))
    ordered = one.ordered or other.ordered
    return replace(one, schema=schema, predicate=predicate, ordered=ordered)


def _replaces(relation: Relation, route: Route, keys: tuple[Expr, ...]) -> bool:
    """Return whether a row can replace the one of its key: both must be where it comes to."""
    if not (relation.key and relation.changes_by_stream):
        return False
    return route is not Route.KEY or all(
        isinstance(key, Column) and key.name in relation.key for key in keys
    )


def _crossing(entry: Stream | Relation, reads: frozenset[str]) -> Schema:
    """Return the declared columns that must cross: those that are read, but for the time."""
    time = entry.time_column if isinstance(entry, Stream) else None
    return Schema(tuple(f for f in entry.schema if f.name in reads and f.name != time))
